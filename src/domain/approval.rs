//! Approvals: which calls a person has to allow first, what exactly is shown to them, and the life of one decision.
//! A decision is bound to the hash of one call within one task: what was allowed is that call and nothing else.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

use super::executor::{Executor, Program, Work};
use super::id::{ApprovalId, RunId, TaskId};
use super::refusal::Refusal;
use super::status::wire_enum;
use super::task::Task;
use super::template::Reference;
use super::text::{one_line, shortened};
use super::time::Millis;
use super::wait::WaitState;

/// The tool by whose rules a goal for an agent goes.
pub const AGENT_TOOL: &str = "agent";

/// How dangerous a call is; the policy goes by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Risk {
    /// It looks only.
    Read,
    /// It changes the board or files.
    Write,
    /// It runs programs.
    #[default]
    Exec,
}

wire_enum!(Risk { Read = "read", Write = "write", Exec = "exec" });

/// What becomes of a call that an agent wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// It is carried out.
    Allow,
    /// A person is asked first.
    Ask,
    /// It is refused.
    Deny,
}

wire_enum!(Rule { Allow = "allow", Ask = "ask", Deny = "deny" });

/// Who wrote a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author<'a> {
    /// A person, at any face.
    Person,
    /// An agent, by its name in the configuration or in the log.
    Agent(&'a str),
}

impl<'a> Author<'a> {
    /// The author of what a task runs with, as its record names it.
    pub fn of(task: &'a Task) -> Self {
        match task.written_by.as_str() {
            "" => Author::Person,
            agent => Author::Agent(agent),
        }
    }
}

/// Rules for some calls; `None` = the next wider rule counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// By tool, which counts before the risk.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, Rule>,
    /// For calls that only look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Rule>,
    /// For calls that change the board or files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Rule>,
    /// For calls that run programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<Rule>,
}

impl Rules {
    fn find(&self, tool: &str, risk: Risk) -> Option<Rule> {
        let by_risk = match risk {
            Risk::Read => self.read,
            Risk::Write => self.write,
            Risk::Exec => self.exec,
        };
        self.tools.get(tool).copied().or(by_risk)
    }
}

/// The approval policy: what agents may do, and what a person allows first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalPolicy {
    /// For every agent.
    pub all: Rules,
    /// For single agents; these count first.
    pub agents: BTreeMap<String, Rules>,
    /// How dangerous each tool is. One that is not named here counts as [`Risk::Exec`].
    pub risks: BTreeMap<String, Risk>,
}

impl ApprovalPolicy {
    /// What becomes of a call. What a person wrote is carried out; for an agent its own rules count before those for
    /// all, and in both the tool before the risk. Where nothing is said, what runs programs is asked for.
    pub fn rule(&self, author: Author<'_>, tool: &str, risk: Risk) -> Rule {
        let Author::Agent(agent) = author else { return Rule::Allow };
        let own = self.agents.get(agent).and_then(|rules| rules.find(tool, risk));
        own.or_else(|| self.all.find(tool, risk)).unwrap_or(match risk {
            Risk::Read | Risk::Write => Rule::Allow,
            Risk::Exec => Rule::Ask,
        })
    }

    /// How dangerous a tool is.
    pub fn risk(&self, tool: &str) -> Risk {
        self.risks.get(tool).copied().unwrap_or_default()
    }
}

/// One call, exactly as it would be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// How dangerous it is.
    pub risk: Risk,
    /// All of it: the tool, its parameters, and where it would run.
    pub json: Value,
}

impl Call {
    /// A call of a tool from inside a run, in this folder.
    pub fn of_tool(tool: &str, risk: Risk, params: &Map<String, Value>, folder: &str) -> Self {
        let mut call = Map::new();
        call.insert("tool".to_owned(), json!(tool));
        call.insert("params".to_owned(), json!(params));
        call.insert("folder".to_owned(), json!(folder));
        Call { tool: tool.to_owned(), risk, json: Value::Object(call) }
    }

    /// What a task would carry out, with the texts that its references stand for. `None` for a manual card.
    pub fn of_task(
        task: &Task,
        values: &BTreeMap<Reference, String>,
        policy: &ApprovalPolicy,
    ) -> Option<Self> {
        let executor = task.executor.as_ref()?;
        let mut call = Map::new();
        let (tool, risk) = described(executor, task, policy, &mut call);
        if let Some(folder) = &executor.cwd {
            call.insert("folder".to_owned(), json!(folder));
        }
        if !executor.env.is_empty() {
            call.insert("environment".to_owned(), json!(executor.env));
        }
        if !values.is_empty() {
            let texts = values.iter().map(|(reference, text)| (reference.to_string(), json!(text)));
            call.insert("values".to_owned(), Value::Object(texts.collect()));
        }
        Some(Call { tool, risk, json: Value::Object(call) })
    }

