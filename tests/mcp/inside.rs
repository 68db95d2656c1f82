//! Inside a run: the caller is its agent, by its environment, and the task is its own.

use serde_json::json;

use super::house::House;

#[test]
fn a_server_inside_a_run_is_that_runs_agent_and_knows_its_task() {
    let house = House::new();
    let _daemon = house.daemon();
    let (card, run) = house.gated();
    let mut client = house.inside(&card, &run, &[]);
    client.greet();
    assert_eq!(client.call("task", json!({ "action": "get" }))["id"], json!(card));
    let child = client.call("task", json!({ "action": "create", "title": "child" }));
    assert_eq!((&child["created_by"], &child["source"]), (&json!("claude"), &json!("")));
    let done = client.call("task", json!({ "action": "complete", "result": "by its agent" }));
    assert_eq!(done["accepted"], true, "it does not wait for its own end");
    house.open_gate();
    let card = house.until("1", "success");
    assert_eq!(card["result"], "by its agent");
}

#[test]
fn an_agent_inside_a_run_is_not_asked_in_place_of_the_person() {
    let house = House::new();
    let _daemon = house.daemon();
    let (card, run) = house.gated();
    let mut client = house.inside(&card, &run, &[]);
    client.greet_as(json!({ "elicitation": {} }));
    let call = client.begin("clarify", json!({ "question": "Which?" }));
    house.question();
    house.text(&["answer", "1", "the blue one"]);
    assert_eq!(client.result(call)["answer"], "the blue one");
    assert!(client.unasked().iter().all(|m| m["method"] != "elicitation/create"), "{:?}", client.unasked());
    house.open_gate();
    house.until("1", "success");
}
