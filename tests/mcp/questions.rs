//! A question inside a call: it blocks the task and the call waits, with progress; it is parked, cancelled, asked
//! again; and the person at a client may answer it there.

use serde_json::{Value, json};

use super::client::Client;
use super::house::House;

const ASKED: &str = "Which database is the target?";

fn which() -> Value {
    json!({ "question": ASKED, "options": ["staging", "production"] })
}

#[test]
fn a_call_waits_with_progress_for_the_answer_that_is_given_on_the_board() {
    let house = House::new();
    let _daemon = house.daemon();
    let (card, run) = house.gated();
    let mut client = house.inside(&card, &run, &["--progress", "0.05"]);
    client.greet();
    let call = client.begin("clarify", which());
    assert_eq!(house.until("1", "blocked")["blocked_reason"], ASKED);
    let progress = [client.heard("notifications/progress"), client.heard("notifications/progress")];
    assert_eq!(progress[0]["progressToken"], json!(call));
    assert!(progress[0]["progress"].as_f64() < progress[1]["progress"].as_f64(), "{progress:?}");
    client.next("progress that tells the question", |message| {
        message["params"]["message"].as_str().is_some_and(|said| said.contains(ASKED))
    });
    house.text(&["answer", "1", "STAGING"]);
    assert_eq!(client.result(call)["answer"], "staging");
    assert_eq!(house.json(&["show", "1"])["status"], "running", "the same run goes on");
    house.open_gate();
    assert_eq!(house.until("1", "success")["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_client_that_wants_no_progress_gets_none() {
    let house = House::new();
    let _daemon = house.daemon();
    let (card, run) = house.gated();
    let mut client = house.inside(&card, &run, &["--progress", "0.01"]);
    client.greet();
    let call = client.request("tools/call", json!({ "name": "clarify", "arguments": which() }));
    house.question();
    assert_eq!(client.ask("ping", json!({})), json!({}), "the server answers while a call waits");
    house.text(&["answer", "1", "staging"]);
    assert_eq!(client.result(call)["answer"], "staging");
    assert!(client.unasked().iter().all(|m| m["method"] != "notifications/progress"));
    house.open_gate();
    house.until("1", "success");
}

/// A client inside a run whose question was parked at once.
fn parked(house: &House) -> (Client, Value) {
    let (card, run) = house.gated();
    let mut client = house.inside(&card, &run, &["--wait", "0"]);
    client.greet();
    let parked = client.call("clarify", which());
    assert_eq!(parked["state"], "parked");
    assert!(parked["message"].as_str().unwrap().contains("end your turn"), "{parked}");
    (client, parked)
}

#[test]
fn a_question_that_is_parked_resumes_the_task_once_its_run_has_ended() {
    let house = House::new();
    let _daemon = house.daemon();
    let (_client, parked) = parked(&house);
    assert_eq!(house.question()["question_id"], parked["question_id"]);
    house.text(&["answer", "1", "production"]);
    assert_eq!(house.json(&["show", "1"])["status"], "blocked", "its run has not ended yet");
    house.open_gate();
    let card = house.until("1", "success");
    assert_eq!(card["runs"].as_array().unwrap().len(), 2);
    assert_eq!(house.text(&["log", "1"]), "got production\n");
}

#[test]
fn one_that_asks_again_instead_of_ending_asks_the_same_question_and_gets_its_answer() {
    let house = House::new();
    let _daemon = house.daemon();
    let (mut client, parked) = parked(&house);
    assert_eq!(client.call("clarify", which())["question_id"], parked["question_id"]);
    house.text(&["answer", "1", "staging"]);
    assert_eq!(client.call("clarify", which())["answer"], "staging");
    assert_eq!(house.json(&["show", "1"])["status"], "running");
    house.open_gate();
    assert_eq!(house.until("1", "success")["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_cancelled_call_waits_no_longer_and_its_answer_is_kept_for_the_next_run() {
    let house = House::new();
    let _daemon = house.daemon();
    let (card, run) = house.gated();
    let mut client = house.inside(&card, &run, &[]);
    client.greet();
    let call = client.begin("clarify", which());
    house.question();
    client.tell("notifications/cancelled", json!({ "requestId": call, "reason": "enough" }));
    assert_eq!(client.ask("ping", json!({})), json!({}));
    client.hang_up();
    assert!(client.ended().success());
    assert_eq!(house.question()["question"], ASKED, "it is asked still");
    house.text(&["answer", "1", "production"]);
    house.open_gate();
    house.until("1", "success");
    assert_eq!(house.text(&["log", "1"]), "got production\n");
}

#[test]
fn a_question_of_a_cancelled_task_ends_the_call_with_the_reason() {
    let house = House::new();
    let mut client = at_work(&house, json!({}));
    let call = client.begin("clarify", which_for_the_card());
    house.question();
    house.text(&["cancel", "1"]);
    let reply = client.reply(call);
    assert_eq!(reply["result"]["structuredContent"]["code"], "question_cancelled", "{reply}");
}

/// A client outside of any run with a card of its own that it works on.
fn at_work(house: &House, capabilities: Value) -> Client {
    let mut client = house.client_with(&[], |_| {});
    client.greet_as(capabilities);
    client.call("task", json!({ "action": "create", "title": "deploy" }));
    client.call("task", json!({ "action": "start", "task_id": 1 }));
    client
}

fn which_for_the_card() -> Value {
    json!({ "question": ASKED, "options": ["staging", "production"], "task_id": 1, "wait": true })
}

#[test]
fn the_person_at_a_client_answers_in_its_form() {
    let house = House::new();
    let mut client = at_work(&house, json!({ "elicitation": {} }));
    let call = client.begin("clarify", which_for_the_card());
    let form = client.next("a form", |m| m["method"] == "elicitation/create");
    assert_eq!(form["params"]["message"], ASKED);
    let fields = &form["params"]["requestedSchema"]["properties"];
    assert_eq!(fields["choice"]["enum"], json!(["staging", "production"]));
    let too_long = json!({ "action": "accept", "content": { "answer": "x".repeat(10_001) } });
    client.send(json!({ "jsonrpc": "2.0", "id": form["id"], "result": too_long }));
    let again = client.next("another form", |m| m["method"] == "elicitation/create");
    assert!(again["params"]["message"].as_str().unwrap().contains("10000"), "{again}");
    let filled = json!({ "action": "accept", "content": { "choice": "production" } });
    client.send(json!({ "jsonrpc": "2.0", "id": again["id"], "result": filled }));
    assert_eq!(client.result(call)["answer"], "production");
    assert_eq!(house.json(&["show", "1"])["waits"][0]["state"], "consumed");
}

#[test]
fn a_form_that_is_declined_leaves_the_question_on_the_board() {
    let house = House::new();
    let mut client = at_work(&house, json!({ "elicitation": { "form": {} } }));
    let call = client.begin("clarify", which_for_the_card());
    let form = client.next("a form", |m| m["method"] == "elicitation/create");
    client.send(json!({ "jsonrpc": "2.0", "id": form["id"], "result": { "action": "decline" } }));
    house.text(&["answer", "1", "staging"]);
    assert_eq!(client.result(call)["answer"], "staging");
}

#[test]
fn whoever_answers_first_counts_and_the_form_is_taken_back() {
    let house = House::new();
    let mut client = at_work(&house, json!({ "elicitation": {} }));
    let call = client.begin("clarify", which_for_the_card());
    let form = client.next("a form", |m| m["method"] == "elicitation/create");
    house.text(&["answer", "1", "staging"]);
    assert_eq!(client.result(call)["answer"], "staging");
    assert_eq!(client.heard("notifications/cancelled")["requestId"], form["id"]);
}

/// The parameters of a call by a client of the protocol without a greeting.
fn newer(arguments: Value, more: Value) -> Value {
    let mut params = json!({ "name": "clarify", "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "newer", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    } });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params
}

#[test]
fn a_newer_client_is_told_what_is_missing_and_calls_again_with_it() {
    let house = House::new();
    house.text(&["add", "deploy"]);
    house.text(&["start", "1"]);
    let mut client = house.client_with(&[], |_| {});
    let asked = client.ask("tools/call", newer(which_for_the_card(), json!({})));
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["inputRequests"]["answer"]["method"], "elicitation/create");
    assert_eq!(asked["inputRequests"]["answer"]["params"]["message"], ASKED);
    let state = &asked["requestState"];
    assert_eq!(house.question()["question_id"], *state);

    let filled = json!({ "answer": { "action": "accept", "content": { "choice": "staging" } } });
    let other = json!({ "question": "Something else?", "task_id": 1, "wait": true });
    let retry = json!({ "inputResponses": filled, "requestState": state });
    let wrong = client.ask("tools/call", newer(other, retry.clone()));
    assert_eq!(wrong["structuredContent"]["code"], "invalid_params", "an answer is for its question only");
    let done = client.ask("tools/call", newer(which_for_the_card(), retry.clone()));
    assert_eq!(done["structuredContent"]["answer"], "staging");
    let again = client.ask("tools/call", newer(which_for_the_card(), retry));
    assert_eq!(
        again["structuredContent"]["answer"], "staging",
        "a replay gives the same and restarts nothing"
    );
}

#[test]
fn a_newer_client_whose_person_declines_waits_for_the_board() {
    let house = House::new();
    house.text(&["add", "deploy"]);
    house.text(&["start", "1"]);
    let mut client = house.client_with(&[], |_| {});
    let asked = client.ask("tools/call", newer(which_for_the_card(), json!({})));
    let retry = json!({ "inputResponses": { "answer": { "action": "decline" } }, "requestState": asked["requestState"] });
    let call = client.request("tools/call", newer(which_for_the_card(), retry));
    house.text(&["answer", "1", "production"]);
    assert_eq!(client.result(call)["answer"], "production");
}
