//! The configuration: one TOML file, read with all its faults told at once. `assets/config.toml` shows every key
//! with its default, and a test holds it to that. Start reading at [`Config`]; [`places`] says where files are.

pub mod places;
mod programs;
mod reader;
mod tree;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

use crate::agents;
use crate::domain::approval::{ApprovalPolicy, Rule, Rules};
use crate::domain::definition::Fault;
use crate::domain::status::wire_enum;
use crate::domain::task::DEFAULT_BOARD;
use crate::domain::time::SECOND_MS;
use crate::engine::{DispatchOptions, Durability, OnLost, Options, Policy};
use crate::tools::web::address::Allowed;
use crate::tools::{OwnTool, Registry, Risk};

/// The configuration file with every key and its default, commented.
pub const TEMPLATE: &str = include_str!("../../../assets/config.toml");
/// The largest file that is read, in bytes.
const FILE_LIMIT: u64 = 1024 * 1024;

/// How an agent is spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// A program that is given its goal and ends.
    #[default]
    Command,
}

wire_enum!(Protocol { Command = "command" });

/// Everything that can be configured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Config {
    /// How work is handed out.
    pub dispatch: Dispatch,
    /// How the database is written.
    pub store: Store,
    /// How much output is kept.
    pub log: Log,
    /// How the program is reached over HTTP.
    pub http: Http,
    /// How the board looks.
    pub board: Board,
    /// Which calls of agents a person allows first.
    pub approvals: Approvals,
    /// Where the tool `web_fetch` may go.
    pub web_fetch: WebFetch,
    /// Keys of the board that differ from the built-in ones: section, action, keys.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// The agents, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Agent>,
    /// Tools of one's own, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, Tool>,
    /// Commands that are run when something happens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
}

/// `[dispatch]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dispatch {
    /// How many runs go on at a time.
    pub parallel: u32,
    /// For how long the holder of a run vouches for it, in seconds.
    pub lease_seconds: u32,
    /// How often it renews that, in seconds; at most half of the lease.
    pub renew_seconds: u32,
    /// How long a run that is stopped may take to end by itself, in seconds.
    pub grace_seconds: u32,
    /// What becomes of a task whose worker died.
    pub on_lost: OnLost,
}

impl Default for Dispatch {
    fn default() -> Self {
        Self { parallel: 4, lease_seconds: 30, renew_seconds: 10, grace_seconds: 10, on_lost: OnLost::Ask }
    }
}

/// `[store]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Store {
    /// How sure a write is when it was acknowledged.
    #[serde(serialize_with = "durability_word")]
    pub durability: Durability,
}

/// The words for durability.
const DURABILITY: &[(&str, Durability)] = &[("full", Durability::Full), ("normal", Durability::Normal)];

fn durability_word<S: Serializer>(durability: &Durability, serializer: S) -> Result<S::Ok, S::Error> {
    let word = DURABILITY.iter().find(|(_, value)| value == durability).map_or("full", |(word, _)| word);
    serializer.serialize_str(word)
}

/// The words for what becomes of a task whose worker died.
const ON_LOST: &[(&str, OnLost)] = &[("ask", OnLost::Ask), ("fail", OnLost::Fail), ("retry", OnLost::Retry)];

/// `[log]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Log {
    /// The most that is kept of one run's output, in MiB; head and tail stay.
    pub cap_mib: u32,
}

impl Default for Log {
    fn default() -> Self {
        Self { cap_mib: 16 }
    }
}

/// `[http]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Http {
    /// Whether the board serves too; a headless one always does.
    pub enabled: bool,
    /// Where it listens.
    pub address: SocketAddr,
    /// What the paths begin with.
    pub prefix: String,
    /// Further names under which this machine is reached.
    pub hosts: Vec<String>,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            enabled: false,
            address: SocketAddr::from(([127, 0, 0, 1], 7420)),
            prefix: "/api/v1".to_owned(),
            hosts: Vec::new(),
        }
    }
}

/// `[board]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Board {
    /// `auto`, the name of a theme, or the path of a theme file.
    pub theme: String,
    /// The board that is shown unless another is named.
    pub default: String,
    /// Whether closed cards are shown from the start.
    pub archive: bool,
    /// Whether a desktop notice is sent when a card needs a person and the terminal is not in focus.
    pub notify: bool,
}

