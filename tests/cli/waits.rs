//! Waiting for what comes by itself: tasks, events from outside, timers; by scripts, by agents that end, and by steps.

use super::house::House;
use serde_json::json;

#[test]
fn a_script_waits_for_an_event_and_a_wake_lets_it_go_on_in_the_same_run() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let script = r#"andon tool '{"tool":"wait_for","wake":"external","resource":"pr-17","reason":"needs the review"}'"#;
    house.done(&["add", "x", "--start", "--", "sh", "-c", script]);
    house.until("1", "blocked");
    let why = house.done(&["why", "1"]);
    assert!(
        why.contains("waits for the event `pr-17`: needs the review") && why.contains("andon wake pr-17"),
        "{why}"
    );
    assert_eq!(house.done(&["wake", "pr-17", "--data", r#"{"approved":true}"#]), "pr-17 woke 1 card");
    assert_eq!(house.andon(&["wait", "1"]).code, 0);
    let log = house.done(&["log", "1"]);
    assert!(log.contains(r#""approved":true"#), "{log}");
    let shown = house.json(&["show", "1"]);
    assert_eq!(shown["runs"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&shown["waits"][0]["kind"], &shown["waits"][0]["state"]),
        (&json!("event"), &json!("consumed"))
    );
}

#[test]
fn a_wake_that_comes_early_is_kept_and_the_first_of_its_key_counts() {
    let house = House::new();
    assert!(house.done(&["wake", "ci", "--data", "1"]).contains("is kept"));
    let again = house.json(&["wake", "ci", "--data", "2"]);
    assert_eq!((&again["first"], &again["data"], &again["woken"]), (&json!(false), &json!(1), &json!(0)));
    assert!(house.done(&["wake", "ci"]).contains("had arrived already"));
    house.andon(&["wake", ""]).refused(2, &["needs a key"]);
    house.andon(&["wake", "x", "--data", "{"]).refused(2, &["not JSON"]);
    let _daemon = house.daemon(&[]);
    let script = r#"andon tool '{"tool":"wait_for","wake":"external","resource":"ci","reason":"x"}'"#;
    house.done(&["add", "x", "--wait", "--", "sh", "-c", script]);
    assert!(house.done(&["log", "1"]).contains(r#""data":1"#));
}

#[test]
fn an_agent_that_ends_is_started_again_with_the_outcome_as_its_answer() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    house.done(&["add", "build"]);
    let script = r#"test -n "$ANDON_ANSWER" && echo "told: $ANDON_ANSWER" && exit
        andon tool '{"tool":"wait_for","wake":"task_result","resource":1,"reason":"x","wait":false}'"#;
    house.done(&["add", "x", "--start", "--", "sh", "-c", script]);
    house.until("2", "blocked");
    house.done(&["complete", "1", "--result", "v1.2"]);
    assert_eq!(house.andon(&["wait", "2"]).code, 0);
    let log = house.done(&["log", "2"]);
    assert!(log.contains("told:") && log.contains(r#""result":"v1.2""#), "{log}");
}

#[test]
fn timers_are_set_listed_waited_for_and_cancelled() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let tool = |call: &str| -> serde_json::Value {
        let said = house.andon(&["tool", call]);
        serde_json::from_str(&said.out).unwrap()
    };
    let far = tool(r#"{"tool":"timer","action":"create","in_seconds":3600,"name":"later"}"#);
    let id = far["result"]["timer_id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("c_"), "{far}");
    let list = tool(r#"{"tool":"timer","action":"list"}"#);
    assert_eq!(list["result"]["items"][0]["name"], "later");
    let cancelled = tool(&json!({ "tool": "timer", "action": "cancel", "timer_id": id }).to_string());
    assert_eq!(cancelled["result"]["state"], "cancelled");
    let wrong = tool(r#"{"tool":"timer","action":"create"}"#);
    assert_eq!(wrong["error"]["code"], "invalid_params");
    let script = r#"id=$(andon tool '{"tool":"timer","action":"create","in_seconds":1}' | sed 's/.*"timer_id":"\([^"]*\)".*/\1/')
        andon tool "{\"tool\":\"wait_for\",\"wake\":\"timer\",\"resource\":\"$id\",\"reason\":\"a moment\"}""#;
    house.done(&["add", "x", "--wait", "--", "sh", "-c", script]);
    let log = house.done(&["log", "1"]);
    assert!(log.contains(r#""state":"triggered""#), "{log}");
    let unknown =
        r#"andon tool '{"tool":"wait_for","wake":"timer","resource":"c_zzzzzzzzzzzz","reason":"x"}'"#;
    house.done(&["add", "x", "--wait", "--", "sh", "-c", &format!("{unknown}; echo code $?")]);
    assert!(house.done(&["log", "2"]).contains("code 3"));
}

#[test]
fn a_step_waits_without_holding_a_slot_and_its_result_is_what_came() {
    let house = House::new();
    let _daemon = house.daemon(&["--parallel", "1"]);
    let file = house.file(
        "flow.yaml",
        "name: release\nsteps:\n  - id: ci\n    tool_name: wait_for\n    tool_params: { wake: external, resource: ci-9, reason: green build }\n\
         \x20 - id: ship\n    tool_name: exec\n    tool_params: { command: \"echo shipping ${steps.ci.result}\" }\n    depends_on: [ci]\n",
    );
    house.done(&["workflow", "create", &file]);
    house.done(&["workflow", "start", "release"]);
    house.until("1", "blocked");
    house.done(&["add", "other", "--wait", "--", "true"]);
    house.done(&["wake", "ci-9", "--data", "\"green\""]);
    assert_eq!(house.andon(&["wait", "2"]).code, 0);
    let result = house.json(&["show", "2"])["result"].clone();
    assert!(result.as_str().unwrap().contains("green"), "{result}");
    assert_eq!(house.json(&["show", "1"])["status"], "success");
}

#[test]
fn a_question_that_nobody_has_been_shown_is_marked_as_such() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let script = r#"andon tool '{"tool":"clarify","question":"Which?"}'"#;
    house.done(&["add", "x", "--start", "--", "sh", "-c", script]);
    house.until("1", "blocked");
    assert!(house.done(&["questions"]).contains("(nobody has seen it)"));
    assert_eq!(house.json(&["questions"])["items"][0]["seen_by"], json!([]));
    house.done(&["answer", "1", "this"]);
}

#[test]
fn a_question_is_given_up_only_where_its_asker_said_when() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let script =
        r#"andon tool '{"tool":"clarify","question":"Which?","expires_in_seconds":1}'; echo "code $?""#;
    house.done(&["add", "x", "--wait", "--", "sh", "-c", script]);
    let log = house.done(&["log", "1"]);
    assert!(log.contains("question_expired") && log.contains("code 4"), "{log}");
    assert_eq!(house.json(&["questions"])["items"], json!([]));
}
