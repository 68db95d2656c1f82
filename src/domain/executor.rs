//! What a task runs with: a command, a tool, an agent. A task without an executor is a manual card.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::text;

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Program {
    /// An argument list; no shell sees it.
    Argv(Vec<String>),
    /// One line for `/bin/sh -c`.
    Shell(String),
}

/// What is carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// A command line that a person put on the board.
    Command {
        /// The program with its arguments.
        command: Program,
    },
    /// A call of a registered tool (a workflow step).
    Tool {
        /// The tool's name.
        name: String,
        /// Its parameters, with references to predecessors still in them.
        params: Map<String, Value>,
    },
    /// A goal for a configured agent.
    Agent {
        /// The agent's name in the configuration.
        name: String,
        /// What it is asked to do.
        goal: String,
    },
}

/// An executor: the work, and where and with what environment it is carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Executor {
    /// What is carried out.
    #[serde(flatten)]
    pub work: Work,
    /// The working folder, absolute; `None` = the dispatcher's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment on top of the allow-list; `None` as value passes the dispatcher's own variable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Option<String>>,
    /// What must pass after the work and before a person is asked to review it; run in the same folder with the
    /// same environment. Without effect where nobody reviews.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Program>,
}

impl Executor {
    /// Work without a folder or environment of its own.
    pub fn new(work: Work) -> Self {
        Self { work, cwd: None, env: BTreeMap::new(), check: None }
    }

    /// The queue lane: one for each agent, and one (empty) for all the rest.
    pub fn lane(&self) -> &str {
        match &self.work {
            Work::Agent { name, .. } => name,
            _ => "",
        }
    }

    /// The few words a card shows: `@claude`, `cargo test`, `tool read_file`.
    pub fn label(&self) -> String {
        match &self.work {
            Work::Agent { name, .. } => format!("@{name}"),
            Work::Command { command } => command.label(),
            Work::Tool { name, params } => match (name.as_str(), params.get("command")) {
                ("exec", Some(Value::String(line))) => text::one_line(line),
                ("exec", Some(Value::Array(argv))) => {
                    let words: Vec<&str> = argv.iter().filter_map(Value::as_str).collect();
                    text::one_line(&words.join(" "))
                }
                _ => format!("tool {name}"),
            },
        }
    }
}

impl Program {
    /// The command as one line for people.
    pub fn label(&self) -> String {
        match self {
            Program::Argv(argv) => text::one_line(&argv.join(" ")),
            Program::Shell(line) => text::one_line(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executor_survives_json() {
        let mut executor =
            Executor::new(Work::Command { command: Program::Argv(vec!["ls".into(), "-l".into()]) });
        executor.cwd = Some("/tmp".into());
        executor.env.insert("TOKEN".into(), None);
        let json = serde_json::to_string(&executor).unwrap();
        assert_eq!(json, r#"{"kind":"command","command":["ls","-l"],"cwd":"/tmp","env":{"TOKEN":null}}"#);
        assert_eq!(serde_json::from_str::<Executor>(&json).unwrap(), executor);
    }

    #[test]
    fn only_agents_have_lanes_of_their_own() {
        let agent = Executor::new(Work::Agent { name: "claude".into(), goal: "x".into() });
        assert_eq!((agent.lane(), agent.label().as_str()), ("claude", "@claude"));
        let shell = Executor::new(Work::Command { command: Program::Shell("a\nb".into()) });
        assert_eq!((shell.lane(), shell.label().as_str()), ("", "a b"));
    }
}
