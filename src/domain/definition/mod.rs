//! Definitions of workflows: read from a tree of values with positions (`node`), and checked as a whole
//! (`reader`, `order`), so that all faults are told at once, each with its line and column where the
//! file has them.

mod nearest;
mod node;
mod order;
mod reader;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fmt;

use super::refusal::{Refusal, RefusalClass};
use super::task::DEFAULT_BOARD;

pub use nearest::nearest;
pub use node::{Entry, Node, NodeValue};
pub use reader::{read, recheck};

/// The time a step has, in seconds, unless it names another.
pub const DEFAULT_STEP_TIMEOUT_SECONDS: u32 = 300;
/// The most steps that a workflow may have.
pub const STEPS_LIMIT: usize = 10_000;
/// The longest timeout, in seconds: a year.
pub const TIMEOUT_LIMIT_SECONDS: i64 = 366 * 86_400;

/// One fault of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Line and column, counted from 1.
    pub at: Option<(usize, usize)>,
    /// Where in the tree, such as `steps[2].retry_max`.
    pub path: String,
    /// What is wrong and what is right.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.at {
            write!(f, "line {line}, column {column}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// A refusal that lists all faults.
pub fn refusal(faults: &[Fault]) -> Refusal {
    let lines: Vec<String> = faults.iter().map(|fault| format!("  {fault}")).collect();
    let head = match faults.len() {
        1 => "the workflow has a fault; nothing was created:".to_owned(),
        n => format!("the workflow has {n} faults; nothing was created:"),
    };
    Refusal {
        class: RefusalClass::Invalid,
        code: "invalid_workflow",
        message: format!("{head}\n{}", lines.join("\n")),
        detail: json!({ "faults": faults }),
    }
}

/// One step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepDefinition {
    /// Its id within the workflow.
    pub id: String,
    /// The title of its card.
    pub name: String,
    /// The tool it runs; empty for an agent's step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool_name: String,
    /// The tool's parameters.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub tool_params: Map<String, Value>,
    /// The agent it is given to; empty for a tool's step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The agent's goal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub goal: String,
    /// Steps that must have succeeded before.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Automatic retries.
    #[serde(default)]
    pub retry_max: u32,
    /// Time for one attempt, queue included.
    pub timeout_seconds: u32,
    /// 0 (highest) to 9.
    pub priority: u8,
    /// Labels of its card.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Whether its work waits for a review; `None` = as its agent is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_required: Option<bool>,
    /// The working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// A whole workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowDefinition {
    /// Its name.
    pub name: String,
    /// The board of its cards; `None` = the caller's.
    #[serde(default)]
    pub board: Option<String>,
    /// Its steps.
    pub steps: Vec<StepDefinition>,
}

/// What names a definition may use.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    /// The registered tools.
    pub tools: &'a [&'a str],
    /// The configured agents; `None` where they are not known.
    pub agents: Option<&'a [String]>,
    /// What is wrong with the parameters of a tool.
    pub check: &'a dyn CheckParams,
}

/// Whoever knows the tools.
pub trait CheckParams: fmt::Debug + Send + Sync {
    /// All that is wrong with the parameters of this tool. Those of `exec` are checked here already.
    fn faults(&self, tool: &str, params: &Map<String, Value>) -> Vec<String>;
}

/// Takes any parameters, for who does not know the tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnyParams;

impl CheckParams for AnyParams {
    fn faults(&self, _tool: &str, _params: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }
}

impl WorkflowDefinition {
    /// The board of its cards, given the caller's.
    pub fn board_or<'b>(&'b self, callers: &'b str) -> &'b str {
        match (&self.board, callers) {
            (Some(board), _) => board,
            (None, "") => DEFAULT_BOARD,
            (None, callers) => callers,
        }
    }
}

#[cfg(test)]
mod tests;
