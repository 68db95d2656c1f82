//! Reads a workflow and its steps from a tree: keys, values, executors. It never stops at a fault.

use serde_json::Value;
use std::collections::HashMap;

use super::node::{Node, NodeValue};
use super::{
    DEFAULT_STEP_TIMEOUT_SECONDS, Fault, STEPS_LIMIT, StepDefinition, TIMEOUT_LIMIT_SECONDS, Vocabulary,
    WorkflowDefinition, nearest,
};
use crate::domain::refusal::Refusal;
use crate::domain::{template, text};

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

pub(super) struct Reader<'a> {
    faults: Vec<Fault>,
    vocabulary: Vocabulary<'a>,
}

impl Reader<'_> {
    pub(super) fn fault(
        &mut self,
        at: Option<(usize, usize)>,
        path: impl Into<String>,
        message: impl Into<String>,
    ) {
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
                    for fault in self.vocabulary.check.faults(&step.tool_name, &step.tool_params) {
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
}

pub(super) fn collect_strings<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Array(list) => list.iter().for_each(|item| collect_strings(item, out)),
        Value::Object(table) => table.values().for_each(|item| collect_strings(item, out)),
        _ => {}
    }
}

fn holds_nul(value: &Value) -> bool {
    let mut strings = Vec::new();
    collect_strings(value, &mut strings);
    strings.iter().any(|text| text.contains('\0'))
}
