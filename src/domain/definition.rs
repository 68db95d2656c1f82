//! Definitions of workflows: read from a tree of values with positions, and checked as a whole, so that all
//! faults are told at once (E111–E114), each with its line and column where the file has them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};
use std::collections::{HashMap, HashSet};
use std::fmt;

use super::graph;
use super::refusal::{Refusal, RefusalClass};
use super::task::DEFAULT_BOARD;
use super::template;
use super::text;

/// The time a step has, in seconds, unless it names another (E109).
pub const DEFAULT_STEP_TIMEOUT_SECONDS: u32 = 300;
/// The most steps that a workflow may have.
pub const STEPS_LIMIT: usize = 10_000;
/// The longest timeout, in seconds: a year.
pub const TIMEOUT_LIMIT_SECONDS: i64 = 366 * 86_400;

/// A key, its place, and its value.
pub type Entry = (String, Option<(usize, usize)>, Node);

/// A value with its place in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Line and column, counted from 1; `None` where the source has no positions.
    pub at: Option<(usize, usize)>,
    /// The value.
    pub value: NodeValue,
}

/// What a node holds. Keys keep their places too, and doubles.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A table: key, place of the key, value.
    Table(Vec<Entry>),
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        let value = match value {
            Value::Null => NodeValue::Null,
            Value::Bool(b) => NodeValue::Bool(b),
            Value::Number(n) => NodeValue::Number(n),
            Value::String(s) => NodeValue::Text(s),
            Value::Array(list) => NodeValue::List(list.into_iter().map(Node::from).collect()),
            Value::Object(table) => {
                NodeValue::Table(table.into_iter().map(|(key, value)| (key, None, value.into())).collect())
            }
        };
        Node { at: None, value }
    }
}

impl Node {
    /// The value without positions.
    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(b) => json!(b),
            NodeValue::Number(n) => Value::Number(n.clone()),
            NodeValue::Text(s) => json!(s),
            NodeValue::List(list) => Value::Array(list.iter().map(Node::to_json).collect()),
            NodeValue::Table(table) => {
                Value::Object(table.iter().map(|(key, _, value)| (key.clone(), value.to_json())).collect())
            }
        }
    }

    /// What it holds, as an error names it.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            NodeValue::Null => "nothing",
            NodeValue::Bool(_) => "true or false",
            NodeValue::Number(_) => "a number",
            NodeValue::Text(_) => "a text",
            NodeValue::List(_) => "a list",
            NodeValue::Table(_) => "a table",
        }
    }
}

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
    pub check: CheckParams,
}

/// Says all that is wrong with the parameters of this tool. Those of `exec` are checked here already.
pub type CheckParams = fn(tool: &str, params: &Map<String, Value>) -> Vec<String>;

/// Takes any parameters, for who does not know the tools.
pub fn any_params(_tool: &str, _params: &Map<String, Value>) -> Vec<String> {
    Vec::new()
}

const WORKFLOW_KEYS: &[&str] = &["name", "board", "steps"];
const STEP_KEYS: &[&str] = &[
    "id",
    "name",
    "tool_name",
    "tool_params",
    "depends_on",
    "condition",
    "retry_max",
    "timeout_seconds",
    "agent",
    "goal",
    "priority",
    "labels",
    "review_required",
    "cwd",
];

/// Reads and checks a definition. Either all of it is good, or every fault is listed.
pub fn read(root: &Node, vocabulary: Vocabulary<'_>) -> Result<WorkflowDefinition, Vec<Fault>> {
    let mut reader = Reader { faults: Vec::new(), vocabulary };
    let definition = reader.workflow(root);
    match reader.faults.is_empty() {
        true => Ok(definition),
        false => Err(reader.faults),
    }
}

/// Checks a definition that was stored, as at its creation.
pub fn recheck(definition: &WorkflowDefinition, vocabulary: Vocabulary<'_>) -> Result<(), Vec<Fault>> {
    let tree = serde_json::to_value(definition).unwrap_or_default();
    read(&Node::from(tree), vocabulary).map(|_| ())
}

struct Reader<'a> {
    faults: Vec<Fault>,
    vocabulary: Vocabulary<'a>,
}

