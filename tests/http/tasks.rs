//! Tasks over HTTP: what the command line can do, with the same records.

use super::client::Board;
use serde_json::{Value, json};

fn seqs(list: &Value) -> Vec<i64> {
    list["items"].as_array().unwrap().iter().map(|item| item["seq"].as_i64().unwrap()).collect()
}

#[test]
fn a_task_is_made_found_changed_moved_and_hidden() {
    let board = Board::new();
    let made =
        board.ask("POST", "/tasks", Some(json!({ "title": "修复", "priority": 2, "labels": ["bug"] })));
    assert_eq!((made.status, made.header("etag")), (201, "\"1\""));
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/tasks/{id}");
    for name in ["1", "%231", &id, &id[..8]] {
        assert_eq!(board.get(&format!("/tasks/{name}"))["title"], "修复", "{name}");
    }
    let shown = board.house.json(&["show", "1"]);
    assert_eq!(board.get("/tasks/1"), shown, "the same record as the command line's");
    let edit = json!({ "assignee": "pat", "timeout_seconds": 60 });
    assert_eq!(board.ask("PATCH", &path, Some(edit)).json()["timeout_seconds"], 60);
    let cleared = board.ask("PATCH", &path, Some(json!({ "timeout_seconds": null }))).json();
    assert_eq!((&cleared["timeout_seconds"], &cleared["assignee"]), (&Value::Null, &json!("pat")));
    assert_eq!(board.post(&format!("{path}/transition"), json!({ "status": "queued" }))["status"], "queued");
    assert_eq!(board.post(&format!("{path}/transition"), json!({ "to": "RUNNING" }))["status"], "running");
    assert_eq!(board.ask("DELETE", &path, None).problem(409), "run_is_live");
    let done = board.post(&format!("{path}/complete"), json!({ "result": "null check" }));
    assert_eq!((&done["status"], &done["result"]), (&json!("success"), &json!("null check")));
    let hidden = board.ask("DELETE", &path, None).json();
    assert_eq!((&hidden["status"], hidden["archived_at_ms"].is_i64()), (&json!("success"), true));
    assert_eq!(seqs(&board.get("/tasks")), Vec::<i64>::new());
    assert_eq!(seqs(&board.get("/tasks?all=true")), [1]);
    let refused = board.ask("POST", &format!("{path}/retry"), None);
    assert_eq!(refused.problem(409), "illegal_transition");
    assert_eq!(refused.json()["from"], "success");
}

#[test]
fn lists_cover_all_boards_and_are_narrowed_and_paged() {
    let board = Board::new();
    for (n, (on, priority)) in [("a", 5), ("b", 3), ("a", 3), ("c", 9)].into_iter().enumerate() {
        let labels = if n % 2 == 0 { json!(["even", "x"]) } else { json!([]) };
        board.post("/tasks", json!({ "title": "t", "board_id": on, "priority": priority, "labels": labels }));
    }
    assert_eq!(seqs(&board.get("/tasks")), [2, 3, 1, 4]);
    assert_eq!(seqs(&board.get("/tasks?board_id=a")), [3, 1]);
    assert_eq!(seqs(&board.get("/tasks?label=even&label=x")), [3, 1]);
    board.post("/tasks/4/start", json!({}));
    assert_eq!(seqs(&board.get("/tasks?status=running")), [4]);
    assert_eq!(seqs(&board.get("/tasks?status=running&status=pending&board_id=b")), [2]);
    assert_eq!(seqs(&board.get("/tasks?status=running,pending&limit=1000")), [2, 3, 1, 4]);
    let first = board.get("/tasks?limit=3");
    let next = format!("/tasks?limit=3&cursor={}", first["next_cursor"].as_str().unwrap());
    let second = board.get(&next);
    assert_eq!((seqs(&first), seqs(&second)), (vec![2, 3, 1], vec![4]));
    assert_eq!(second["next_cursor"], Value::Null);
    let boards = board.get("/boards");
    assert_eq!(boards["items"].as_array().unwrap().len(), 4);
}