impl Default for Board {
    fn default() -> Self {
        Self { theme: "auto".to_owned(), default: DEFAULT_BOARD.to_owned(), archive: false, notify: false }
    }
}

/// `[approvals]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approvals {
    /// For calls that only look.
    pub read: Rule,
    /// For calls that change the board or files.
    pub write: Rule,
    /// For calls that run programs.
    pub exec: Rule,
    /// By tool, which counts before the risk.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, Rule>,
    /// For single agents; these count first.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Rules>,
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            read: Rule::Allow,
            write: Rule::Allow,
            exec: Rule::Ask,
            tools: BTreeMap::new(),
            agents: BTreeMap::new(),
        }
    }
}

impl Approvals {
    /// The policy that this asks for.
    fn policy(&self, tools: &Registry) -> ApprovalPolicy {
        let all = Rules {
            tools: self.tools.clone(),
            read: Some(self.read),
            write: Some(self.write),
            exec: Some(self.exec),
        };
        ApprovalPolicy { all, agents: self.agents.clone(), risks: tools.risks() }
    }
}

/// `[web_fetch]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WebFetch {
    /// Hosts and networks that it may fetch from though they are not public.
    #[serde(serialize_with = "allowed_words")]
    pub allow: Vec<Allowed>,
}

fn allowed_words<S: Serializer>(allowed: &[Allowed], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(allowed.iter().map(Allowed::to_string))
}

/// The themes that `[board] theme` may name, besides a file.
pub const THEMES: &[&str] = &["auto", "dark", "light", "high-contrast", "ansi", "none"];

/// `[agents.NAME]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Agent {
    /// How it is spoken to.
    pub protocol: Protocol,
    /// The program with its arguments; `{goal}` in an argument stands for what it is asked to do.
    pub command: Vec<String>,
    /// How many of its runs go on at a time.
    pub parallel: u32,
    /// The names of variables that it is given from the dispatcher's environment.
    pub env: Vec<String>,
    /// Whether its finished work waits for a person, unless a card says otherwise.
    pub review: bool,
}

impl Default for Agent {
    fn default() -> Self {
        Self { protocol: Protocol::Command, command: Vec::new(), parallel: 2, env: Vec::new(), review: false }
    }
}

/// `[tools.NAME]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tool {
    /// What it is for, as a model reads it.
    pub description: String,
    /// The JSON schema of its parameters; shown as JSON, since TOML lacks `null`.
    #[serde(serialize_with = "json_text")]
    pub schema: Value,
    /// How dangerous it is.
    #[serde(serialize_with = "risk_word")]
    pub risk: Risk,
    /// The program with its arguments. It reads the parameters of a call as JSON and prints the result.
    pub command: Vec<String>,
    /// How long one call may take, in seconds.
    pub timeout_seconds: u32,
    /// The names of variables that it is given.
    pub env: Vec<String>,
}

impl Default for Tool {
    fn default() -> Self {
        Self {
            description: String::new(),
            schema: json!({ "type": "object" }),
            risk: Risk::Exec,
            command: Vec::new(),
            timeout_seconds: 60,
            env: Vec::new(),
        }
    }
}

/// One of `[[hooks]]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hook {
    /// On which events: their kinds, or words such as `question`.
    pub on: Vec<String>,
    /// The program with its arguments. It reads the event as JSON.
    pub command: Vec<String>,
    /// Only events of these boards; empty for all.
    pub boards: Vec<String>,
    /// How long it may take, in seconds.
    pub timeout_seconds: u32,
    /// The names of variables that it is given.
    pub env: Vec<String>,
}

impl Default for Hook {
    fn default() -> Self {
        Self { on: Vec::new(), command: Vec::new(), boards: Vec::new(), timeout_seconds: 10, env: Vec::new() }
    }
}

/// The words for how dangerous a tool is.
const RISKS: &[(&str, Risk)] = &[("read", Risk::Read), ("write", Risk::Write), ("exec", Risk::Exec)];

fn risk_word<S: Serializer>(risk: &Risk, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(risk.as_str())
}

fn json_text<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

/// Why a configuration can't be used. Lists every fault.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong in it.
    pub faults: Vec<Fault>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.faults.as_slice() {
            [one] => write!(f, "the configuration {path} has a fault: {one}"),
            many => {
                write!(f, "the configuration {path} has {} faults:", many.len())?;
                many.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
            }
        }
    }
}

