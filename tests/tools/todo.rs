//! The light list of a session.

use serde_json::{Value, json};
use std::path::PathBuf;

use super::{House, text};
use andon::tools::ToolContext;

fn session(house: &House, name: &str) -> ToolContext {
    ToolContext { session: Some(name.to_owned()), ..house.operator() }
}

fn titles(list: &Value) -> Vec<(&str, &str)> {
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| (text(item, "title"), text(item, "status"))).collect()
}

fn file(house: &House, name: &str) -> PathBuf {
    house.home.path().join("todos").join(name)
}

#[test]
fn four_items_are_made_in_one_call_and_done_one_by_one() {
    let house = House::new();
    let me = session(&house, "s1");
    let items = ["read", "think", "write", "rest"].map(|title| json!({ "title": title }));
    let made = house.call_as(&me, json!({ "tool": "todo", "action": "create", "items": items }));
    let made = made["items"].as_array().unwrap();
    assert_eq!(made.len(), 4);
    for (at, item) in made.iter().enumerate() {
        let id = text(item, "id");
        assert!(id.len() == 14 && id.starts_with("t_"), "{id}");
        let done = house.call_as(&me, json!({ "tool": "todo", "action": "complete", "task_id": id }));
        assert_eq!(text(&done, "status"), "done");
        let list = house.call_as(&me, json!({ "tool": "todo", "action": "list" }));
        assert_eq!(titles(&list).iter().filter(|(_, status)| *status == "done").count(), at + 1);
    }
    let open = house.call_as(&me, json!({ "tool": "todo", "action": "list", "status": "pending" }));
    assert_eq!(titles(&open), []);
}

#[test]
fn an_item_is_made_changed_and_removed() {
    let house = House::new();
    let me = session(&house, "s1");
    let made = house.call_as(&me, json!({ "tool": "todo", "action": "create", "title": "  look around " }));
    assert_eq!((text(&made, "title"), text(&made, "status")), ("look around", "pending"));
    let id = &made["id"];
    let update = |fields: Value| {
        let mut call = json!({ "tool": "todo", "action": "update", "task_id": id });
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        house.answer(&me, &call)
    };
    assert!(update(json!({ "status": "in_progress" })).line.contains("\"in_progress\""));
    // Another word for done is understood, and its own is printed.
    assert!(update(json!({ "status": "completed" })).line.contains("\"status\":\"done\""));
    assert!(update(json!({ "title": "look twice" })).line.contains("look twice"));
    for bad in [json!({}), json!({ "status": "finished" }), json!({ "title": "" }), json!({ "owner": "x" })] {
        assert_eq!(update(bad.clone()).exit_code, 2, "{bad}");
    }
    house.call_as(&me, json!({ "tool": "todo", "action": "delete", "task_id": id }));
    let (error, exit) = house.refused_as(&me, json!({ "tool": "todo", "action": "complete", "task_id": id }));
    assert_eq!((text(&error, "code"), exit), ("not_found", 3));
}

#[test]
fn bad_items_are_told_together_and_nothing_is_added() {
    let house = House::new();
    let me = session(&house, "s1");
    let items = json!([{ "title": "good" }, { "titel": "x" }, "x", { "title": " " }, { "title": "x", "status": "odd" }]);
    let (error, exit) = house.refused_as(&me, json!({ "tool": "todo", "action": "create", "items": items }));
    assert_eq!((error["detail"]["faults"].as_array().unwrap().len(), exit), (4, 2), "{error}");
    for call in [
        json!({ "tool": "todo", "action": "create" }),
        json!({ "tool": "todo", "action": "create", "items": [] }),
        json!({ "tool": "todo", "action": "create", "title": "x", "items": [{ "title": "y" }] }),
    ] {
        assert_eq!(house.refused_as(&me, call).1, 2);
    }
    assert!(!house.home.path().join("todos/s1.json").exists());
}

#[test]
fn sessions_do_not_see_each_other_and_their_files_can_be_read_by_people() {
    let house = House::new();
    for name in ["a/b", "a_b", "../a_b"] {
        house.call_as(&session(&house, name), json!({ "tool": "todo", "action": "create", "title": name }));
    }
    for name in ["a/b", "a_b", "../a_b"] {
        let list = house.call_as(&session(&house, name), json!({ "tool": "todo", "action": "list" }));
        assert_eq!(titles(&list), [(name, "pending")]);
    }
    let written = std::fs::read_to_string(file(&house, "a_b.json")).unwrap();
    assert!(written.contains("\n      \"title\": \"a_b\",\n"), "{written}");
    assert!(!house.home.path().join("a_b.json").exists());
    let (error, exit) = house.refused(json!({ "tool": "todo", "action": "list" }));
    assert_eq!((text(&error, "code"), exit), ("missing_session", 2));
}