impl Reader<'_> {
    fn fault(&mut self, at: Option<(usize, usize)>, path: impl Into<String>, message: impl Into<String>) {
        self.faults.push(Fault { at, path: path.into(), message: message.into() });
    }

    /// The values of a table by key; unknown and double keys are faults.
    fn table<'n>(&mut self, node: &'n Node, path: &str, known: &[&str]) -> HashMap<&'n str, &'n Node> {
        let mut fields = HashMap::new();
        let NodeValue::Table(entries) = &node.value else {
            self.fault(
                node.at,
                path,
                format!("a table with {} is wanted, not {}", known.join(", "), node.kind()),
            );
            return fields;
        };
        for (key, at, value) in entries {
            if !known.contains(&key.as_str()) {
                let hint =
                    nearest(key, known).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                self.fault(
                    *at,
                    path,
                    format!("unknown key `{}`{hint}", text::shortened(&text::one_line(key), 40)),
                );
            } else if fields.insert(key.as_str(), value).is_some() {
                self.fault(*at, path, format!("key `{key}` is there twice"));
            }
        }
        fields
    }

    fn text_of(&mut self, node: Option<&&Node>, path: &str) -> Option<String> {
        let node = node?;
        match &node.value {
            NodeValue::Text(text) => Some(text.clone()),
            NodeValue::Null => None,
            _ => {
                self.fault(node.at, path, format!("a text is wanted, not {}", node.kind()));
                None
            }
        }
    }

    fn list_of_texts(&mut self, node: Option<&&Node>, path: &str) -> Vec<(String, Option<(usize, usize)>)> {
        let Some(node) = node else { return Vec::new() };
        match &node.value {
            NodeValue::Null => Vec::new(),
            NodeValue::List(list) => {
                let mut out = Vec::new();
                for item in list {
                    match &item.value {
                        NodeValue::Text(text) => out.push((text.clone(), item.at)),
                        _ => self.fault(
                            item.at,
                            path,
                            format!("a list of texts is wanted; it holds {}", item.kind()),
                        ),
                    }
                }
                out
            }
            _ => {
                self.fault(node.at, path, format!("a list is wanted, not {}", node.kind()));
                Vec::new()
            }
        }
    }

    fn number(
        &mut self,
        node: Option<&&Node>,
        path: &str,
        range: std::ops::RangeInclusive<i64>,
        otherwise: u32,
    ) -> u32 {
        let Some(node) = node else { return otherwise };
        let number = match &node.value {
            NodeValue::Null => return otherwise,
            NodeValue::Number(number) => number.as_i64(),
            _ => None,
        };
        match number.filter(|n| range.contains(n)).and_then(|n| u32::try_from(n).ok()) {
            Some(number) => number,
            None => {
                let shown = text::shortened(&node.to_json().to_string(), 30);
                self.fault(
                    node.at,
                    path,
                    format!("{shown} is not a whole number from {} to {}", range.start(), range.end()),
                );
                otherwise
            }
        }
    }

    fn checked<T>(
        &mut self,
        at: Option<(usize, usize)>,
        path: &str,
        result: Result<T, Refusal>,
    ) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(refusal) => {
                self.fault(at, path, refusal.message);
                None
            }
        }
    }

    fn workflow(&mut self, root: &Node) -> WorkflowDefinition {
        let mut definition = WorkflowDefinition { name: String::new(), board: None, steps: Vec::new() };
        let fields = self.table(root, "", WORKFLOW_KEYS);
        if !matches!(root.value, NodeValue::Table(_)) {
            return definition;
        }
        let name_at = fields.get("name").and_then(|n| n.at).or(root.at);
        match self.text_of(fields.get("name"), "name") {
            Some(name) => {
                definition.name = self.checked(name_at, "name", text::title(&name)).unwrap_or_default();
            }
            None if fields.contains_key("name") => {}
            None => self.fault(root.at, "name", "is missing; give the workflow a name"),
        }
        definition.board = self.text_of(fields.get("board"), "board");
        if let Some(board) = &definition.board {
            let at = fields.get("board").and_then(|n| n.at);
            self.checked(at, "board", text::board(board));
        }
        let Some(steps) = fields.get("steps") else {
            self.fault(root.at, "steps", "is missing; a workflow needs at least one step");
            return definition;
        };
        match &steps.value {
            NodeValue::List(list) if list.is_empty() => {
                self.fault(steps.at, "steps", "is empty; a workflow needs at least one step");
            }
            NodeValue::List(list) if list.len() > STEPS_LIMIT => {
                self.fault(
                    steps.at,
                    "steps",
                    format!("has {} steps and at most {STEPS_LIMIT} are taken", list.len()),
                );
            }
            NodeValue::List(list) => {
                let places: Vec<Option<(usize, usize)>> = list.iter().map(|step| step.at).collect();
                let mut needs_at = Vec::new();
                for (number, step) in list.iter().enumerate() {
                    let (step, at) = self.step(step, number);
                    definition.steps.push(step);
                    needs_at.push(at);
                }
                self.graph(&definition.steps, &places, &needs_at);
            }
            NodeValue::Null => self.fault(steps.at, "steps", "is empty; a workflow needs at least one step"),
            _ => self.fault(steps.at, "steps", format!("a list of steps is wanted, not {}", steps.kind())),
        }
        definition
    }

    fn step(&mut self, node: &Node, number: usize) -> (StepDefinition, Vec<Option<(usize, usize)>>) {
        let base = format!("steps[{number}]");
        let path = |field: &str| format!("{base}.{field}");
        let mut step = StepDefinition { id: format!("step_{number}"), ..StepDefinition::default() };
        let fields = self.table(node, &base, STEP_KEYS);
        if !matches!(node.value, NodeValue::Table(_)) {
            return (step, Vec::new());
        }
        let at = |field: &str| fields.get(field).and_then(|n| n.at).or(node.at);
        if let Some(id) = self.text_of(fields.get("id"), &path("id")).filter(|id| !id.is_empty()) {
            match id.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))) {
                Some(bad) => {
                    let bad = text::one_line(&bad.to_string());
                    self.fault(
                        at("id"),
                        path("id"),
                        format!("`{bad}` can't be in a step's id; letters, digits, _, - and . can"),
                    );
                }
                None => {
                    self.checked(at("id"), &path("id"), text::word("id", &id));
                }
            }
            step.id = id;
        }
        let name = self.text_of(fields.get("name"), &path("name")).filter(|n| !n.trim().is_empty());
        step.name = match name {
            Some(name) => self.checked(at("name"), &path("name"), text::title(&name)).unwrap_or_default(),
            None => step.id.clone(),
        };
        if let Some(condition) = self.text_of(fields.get("condition"), &path("condition"))
            && !condition.is_empty()
        {
            self.fault(
                at("condition"),
                path("condition"),
                "conditions are reserved and only an empty one is taken; leave it out",
            );
        }
        let needed = self.list_of_texts(fields.get("depends_on"), &path("depends_on"));
        let mut needs_at = Vec::new();
        for (id, place) in needed {
            if !step.depends_on.contains(&id) {
                step.depends_on.push(id);
                needs_at.push(place.or_else(|| at("depends_on")));
            }
        }
        step.retry_max = self.number(fields.get("retry_max"), &path("retry_max"), 0..=1_000, 0);
        step.timeout_seconds = self.number(
            fields.get("timeout_seconds"),
            &path("timeout_seconds"),
            1..=TIMEOUT_LIMIT_SECONDS,
            DEFAULT_STEP_TIMEOUT_SECONDS,
        );
        step.priority = self.number(fields.get("priority"), &path("priority"), 0..=9, 5) as u8;
        let given = self.list_of_texts(fields.get("labels"), &path("labels"));
        let given: Vec<String> = given.into_iter().map(|(label, _)| label).collect();
        step.labels = self.checked(at("labels"), &path("labels"), text::labels(&given)).unwrap_or_default();
        step.cwd = self.text_of(fields.get("cwd"), &path("cwd"));
        if let Some(review) = fields.get("review_required") {
            match review.value {
                NodeValue::Bool(yes) => step.review_required = Some(yes),
                NodeValue::Null => {}
                _ => self.fault(review.at, path("review_required"), "true or false is wanted"),
            }
        }
        self.executor(&mut step, &fields, node.at, &base);
        (step, needs_at)
    }

    fn executor(
        &mut self,
        step: &mut StepDefinition,
        fields: &HashMap<&str, &Node>,
        step_at: Option<(usize, usize)>,
        base: &str,
    ) {
        let path = |field: &str| format!("{base}.{field}");
        let at = |field: &str| fields.get(field).and_then(|n| n.at).or(step_at);
        step.tool_name = self.text_of(fields.get("tool_name"), &path("tool_name")).unwrap_or_default();
        step.agent = self.text_of(fields.get("agent"), &path("agent")).unwrap_or_default();
        step.goal = self.text_of(fields.get("goal"), &path("goal")).unwrap_or_default();
        if let Some(params) = fields.get("tool_params") {
            match params.to_json() {
                Value::Object(params) => step.tool_params = params,
                Value::Null => {}
                _ => self.fault(params.at, path("tool_params"), "a table of parameters is wanted"),
            }
        }
        match (step.tool_name.is_empty(), step.agent.is_empty()) {
            (true, true) => self.fault(
                step_at,
                base,
                "has nothing to run: name a `tool_name`, or an `agent` with a `goal`",
            ),
            (false, false) => {
                self.fault(at("agent"), base, "has both a `tool_name` and an `agent`; keep one")
            }
            (false, true) => {
                if !step.goal.is_empty() {
                    self.fault(at("goal"), path("goal"), "a goal is for an agent; this step runs a tool");
                }
                let tools = self.vocabulary.tools;
                if !tools.contains(&step.tool_name.as_str()) {
                    let hint = nearest(&step.tool_name, tools)
                        .map_or(String::new(), |n| format!("; did you mean `{n}`?"));
                    let name = text::shortened(&text::one_line(&step.tool_name), 40);
                    self.fault(
                        at("tool_name"),
                        path("tool_name"),
                        format!("there is no tool `{name}`; known are {}{hint}", tools.join(", ")),
                    );
                }
                if step.tool_name == "exec" {
                    self.exec_params(step, at("tool_params"), &path("tool_params"));
                } else {
                    for fault in (self.vocabulary.check)(&step.tool_name, &step.tool_params) {
                        self.fault(at("tool_params"), path("tool_params"), fault);
                    }
                }
            }
            (true, false) => {
                if step.goal.trim().is_empty() {
                    self.fault(at("goal"), path("goal"), "is missing; say what the agent should do");
                }
                if !step.tool_params.is_empty() {
                    self.fault(
                        at("tool_params"),
                        path("tool_params"),
                        "parameters are for a tool; this step has an agent",
                    );
                }
                if let Some(agents) = self.vocabulary.agents
                    && !agents.contains(&step.agent)
                {
                    let known = match agents.is_empty() {
                        true => "none are configured".to_owned(),
                        false => format!("configured are {}", agents.join(", ")),
                    };
                    let name = text::shortened(&text::one_line(&step.agent), 40);
                    self.fault(at("agent"), path("agent"), format!("there is no agent `{name}`; {known}"));
                }
            }
        }
        let params = serde_json::Value::Object(step.tool_params.clone());
        let mut strings = vec![step.goal.as_str()];
        collect_strings(&params, &mut strings);
        let malformed: Vec<String> = strings.iter().flat_map(|s| template::references(s).1).collect();
        for whole in malformed {
            self.fault(
                step_at,
                base,
                format!(
                    "`{}` is no reference; write ${{steps.ID.result}} or ${{steps.ID.error}}",
                    text::one_line(&whole)
                ),
            );
        }
    }

    fn exec_params(&mut self, step: &StepDefinition, at: Option<(usize, usize)>, path: &str) {
        let good = match step.tool_params.get("command") {
            Some(Value::String(line)) => !line.trim().is_empty(),
            Some(Value::Array(argv)) => !argv.is_empty() && argv.iter().all(Value::is_string),
            _ => false,
        };
        if !good {
            self.fault(at, path, "exec needs `command`: a shell line, or a list of program and arguments");
        }
        if step.tool_params.get("cwd").is_some_and(|cwd| !cwd.is_string()) {
            self.fault(at, path, "the `cwd` of exec is a folder, as a text");
        }
        let is_value = |value: &Value| matches!(value, Value::String(_) | Value::Number(_) | Value::Null);
        let env = step.tool_params.get("env");
        if env.is_some_and(|env| !env.as_object().is_some_and(|env| env.values().all(is_value))) {
            self.fault(at, path, "the `env` of exec is a table of names and texts");
        }
        if holds_nul(&Value::Object(step.tool_params.clone())) {
            self.fault(at, path, "a NUL character is in here, which no program can be given; remove it");
        }
        for key in step.tool_params.keys() {
            if !["command", "cwd", "env"].contains(&key.as_str()) {
                let key = text::shortened(&text::one_line(key), 40);
                self.fault(at, path, format!("exec does not know `{key}`; it takes command, cwd, env"));
            }
        }
    }

    /// Doubles, missing dependencies, cycles, and references to steps that do not come before.
    fn graph(
        &mut self,
        steps: &[StepDefinition],
        places: &[Option<(usize, usize)>],
        needs_at: &[Vec<Option<(usize, usize)>>],
    ) {
        let mut index: HashMap<&str, usize> = HashMap::new();
        for (number, step) in steps.iter().enumerate() {
            if let Some(first) = index.get(step.id.as_str()) {
                let message = format!("`{}` is the id of steps[{first}] already; ids must differ", step.id);
                self.fault(places[number], format!("steps[{number}].id"), message);
            } else {
                index.insert(&step.id, number);
            }
        }
        let mut needs: Vec<Vec<usize>> = Vec::with_capacity(steps.len());
        for (number, step) in steps.iter().enumerate() {
            let mut found = Vec::new();
            for (place, id) in step.depends_on.iter().enumerate() {
                match index.get(id.as_str()) {
                    Some(on) => found.push(*on),
                    None => {
                        let ids: Vec<&str> = steps.iter().map(|s| s.id.as_str()).collect();
                        let hint = nearest(id, &ids)
                            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                        let shown = text::shortened(&text::one_line(id), 40);
                        self.fault(
                            needs_at[number][place],
                            format!("steps[{number}].depends_on"),
                            format!("there is no step `{shown}`{hint}"),
                        );
                    }
                }
            }
            needs.push(found);
        }
        let nodes: Vec<usize> = (0..steps.len()).collect();
        let cycles = graph::cycles(&nodes, |n| needs[n].clone());
        for cycle in &cycles {
            let path: Vec<&str> = cycle.iter().map(|n| steps[*n].id.as_str()).collect();
            self.fault(
                places[cycle[0]],
                "steps",
                format!("a cycle: {} (each needs the next)", path.join(" → ")),
            );
        }
        if cycles.is_empty() {
            self.references(steps, places, &index, &needs);
        }
    }

    fn references(
        &mut self,
        steps: &[StepDefinition],
        places: &[Option<(usize, usize)>],
        index: &HashMap<&str, usize>,
        needs: &[Vec<usize>],
    ) {
        for (number, step) in steps.iter().enumerate() {
            let params = Value::Object(step.tool_params.clone());
            let mut strings = vec![step.goal.as_str()];
            collect_strings(&params, &mut strings);
            let referred: HashSet<String> =
                strings.iter().flat_map(|s| template::references(s).0).map(|r| r.step).collect();
            if referred.is_empty() {
                continue;
            }
            let mut before: HashSet<usize> = HashSet::new();
            let mut open = needs[number].clone();
            while let Some(next) = open.pop() {
                if before.insert(next) {
                    open.extend(&needs[next]);
                }
            }
            let mut referred: Vec<String> = referred.into_iter().collect();
            referred.sort();
            for id in referred {
                match index.get(id.as_str()) {
                    Some(on) if before.contains(on) => {}
                    Some(_) => self.fault(
                        places[number],
                        format!("steps[{number}]"),
                        format!("it uses the result of `{id}`, which does not come before it; add `{id}` to depends_on"),
                    ),
                    None => self.fault(
                        places[number],
                        format!("steps[{number}]"),
                        format!("it uses the result of `{}`, and there is no such step", text::one_line(&id)),
                    ),
                }
            }
        }
    }
}