/// Reads the configuration at `path`, or at its usual place. A file that is not there means the defaults.
pub fn load(path: Option<&Path>) -> Result<Config, ConfigError> {
    let Some(path) = places::config_file(path) else { return Ok(Config::default()) };
    let refused = |message: String| ConfigError {
        path: path.clone(),
        faults: vec![Fault { at: None, path: String::new(), message }],
    };
    match std::fs::metadata(&path) {
        Ok(found) if !found.is_file() => {
            return Err(refused("it is not a file; name the file with --config".to_owned()));
        }
        Ok(found) if found.len() > FILE_LIMIT => {
            return Err(refused(format!("it has {} bytes and at most {FILE_LIMIT} are read", found.len())));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Config::default()),
        Err(error) => return Err(refused(format!("it can't be looked at: {error}"))),
    }
    let bytes = std::fs::read(&path).map_err(|error| refused(format!("it can't be read: {error}")))?;
    reader::read(&bytes).map_err(|faults| ConfigError { path: path.clone(), faults })
}

/// Reads a configuration from text, as [`load`] does from its file.
pub fn parse(text: &str) -> Result<Config, Vec<Fault>> {
    reader::read(text.as_bytes())
}

impl Config {
    /// All of it as TOML, defaults included.
    pub fn to_toml(&self) -> String {
        // Every field is a table, a list or a plain value, and of those TOML can hold all.
        toml_edit::ser::to_string_pretty(self).unwrap_or_default()
    }

    /// The keys that differ, as the TOML text of a keymap; `None` where none do.
    pub fn keymap(&self) -> Option<String> {
        match self.keys.is_empty() {
            true => None,
            false => toml_edit::ser::to_string_pretty(&self.keys).ok(),
        }
    }

    /// How the engine is opened with it.
    pub fn engine_options(&self) -> Options {
        Options {
            policy: Policy {
                lease_ms: i64::from(self.dispatch.lease_seconds) * SECOND_MS,
                on_lost: self.dispatch.on_lost,
                tools: self.registry().names().into_iter().map(str::to_owned).collect(),
                check: Arc::new(self.registry()),
                agents: Some(self.agents.keys().cloned().collect()),
                reviewed_agents: {
                    let reviewed = self.agents.iter().filter(|(_, agent)| agent.review);
                    reviewed.map(|(name, _)| name.clone()).collect()
                },
                approvals: self.approvals.policy(&self.registry()),
            },
            durability: self.store.durability,
        }
    }

    /// The tools, with those of one's own.
    pub fn registry(&self) -> Registry {
        let own = self.tools.iter().filter_map(|(name, tool)| {
            // One whose schema can't be read was a fault of the file already.
            let mut own = OwnTool::new(name, tool.schema.clone(), tool.command.clone()).ok()?;
            own.description.clone_from(&tool.description);
            own.risk = tool.risk;
            own.env.clone_from(&tool.env);
            own.timeout = Duration::from_secs(u64::from(tool.timeout_seconds));
            Some(own)
        });
        Registry::new(Some(self.agents.keys().cloned().collect()))
            .with_own(own)
            .allowing(self.web_fetch.allow.iter().cloned())
    }

    /// The commands that are run when something happens.
    pub fn hooks(&self) -> Vec<agents::Hook> {
        let hooks = self.hooks.iter().map(|hook| agents::Hook {
            on: hook.on.clone(),
            command: hook.command.clone(),
            boards: hook.boards.clone(),
            env: hook.env.clone(),
            timeout: Duration::from_secs(u64::from(hook.timeout_seconds)),
        });
        hooks.collect()
    }

    /// How work is dispatched with it.
    pub fn dispatch_options(&self) -> DispatchOptions {
        DispatchOptions {
            parallel: self.dispatch.parallel,
            renew_ms: u64::from(self.dispatch.renew_seconds) * 1_000,
            grace_ms: u64::from(self.dispatch.grace_seconds) * 1_000,
            ..DispatchOptions::default()
        }
    }

    /// The names of the agents, with how many runs each may have at a time.
    pub fn agent_limits(&self) -> Vec<(String, u32)> {
        self.agents.iter().map(|(name, agent)| (name.clone(), agent.parallel)).collect()
    }
}

#[cfg(test)]
mod tests;
