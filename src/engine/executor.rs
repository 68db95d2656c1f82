//! The one thing that the engine knows about executors: it can start a run, hear from it, and stop it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::domain::template::Reference;
use crate::domain::time::Millis;
use crate::domain::{Executor, ProcessIdentity, Program, RunId, RunOutcome, TaskId, Usage};

/// An answer that a run is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenAnswer {
    /// What was asked.
    pub question: String,
    /// What the person said.
    pub answer: String,
}

/// All that an executor is told about a run.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: TaskId,
    /// The task's number.
    pub seq: i64,
    /// The task's epoch; tags all that the run causes.
    pub epoch: i64,
    /// 1 for the first run of the task.
    pub number: u32,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// `task:<id>`.
    pub session: String,
    /// The board.
    pub board: String,
    /// The card's title.
    pub title: String,
    /// The card's description.
    pub description: String,
    /// What is carried out; references to predecessors are still in it.
    pub executor: Executor,
    /// The texts that references in the executor stand for.
    pub values: BTreeMap<Reference, String>,
    /// The answer to the question that parked the run before.
    pub answer: Option<GivenAnswer>,
    /// What the reviewer said about the run before.
    pub feedback: Option<String>,
    /// What must pass after the work succeeded, before a person is asked; `None` = nothing.
    pub check: Option<Program>,
    /// Where the run's raw output goes; made at the first byte, in a folder that exists.
    pub log: PathBuf,
    /// The database, for `ANDON_DB`.
    pub database: PathBuf,
}

/// How a run ended, as its executor saw it. The whole process tree is gone, or `survivors` says who is left.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// SUCCESS, FAILED, or PARKED after a question that the executor reported.
    pub outcome: RunOutcome,
    /// What came out (SUCCESS).
    pub result: String,
    /// Why it failed, in words.
    pub error: String,
    /// The exit code, where the process ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub exit_signal: Option<i32>,
    /// Processes that could not be proven dead; empty where the tree is gone.
    pub survivors: Vec<i32>,
    /// How the check went; `None` where it was not run.
    pub check: Option<Checked>,
}

/// How a check went, after work that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// It passed: a line for the reviewer.
    Passed(String),
    /// It did not pass: what failed in one line, and the last of its output, for whoever did the work.
    Failed {
        /// In one line.
        error: String,
        /// The last of what it printed.
        output: String,
    },
    /// It could not be run, which is not the fault of the work.
    Broken(String),
}

impl Ending {
    /// It did what was asked.
    pub fn success(result: impl Into<String>) -> Self {
        Self {
            outcome: RunOutcome::Success,
            result: result.into(),
            error: String::new(),
            exit_code: None,
            exit_signal: None,
            survivors: Vec::new(),
            check: None,
        }
    }

    /// It failed, for this reason.
    pub fn failure(error: impl Into<String>) -> Self {
        Self { outcome: RunOutcome::Failed, error: error.into(), ..Ending::success("") }
    }
}

/// What a run tells the engine while it goes.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// Its process runs. Told only of a run that lasts: the record serves recovery, and what has ended needs none.
    Started(ProcessIdentity),
    /// It asks a person. The executor then ends with outcome PARKED; the answer comes with the next run.
    Asked {
        /// What it asks.
        question: String,
        /// Choices.
        options: Vec<String>,
    },
    /// Facts about it, such as an agent's session id.
    Facts(serde_json::Map<String, Value>),
    /// What it used so far.
    Used(Usage),
    /// It is over. Exactly one, and the last.
    Ended(Ending),
}

/// The way back from a run to the engine. Never blocks.
#[derive(Clone)]
pub struct Reporter {
    run: RunId,
    epoch: i64,
    send: Arc<dyn Fn(RunId, i64, Report) + Send + Sync>,
    active_at_ms: Arc<AtomicI64>,
}

impl Reporter {
    /// A reporter that hands each report to `send`.
    pub fn new(run: RunId, epoch: i64, send: Arc<dyn Fn(RunId, i64, Report) + Send + Sync>) -> Self {
        Self { run, epoch, send, active_at_ms: Arc::new(AtomicI64::new(0)) }
    }

    /// Tells the engine.
    pub fn report(&self, report: Report) {
        (self.send)(self.run.clone(), self.epoch, report);
    }

    /// Notes a sign of progress (output) at `now`; cheap, writes nothing.
    pub fn touch(&self, now: Millis) {
        self.active_at_ms.fetch_max(now, Ordering::Relaxed);
    }

    /// The last sign of progress; 0 before the first.
    pub fn active_at_ms(&self) -> Millis {
        self.active_at_ms.load(Ordering::Relaxed)
    }
}

/// A run that goes on.
pub trait LiveRun: Send + Sync {
    /// Begins to stop it: TERM to the tree, grace, KILL, then survivors that left the group. Returns at once;
    /// the end comes as [`Report::Ended`]. Calling it again does nothing more.
    fn stop(&self, grace_ms: u64);
}

/// What could be proven about a run whose holder died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// None of its processes lives; `killed` were stopped for that.
    Dead {
        /// How many had to be stopped.
        killed: u32,
    },
    /// These could not be proven dead.
    Uncertain {
        /// Their process ids.
        pids: Vec<i32>,
    },
}

/// All executors together, as the engine sees them.
pub trait Executors: Send + Sync {
    /// Starts a run and returns at once. Called on the dispatcher's tokio runtime. Whatever goes wrong arrives
    /// as [`Report::Ended`].
    fn start(&self, spec: RunSpec, reporter: Reporter) -> Box<dyn LiveRun>;

    /// Stops what is left of a run whose holder died, and proves it dead. May block for the grace period.
    fn recover(&self, run: &RunId, process: Option<&ProcessIdentity>, grace_ms: u64) -> Recovery;

    /// The names of the tools that a step may use.
    fn tools(&self) -> Vec<String>;

    /// The names of the configured agents, with how many runs each may have at a time.
    fn agents(&self) -> Vec<(String, u32)>;
}
