//! Tools of one's own: programs that the configuration names, with a JSON schema for their calls. The parameters
//! of a call go to the program's standard input as JSON, and what it prints is the result. They stand in the
//! registry beside those of the house.

use jsonschema::Validator;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::context::ToolContext;
use super::error::{ErrorClass, ToolError};
use super::shape::Risk;
use super::waiting::Waiting;
use crate::domain::template;
use crate::domain::text::{one_line, shortened};
use crate::process::inside::{AGENT_VARIABLE, RUN_VARIABLE, TASK_VARIABLE};
use crate::process::output::Stream;
use crate::process::{Environment, Finished, Launch, Stopper};

/// The most that is read of a result, in bytes.
pub const RESULT_LIMIT: usize = 1024 * 1024;
/// How long a program that ran out of time has to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// How long it has for that when nobody reads its result any more.
const GRACE_WITHOUT_CALLER: Duration = Duration::from_secs(1);
/// The variable that tells a program which tool it is.
pub const TOOL_VARIABLE: &str = "ANDON_TOOL";

/// A tool of the user's own.
#[derive(Debug, Clone)]
pub struct OwnTool {
    /// Its name.
    pub name: String,
    /// What it is for, as a model reads it.
    pub description: String,
    /// The JSON schema of its parameters.
    pub schema: Value,
    /// How dangerous it is.
    pub risk: Risk,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Names of our own variables that it gets.
    pub env: Vec<String>,
    /// How long one call may take.
    pub timeout: Duration,
    validator: Validator,
}

impl OwnTool {
    /// A tool that runs a program. A schema that names properties and says nothing of others takes no others.
    ///
    /// # Errors
    /// What is wrong with the schema.
    pub fn new(name: &str, schema: Value, command: Vec<String>) -> Result<Self, String> {
        let mut schema = schema;
        let Some(fields) = schema.as_object_mut() else {
            return Err("a schema is a table such as { type = \"object\" }".to_owned());
        };
        match fields.get("type") {
            None => {
                fields.insert("type".to_owned(), json!("object"));
            }
            Some(Value::String(object)) if object == "object" => {}
            Some(other) => return Err(format!("the parameters of a call are an `object`, not {other}")),
        }
        let is_open = ["additionalProperties", "unevaluatedProperties", "patternProperties", "$ref", "allOf"];
        if fields.contains_key("properties") && !is_open.iter().any(|key| fields.contains_key(*key)) {
            fields.insert("additionalProperties".to_owned(), json!(false));
        }
        let validator = jsonschema::validator_for(&schema).map_err(|error| {
            let place = error.instance_path().to_string();
            let message = shortened(&one_line(&error.to_string()), 200);
            match place.is_empty() {
                true => format!("this is no JSON schema: {message}"),
                false => format!("this is no JSON schema: {place}: {message}"),
            }
        })?;
        Ok(Self {
            name: name.to_owned(),
            description: String::new(),
            schema,
            risk: Risk::Exec,
            command,
            env: Vec::new(),
            timeout: Duration::from_secs(60),
            validator,
        })
    }

    /// All that is wrong with the parameters of a call.
    pub fn faults(&self, params: &Map<String, Value>) -> Vec<String> {
        let params = Value::Object(params.clone());
        self.validator.iter_errors(&params).map(|error| fault(&error)).collect()
    }