fn holds_nul(value: &Value) -> bool {
    let mut strings = Vec::new();
    collect_strings(value, &mut strings);
    strings.iter().any(|text| text.contains('\0'))
}

fn collect_strings<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Array(list) => list.iter().for_each(|item| collect_strings(item, out)),
        Value::Object(table) => table.values().for_each(|item| collect_strings(item, out)),
        _ => {}
    }
}

/// The known word that is nearest to `word`, if one is near enough to be what was meant.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if word.chars().count() > 40 || known.len() > 500 {
        return None;
    }
    let word = word.to_lowercase();
    known
        .iter()
        .map(|k| (distance(&word, &k.to_lowercase()), *k))
        .filter(|(d, k)| *d <= 1 + k.chars().count() / 4)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let cost = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
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
mod tests {
    use super::*;

    const TOOLS: &[&str] = &["exec", "clarify", "read_file"];

    fn check(value: Value) -> Result<WorkflowDefinition, Vec<String>> {
        let agents = vec!["claude".to_owned()];
        let vocabulary = Vocabulary { tools: TOOLS, agents: Some(&agents), check: any_params };
        read(&Node::from(value), vocabulary).map_err(|faults| faults.iter().map(Fault::to_string).collect())
    }

    fn exec(id: &str, needs: &[&str]) -> Value {
        json!({ "id": id, "tool_name": "exec", "tool_params": { "command": "true" }, "depends_on": needs })
    }

