//! Two who want the same thing at once: exactly one wins, and the others are told.

use super::client::{Answer, Board};
use super::house::Process;
use serde_json::{Value, json};
use std::process::Stdio;
use std::sync::Barrier;

/// Sends all of these at the same moment.
fn at_once(board: &Board, requests: &[(String, Value)]) -> Vec<Answer> {
    let barrier = Barrier::new(requests.len());
    std::thread::scope(|scope| {
        let sent: Vec<_> = requests
            .iter()
            .map(|(path, body)| {
                scope.spawn(|| {
                    barrier.wait();
                    board.ask("POST", path, Some(body.clone()))
                })
            })
            .collect();
        sent.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[test]
fn of_several_answers_one_is_taken() {
    let board = Board::new();
    for _ in 0..10 {
        let (seq, question) = board.asking();
        let answer = |text: &str| {
            (format!("/tasks/{seq}/clarification"), json!({ "question_id": question, "answer": text }))
        };
        let answers = at_once(&board, &["a", "b", "c", "d"].map(answer));
        let won: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 200).collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        for lost in answers.iter().filter(|answer| answer.status != 200) {
            assert_eq!(lost.problem(409), "question_answered");
        }
        board.house.until(&seq.to_string(), "success");
        let said = won[0].json()["answer"].as_str().unwrap().to_owned();
        assert_eq!(board.get(&format!("/tasks/{seq}"))["result"], said.as_str());
    }
}

#[test]
fn an_answer_a_move_and_a_cancel_of_the_same_task_leave_one_story() {
    let board = Board::new();
    for _ in 0..15 {
        let (seq, question) = board.asking();
        let requests = [
            (format!("/tasks/{seq}/clarification"), json!({ "question_id": question, "answer": "staging" })),
            (format!("/tasks/{seq}/cancel"), json!({})),
            (format!("/tasks/{seq}/unblock"), json!({})),
        ];
        let answers = at_once(&board, &requests);
        assert!(answers.iter().all(|a| [200, 202, 409].contains(&a.status)), "{answers:?}");
        let taken = answers[0].status == 200;
        let unblocked = answers[2].status == 200;
        assert!(!(taken && unblocked), "an answer and a dropped question: {answers:?}");
        let cancelled = answers[1].status == 200;
        let status = loop {
            let task = board.get(&format!("/tasks/{seq}"));
            match task["status"].as_str().unwrap() {
                // Unblocked without an answer it asks once more.
                "blocked" if unblocked && !cancelled => break "blocked".to_owned(),
                "success" | "cancelled" => break task["status"].as_str().unwrap().to_owned(),
                _ => {}
            }
        };
        match status.as_str() {
            "success" => assert!(taken && !cancelled, "{answers:?}"),
            "cancelled" => assert!(cancelled, "{answers:?}"),
            _ => assert!(!taken, "{answers:?}"),
        }
        if status == "blocked" {
            board.post(&format!("/tasks/{seq}/cancel"), json!({}));
        }
    }
}

#[test]
fn of_several_who_start_or_cancel_one_wins() {
    let board = Board::new();
    for seq in 1..=10 {
        board.post("/tasks", json!({ "title": "x" }));
        let start = (format!("/tasks/{seq}/start"), json!({}));
        let cancel = (format!("/tasks/{seq}/cancel"), json!({}));
        let answers = at_once(&board, &[start.clone(), start, cancel.clone(), cancel]);
        let won = |range: std::ops::Range<usize>| answers[range].iter().filter(|a| a.status == 200).count();
        assert!(won(0..2) <= 1 && won(2..4) == 1, "{answers:?}");
        for lost in answers.iter().filter(|answer| answer.status != 200) {
            assert_eq!(lost.problem(409), "illegal_transition");
        }
        assert_eq!(board.get(&format!("/tasks/{seq}"))["status"], "cancelled");
    }
}

/// The next line that says this; what follows a card ends with it.
fn line_with(attached: &mut Process, word: &str) -> String {
    loop {
        let line = attached.line();
        assert!(!line.is_empty(), "it ended before it said {word}");
        if line.contains(word) {
            return line;
        }
    }
}

#[test]
fn a_question_is_at_every_face_and_answered_at_one_of_them_only() {
    let board = Board::new();
    let mut events = board.follow("", &[]);
    let (seq, question) = board.asking();
    let card = seq.to_string();
    let mut attached = board.house.spawn(&["attach", &card, "--json"], Stdio::piped(), Stdio::piped());
    let on_stream = loop {
        let (_, kind, event) = events.next();
        if kind == "asked" {
            break event;
        }
    };
    assert_eq!(on_stream["data"]["question"], question.as_str());
    line_with(&mut attached, &question);
    assert_eq!(board.house.json(&["questions"])["items"][0]["question_id"], question.as_str());

    let answer = |text: &str| {
        let body = json!({ "question_id": question, "answer": text });
        board.ask("POST", &format!("/tasks/{seq}/clarification"), Some(body))
    };
    assert_eq!(answer("first").status, 200);
    assert_eq!(answer("second").problem(409), "question_answered");
    board.house.andon(&["answer", &card, "third", "--question", &question]).refused(4, &["answered already"]);
    line_with(&mut attached, "first");
    assert_eq!(board.house.json(&["show", &card])["waits"][0]["answer"], "first");
}
