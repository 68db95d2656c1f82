//! The registry: which tools there are, those of the house and those of one's own, and one way to call each.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::ToolContext;
use super::error::ToolError;
use super::own::OwnTool;
use super::params::Params;
use super::shape::{Kind, Risk, Shape};
use super::web::address::Allowed;
use super::{clarify, exec, files, names, notify, permission, task, timer, todo, wait_for, web, workflow};
use crate::domain::definition::{CheckParams, Vocabulary, nearest};
use crate::domain::template;
use crate::domain::text::{one_line, shortened};
use crate::domain::wait::check_question;

/// The tools of the house.
const SHAPES: &[&Shape] = &[
    &exec::EXEC,
    &files::READ,
    &files::WRITE,
    &clarify::CLARIFY,
    &task::TASK,
    &workflow::WORKFLOW,
    &wait_for::WAIT_FOR,
    &timer::TIMER,
    &todo::TODO,
    &notify::NOTIFY,
    &web::WEB_FETCH,
];

const TODO_IS_NO_STEP: &str = "a todo is for thinking and can't be a step; use the tool `task`, or another";

/// The tools, and what names their calls may use.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    agents: Option<Vec<String>>,
    own: Arc<[OwnTool]>,
    web: Arc<[Allowed]>,
}

/// One tool of a registry.
#[derive(Debug, Clone, Copy)]
pub enum Tool<'r> {
    /// One of the house.
    House(&'static Shape),
    /// One of the user's own.
    Own(&'r OwnTool),
}

impl Tool<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Tool::House(shape) => shape.name,
            Tool::Own(own) => &own.name,
        }
    }

    /// How dangerous it is.
    pub fn risk(&self) -> Risk {
        match self {
            Tool::House(shape) => shape.risk,
            Tool::Own(own) => own.risk,
        }
    }

    /// Refuses parameters that it can't take.
    fn check(&self, params: &Map<String, Value>) -> Result<(), ToolError> {
        match self {
            Tool::House(shape) => Params::read(shape, params).map(|_| ()),
            Tool::Own(own) => own.check(params),
        }
    }

    /// What it is for and what it can do, as a model reads it.
    pub fn description(&self) -> String {
        match self {
            Tool::House(shape) => shape.description(),
            Tool::Own(own) => own.description.clone(),
        }
    }

    /// The JSON schema of its parameters.
    pub fn schema(&self) -> Value {
        match self {
            Tool::House(shape) => shape.schema(),
            Tool::Own(own) => own.schema.clone(),
        }
    }

    /// The tool as a model is told of it.
    fn describe(&self) -> Value {
        json!({
            "name": self.name(),
            "description": self.description(),
            "risk": self.risk().as_str(),
            "input_schema": self.schema(),
        })
    }
}

/// One line in answer to one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The reply as JSON on one line, without the line break.
    pub line: String,
    /// 0, or the exit code of the error.
    pub exit_code: u8,
}

/// All that is wrong with the parameters of a step that uses a tool of the house. A text that refers to another step's result counts
/// as right, whatever is wanted: what it will be is not known yet.
fn faults_of_step(shape: &Shape, params: &Map<String, Value>) -> Vec<String> {
    if shape.name == todo::TODO.name {
        return vec![TODO_IS_NO_STEP.to_owned()];
    }
    let mut known = params.clone();
    for (key, value) in &mut known {
        let refers = value.as_str().is_some_and(|text| !template::references(text).0.is_empty());
        if let (true, Some(Kind::Word([first, ..]))) = (refers, shape.field(key).map(|field| field.kind)) {
            *value = Value::from(*first);
        }
    }
    let mut faults = Params::faults(shape, &known);
    if shape.name == clarify::CLARIFY.name && known.contains_key("expires_in_seconds") {
        faults.push(
            "`expires_in_seconds` is for calls from inside a run; a step waits until it is answered"
                .to_owned(),
        );
    }
    if shape.name == clarify::CLARIFY.name
        && let Ok(clarify) = Params::read(shape, params)
    {
        let question = clarify.text_or_empty("question");
        let options = clarify.texts("options").unwrap_or_default();
        let is_known = |text: &String| template::references(text).0.is_empty();
        if is_known(&question) && options.iter().all(is_known) {
            faults.extend(check_question(&question, &options).err().map(|refusal| refusal.to_string()));
        }
    }
    faults
}

impl Registry {
    /// A registry that checks names of agents against these; `None` = they are not known.
    pub fn new(agents: Option<Vec<String>>) -> Self {
        Self { agents, own: Arc::default(), web: Arc::default() }
    }

    /// The same registry with tools of the user's own. One that is called like a tool of the house is not reached.
    pub fn with_own(mut self, own: impl IntoIterator<Item = OwnTool>) -> Self {
        self.own = own.into_iter().collect();
        self
    }

    /// The same registry, whose `web_fetch` may go to these though they are not public.
    pub fn allowing(mut self, web: impl IntoIterator<Item = Allowed>) -> Self {
        self.web = web.into_iter().collect();
        self
    }

