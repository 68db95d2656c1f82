//! The parameters of one call, checked against the tool's shape: unknown, missing and ill-typed fields are all
//! told at once, so that a caller needs one more try and not five.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use super::error::ToolError;
use super::shape::{Action, Field, Kind, Shape};
use crate::domain::definition::nearest;
use crate::domain::id::IdKind;
use crate::domain::text::{one_line, shortened};
use crate::domain::{IdRef, Program};

/// The longest piece of a caller's text that an error repeats, in characters.
const SHOWN: usize = 60;

/// The checked parameters of one call. A field that is `null` counts as not there, except inside tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The action; empty for a tool with one only.
    pub action: &'static str,
    values: BTreeMap<&'static str, Value>,
}

/// Words that callers write for a field's name, and the name.
const ALIASES: &[(&str, &str)] = &[("id", "task_id"), ("id", "workflow_id"), ("board", "board_id")];

impl Params {
    /// Checks a call (without its `tool`).
    pub fn read(shape: &Shape, call: &Map<String, Value>) -> Result<Params, ToolError> {
        let action = action_of(shape, call)?;
        let (params, faults) = Params::examine(shape, action, call);
        match faults.is_empty() {
            true => Ok(params),
            false => Err(invalid(shape, action, &faults)),
        }
    }

    /// All that is wrong with a call.
    pub fn faults(shape: &Shape, call: &Map<String, Value>) -> Vec<String> {
        match action_of(shape, call) {
            Ok(action) => Params::examine(shape, action, call).1,
            Err(error) => vec![error.message],
        }
    }

    fn examine(shape: &Shape, action: &'static Action, call: &Map<String, Value>) -> (Params, Vec<String>) {
        let mut params = Params { action: action.name, values: BTreeMap::new() };
        let mut faults = Vec::new();
        for (key, value) in call {
            if key == "action" && shape.has_actions() {
                continue;
            }
            match known_field(shape, action, key) {
                None => faults.push(unknown_field(shape, action, key)),
                Some(_) if value.is_null() => {}
                Some(field) => match check(field, value) {
                    Ok(()) if params.has(field.name) => {
                        faults.push(format!("`{}` is there twice, as `{key}` too", field.name));
                    }
                    Ok(()) => {
                        params.values.insert(field.name, value.clone());
                    }
                    Err(wanted) => faults.push(format!("`{}` must be {wanted}", field.name)),
                },
            }
        }
        for name in action.needs {
            let given = call.iter().any(|(key, value)| {
                !value.is_null() && known_field(shape, action, key).is_some_and(|field| field.name == *name)
            });
            if !given {
                let about = shape.field(name).map_or("", |field| field.about);
                faults.push(format!("`{name}` is missing: {about}"));
            }
        }
        (params, faults)
    }

    /// Whether a field is there.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// A text, or a number written as one.
    pub fn text(&self, name: &str) -> Option<String> {
        self.values.get(name).and_then(plain)
    }

    /// A text, empty where there is none.
    pub fn text_or_empty(&self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Option<i64> {
        self.values.get(name).and_then(Value::as_i64)
    }

    /// A whole number that its range keeps within 32 bits.
    pub fn small(&self, name: &str) -> Option<u32> {
        self.whole(name).and_then(|number| u32::try_from(number).ok())
    }

    /// True or false.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.values.get(name).and_then(Value::as_bool)
    }

    /// A list of texts (or of numbers written as such); `None` where there is none.
    pub fn texts(&self, name: &str) -> Option<Vec<String>> {
        match self.values.get(name)? {
            Value::Array(list) => Some(list.iter().filter_map(plain).collect()),
            single => plain(single).map(|text| vec![text]),
        }
    }

    /// A table.
    pub fn table(&self, name: &str) -> Option<Map<String, Value>> {
        self.values.get(name)?.as_object().cloned()
    }

    /// Any value, as it was given.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// A command.
    pub fn command(&self, name: &str) -> Option<Program> {
        match self.values.get(name)? {
            Value::String(line) => Some(Program::Shell(line.clone())),
            Value::Array(argv) => Some(Program::Argv(argv.iter().filter_map(plain).collect())),
            _ => None,
        }
    }

