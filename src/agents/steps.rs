//! Steps of workflows that are tools without a process of their own (`read_file`, `task`, …). Who has the tools
//! hands them in through [`StepTools`]; `exec` and `clarify` are carried out here.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::engine::RunSpec;

/// One call of a tool by a step.
#[derive(Debug)]
pub struct StepCall<'a> {
    /// The tool.
    pub name: &'a str,
    /// Its parameters, references replaced by what they stand for.
    pub params: &'a Map<String, Value>,
    /// The step's folder; `None` = the dispatcher's.
    pub folder: Option<&'a Path>,
    /// The run.
    pub spec: &'a RunSpec,
    pub(super) stopped: &'a AtomicBool,
}

impl StepCall<'_> {
    /// Whether the run is to stop. A call that takes long looks at it now and then, and gives up.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepReply {
    /// Its result.
    Done(String),
    /// It asks a person; the run is parked, and the answer comes with the next one.
    Asked {
        /// What it asks.
        question: String,
        /// Choices.
        options: Vec<String>,
    },
    /// It is this program, which prints the result (a tool of the user's own).
    Program(StepProgram),
}

/// A program that carries out a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepProgram {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// Variables that it gets.
    pub named: BTreeMap<String, String>,
    /// Names of our own variables that are passed.
    pub passed: Vec<String>,
    /// How long it may take, beside the time that its task has.
    pub limit: Option<Duration>,
}

/// The tools that a step may use beside `exec` and `clarify`.
pub trait StepTools: Send + Sync {
    /// Their names.
    fn names(&self) -> Vec<String>;

    /// Carries out one call. Called on a thread that may block.
    ///
    /// # Errors
    /// Why it failed, in words for a person.
    fn call(&self, call: &StepCall<'_>) -> Result<StepReply, String>;
}

/// No tools but `exec` and `clarify`.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

impl StepTools for NoTools {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn call(&self, call: &StepCall<'_>) -> Result<StepReply, String> {
        Err(format!("there is no tool `{}`; a step may use exec or clarify", call.name))
    }
}
