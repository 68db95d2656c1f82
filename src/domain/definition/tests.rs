//! Faults that a person makes, and how they are told.

use serde_json::{Value, json};

use super::*;

const TOOLS: &[&str] = &["exec", "clarify", "read_file"];

fn check(value: Value) -> Result<WorkflowDefinition, Vec<String>> {
    let agents = vec!["claude".to_owned()];
    let vocabulary = Vocabulary { tools: TOOLS, agents: Some(&agents), check: &AnyParams };
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
    let found = faults(vec![exec("a", &["c"]), exec("a", &[]), exec("b", &["a", "nope"]), exec("c", &["b"])]);
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
    let both =
        json!({ "tool_name": "exec", "tool_params": { "command": "true" }, "agent": "claude", "goal": "x" });
    assert!(faults(vec![both])[0].contains("keep one"));
    assert!(faults(vec![json!({ "id": "x" })])[0].contains("nothing to run"));
    assert!(faults(vec![json!({ "agent": "nobody", "goal": "x" })])[0].contains("no agent `nobody`"));
    assert!(faults(vec![json!({ "agent": "claude" })])[0].contains("say what the agent should do"));
}

#[test]
fn a_stored_definition_passes_again() {
    let workflow = check(json!({ "name": "w", "steps": [exec("a", &[]), exec("b", &["a"])] })).unwrap();
    assert_eq!(recheck(&workflow, Vocabulary { tools: TOOLS, agents: None, check: &AnyParams }), Ok(()));
}
