//! What a spec means: which program is to be run with which arguments, or which tool is to be called.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::papers;
use super::settings::Settings;
use crate::domain::template::{self, Reference};
use crate::domain::{Program, Work};
use crate::engine::RunSpec;

/// Which part of the output is the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultRule {
    /// The beginning of stdout, as of a command.
    Head,
    /// The end of stdout, as of an agent that tells what it does and then sums up.
    Tail,
}

/// A program to run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProgramPlan {
    pub argv: Vec<String>,
    pub folder: Option<PathBuf>,
    /// Names of our own variables to pass.
    pub passed: Vec<String>,
    /// Variables of the step, on top of those of the card.
    pub named: BTreeMap<String, Option<String>>,
    pub stdin: Option<Vec<u8>>,
    pub result: ResultRule,
    /// The text for the prompt file, where the program gets one.
    pub prompt: Option<String>,
    /// How long it may take, beside the time that its task has.
    pub limit: Option<Duration>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plan {
    /// Run a program.
    Program(ProgramPlan),
    /// Call a tool that needs no process.
    Call { name: String, params: Map<String, Value>, folder: Option<PathBuf> },
    /// Ask a person.
    Ask { question: String, options: Vec<String> },
    /// It is done already: the person has answered.
    Answered(String),
}

/// Says what a spec means, or in words why it means nothing.
pub(super) fn of(spec: &RunSpec, settings: &Settings) -> Result<Plan, String> {
    let value = |reference: &Reference| spec.values.get(reference).cloned().unwrap_or_default();
    let folder = spec.executor.cwd.as_ref().map(PathBuf::from);
    match &spec.executor.work {
        // A person's own line: what looks like a reference in it is for the shell.
        Work::Command { command } => Ok(Plan::Program(ProgramPlan::new(argv_of(command.clone()), folder))),
        Work::Tool { name, params } => match name.as_str() {
            "exec" => exec(params, folder, &value),
            "clarify" => clarify(params, spec, &value),
            _ => {
                let params = substituted(params, &value);
                Ok(Plan::Call { name: name.clone(), params, folder })
            }
        },
        Work::Agent { name, goal } => agent(name, &template::substitute(goal, value), spec, settings, folder),
    }
}

impl ProgramPlan {
    pub fn new(argv: Vec<String>, folder: Option<PathBuf>) -> Self {
        Self {
            argv,
            folder,
            passed: Vec::new(),
            named: BTreeMap::new(),
            stdin: None,
            result: ResultRule::Head,
            prompt: None,
            limit: None,
        }
    }
}

fn argv_of(program: Program) -> Vec<String> {
    match program {
        Program::Argv(argv) => argv,
        Program::Shell(line) => vec!["/bin/sh".to_owned(), "-c".to_owned(), line],
    }
}

fn exec(
    params: &Map<String, Value>,
    folder: Option<PathBuf>,
    value: &impl Fn(&Reference) -> String,
) -> Result<Plan, String> {
    let plain = |text: &str| template::substitute(text, value);
    let mut variables = BTreeMap::new();
    let argv = match params.get("command") {
        Some(Value::String(line)) => {
            let (line, named) = template::substitute_in_shell(line, value);
            variables.extend(named.into_iter().map(|(name, value)| (name, Some(value))));
            argv_of(Program::Shell(line))
        }
        Some(Value::Array(words)) => words
            .iter()
            .map(|word| word.as_str().map(plain))
            .collect::<Option<Vec<String>>>()
            .ok_or("exec takes a list of texts as `command`; quote the numbers in it")?,
        _ => return Err("exec needs `command`: a shell line, or a list of program and arguments".into()),
    };
    let folder = match params.get("cwd").and_then(Value::as_str) {
        Some(inside) => Some(folder.unwrap_or_default().join(plain(inside))),
        None => folder,
    };
    if let Some(Value::Object(named)) = params.get("env") {
        for (name, value) in named {
            variables.insert(
                name.clone(),
                match value {
                    Value::Null => None,
                    Value::String(text) => Some(plain(text)),
                    other => Some(other.to_string()),
                },
            );
        }
    }
    Ok(Plan::Program(ProgramPlan { named: variables, ..ProgramPlan::new(argv, folder) }))
}