#[test]
fn a_run_has_its_own_list_and_no_other() {
    let house = House::new();
    let task = house.call(json!({ "tool": "task", "action": "create", "title": "x", "start": true }));
    let inside = house.inside(&task);
    house.call_as(&inside, json!({ "tool": "todo", "action": "create", "title": "mine" }));
    let own = session(&house, &format!("task:{}", text(&task, "id")));
    assert_eq!(
        titles(&house.call_as(&own, json!({ "tool": "todo", "action": "list" }))),
        [("mine", "pending")]
    );
    let foreign = ToolContext { session: Some("s1".to_owned()), ..inside };
    let (error, exit) = house.refused_as(&foreign, json!({ "tool": "todo", "action": "list" }));
    assert_eq!((text(&error, "code"), exit), ("foreign_session", 5));
}

#[test]
fn who_takes_a_task_for_a_todo_or_the_other_way_round_is_told_the_right_tool() {
    let house = House::new();
    let me = session(&house, "s1");
    let task = house.call(json!({ "tool": "task", "action": "create", "title": "x" }));
    let todo = house.call_as(&me, json!({ "tool": "todo", "action": "create", "title": "y" }));
    let call = json!({ "tool": "todo", "action": "complete", "task_id": task["id"] });
    let (error, exit) = house.refused_as(&me, call);
    assert_eq!((text(&error, "code"), exit), ("wrong_kind", 3));
    assert!(text(&error, "message").contains("use the tool `task`"), "{error}");
    // The operator is told without naming the session.
    let call = json!({ "tool": "task", "action": "complete", "task_id": todo["id"] });
    for ctx in [&me, &house.operator()] {
        let (error, _) = house.refused_as(ctx, call.clone());
        assert!(text(&error, "message").contains("use the tool `todo`"), "{error}");
    }
}

#[test]
fn todos_are_no_cards_no_steps_and_no_events() {
    let house = House::new();
    let before = house.engine.last_seq().unwrap();
    house.call_as(&session(&house, "s1"), json!({ "tool": "todo", "action": "create", "title": "y" }));
    assert_eq!(house.call(json!({ "tool": "task", "action": "list", "board_id": "*" }))["items"], json!([]));
    assert_eq!(house.engine.last_seq().unwrap(), before);
    let params = json!({ "action": "create", "title": "y" });
    let steps = json!([{ "id": "a", "tool_name": "todo", "tool_params": params }]);
    let call = json!({ "tool": "workflow", "action": "create", "name": "w", "steps": steps });
    let (error, exit) = house.refused(call);
    assert!(exit == 2 && text(&error, "message").contains("can't be a step"), "{error}");
}

#[test]
fn a_malformed_file_is_refused_and_left_as_it_is() {
    let house = House::new();
    let me = session(&house, "s1");
    house.call_as(&me, json!({ "tool": "todo", "action": "create", "title": "y" }));
    let whole = std::fs::read_to_string(file(&house, "s1.json")).unwrap();
    let broken = [
        "{",
        "",
        "[]",
        &whole.replace("\"title\"", "\"titel\""),
        &whole.replace("\"s1\"", "\"s2\""),
        &whole.replace("pending", "odd"),
    ];
    for broken in broken {
        std::fs::write(file(&house, "s1.json"), broken).unwrap();
        for action in ["list", "create"] {
            let mut call = json!({ "tool": "todo", "action": action });
            if action == "create" {
                call["title"] = json!("z");
            }
            let (error, exit) = house.refused_as(&me, call);
            assert_eq!((text(&error, "code"), exit), ("todo_file", 1), "{broken}");
            assert!(text(&error, "message").contains("s1.json"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(file(&house, "s1.json")).unwrap(), broken);
    }
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let house = House::new();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (house, me) = (&house, session(&house, "s1"));
            scope.spawn(move || {
                for at in 0..10 {
                    let title = format!("{writer}-{at}");
                    house.call_as(&me, json!({ "tool": "todo", "action": "create", "title": title }));
                    // Whoever reads meanwhile reads a whole list.
                    house.call_as(&me, json!({ "tool": "todo", "action": "list" }));
                }
            });
        }
    });
    let list = house.call_as(&session(&house, "s1"), json!({ "tool": "todo", "action": "list" }));
    assert_eq!(titles(&list).len(), 80);
}
