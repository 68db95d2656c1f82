//! What the configuration says about executors, as plain values; whoever reads the file makes them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::process::log::DEFAULT_CAP;
use crate::process::stop::LEFTOVER_GRACE;

/// How one speaks with an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// A program that is started with the goal, prints what it does, and ends.
    #[default]
    Command,
}

/// One configured agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Its name on cards.
    pub name: String,
    /// How one speaks with it.
    pub protocol: Protocol,
    /// The program and its arguments. In each of them `{goal}` is the goal alone, `{prompt}` everything that the
    /// agent should know, `{prompt_file}` a file that holds the same, and `{session}` the session. An agent with none of the first
    /// three reads what it should know on standard input.
    pub command: Vec<String>,
    /// How many of its runs may go at a time.
    pub parallel: u32,
    /// Names of our own variables that it gets on top of the allow-list.
    pub env: Vec<String>,
}

impl AgentConfig {
    /// An agent that is a program, one run at a time.
    pub fn command(name: &str, command: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            protocol: Protocol::Command,
            command: command.iter().map(|&part| part.to_owned()).collect(),
            parallel: 1,
            env: Vec::new(),
        }
    }
}

/// All that executors are told once.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The agents by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// How many bytes of a run's output are kept.
    pub log_cap: u64,
    /// PATH for runs; `None` = our own.
    pub path: Option<OsString>,
    /// The folder with the `andon` program, put last in the PATH of runs so that they can call it; `None` = where
    /// the running program is.
    pub program_folder: Option<PathBuf>,
    /// The configuration file that runs are told of, absolute, so that an `andon` in them reads the same one;
    /// `None` = the usual one, which it finds by itself.
    pub configuration: Option<PathBuf>,
    /// How long output is awaited after a process has ended while somebody holds its pipes open.
    pub drain: Duration,
    /// How long what an ended run left behind has between SIGTERM and SIGKILL.
    pub leftover_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            agents: BTreeMap::new(),
            log_cap: DEFAULT_CAP,
            path: None,
            program_folder: None,
            configuration: None,
            drain: Duration::from_millis(200),
            leftover_grace: LEFTOVER_GRACE,
        }
    }
}