    fn faults(steps: Vec<Value>) -> Vec<String> {
        check(json!({ "name": "w", "steps": steps })).unwrap_err()
    }

    #[test]
    fn defaults_of_a_step() {
        let workflow = check(json!({ "name": "w", "steps": [
            { "tool_name": "exec", "tool_params": { "command": ["true"] } },
            { "agent": "claude", "goal": "go on from ${steps.step_0.result}", "depends_on": ["step_0"] },
        ] }))
        .unwrap();
        assert_eq!(workflow.steps[0].id, "step_0");
        assert_eq!(workflow.steps[1].id, "step_1");
        assert_eq!((workflow.steps[0].retry_max, workflow.steps[0].timeout_seconds), (0, 300));
    }

    #[test]
    fn an_empty_graph_is_refused() {
        assert!(faults(vec![])[0].contains("at least one step"));
        assert!(check(json!({ "name": "w" })).unwrap_err()[0].contains("at least one step"));
        assert!(check(json!([1])).is_err() && check(json!(null)).is_err());
    }

    #[test]
    fn doubles_missing_steps_and_cycles_are_told_together() {
        let found =
            faults(vec![exec("a", &["c"]), exec("a", &[]), exec("b", &["a", "nope"]), exec("c", &["b"])]);
        assert_eq!(found.len(), 3, "{found:#?}");
        assert!(found[0].contains("`a` is the id of steps[0] already"));
        assert!(found[1].contains("there is no step `nope`"));
        assert!(found[2].contains("a → c → b → a"), "{}", found[2]);
    }