    /// As [`OwnTool::faults`], for a step: a text that refers to another step's result counts as right, whatever
    /// is wanted, since what it will be is not known yet.
    pub fn faults_of_step(&self, params: &Map<String, Value>) -> Vec<String> {
        let params = Value::Object(params.clone());
        let is_known = |error: &jsonschema::ValidationError<'_>| {
            let place = params.pointer(&error.instance_path().to_string());
            place.and_then(Value::as_str).is_none_or(|text| template::references(text).0.is_empty())
        };
        self.validator.iter_errors(&params).filter(is_known).map(|error| fault(&error)).collect()
    }

    /// Refuses parameters that are not by its schema, with all faults.
    pub fn check(&self, params: &Map<String, Value>) -> Result<(), ToolError> {
        let faults = self.faults(params);
        match faults.is_empty() {
            true => Ok(()),
            false => Err(ToolError::invalid(
                "invalid_params",
                format!(
                    "{} can't be called so: {}; its schema says what it takes",
                    self.name,
                    faults.join("; ")
                ),
            )
            .with_detail(json!({ "faults": faults, "schema": self.schema }))),
        }
    }

    /// What the program reads for a call.
    pub fn stdin(&self, params: &Map<String, Value>) -> Vec<u8> {
        let mut text = Value::Object(params.clone()).to_string().into_bytes();
        text.push(b'\n');
        text
    }

    /// Carries out one call whose parameters were checked, and waits for its end: JSON where the program printed
    /// JSON, else its text.
    pub fn call(&self, ctx: &ToolContext, params: &Map<String, Value>) -> Result<Value, ToolError> {
        let launch = self.launch(ctx, params);
        // On a thread of its own, since the caller may be inside a runtime.
        let begun = Instant::now();
        let ended = std::thread::scope(|scope| scope.spawn(|| self.run(launch, &ctx.waiting)).join());
        let (finished, stdout) =
            ended.unwrap_or_else(|_| Err(self.failed("broke while it was run; see andon's own log")))?;
        let exit = finished.exit;
        let how = match (finished.stopped, exit.code, exit.signal) {
            (true, ..) if begun.elapsed() < self.timeout => "was stopped with its caller".to_owned(),
            (true, ..) => format!("was stopped, since its {} s were over", self.timeout.as_secs()),
            (_, Some(0), _) => return self.result(&stdout),
            (_, Some(code), _) => format!("exit {code}"),
            (_, None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
        };
        let message = match exit.stderr_last_line.as_str() {
            "" => how,
            last => format!("{how}: {last}"),
        };
        Err(self.failed(&message).with_detail(json!({ "exit_code": exit.code, "stdout": exit.stdout_head })))
    }

    fn launch(&self, ctx: &ToolContext, params: &Map<String, Value>) -> Launch {
        let mut environment = Environment::allowed();
        for name in &self.env {
            environment.pass(name);
        }
        environment
            .set(TOOL_VARIABLE, &self.name)
            .set_os("ANDON_DB", ctx.engine.path().as_os_str())
            .pass("ANDON_CONFIG");
        // A run's session is that of its task, whatever the caller calls it.
        let of_task = ctx.inside.as_ref().map(|inside| format!("task:{}", inside.task));
        if let Some(session) = of_task.or_else(|| ctx.session.clone()) {
            environment.set("ANDON_SESSION", session);
        }
        if let Some(board) = &ctx.board {
            environment.set("ANDON_BOARD", board);
        }
        if let Some(inside) = &ctx.inside {
            environment
                .set(RUN_VARIABLE, inside.run.as_str())
                .set(TASK_VARIABLE, inside.task.as_str())
                .set(AGENT_VARIABLE, ctx.actor.name());
        }
        let mut launch = Launch::new(self.command.iter().map(OsString::from), environment);
        launch.cwd = Some(ctx.cwd.clone()).filter(|folder| folder != Path::new(""));
        launch.stdin = Some(self.stdin(params));
        launch
    }

    fn run(&self, launch: Launch, waiting: &Waiting) -> Result<(Finished, Vec<u8>), ToolError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| self.failed(&format!("can't be run now: {error}")))?;
        runtime.block_on(async {
            let not_started =
                |error| ToolError::new(ErrorClass::Failed, "not_started", format!("{}: {error}", self.name));
            // Listed before it is there: whoever stops all of them must not come in between.
            let stopper = Stopper::new();
            let _listed = Listed::new(&stopper);
            let child = launch.spawn_stopped_by(stopper.clone()).map_err(not_started)?;
            let mut stdout = Vec::new();
            let finished = {
                let finish = child.finish(|stream, bytes| {
                    if stream == Stream::Stdout {
                        // One byte more than fits tells that it does not.
                        let room = (RESULT_LIMIT + 1).saturating_sub(stdout.len());
                        stdout.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    }
                });
                tokio::pin!(finish);
                tokio::select! {
                    finished = &mut finish => finished,
                    () = tokio::time::sleep(self.timeout) => {
                        stopper.stop(GRACE);
                        finish.await
                    }
                    () = waiting.until_left() => {
                        stopper.stop(GRACE_WITHOUT_CALLER);
                        finish.await
                    }
                }
            };
            Ok((finished, stdout))
        })
    }

    fn result(&self, stdout: &[u8]) -> Result<Value, ToolError> {
        if stdout.len() > RESULT_LIMIT {
            let message =
                format!("printed more than {RESULT_LIMIT} bytes; let it write a file and print its name");
            return Err(self.failed(&message));
        }
        let text = String::from_utf8_lossy(stdout);
        let text = text.trim_end_matches(['\r', '\n']);
        Ok(serde_json::from_str(text).unwrap_or_else(|_| json!(text)))
    }

    fn failed(&self, how: &str) -> ToolError {
        ToolError::failed("tool_failed", format!("{}: {how}", self.name))
    }
}