fn clarify(
    params: &Map<String, Value>,
    spec: &RunSpec,
    value: &impl Fn(&Reference) -> String,
) -> Result<Plan, String> {
    if let Some(given) = &spec.answer {
        return Ok(Plan::Answered(given.answer.clone()));
    }
    let params = substituted(params, value);
    let question = params.get("question").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    if question.is_empty() {
        return Err("clarify needs a `question`".into());
    }
    let options = params.get("options").and_then(Value::as_array);
    let options = options.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(Plan::Ask { question, options })
}

fn agent(
    name: &str,
    goal: &str,
    spec: &RunSpec,
    settings: &Settings,
    folder: Option<PathBuf>,
) -> Result<Plan, String> {
    let Some(config) = settings.agents.get(name) else {
        let known: Vec<&str> = settings.agents.keys().map(String::as_str).collect();
        let known = match known.is_empty() {
            true => "it had none".to_owned(),
            false => format!("it had {}", known.join(", ")),
        };
        // It may well stand in the file by now: whoever called has read a newer one.
        return Err(format!(
            "the configuration had no agent `{name}` when andon started to dispatch ({known}); add \
             [agents.{name}] where it is missing, and start andon anew"
        ));
    };
    let prompt = papers::prompt(spec, goal);
    let file = papers::prompt_file(&spec.log).to_string_lossy().into_owned();
    let texts = [("{goal}", goal), ("{prompt}", &prompt), ("{prompt_file}", &file)];
    let values = [&texts[..], &[("{session}", &spec.session)]].concat();
    let argv = config.command.iter().map(|word| filled(word, &values)).collect();
    let is_told = config.command.iter().any(|word| texts.iter().any(|(name, _)| word.contains(name)));
    Ok(Plan::Program(ProgramPlan {
        passed: config.env.clone(),
        stdin: (!is_told).then(|| prompt.clone().into_bytes()),
        result: ResultRule::Tail,
        prompt: Some(prompt),
        ..ProgramPlan::new(argv, folder)
    }))
}

/// A text with each placeholder replaced; what is put in is not looked at again.
pub(super) fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                out.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn substituted(params: &Map<String, Value>, value: &impl Fn(&Reference) -> String) -> Map<String, Value> {
    params.iter().map(|(key, inside)| (key.clone(), substituted_value(inside, value))).collect()
}