    /// SHA-256 of the call as canonical JSON (keys in order, no spaces), in hexadecimal digits.
    pub fn hash(&self) -> String {
        let mut text = String::new();
        write_canonical(&self.json, &mut text);
        let mut hash = String::with_capacity(64);
        for byte in Sha256::digest(text.as_bytes()) {
            // Writing into a text can't fail.
            let _ = write!(hash, "{byte:02x}");
        }
        hash
    }

    /// The call as one line for people.
    pub fn label(&self) -> String {
        label(&self.json)
    }
}

/// The tool and the risk of what an executor does, its own words added to `call`.
fn described(
    executor: &Executor,
    task: &Task,
    policy: &ApprovalPolicy,
    call: &mut Map<String, Value>,
) -> (String, Risk) {
    match &executor.work {
        Work::Command { command } => {
            call.insert("tool".to_owned(), json!("exec"));
            call.insert("params".to_owned(), json!({ "command": command }));
            ("exec".to_owned(), Risk::Exec)
        }
        Work::Tool { name, params } => {
            call.insert("tool".to_owned(), json!(name));
            call.insert("params".to_owned(), json!(params));
            (name.clone(), policy.risk(name))
        }
        // Title and description are a part of what the agent is told.
        Work::Agent { name, goal } => {
            call.insert("tool".to_owned(), json!(AGENT_TOOL));
            call.insert("agent".to_owned(), json!(name));
            call.insert("goal".to_owned(), json!(goal));
            call.insert("title".to_owned(), json!(task.title));
            if !task.description.is_empty() {
                call.insert("description".to_owned(), json!(task.description));
            }
            (AGENT_TOOL.to_owned(), Risk::Exec)
        }
    }
}

/// A call as one line for people: the command, the agent with its goal, or the tool with its parameters.
pub fn label(call: &Value) -> String {
    let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
    let whole = match (text("tool"), call.pointer("/params/command")) {
        (AGENT_TOOL, _) => format!("@{} {}", text("agent"), text("goal")),
        (_, Some(command)) => match serde_json::from_value::<Program>(command.clone()) {
            Ok(program) => program.label(),
            Err(_) => command.to_string(),
        },
        (tool, None) => format!("{tool} {}", call.get("params").unwrap_or(&Value::Null)),
    };
    shortened(&one_line(&whole), 500)
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            out.push('{');
            for (at, (name, value)) in sorted.into_iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_canonical(item, out);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

/// How far a decision reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// This call, once.
    #[default]
    Once,
    /// This call as often as this task makes it.
    Task,
}

wire_enum!(Scope { Once = "once", Task = "task" });

/// A call that waits for a person's decision, or got one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The task whose call it is.
    pub task_id: TaskId,
    /// The run that makes the call, or that was parked before it was started.
    pub run_id: Option<RunId>,
    /// The tool.
    pub tool: String,
    /// How dangerous it is.
    pub risk: Risk,
    /// The call, exactly.
    pub call: Value,
    /// [`Call::hash`] of it.
    pub hash: String,
    /// The agent that wrote the call.
    pub asked_by: String,
    /// Where it stands: open, allowed, denied, consumed, superseded, cancelled, or expired with its task's time.
    pub state: WaitState,
    /// How far the decision reaches.
    pub scope: Scope,
    /// Who decided; empty while nobody has.
    pub decided_by: String,
    /// Why it was denied.
    pub reason: String,
    /// When it was asked for.
    pub asked_at_ms: Millis,
    /// When it was decided or closed.
    pub decided_at_ms: Option<Millis>,
}

impl Approval {
    /// The call as one line for people.
    pub fn label(&self) -> String {
        label(&self.call)
    }

