//! Tools of one's own: programs in the registry.

use andon::tools::{OwnTool, Registry, Risk};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

use super::{House, text};

/// A house with a tool that is this shell line.
fn house_with(line: &str, schema: Value) -> House {
    let command = ["/bin/sh", "-c", line].map(str::to_owned).to_vec();
    let mut own = OwnTool::new("mine", schema, command).unwrap();
    own.description = "does it my way".to_owned();
    own.risk = Risk::Write;
    own.timeout = Duration::from_millis(500);
    let house = House::new();
    House { registry: Registry::new(None).with_own([own]), ..house }
}

#[test]
fn it_reads_its_parameters_and_prints_its_result() {
    let house = house_with("cat", json!({ "properties": { "n": { "type": "integer" } } }));
    assert_eq!(house.call(json!({ "tool": "mine", "n": 3, "correlation_id": "c" })), json!({ "n": 3 }));
    let plain = house_with("echo hello; echo loud >&2", json!({}));
    assert_eq!(plain.call(json!({ "tool": "mine" })), "hello");
    let told = house_with("echo $ANDON_TOOL in $PWD with $ANDON_SESSION", json!({}));
    let folder = told.operator().cwd;
    assert_eq!(told.call(json!({ "tool": "mine" })), format!("mine in {} with", folder.display()));
}

#[test]
fn it_is_listed_with_its_schema_and_checked_by_it() {
    let house = house_with("cat", json!({ "properties": { "n": { "type": "integer" } }, "required": ["n"] }));
    let described = house.registry.describe();
    let mine = described.as_array().unwrap().iter().find(|tool| tool["name"] == "mine").unwrap();
    assert_eq!((text(mine, "description"), text(mine, "risk")), ("does it my way", "write"));
    assert_eq!(mine["input_schema"]["required"], json!(["n"]));
    let (error, exit) = house.refused(json!({ "tool": "mine", "n": "three", "odd": 1 }));
    assert_eq!((text(&error, "code"), exit), ("invalid_params", 2));
    assert_eq!(error["detail"]["faults"].as_array().unwrap().len(), 2, "{error}");
    let (error, _) = house.refused(json!({ "tool": "mein" }));
    assert!(text(&error, "message").contains("web_fetch, mine"), "{error}");
}

#[test]
fn a_program_that_fails_is_an_error_with_its_last_line() {
    let house = house_with("echo out; echo first >&2; echo last >&2; exit 3", json!({}));
    let (error, exit) = house.refused(json!({ "tool": "mine" }));
    assert_eq!((text(&error, "message"), exit), ("mine: exit 3: last", 1));
    assert_eq!(error["detail"], json!({ "exit_code": 3, "stdout": "out" }));
    let absent = OwnTool::new("gone", json!({}), vec!["andon-no-such-program".to_owned()]).unwrap();
    let house = House { registry: Registry::new(None).with_own([absent]), ..House::new() };
    assert_eq!(text(&house.refused(json!({ "tool": "gone" })).0, "code"), "not_started");
}

#[test]
fn its_time_is_limited_and_so_is_its_result() {
    let begun = Instant::now();
    let house = house_with("exec sleep 300", json!({}));
    let (error, _) = house.refused(json!({ "tool": "mine" }));
    assert!(text(&error, "message").contains("was stopped"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    let house = house_with("head -c 2000000 /dev/zero", json!({}));
    let (error, _) = house.refused(json!({ "tool": "mine" }));
    assert!(text(&error, "message").contains("more than 1048576 bytes"), "{error}");
}

#[test]
fn a_workflow_is_checked_against_its_schema_when_it_is_made() {
    let house = house_with("cat", json!({ "properties": { "n": { "type": "integer" } } }));
    let create = |params: Value| {
        let steps = json!([
            { "id": "a", "tool_name": "mine" },
            { "id": "b", "tool_name": "mine", "tool_params": params, "depends_on": ["a"] },
        ]);
        house.answer(
            &house.operator(),
            &json!({ "tool": "workflow", "action": "create", "name": "w", "steps": steps }),
        )
    };
    let refused = create(json!({ "n": "three" }));
    assert!(refused.exit_code == 2 && refused.line.contains("is not of type"), "{refused:?}");
    // What it will be is known only when the other step is done.
    assert_eq!(create(json!({ "n": "${steps.a.result}" })).exit_code, 0);
}