fn substituted_value(inside: &Value, value: &impl Fn(&Reference) -> String) -> Value {
    match inside {
        Value::String(text) => Value::String(template::substitute(text, value)),
        Value::Array(items) => items.iter().map(|item| substituted_value(item, value)).collect(),
        Value::Object(fields) => Value::Object(substituted(fields, value)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::settings::AgentConfig;
    use crate::domain::template::Part;
    use crate::domain::{Executor, RunId, TaskId};
    use crate::engine::GivenAnswer;
    use serde_json::json;

    fn spec(work: Work) -> RunSpec {
        let reference = Reference { step: "a".into(), part: Part::Result };
        RunSpec {
            run: RunId("r_1".into()),
            task: TaskId("t_1".into()),
            seq: 1,
            epoch: 1,
            number: 1,
            attempt: 1,
            session: "task:t_1".into(),
            board: "default".into(),
            title: "Title".into(),
            description: "What it is about.".into(),
            executor: Executor::new(work),
            values: [(reference, "$(boom) {session}".to_owned())].into(),
            answer: None,
            feedback: None,
            log: "/logs/r_1.log".into(),
            database: "/andon.db".into(),
        }
    }

    fn tool(name: &str, params: Value) -> RunSpec {
        spec(Work::Tool { name: name.into(), params: params.as_object().unwrap().clone() })
    }

    fn program(spec: &RunSpec) -> ProgramPlan {
        match of(spec, &Settings::default()).unwrap() {
            Plan::Program(plan) => plan,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_result_in_a_shell_line_comes_as_a_variable_and_in_a_list_as_an_argument() {
        let shell = program(&tool("exec", json!({ "command": "echo ${steps.a.result}" })));
        assert_eq!(shell.argv, ["/bin/sh", "-c", "echo \"${ANDON_VALUE_1}\""]);
        assert_eq!(shell.named["ANDON_VALUE_1"].as_deref(), Some("$(boom) {session}"));
        let list = program(&tool("exec", json!({ "command": ["echo", "<${steps.a.result}>"] })));
        assert_eq!(list.argv, ["echo", "<$(boom) {session}>"]);
    }

    #[test]
    fn a_persons_own_line_goes_to_the_shell_as_it_is() {
        let line = "echo ${steps.a.result}";
        let plan = program(&spec(Work::Command { command: Program::Shell(line.into()) }));
        assert_eq!(plan.argv[2], line);
    }

    #[test]
    fn a_step_may_have_a_folder_within_the_cards_and_variables() {
        let mut spec =
            tool("exec", json!({ "command": ["x"], "cwd": "sub", "env": { "A": "1", "B": null } }));
        spec.executor.cwd = Some("/home".into());
        let plan = program(&spec);
        assert_eq!(plan.folder.as_deref(), Some(std::path::Path::new("/home/sub")));
        assert_eq!(plan.named, [("A".into(), Some("1".into())), ("B".into(), None)].into());
    }

    #[test]
    fn a_question_step_asks_and_its_answer_is_its_result() {
        let mut spec =
            tool("clarify", json!({ "question": "Go on with ${steps.a.result}?", "options": ["yes"] }));
        let asks =
            Plan::Ask { question: "Go on with $(boom) {session}?".into(), options: vec!["yes".into()] };
        assert_eq!(of(&spec, &Settings::default()).unwrap(), asks);
        spec.answer = Some(GivenAnswer { question: "Go on?".into(), answer: "yes".into() });
        assert_eq!(of(&spec, &Settings::default()).unwrap(), Plan::Answered("yes".into()));
    }

    #[test]
    fn other_tools_get_their_parameters_filled_in_at_any_depth() {
        let params = json!({ "deep": [{ "x": "${steps.a.result}" }], "n": 1 });
        let Plan::Call { params, .. } = of(&tool("read_file", params), &Settings::default()).unwrap() else {
            panic!()
        };
        assert_eq!(Value::Object(params), json!({ "deep": [{ "x": "$(boom) {session}" }], "n": 1 }));
    }

    #[test]
    fn an_agents_placeholders_are_filled_once_and_values_are_not_looked_at_again() {
        let mut settings = Settings::default();
        let config =
            AgentConfig::command("bot", &["bot", "--goal={goal}", "{session}", "{prompt_file}", "{x}"]);
        settings.agents.insert("bot".into(), config);
        let spec = spec(Work::Agent { name: "bot".into(), goal: "Do ${steps.a.result}".into() });
        let Plan::Program(plan) = of(&spec, &settings).unwrap() else { panic!() };
        assert_eq!(
            plan.argv,
            ["bot", "--goal=Do $(boom) {session}", "task:t_1", "/logs/r_1.log.prompt", "{x}"]
        );
        assert_eq!(
            plan.prompt.as_deref(),
            Some("# Title\n\nWhat it is about.\n\n## Goal\nDo $(boom) {session}\n")
        );
        assert_eq!((plan.stdin, plan.result), (None, ResultRule::Tail));
    }

    #[test]
    fn an_agent_that_is_told_nothing_on_its_command_line_reads_it() {
        let mut settings = Settings::default();
        settings.agents.insert("bot".into(), AgentConfig::command("bot", &["bot", "run"]));
        let spec = spec(Work::Agent { name: "bot".into(), goal: "Do it".into() });
        let Plan::Program(plan) = of(&spec, &settings).unwrap() else { panic!() };
        assert!(String::from_utf8(plan.stdin.unwrap()).unwrap().contains("Do it"));
    }

    #[test]
    fn an_agent_that_is_not_configured_is_told_with_those_that_are() {
        let mut settings = Settings::default();
        let spec = spec(Work::Agent { name: "bot".into(), goal: "x".into() });
        assert!(of(&spec, &settings).unwrap_err().contains("[agents.bot]"));
        settings.agents.insert("claude".into(), AgentConfig::command("claude", &["claude"]));
        assert!(of(&spec, &settings).unwrap_err().contains("it had claude"));
    }
}