    /// All tools.
    pub fn tools(&self) -> impl Iterator<Item = Tool<'_>> {
        SHAPES.iter().map(|shape| Tool::House(shape)).chain(self.own.iter().map(Tool::Own))
    }

    /// The tools of the house.
    pub fn shapes(&self) -> &'static [&'static Shape] {
        SHAPES
    }

    /// The names of all tools.
    pub fn names(&self) -> Vec<&str> {
        names().iter().copied().chain(self.own.iter().map(|own| own.name.as_str())).collect()
    }

    /// How dangerous each tool is.
    pub fn risks(&self) -> BTreeMap<String, Risk> {
        self.tools().map(|tool| (tool.name().to_owned(), tool.risk())).collect()
    }

    /// Hands over what definitions of workflows may name.
    pub fn with_vocabulary<T>(&self, read: impl FnOnce(Vocabulary<'_>) -> T) -> T {
        read(Vocabulary { tools: &self.names(), agents: self.agents.as_deref(), check: self })
    }

    /// All tools with their schemas, as a model is told of them.
    pub fn describe(&self) -> Value {
        Value::Array(self.tools().map(|tool| tool.describe()).collect())
    }

    /// The tool with this name.
    pub fn find(&self, name: &str) -> Result<Tool<'_>, ToolError> {
        self.tools().find(|tool| tool.name() == name).ok_or_else(|| {
            let known = self.names();
            let hint =
                nearest(name, &known).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let shown = shortened(&one_line(name), 40);
            let message = format!("there is no tool `{shown}`; known are {}{hint}", known.join(", "));
            ToolError::invalid("unknown_tool", message).with_detail(json!({ "tools": known }))
        })
    }

    /// The program that carries out a step's tool, with what it reads; `None` for a tool that is no program.
    pub fn program_of_step(
        &self,
        name: &str,
        params: &Map<String, Value>,
    ) -> Result<Option<(&OwnTool, Vec<u8>)>, ToolError> {
        match self.find(name)? {
            Tool::House(_) => Ok(None),
            Tool::Own(own) => own.check(params).map(|()| Some((own, own.stdin(params)))),
        }
    }

    /// Carries out one call, `{"tool": NAME, …parameters}`. A `correlation_id` is for the reply and ignored here.
    pub fn call(&self, ctx: &ToolContext, call: &Map<String, Value>) -> Result<Value, ToolError> {
        let tool = match call.get("tool") {
            Some(Value::String(name)) => self.find(name)?,
            _ => {
                let known = self.names().join(", ");
                return Err(ToolError::invalid(
                    "missing_tool",
                    format!("a call needs `tool`: one of {known}"),
                ));
            }
        };
        let rest = call.iter().filter(|(key, _)| !["tool", "correlation_id"].contains(&key.as_str()));
        let params: Map<String, Value> = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
        self.call_tool(ctx, tool, &params)
    }

    /// Carries out one call of the tool with this name.
    pub fn call_named(
        &self,
        ctx: &ToolContext,
        name: &str,
        params: &Map<String, Value>,
    ) -> Result<Value, ToolError> {
        self.call_tool(ctx, self.find(name)?, params)
    }

    fn call_tool(
        &self,
        ctx: &ToolContext,
        tool: Tool<'_>,
        params: &Map<String, Value>,
    ) -> Result<Value, ToolError> {
        tool.check(params)?;
        permission::obtain(ctx, tool.name(), tool.risk(), params)?;
        self.run(ctx, tool, params)
    }

    /// Carries out the tool of a workflow's step and gives its result as text. `exec` and `clarify` have a
    /// process and a question of their own as steps, and are not carried out here.
    pub fn call_step(
        &self,
        name: &str,
        params: &Map<String, Value>,
        ctx: &ToolContext,
    ) -> Result<String, ToolError> {
        match name {
            "exec" | "clarify" => {
                let message = format!("a step's {name} is carried out by its executor, not by the registry");
                Err(ToolError::invalid("not_a_plain_step", message))
            }
            // Its run ends and is parked; the next one has the outcome.
            "wait_for" => {
                let mut params = params.clone();
                params.insert("wait".to_owned(), Value::from(false));
                let told = self.run(ctx, Tool::House(&wait_for::WAIT_FOR), &params)?;
                Ok(told["outcome"].to_string())
            }
            "todo" => Err(ToolError::invalid("not_a_step", TODO_IS_NO_STEP)),
            _ => Ok(as_text(name, self.run(ctx, self.find(name)?, params)?)),
        }
    }

    /// Reads one line of JSON, carries out the call in it, and answers with one line.
    pub fn answer(&self, ctx: &ToolContext, line: &str) -> Answer {
        let (result, correlation) = match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(call)) => (self.call(ctx, &call), call.get("correlation_id").cloned()),
            Ok(_) => {
                let message = "a call is a JSON object such as {\"tool\":\"task\",\"action\":\"list\"}";
                (Err(ToolError::invalid("invalid_json", message)), None)
            }
            Err(error) => {
                let message = format!("the call is not JSON: {error}");
                (Err(ToolError::invalid("invalid_json", message)), None)
            }
        };
        let exit_code = result.as_ref().err().map_or(0, |error| error.class.exit_code());
        Answer { line: reply(&result, correlation.as_ref()).to_string(), exit_code }
    }

    fn run(
        &self,
        ctx: &ToolContext,
        tool: Tool<'_>,
        params: &Map<String, Value>,
    ) -> Result<Value, ToolError> {
        let shape = match tool {
            Tool::House(shape) => shape,
            Tool::Own(own) => return own.check(params).and_then(|()| own.call(ctx, params)),
        };
        let params = Params::read(shape, params)?;
        match shape.name {
            "exec" => exec::call(&ctx.cwd, &ctx.waiting, &params),
            "read_file" => files::read(&ctx.folder()?, &params),
            "write_file" => files::write(&ctx.folder()?, &params),
            "clarify" => clarify::call(ctx, &params),
            "task" => task::call(ctx, self.agents.as_deref(), &params).map_err(|error| {
                match (error.code, params.text("task_id")) {
                    ("not_found", Some(which)) => todo::if_it_is_a_todo(ctx, &which, error),
                    _ => error,
                }
            }),
            "wait_for" => wait_for::call(ctx, &params),
            "timer" => timer::call(ctx, &params),
            "todo" => todo::call(ctx, &params),
            "notify" => notify::call(ctx, &params),
            "web_fetch" => web::call(&self.web, &params),
            _ => self.with_vocabulary(|vocabulary| workflow::call(ctx, vocabulary, &params)),
        }
    }
}

