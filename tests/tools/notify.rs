//! Telling the person something.

use andon::domain::EventKind;
use serde_json::json;

use super::{House, text};

#[test]
fn a_notice_is_an_event_about_its_task_or_its_board_and_changes_nothing() {
    let house = House::new();
    let task = house.call(json!({ "tool": "task", "action": "create", "title": "x", "start": true }));
    let version = &house.call(json!({ "tool": "task", "action": "get", "task_id": 1 }))["version"];
    let seen = house.engine.last_seq().unwrap();
    house.call_as(
        &house.inside(&task),
        json!({ "tool": "notify", "title": "half\ndone", "message": "of it" }),
    );
    house.call(json!({ "tool": "notify", "title": "news", "level": "Warning" }));
    let events = house.engine.events(seen, None, 9).unwrap();
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| event.kind == EventKind::Notified && event.patch.is_empty()));
    assert_eq!((events[0].task_seq, &events[0].data["title"]), (Some(1), &json!("half done")));
    assert_eq!((events[1].task_seq, &events[1].data["level"]), (None, &json!("warning")));
    assert_eq!(events[1].data["board"], "default");
    assert_eq!(&house.call(json!({ "tool": "task", "action": "get", "task_id": 1 }))["version"], version);
}

#[test]
fn a_notice_needs_a_title_and_a_known_level_and_task() {
    let house = House::new();
    for (call, code) in [
        (json!({ "tool": "notify" }), 2),
        (json!({ "tool": "notify", "title": "  " }), 2),
        (json!({ "tool": "notify", "title": "x", "level": "loud" }), 2),
        (json!({ "tool": "notify", "title": "x", "message": "x".repeat(2_000_000) }), 2),
        (json!({ "tool": "notify", "title": "x", "task_id": 7 }), 3),
    ] {
        let (error, exit) = house.refused(call);
        assert_eq!(exit, code, "{}", text(&error, "message"));
    }
}