#[test]
fn work_runs_and_its_log_runs_events_and_reasons_are_told() {
    let board = Board::new();
    let script = "printf 'one\\ntwo\\n\\377'; exit 3";
    board.post("/tasks", json!({ "title": "x", "command": ["sh", "-c", script], "start": true, "cwd": "/" }));
    board.house.until("1", "failed");
    assert_eq!(board.ask("GET", "/tasks/1/log", None).bytes, b"one\ntwo\n\xff");
    assert_eq!(board.ask("GET", "/tasks/1/log?run=1&tail=5", None).bytes, b"two\n\xff");
    let runs = board.get("/tasks/1/runs");
    assert_eq!((&runs["items"][0]["outcome"], &runs["items"][0]["exit_code"]), (&json!("failed"), &json!(3)));
    let events = board.get("/tasks/1/events?limit=2");
    let kinds = |list: &Value| -> Vec<String> {
        list["items"].as_array().unwrap().iter().map(|e| e["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&events), ["created", "queued"]);
    let next = events["next_cursor"].as_str().unwrap();
    assert_eq!(kinds(&board.get(&format!("/tasks/1/events?cursor={next}")))[0], "claimed");
    let why = board.get("/tasks/1/why");
    assert_eq!((&why["status"], why["reasons"][0]["code"].is_string()), (&json!("failed"), true));
    assert_eq!(board.post("/tasks/1/retry", json!({}))["retry_count"], 1);
    board.house.until("1", "failed");
    // They are counted as they are heard of, a moment later.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let lines = ["andon_runs_started_total 2", "andon_runs_settled_total{outcome=\"failed\"} 2"];
    loop {
        let bearer = format!("Bearer {}", board.read);
        let headers = [("host", board.address.as_str()), ("authorization", bearer.as_str())];
        let text = String::from_utf8(board.raw("GET", "/metrics", &headers, b"").bytes).unwrap();
        if lines.iter().all(|line| text.lines().any(|found| found == *line)) {
            break;
        }
        assert!(std::time::Instant::now() < end, "{lines:?} in {text}");
    }
}

#[test]
fn ending_a_live_run_waits_for_its_processes_unless_told_not_to() {
    let board = Board::new();
    let endless = json!({ "title": "endless", "command": ["sleep", "600"], "start": true });
    for seq in 1..=2 {
        board.post("/tasks", endless.clone());
        board.house.until(&seq.to_string(), "running");
    }
    let cancelled = board.ask("POST", "/tasks/1/cancel", Some(json!({ "reason": "enough" })));
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled")));
    assert_eq!(board.get("/tasks/1/runs")["items"][0]["outcome"], "cancelled");
    let accepted =
        board.ask("POST", "/tasks/2/transition", Some(json!({ "status": "suspended", "wait": false })));
    assert_eq!((accepted.status, &accepted.json()["accepted"]), (202, &json!(true)));
    board.house.until("2", "suspended");
}

#[test]
fn reviewed_work_is_taken_or_sent_back_with_feedback() {
    let board = Board::new();
    let card = json!({ "title": "x", "command": "true", "start": true, "review_required": true });
    board.post("/tasks", card);
    board.house.until("1", "review");
    let both = json!({ "decision": "approve", "feedback": "x" });
    board.ask("POST", "/tasks/1/approval", Some(both)).problem(422);
    let back =
        board.post("/tasks/1/approval", json!({ "decision": "reject", "feedback": "tests are missing" }));
    assert!(back["review_summary"].as_str().unwrap().contains("tests are missing"), "{back}");
    board.house.until("1", "review");
    assert_eq!(board.post("/tasks/1/approval", json!({ "decision": "approve" }))["status"], "success");
    board.ask("POST", "/tasks/1/approval", Some(json!({ "decision": "approve" }))).problem(409);
}

#[test]
fn the_other_verbs_do_what_they_do_at_the_command_line() {
    let board = Board::new();
    for title in ["first", "second"] {
        board.post("/tasks", json!({ "title": title }));
    }
    board.post("/tasks/2/dependencies", json!({ "on": 1 }));
    assert_eq!(board.get("/tasks/2")["dependencies"][0]["seq"], 1);
    assert_eq!(board.ask("POST", "/tasks/1/dependencies", Some(json!({ "on": "2" }))).status, 409);
    assert_eq!(board.ask("DELETE", "/tasks/2/dependencies/1", None).status, 200);
    board.post("/tasks/1/start", json!({}));
    assert_eq!(board.post("/tasks/1/suspend", json!({}))["status"], "suspended");
    board.post("/tasks/1/resume", json!({}));
    board.post("/tasks/1/transition", json!({ "status": "running" }));
    let blocked = board.post("/tasks/1/block", json!({ "reason": "vendor" }));
    assert_eq!(blocked["blocked_reason"], "vendor");
    board.ask("POST", "/tasks/1/block", None).problem(400);
    assert_eq!(board.post("/tasks/1/unblock", json!({}))["status"], "queued");
    assert_eq!(board.post("/tasks/1/cancel", json!({}))["status"], "cancelled");
    assert!(board.post("/tasks/1/archive", json!({}))["archived_at"].is_string());
    let copied = board.ask("POST", "/tasks/1/copy", None);
    assert_eq!((copied.status, &copied.json()["title"]), (201, &json!("first")));
    assert_eq!(board.ask("POST", "/boards", Some(json!({ "name": "work" }))).status, 201);
    board.ask("POST", "/boards", Some(json!({ "name": "work" }))).problem(409);
}

#[test]
fn a_question_is_answered_once_and_only_by_its_own_task() {
    let board = Board::new();
    let (seq, question) = board.asking();
    let (other, other_question) = board.asking();
    let path = format!("/tasks/{seq}/clarification");
    let answer = |question: &str, text: &str| {
        board.ask("POST", &path, Some(json!({ "question_id": question, "answer": text })))
    };
    answer(&other_question, "x").problem(404);
    for bad in ["", "  ", &"界".repeat(10_001)] {
        answer(&question, bad).problem(422);
    }
    let given = answer(&question, &"界".repeat(10_000));
    assert_eq!((given.status, &given.json()["task_id"]), (200, &board.get(&format!("/tasks/{seq}"))["id"]));
    assert_eq!(answer(&question, "again").problem(409), "question_answered");
    board.house.until(&seq.to_string(), "success");
    board.post(&format!("/tasks/{other}/cancel"), json!({}));
    let late = json!({ "question_id": other_question, "option": 1 });
    let late = board.ask("POST", &format!("/tasks/{other}/clarification"), Some(late));
    assert_eq!(late.problem(409), "question_cancelled");
}

#[test]
fn what_an_agent_put_there_waits_to_be_allowed_and_an_answer_allows_nothing() {
    let board = Board::new();
    let script = "andon add 'by an agent' --start -- touch made && andon add again --start -- touch again";
    let path = format!(
        "{}:/usr/bin:/bin",
        std::path::Path::new(env!("CARGO_BIN_EXE_andon")).parent().unwrap().display()
    );
    let card =
        json!({ "title": "x", "command": ["sh", "-c", script], "start": true, "env": { "PATH": path } });
    board.post("/tasks", card);
    board.house.until("1", "success");
    board.house.until("2", "blocked");
    board.house.until("3", "blocked");
    let waiting = board.get("/approvals");
    assert_eq!(seqs(&waiting), [2, 3]);
    assert_eq!(waiting, board.house.json(&["approvals", "--board", "*"]));
    let id = waiting["items"][0]["approval_id"].as_str().unwrap();
    let decide = |task: i64, body: Value| board.ask("POST", &format!("/tasks/{task}/approval"), Some(body));
    decide(3, json!({ "decision": "allow", "approval_id": id })).problem(404);
    decide(2, json!({ "decision": "allow", "feedback": "x" })).problem(422);
    decide(2, json!({ "decision": "approve" })).problem(409);
    decide(1, json!({ "decision": "allow" })).problem(409);
    let answer = json!({ "question_id": "q_abcdefghijkl", "answer": "yes" });
    board.ask("POST", "/tasks/2/clarification", Some(answer)).problem(404);
    let allowed = decide(2, json!({ "decision": "allow", "approval_id": id }));
    assert_eq!((allowed.status, &allowed.json()["approval_id"]), (200, &json!(id)), "{allowed:?}");
    decide(2, json!({ "decision": "allow", "approval_id": id })).problem(409);
    board.house.until("2", "success");
    let denied = decide(3, json!({ "decision": "deny", "reason": "once is enough" }));
    assert_eq!(
        (&denied.json()["state"], &denied.json()["reason"]),
        (&json!("denied"), &json!("once is enough"))
    );
    board.house.until("3", "failed");
    assert_eq!(board.get("/approvals")["items"], json!([]));
}

#[test]
fn an_event_from_outside_wakes_who_waits_and_the_first_of_its_key_counts() {
    let board = Board::new();
    let first = board.post("/wake/deploy-finished", json!({ "data": { "ok": true } }));
    assert_eq!(
        (&first["first"], &first["woken"], &first["data"]),
        (&json!(true), &json!(0), &json!({ "ok": true }))
    );
    let second = board.post("/wake/deploy-finished", json!({ "data": 2 }));
    assert_eq!((&second["first"], &second["data"]), (&json!(false), &json!({ "ok": true })));
    assert_eq!(board.post("/wake/other", json!({}))["data"], Value::Null);
    for bad in ["/wake/%20", &format!("/wake/{}", "k".repeat(5_000))] {
        board.ask("POST", bad, None).problem(422);
    }
}
