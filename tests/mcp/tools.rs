//! The tools: which there are, and what a call of each gives.

use serde_json::{Value, json};

use super::house::House;

#[test]
fn a_client_is_told_who_serves_and_every_tool_with_its_schema_and_its_hints() {
    let house = House::new();
    let mut client = house.client(&[]);
    assert_eq!(client.greeting["serverInfo"]["name"], "andon");
    assert_eq!(client.greeting["protocolVersion"], "2025-06-18");
    let tools = client.ask("tools/list", json!({}))["tools"].as_array().unwrap().clone();
    let hint = |name: &str, hint: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}"));
        tool["annotations"][hint].clone()
    };
    for name in andon::tools::names() {
        assert!(tools.iter().any(|tool| tool["name"] == *name), "{name} is not listed");
    }
    assert_eq!(hint("read_file", "readOnlyHint"), true);
    assert_eq!(hint("exec", "readOnlyHint"), false);
    assert_eq!(hint("exec", "destructiveHint"), true);
    for tool in &tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert!(!tool["description"].as_str().unwrap().is_empty());
    }
}

#[test]
fn work_is_planned_onto_the_board_and_looked_at() {
    let house = House::new();
    let mut client = house.client(&[]);
    let card = client.call("task", json!({ "action": "create", "title": "write the notes", "priority": 2 }));
    assert_eq!((&card["seq"], &card["status"]), (&json!(1), &json!("pending")));
    assert_eq!((&card["created_by"], &card["source"]), (&json!("mcp:tester"), &json!("mcp:tester")));
    let list = client.call("task", json!({ "action": "list" }));
    assert_eq!(list["items"][0]["title"], "write the notes");
    let steps = json!([
        { "id": "a", "tool_name": "exec", "tool_params": { "command": "true" } },
        { "id": "b", "tool_name": "exec", "tool_params": { "command": "true" }, "depends_on": ["a"] },
    ]);
    let flow = client.call("workflow", json!({ "action": "create", "name": "flow", "steps": steps }));
    assert_eq!(flow["steps"].as_array().unwrap().len(), 2);
    assert_eq!(
        house.json(&["show", "1"])["title"],
        "write the notes",
        "the command line sees the same board"
    );
}

#[test]
fn files_are_written_and_read_in_the_folder_that_the_client_was_started_in() {
    let house = House::new();
    let mut client = house.client(&[]);
    client.call("write_file", json!({ "path": "notes.txt", "content": "日本\n" }));
    assert_eq!(std::fs::read_to_string(house.path().join("notes.txt")).unwrap(), "日本\n");
    assert_eq!(client.call("read_file", json!({ "path": "notes.txt" }))["content"], "日本\n");
    let error = client.failed("read_file", json!({ "path": "../../etc/passwd" }));
    assert!(error["code"].is_string() && error["message"].is_string(), "{error}");
}

#[test]
fn a_tools_own_refusal_is_a_result_that_the_model_reads() {
    let house = House::new();
    let mut client = house.client(&[]);
    assert_eq!(client.failed("task", json!({ "action": "get", "task_id": 7 }))["code"], "not_found");
    let unknown = client.failed("task", json!({ "action": "create", "title": "x", "colour": "red" }));
    assert!(unknown["message"].as_str().unwrap().contains("colour"), "{unknown}");
    assert_eq!(client.failed("task", json!({ "action": "crate" }))["code"], "unknown_action");
    assert_eq!(client.failed("task", json!({}))["code"], "missing_action");
}

#[test]
fn what_an_agent_outside_the_board_plans_to_run_asks_a_person_first() {
    let house = House::new();
    let _daemon = house.daemon();
    let mut client = house.client(&[]);
    let mark = house.path().join("ran");
    let command = json!(["touch", mark]);
    client.call("task", json!({ "action": "create", "title": "x", "command": command, "start": true }));
    let card = house.until("1", "blocked");
    assert!(card["blocked_reason"].as_str().unwrap().starts_with("waits for approval"), "{card}");
    assert!(!mark.exists(), "nothing of it was started");
}

#[test]
fn many_calls_at_once_are_each_answered_by_their_own_id() {
    let house = House::new();
    let mut client = house.client(&[]);
    let ids: Vec<i64> = (0..50)
        .map(|n| client.begin("task", json!({ "action": "create", "title": format!("card {n}") })))
        .collect();
    for (n, id) in ids.into_iter().enumerate() {
        let card: Value = client.result(id);
        assert_eq!(card["title"], format!("card {n}"));
    }
}
