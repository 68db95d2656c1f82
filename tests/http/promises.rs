//! Requests that are bound to a version, or to a key.

use super::client::Board;
use serde_json::json;

#[test]
fn a_write_that_saw_an_older_version_is_refused_and_changes_nothing() {
    let board = Board::new();
    board.post("/tasks", json!({ "title": "x" }));
    let tag = board.ask("GET", "/tasks/1", None).header("etag").to_owned();
    let edit = |tag: &str, title: &str| {
        board.ask_with("PATCH", "/tasks/1", &[("if-match", tag)], Some(json!({ "title": title })))
    };
    let edited = edit(&tag, "first");
    assert_eq!((edited.status, edited.header("etag")), (200, "\"2\""));
    let stale = edit(&tag, "second");
    assert_eq!((stale.problem(409).as_str(), &stale.json()["version"]), ("stale_version", &json!(2)));
    for path in ["start", "cancel", "archive", "transition"] {
        let body = (path == "transition").then(|| json!({ "status": "queued" }));
        let answer = board.ask_with("POST", &format!("/tasks/1/{path}"), &[("if-match", &tag)], body);
        assert_eq!(answer.problem(409), "stale_version", "{path}");
    }
    board.ask_with("DELETE", "/tasks/1", &[("if-match", &tag)], None).problem(409);
    let now = board.get("/tasks/1");
    assert_eq!(
        (&now["title"], &now["version"], &now["status"]),
        (&json!("first"), &json!(2), &json!("pending"))
    );
    assert_eq!(edit("*", "third").status, 200);
    assert_eq!(edit("\"3\"", "fourth").status, 200);
    for bad in ["x", "\"4\", \"5\"", "", "1.5"] {
        edit(bad, "fifth").problem(400);
    }
}

#[test]
fn a_workflow_is_bound_to_its_version_too() {
    let board = Board::new();
    let step = json!({ "id": "a", "tool_name": "exec", "tool_params": { "command": "true" } });
    let made = board.post("/workflows", json!({ "name": "w", "steps": [step] }));
    let tag = format!("\"{}\"", made["version"]);
    let id = made["id"].as_str().unwrap();
    let start = format!("/workflows/{id}/start");
    assert_eq!(board.ask_with("POST", &start, &[("if-match", &tag)], None).status, 200);
    let cancel = format!("/workflows/{id}/cancel");
    assert_eq!(board.ask_with("POST", &cancel, &[("if-match", &tag)], None).problem(409), "stale_version");
}

#[test]
fn the_same_key_is_carried_out_once_and_answered_alike_even_after_a_restart() {
    let board = Board::new();
    let send = |board: &Board, key: &str, title: &str| {
        board.ask_with("POST", "/tasks", &[("idempotency-key", key)], Some(json!({ "title": title })))
    };
    let first = send(&board, "k1", "x");
    let again = send(&board, "k1", "x");
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.json(), again.json());
    assert_eq!(first.header("etag"), again.header("etag"));
    board.post("/tasks/1/start", json!({}));
    assert_eq!(send(&board, "k1", "x").json(), first.json(), "what was answered, not what is");
    assert_eq!(send(&board, "k1", "y").problem(409), "idempotency_key_reused");
    let elsewhere = board.ask_with("POST", "/tasks/1/cancel", &[("idempotency-key", "k1")], None);
    assert_eq!(elsewhere.problem(409), "idempotency_key_reused");
    for bad in ["", " ", &"k".repeat(201), "\u{e9}"] {
        send(&board, bad, "x").problem(400);
    }
    assert_eq!(board.get("/tasks?all=true")["items"].as_array().unwrap().len(), 1);
    let Board { house, daemon, .. } = board;
    daemon.terminate();
    let board = Board::with(house, &["--http", "127.0.0.1:0"]);
    assert_eq!(send(&board, "k1", "x").json(), first.json());
}

#[test]
fn what_was_refused_is_tried_again_under_its_key() {
    let board = Board::new();
    board.post("/tasks", json!({ "title": "x" }));
    let retry = || board.ask_with("POST", "/tasks/1/retry", &[("idempotency-key", "k")], None);
    retry().problem(409);
    board.post("/tasks/1/start", json!({}));
    board.post("/tasks/1/fail", json!({}));
    assert_eq!(retry().status, 200);
    assert_eq!((retry().status, &board.get("/tasks/1")["retry_count"]), (200, &json!(1)));
}

#[test]
fn many_at_once_with_one_key_are_one() {
    let board = Board::new();
    let answers: Vec<_> = std::thread::scope(|scope| {
        let send = || {
            board.ask_with("POST", "/tasks", &[("idempotency-key", "same")], Some(json!({ "title": "x" })))
        };
        let all: Vec<_> = (0..16).map(|_| scope.spawn(send)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let ids: std::collections::BTreeSet<String> =
        answers.iter().map(|answer| answer.json()["id"].as_str().unwrap().to_owned()).collect();
    assert!(answers.iter().all(|answer| answer.status == 201));
    assert_eq!((ids.len(), board.get("/tasks")["items"].as_array().unwrap().len()), (1, 1));
}