    #[test]
    fn a_step_that_needs_itself_is_a_cycle() {
        assert!(faults(vec![exec("a", &["a"])])[0].contains("a → a"));
    }

    #[test]
    fn bad_values_and_unknown_keys_are_refused_with_a_hint() {
        let found = faults(vec![json!({
            "id": "a", "tool_name": "exce", "tool_params": { "command": "true" }, "retry_max": -1,
            "timeout_seconds": 0, "condition": "x > 1", "retrymax": 2, "priority": 10
        })]);
        let all = found.join("\n");
        for part in [
            "did you mean `exec`?",
            "did you mean `retry_max`?",
            "-1 is not",
            "0 is not",
            "reserved",
            "10 is not",
        ] {
            assert!(all.contains(part), "{part} in\n{all}");
        }
    }

    #[test]
    fn an_empty_condition_is_taken() {
        assert!(
            check(json!({ "name": "w", "steps": [
            { "tool_name": "exec", "tool_params": { "command": "true" }, "condition": "" }
        ] }))
            .is_ok()
        );
    }

    #[test]
    fn references_must_point_at_steps_before() {
        let uses = |needs: &[&str]| json!({ "id": "b", "tool_name": "exec", "tool_params": { "command": "echo ${steps.a.result}" }, "depends_on": needs });
        assert!(faults(vec![exec("a", &[]), uses(&[])])[0].contains("does not come before it"));
        assert!(
            check(json!({ "name": "w", "steps": [exec("a", &[]), exec("m", &["a"]), uses(&["m"])] })).is_ok()
        );
        let broken =
            json!({ "id": "b", "tool_name": "exec", "tool_params": { "command": "echo ${steps.a.out}" } });
        assert!(faults(vec![exec("a", &[]), broken])[0].contains("is no reference"));
    }

    #[test]
    fn agents_and_tools_exclude_each_other() {
        let both = json!({ "tool_name": "exec", "tool_params": { "command": "true" }, "agent": "claude", "goal": "x" });
        assert!(faults(vec![both])[0].contains("keep one"));
        assert!(faults(vec![json!({ "id": "x" })])[0].contains("nothing to run"));
        assert!(faults(vec![json!({ "agent": "nobody", "goal": "x" })])[0].contains("no agent `nobody`"));
        assert!(faults(vec![json!({ "agent": "claude" })])[0].contains("say what the agent should do"));
    }

    #[test]
    fn a_stored_definition_passes_again() {
        let workflow = check(json!({ "name": "w", "steps": [exec("a", &[]), exec("b", &["a"])] })).unwrap();
        assert_eq!(recheck(&workflow, Vocabulary { tools: TOOLS, agents: None, check: any_params }), Ok(()));
    }
}
