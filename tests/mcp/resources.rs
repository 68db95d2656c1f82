//! Resources: boards, tasks and logs by their addresses, and hearing of changes.

use serde_json::{Value, json};

use super::house::House;

fn read(client: &mut super::client::Client, uri: &str) -> Value {
    let result = client.ask("resources/read", json!({ "uri": uri }));
    assert_eq!(result["contents"][0]["uri"], uri);
    result["contents"][0].clone()
}

#[test]
fn boards_tasks_and_logs_are_listed_and_read() {
    let house = House::new();
    let _daemon = house.daemon();
    house.text(&["add", "shines", "--wait", "--", "printf", "\\033[31mred\\033[0m 日本\\n"]);
    house.text(&["add", "look at **this**", "-p", "1", "-l", "bug"]);
    let mut client = house.client(&[]);
    let listed = client.ask("resources/list", json!({}))["resources"].as_array().unwrap().clone();
    let named =
        |name: &str| listed.iter().find(|found| found["name"].as_str().unwrap().contains(name)).cloned();
    assert_eq!(named("board default").unwrap()["uri"], "andon://board/default");
    let card = named("look at").unwrap();
    assert_eq!(listed.len(), 2, "settled cards are not listed: {listed:?}");
    let templates = client.ask("resources/templates/list", json!({}))["resourceTemplates"].clone();
    assert_eq!(templates.as_array().unwrap().len(), 3);

    let board = read(&mut client, "andon://board/default");
    assert_eq!(board["mimeType"], "text/markdown");
    assert!(board["text"].as_str().unwrap().contains("- #2 look at **this** (P1) [bug]"), "{board}");
    let task = read(&mut client, card["uri"].as_str().unwrap());
    let record: Value = serde_json::from_str(task["text"].as_str().unwrap()).unwrap();
    assert_eq!((&record["seq"], &record["priority"]), (&json!(2), &json!(1)));
    let by_number = read(&mut client, "andon://task/1");
    let record: Value = serde_json::from_str(by_number["text"].as_str().unwrap()).unwrap();
    assert_eq!(record["runs"][0]["outcome"], "success");
    assert_eq!(read(&mut client, "andon://task/1/log")["text"], "red 日本\n");
    assert_eq!(read(&mut client, "andon://task/2/log")["text"], "", "it has not run yet");
}

#[test]
fn what_is_not_there_is_refused() {
    let house = House::new();
    let mut client = house.client(&[]);
    for uri in [
        "andon://board/none",
        "andon://task/99",
        "andon://task/",
        "file:///etc/passwd",
        "",
        "andon://task/1/../2",
    ] {
        assert_eq!(client.refused("resources/read", json!({ "uri": uri })), -32002, "{uri}");
    }
    assert_eq!(client.refused("resources/subscribe", json!({ "uri": "andon://task/99" })), -32002);
}

#[test]
fn a_long_list_comes_page_by_page() {
    let house = House::new();
    let mut client = house.client(&[]);
    for n in 0..120 {
        client.begin("task", json!({ "action": "create", "title": format!("card {n}") }));
    }
    client.next("the last card", |m| m["result"]["structuredContent"]["seq"] == 120);
    let first = client.ask("resources/list", json!({}));
    let second = client.ask("resources/list", json!({ "cursor": first["nextCursor"] }));
    let count = |page: &Value| page["resources"].as_array().unwrap().len();
    assert_eq!((count(&first), count(&second)), (101, 20), "the board, and 120 cards");
    assert!(second["nextCursor"].is_null());
}

#[test]
fn a_change_is_told_to_who_subscribed_and_new_cards_to_everybody() {
    let house = House::new();
    house.text(&["add", "watched"]);
    let mut client = house.client(&[]);
    let uri = format!("andon://task/{}", house.json(&["show", "1"])["id"].as_str().unwrap());
    client.ask("resources/subscribe", json!({ "uri": uri }));
    house.text(&["edit", "1", "--title", "watched closely"]);
    assert_eq!(client.heard("notifications/resources/updated")["uri"], uri);
    house.text(&["add", "another"]);
    client.heard("notifications/resources/list_changed");
    client.ask("resources/unsubscribe", json!({ "uri": uri }));
}

#[test]
fn a_newer_client_hears_of_changes_on_a_subscription_of_its_own() {
    let house = House::new();
    house.text(&["add", "watched"]);
    let uri = format!("andon://task/{}", house.json(&["show", "1"])["id"].as_str().unwrap());
    let mut client = house.client_with(&[], |_| {});
    let id = client.request(
        "subscriptions/listen",
        json!({ "notifications": { "resourceSubscriptions": [uri] }, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "newer", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } }),
    );
    client.heard("notifications/subscriptions/acknowledged");
    house.text(&["edit", "1", "--title", "watched closely"]);
    assert_eq!(client.heard("notifications/resources/updated")["uri"], uri);
    client.hang_up();
    assert!(client.ended().success(), "listening {id} keeps nobody");
}
