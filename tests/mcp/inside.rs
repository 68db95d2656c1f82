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

/// A client inside a run whose call of `exec` waits for a decision.
fn deciding(house: &House, wait: &[&str]) -> super::client::Client {
    let (card, run) = house.gated();
    let mut client = house.inside(&card, &run, wait);
    client.greet();
    client
}

#[test]
fn a_call_that_runs_programs_waits_for_the_person_and_is_made_once_it_is_allowed() {
    let house = House::new();
    let _daemon = house.daemon();
    let mut client = deciding(&house, &["--progress", "0.05"]);
    let call = client.begin("exec", json!({ "command": "echo ran" }));
    house.until("1", "blocked");
    client.heard("notifications/progress");
    house.text(&["allow", "1"]);
    assert_eq!(client.result(call)["stdout"], "ran\n");
    let again = client.begin("exec", json!({ "command": "echo ran" }));
    house.until("1", "blocked");
    house.text(&["deny", "1", "--reason", "once is enough"]);
    let refused = client.reply(again);
    assert_eq!(refused["result"]["structuredContent"]["code"], "denied", "{refused}");
    assert!(refused.to_string().contains("once is enough"));
    house.open_gate();
    house.until("1", "success");
}

#[test]
fn a_decision_that_comes_after_the_call_was_parked_resumes_the_task() {
    let house = House::new();
    let _daemon = house.daemon();
    let mut client = deciding(&house, &["--wait", "0"]);
    let parked = client.failed("exec", json!({ "command": "echo ran" }));
    assert_eq!(parked["code"], "parked", "{parked}");
    house.text(&["allow", "1"]);
    assert_eq!(house.json(&["show", "1"])["status"], "blocked", "its run has not ended yet");
    client.hang_up();
    house.open_gate();
    // The next run makes the call that was allowed.
    house.until("1", "running");
    let card = house.json(&["show", "1"]);
    assert_eq!(card["runs"].as_array().unwrap().len(), 2);
    let run = card["runs"][1].clone();
    let mut next = house.inside(card["id"].as_str().unwrap(), &run, &["--wait", "0"]);
    next.greet();
    assert_eq!(next.call("exec", json!({ "command": "echo ran" }))["stdout"], "ran\n");
    assert_eq!(
        next.failed("exec", json!({ "command": "echo ran" }))["code"],
        "parked",
        "it was allowed once"
    );
    house.text(&["cancel", "1"]);
}

#[test]
fn one_that_makes_its_call_again_instead_of_ending_hears_of_the_decision() {
    let house = House::new();
    let _daemon = house.daemon();
    let mut client = deciding(&house, &["--wait", "0"]);
    let call = json!({ "command": "echo ran" });
    assert_eq!(client.failed("exec", call.clone())["code"], "parked");
    assert_eq!(client.failed("exec", call.clone())["code"], "parked");
    assert_eq!(house.json(&["approvals"])["items"].as_array().unwrap().len(), 1, "it is the same call");
    house.text(&["allow", "1"]);
    assert_eq!(client.call("exec", call.clone())["stdout"], "ran\n");
    assert_eq!(house.json(&["show", "1"])["status"], "running");
    assert_eq!(client.failed("exec", call.clone())["code"], "parked");
    house.text(&["deny", "1", "--reason", "enough"]);
    assert_eq!(client.failed("exec", call)["code"], "denied");
    assert_eq!(house.json(&["show", "1"])["status"], "running");
    house.open_gate();
    assert_eq!(house.until("1", "success")["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_waited_for_comes_in_the_call_or_with_the_next_run() {
    let house = House::new();
    let _daemon = house.daemon();
    let (card, run) = house.gated();
    let mut client = house.inside(&card, &run, &[]);
    client.greet();
    let deployed = json!({ "wake": "external", "resource": "deployed", "reason": "the deploy" });
    let call = client.begin("wait_for", deployed);
    house.until("1", "blocked");
    house.text(&["wake", "deployed", "--data", "7"]);
    assert_eq!(client.result(call)["outcome"]["data"], 7);
    let mut hasty = house.inside(&card, &run, &["--wait", "0"]);
    hasty.greet();
    let parked = hasty.call("wait_for", json!({ "wake": "external", "resource": "later", "reason": "x" }));
    assert_eq!(parked["state"], "parked");
    house.open_gate();
    house.text(&["wake", "later"]);
    house.until("1", "success");
    assert!(house.text(&["log", "1"]).contains("got"), "the next run was given it");
}