    /// A table of texts.
    pub fn environment(&self, name: &str) -> BTreeMap<String, Option<String>> {
        let table = self.values.get(name).and_then(Value::as_object);
        table.into_iter().flatten().map(|(key, value)| (key.clone(), plain(value))).collect()
    }

    /// The task that a field names.
    pub fn task(&self, name: &str) -> Result<Option<IdRef>, ToolError> {
        self.text(name).map(|text| IdRef::parse(&text, IdKind::Task)).transpose().map_err(ToolError::from)
    }

    /// The tasks that a list names.
    pub fn tasks(&self, name: &str) -> Result<Vec<IdRef>, ToolError> {
        let mut found = Vec::new();
        for text in self.texts(name).unwrap_or_default() {
            found.push(IdRef::parse(&text, IdKind::Task)?);
        }
        Ok(found)
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn quoted(text: &str) -> String {
    format!("`{}`", shortened(&one_line(text), SHOWN))
}

fn action_of(shape: &Shape, call: &Map<String, Value>) -> Result<&'static Action, ToolError> {
    if !shape.has_actions() {
        return match shape.actions.first() {
            Some(only) => Ok(only),
            None => Err(ToolError::invalid("unknown_action", format!("{} can do nothing", shape.name))),
        };
    }
    let names: Vec<&str> = shape.actions.iter().map(|action| action.name).collect();
    let known = names.join(", ");
    match call.get("action") {
        Some(Value::String(name)) => shape.action(name).ok_or_else(|| {
            let hint =
                nearest(name, &names).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let message = format!("{} has no action {}; it knows {known}{hint}", shape.name, quoted(name));
            ToolError::invalid("unknown_action", message).with_detail(json!({ "actions": names }))
        }),
        Some(value) if !value.is_null() => {
            Err(ToolError::invalid("invalid_params", format!("`action` must be one of {known}")))
        }
        _ => Err(ToolError::invalid(
            "missing_action",
            format!("{} needs an `action`: one of {known}", shape.name),
        )),
    }
}

fn known_field(shape: &Shape, action: &Action, key: &str) -> Option<&'static Field> {
    let allowed = |name: &str| action.needs.contains(&name) || action.takes.contains(&name);
    let name = match allowed(key) {
        true => key,
        false => {
            ALIASES.iter().find(|(alias, name)| *alias == key && allowed(name)).map(|(_, name)| *name)?
        }
    };
    shape.field(name)
}

fn unknown_field(shape: &Shape, action: &Action, key: &str) -> String {
    let known: Vec<&str> = action.needs.iter().chain(action.takes).copied().collect();
    let hint = nearest(key, &known).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    match shape.field(key) {
        Some(_) => format!("`{key}` is not for `{}`{hint}", action.name),
        None => format!("unknown field {}{hint}", quoted(key)),
    }
}

fn invalid(shape: &Shape, action: &Action, faults: &[String]) -> ToolError {
    let call = match action.name {
        "" => shape.name.to_owned(),
        name => format!("{} {name}", shape.name),
    };
    let mut takes: Vec<String> = action.needs.iter().map(|name| (*name).to_owned()).collect();
    takes.extend(action.takes.iter().map(|name| format!("[{name}]")));
    let message = format!("{call} can't be called so: {}. It takes {}", faults.join("; "), takes.join(", "));
    ToolError::invalid("invalid_params", message).with_detail(json!({ "faults": faults }))
}

fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_u64()
}