impl CheckParams for Registry {
    fn faults(&self, tool: &str, params: &Map<String, Value>) -> Vec<String> {
        match self.find(tool) {
            Ok(Tool::House(shape)) => faults_of_step(shape, params),
            Ok(Tool::Own(own)) => own.faults_of_step(params),
            // That there is none is told by whoever knows the names.
            Err(_) => Vec::new(),
        }
    }
}

/// A reply: `{"ok":true,"result":…}` or `{"ok":false,"error":{"code","message","detail"?}}`, with the call's
/// correlation id where it had one.
pub fn reply(result: &Result<Value, ToolError>, correlation: Option<&Value>) -> Value {
    let mut reply = match result {
        Ok(value) => json!({ "ok": true, "result": value }),
        Err(error) => json!({ "ok": false, "error": error.to_json() }),
    };
    if let Some(id) = correlation {
        reply["correlation_id"] = id.clone();
    }
    reply
}

/// What a step keeps as its result: the text of a file, a sentence about a write, else the JSON.
pub(super) fn as_text(name: &str, result: Value) -> String {
    match (name, &result) {
        ("web_fetch", result) => result["text"].as_str().unwrap_or_default().to_owned(),
        ("read_file", result) => result["content"].as_str().unwrap_or_default().to_owned(),
        ("write_file", result) => {
            format!("wrote {} bytes to {}", result["bytes"], result["path"].as_str().unwrap_or_default())
        }
        (_, result) => result.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_described_and_its_actions_know_only_declared_fields() {
        let mut listed: Vec<&str> = SHAPES.iter().map(|shape| shape.name).collect();
        assert_eq!(listed.len(), names().len());
        listed.retain(|name| !names().contains(name));
        assert!(listed.is_empty(), "{listed:?}");
        for shape in SHAPES {
            assert!(!shape.actions.is_empty() && !shape.about.is_empty());
            let mut used: Vec<&str> = Vec::new();
            for action in shape.actions {
                for name in action.needs.iter().chain(action.takes) {
                    assert!(shape.field(name).is_some(), "{} {} {name}", shape.name, action.name);
                    used.push(name);
                }
            }
            for field in shape.fields {
                assert!(used.contains(&field.name), "{}: nothing takes {}", shape.name, field.name);
            }
            let schema = shape.schema();
            assert_eq!(schema["additionalProperties"], json!(false));
            for required in schema["required"].as_array().unwrap() {
                assert!(schema["properties"].get(required.as_str().unwrap()).is_some());
            }
        }
    }

    #[test]
    fn a_reply_is_one_object_with_the_callers_correlation_id() {
        let fault = Err(ToolError::invalid("unknown_tool", "no"));
        let told = reply(&fault, Some(&json!("c-1"))).to_string();
        assert_eq!(
            told,
            r#"{"ok":false,"error":{"code":"unknown_tool","message":"no"},"correlation_id":"c-1"}"#
        );
        assert_eq!(reply(&Ok(json!(1)), None).to_string(), r#"{"ok":true,"result":1}"#);
        assert!(Registry::new(None).find("taks").unwrap_err().message.contains("did you mean `task`?"));
    }
}