    /// Refuses a decision on what is not open any more, and says why.
    pub fn check_open(&self) -> Result<(), Refusal> {
        let id = &self.id;
        let list = "`andon approvals` lists what waits for a decision";
        let refused = |code, said: String| Err(Refusal::state(code, said));
        match self.state {
            WaitState::Open => Ok(()),
            WaitState::Denied => refused(
                "approval_decided",
                format!(
                    "approval {id} was denied already by {}, and the first decision counts; {list}",
                    self.decided_by
                ),
            ),
            WaitState::Allowed | WaitState::Consumed | WaitState::Answered | WaitState::Triggered => refused(
                "approval_decided",
                format!(
                    "approval {id} was allowed already by {}, and the first decision counts; {list}",
                    self.decided_by
                ),
            ),
            WaitState::Superseded => refused(
                "approval_superseded",
                format!(
                    "approval {id} is no longer asked for: the call changed, or its task goes on without it; {list}"
                ),
            ),
            WaitState::Cancelled => refused(
                "approval_cancelled",
                format!("approval {id} was withdrawn with its task, so there is nothing to decide; {list}"),
            ),
            WaitState::Expired => refused(
                "approval_expired",
                format!(
                    "approval {id} came too late: the time of its task is over; `andon retry` of the task asks anew"
                ),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(change: impl FnOnce(&mut ApprovalPolicy)) -> ApprovalPolicy {
        let mut policy = ApprovalPolicy::default();
        change(&mut policy);
        policy
    }

    #[test]
    fn what_a_person_wrote_runs_and_what_an_agent_wrote_asks_before_it_runs_programs() {
        let plain = ApprovalPolicy::default();
        for risk in Risk::ALL {
            assert_eq!(plain.rule(Author::Person, "exec", *risk), Rule::Allow);
        }
        let agent = |risk| plain.rule(Author::Agent("claude"), "exec", risk);
        assert_eq!(
            [agent(Risk::Read), agent(Risk::Write), agent(Risk::Exec)],
            [Rule::Allow, Rule::Allow, Rule::Ask]
        );
        assert_eq!(plain.risk("never heard of"), Risk::Exec);
    }

    #[test]
    fn an_agents_own_rules_count_first_and_the_tool_before_the_risk() {
        let policy = policy(|p| {
            p.all.exec = Some(Rule::Deny);
            p.all.tools.insert("web_fetch".into(), Rule::Ask);
            let own = Rules {
                exec: Some(Rule::Allow),
                tools: [("exec".to_owned(), Rule::Ask)].into(),
                ..Rules::default()
            };
            p.agents.insert("claude".into(), own);
        });
        let rule = |agent, tool, risk| policy.rule(Author::Agent(agent), tool, risk);
        assert_eq!(rule("claude", "exec", Risk::Exec), Rule::Ask);
        assert_eq!(rule("claude", "deploy", Risk::Exec), Rule::Allow);
        assert_eq!(rule("claude", "web_fetch", Risk::Read), Rule::Ask);
        assert_eq!(rule("other", "exec", Risk::Exec), Rule::Deny);
        assert_eq!(policy.rule(Author::Person, "exec", Risk::Exec), Rule::Allow);
    }

    #[test]
    fn the_hash_is_that_of_the_call_whatever_the_order_of_its_keys() {
        let call = |json: &str| Call {
            tool: "exec".into(),
            risk: Risk::Exec,
            json: serde_json::from_str(json).unwrap(),
        };
        let one = call(r#"{"tool":"exec","params":{"command":["a","b"],"env":{"x":"1","y":null}}}"#);
        let same = call(r#"{"params":{"env":{"y":null,"x":"1"},"command":["a","b"]},"tool":"exec"}"#);
        let other = call(r#"{"tool":"exec","params":{"command":["a","b "],"env":{"x":"1","y":null}}}"#);
        assert_eq!(one.hash(), same.hash());
        assert_ne!(one.hash(), other.hash());
        assert_eq!(call("{}").hash(), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
        assert_eq!(one.label(), "a b");
    }

    #[test]
    fn only_an_open_approval_is_decided() {
        let code = |state| Approval { state, ..Approval::default() }.check_open().err().map(|r| r.code);
        assert_eq!(code(WaitState::Open), None);
        assert_eq!(code(WaitState::Allowed), Some("approval_decided"));
        assert_eq!(code(WaitState::Consumed), Some("approval_decided"));
        assert_eq!(code(WaitState::Denied), Some("approval_decided"));
        assert_eq!(code(WaitState::Superseded), Some("approval_superseded"));
        assert_eq!(code(WaitState::Cancelled), Some("approval_cancelled"));
        assert_eq!(code(WaitState::Expired), Some("approval_expired"));
    }
}