/// Checks a value; the error says what is wanted.
fn check(field: &Field, value: &Value) -> Result<(), String> {
    let all = |good: fn(&Value) -> bool| value.as_array().is_some_and(|list| list.iter().all(good));
    let (good, wanted) = match field.kind {
        Kind::Text => (value.is_string(), "a text".to_owned()),
        Kind::Id => (is_id(value), "an id as a text, or a task's number".to_owned()),
        Kind::Whole(least, most) => (
            value.as_i64().is_some_and(|number| (least..=most).contains(&number)),
            format!("a whole number from {least} to {most}"),
        ),
        Kind::Flag => (value.is_boolean(), "true or false".to_owned()),
        Kind::Texts => (value.is_string() || all(Value::is_string), "a list of texts".to_owned()),
        Kind::Ids => (is_id(value) || all(is_id), "a list of ids".to_owned()),
        Kind::Table => (value.is_object(), "a table".to_owned()),
        Kind::Tables => (true, String::new()),
        Kind::Command => {
            let line = value.as_str().is_some_and(|line| !line.trim().is_empty());
            let argv = all(Value::is_string) && value[0].as_str().is_some_and(|program| !program.is_empty());
            (line || argv, "a shell line, or a list of program and arguments".to_owned())
        }
        Kind::Environment => {
            let good =
                |table: &Map<String, Value>| table.values().all(|value| value.is_string() || value.is_null());
            (value.as_object().is_some_and(good), "a table of texts".to_owned())
        }
        Kind::Word(words) => {
            let known = |text: &str| words.iter().any(|word| word.eq_ignore_ascii_case(text));
            (value.as_str().is_some_and(known), format!("one of {}", words.join(", ")))
        }
    };
    match good {
        true => Ok(()),
        false => Err(format!("{wanted}, not {}", quoted(&value.to_string()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::clarify::CLARIFY;
    use crate::tools::exec::EXEC;
    use crate::tools::task::TASK;

    fn read(shape: &Shape, call: Value) -> Result<Params, ToolError> {
        Params::read(shape, call.as_object().unwrap())
    }

    #[test]
    fn unknown_fields_are_refused_with_what_was_meant() {
        let error = read(&TASK, json!({ "action": "create", "titel": "x", "priority": 12 })).unwrap_err();
        assert_eq!((error.code, error.class.exit_code()), ("invalid_params", 2));
        for part in
            ["did you mean `title`?", "`priority` must be a whole number from 0 to 9", "`title` is missing"]
        {
            assert!(error.message.contains(part), "{part} in {error}");
        }
    }

    #[test]
    fn a_field_of_another_action_is_refused() {
        let error = read(&TASK, json!({ "action": "complete", "task_id": 1, "error": "x" })).unwrap_err();
        assert!(error.message.contains("`error` is not for `complete`"), "{error}");
    }

    #[test]
    fn an_action_must_be_named_and_known() {
        assert_eq!(read(&TASK, json!({})).unwrap_err().code, "missing_action");
        let error = read(&TASK, json!({ "action": "compleet" })).unwrap_err();
        assert!(error.message.contains("did you mean `complete`?"), "{error}");
        assert!(read(&TASK, json!({ "action": 5 })).is_err());
        assert!(read(&CLARIFY, json!({ "question": "x", "action": "ask" })).is_err());
    }

    #[test]
    fn tasks_are_named_by_id_or_number() {
        for id in [json!(12), json!("12"), json!("#12")] {
            let params = read(&TASK, json!({ "action": "get", "id": id })).unwrap();
            assert_eq!(params.task("task_id").unwrap(), Some(IdRef::Seq(12)));
        }
        let error = read(&TASK, json!({ "action": "get", "task_id": "w_abc" })).unwrap().task("task_id");
        assert!(error.unwrap_err().message.contains("names a workflow"));
        assert!(read(&TASK, json!({ "action": "get", "task_id": 1, "id": 2 })).is_err());
        assert!(read(&TASK, json!({ "action": "get", "task_id": -1 })).is_err());
    }

    #[test]
    fn nothing_is_as_good_as_not_there_and_one_text_as_a_list() {
        let call =
            json!({ "action": "create", "title": "x", "labels": "bug", "depends_on": 3, "command": null });
        let params = read(&TASK, call).unwrap();
        assert_eq!(params.texts("labels").unwrap(), ["bug"]);
        assert_eq!(params.tasks("depends_on").unwrap(), [IdRef::Seq(3)]);
        assert_eq!(params.command("command"), None);
        assert!(read(&TASK, json!({ "action": "create", "title": null })).is_err());
    }

    #[test]
    fn a_command_is_a_line_or_a_list() {
        let command = |value: Value| read(&EXEC, json!({ "command": value })).map(|p| p.command("command"));
        assert_eq!(command(json!("ls -l")).unwrap(), Some(Program::Shell("ls -l".into())));
        assert_eq!(
            command(json!(["ls", "-l"])).unwrap(),
            Some(Program::Argv(vec!["ls".into(), "-l".into()]))
        );
        for bad in [json!(" "), json!([]), json!([""]), json!(["ls", 1]), json!({})] {
            assert!(command(bad).is_err());
        }
    }
}