/// The programs of tools that run in this process now.
static RUNNING: Mutex<Vec<Stopper>> = Mutex::new(Vec::new());

/// Stops the programs of all tools that run in this process now; says how many there were. For a process that is
/// to end: its programs are in groups of their own, so no terminal's ctrl-c reaches them.
pub fn stop_all() -> usize {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.iter().for_each(|stopper| stopper.stop(GRACE));
    running.len()
}

/// Keeps a program in the list while it runs.
struct Listed<'s>(&'s Stopper);

impl<'s> Listed<'s> {
    fn new(stopper: &'s Stopper) -> Self {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(stopper.clone());
        Self(stopper)
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| !other.is(self.0));
    }
}

fn fault(error: &jsonschema::ValidationError<'_>) -> String {
    let message = shortened(&one_line(&error.to_string()), 200);
    match error.instance_path().to_string().trim_start_matches('/') {
        "" => message,
        place => format!("`{}` {message}", place.replace('/', ".")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(schema: Value) -> Result<OwnTool, String> {
        OwnTool::new("count", schema, vec!["wc".to_owned()])
    }

    fn params(params: Value) -> Map<String, Value> {
        params.as_object().unwrap().clone()
    }

    #[test]
    fn a_schema_must_be_one_and_about_an_object() {
        assert!(tool(json!([])).is_err());
        assert!(tool(json!({ "type": "string" })).unwrap_err().contains("not \"string\""));
        let wrong = tool(json!({ "properties": { "n": { "type": "intger" } } })).unwrap_err();
        assert!(wrong.contains("no JSON schema") && wrong.contains("intger"), "{wrong}");
        // Nothing is fetched to understand a schema.
        assert!(tool(json!({ "$ref": "https://example.com/schema.json" })).is_err());
        assert!(tool(json!({})).unwrap().faults(&params(json!({ "any": 1 }))).is_empty());
    }

    #[test]
    fn all_faults_of_a_call_are_told_and_unknown_fields_are_faults() {
        let tool = tool(json!({
            "properties": { "n": { "type": "integer", "minimum": 1 }, "deep": { "items": { "type": "string" } } },
            "required": ["n"],
        }))
        .unwrap();
        assert!(tool.faults(&params(json!({ "n": 1, "deep": ["x"] }))).is_empty());
        let faults = tool.faults(&params(json!({ "deep": [1], "odd": 2 })));
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults.iter().any(|fault| fault.starts_with("`deep.0` 1 is not of type")), "{faults:?}");
    }

    #[test]
    fn what_a_step_refers_to_is_not_known_yet() {
        let tool = tool(json!({ "properties": { "n": { "type": "integer" } } })).unwrap();
        assert!(tool.faults_of_step(&params(json!({ "n": "${steps.a.result}" }))).is_empty());
        assert_eq!(tool.faults_of_step(&params(json!({ "n": "three" }))).len(), 1);
    }
}
