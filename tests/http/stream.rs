//! The stream of events: resumed, followed by many, not held up by who does not read.

use super::client::{Board, Events};
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn a_stream_goes_on_after_the_event_that_was_seen_last() {
    let board = Board::new();
    for title in ["a", "b", "c"] {
        board.post("/tasks", json!({ "title": title }));
    }
    let mut whole = board.follow("?since=0", &[]);
    let all: Vec<_> = (0..3).map(|_| whole.next()).collect();
    assert_eq!(all.iter().map(|(_, kind, _)| kind.as_str()).collect::<Vec<_>>(), ["created"; 3]);
    assert_eq!(all[1].2["seq"], all[1].0);
    let id = all[1].0.to_string();
    let mut resumed = board.follow("?since=0", &[("last-event-id", &id)]);
    assert_eq!(resumed.next().0, all[2].0);
    let mut fresh = board.follow("", &[]);
    let mut of_one = board.follow("?since=0&task_id=2", &[]);
    assert_eq!(of_one.next().0, all[1].0);
    board.post("/tasks/1/start", json!({}));
    board.post("/tasks/2/start", json!({}));
    for stream in [&mut whole, &mut resumed, &mut fresh] {
        let kinds: Vec<(i64, String)> = (0..4)
            .map(|_| stream.next())
            .map(|(_, kind, e)| (e["task_seq"].as_i64().unwrap(), kind))
            .collect();
        let expected = [(1, "queued"), (1, "taken"), (2, "queued"), (2, "taken")];
        assert_eq!(kinds, expected.map(|(seq, kind)| (seq, kind.to_owned())));
    }
    assert_eq!((of_one.next().1, of_one.next().1), ("queued".to_owned(), "taken".to_owned()));
    let events = board.house.andon(&["events", "--json"]).out;
    let last: serde_json::Value = serde_json::from_str(events.lines().nth(1).unwrap()).unwrap();
    assert_eq!(last, all[1].2, "as the command line prints it");
}

#[test]
fn a_question_is_on_the_stream_within_a_fifth_of_a_second() {
    let board = Board::new();
    let mut events = board.follow("", &[]);
    for _ in 0..3 {
        board.asking();
        loop {
            let (_, kind, event) = events.next();
            if kind == "asked" {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
                let late = i64::try_from(now.as_millis()).unwrap() - event["at_ms"].as_i64().unwrap();
                assert!(late < 200, "{late} ms");
                break;
            }
        }
    }
}

#[test]
fn who_has_seen_a_question_is_known_once_it_was_on_a_stream() {
    let board = Board::new();
    board.asking();
    assert_eq!(board.get("/questions")["items"][0]["seen_by"], json!([]));
    let _events = board.follow("", &[]);
    let (seq, _) = board.asking();
    loop {
        let open = board.get("/questions");
        let item = open["items"].as_array().unwrap().iter().find(|item| item["seq"] == seq).unwrap();
        if item["seen_by"] == json!(["http"]) {
            break;
        }
    }
}

#[test]
fn what_another_process_does_is_on_the_stream() {
    let board = Board::new();
    let mut events = board.follow("", &[]);
    board.house.done(&["add", "from the command line"]);
    assert_eq!(events.next().2["patch"]["title"], "from the command line");
}

#[test]
fn a_thousand_follow_at_once_with_few_threads_and_hear_the_same() {
    let board = Board::new();
    let mut all: Vec<Events> = (0..1_000).map(|_| board.follow("", &[])).collect();
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", board.daemon.pid().as_raw_nonzero())).unwrap();
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap();
    assert!(threads.trim().parse::<u32>().unwrap() < 60, "{threads} threads");
    let made = board.post("/tasks", json!({ "title": "x" }));
    for events in &mut all {
        assert_eq!(events.next().2["task_id"], made["id"]);
    }
    assert_eq!(board.ask("GET", "/tasks", None).status, 200, "and others are served");
}

#[test]
fn who_stops_reading_is_cut_off_and_holds_nobody_up() {
    let board = Board::new();
    let memory = || -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", board.daemon.pid().as_raw_nonzero())).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        resident.trim().split(' ').next().unwrap().parse().unwrap()
    };
    let mut reader = board.follow("", &[]);
    let deaf: Vec<_> = (0..20).map(|_| board.follow("?since=0", &[])).collect();
    let before = memory();
    let (events_made, size) = (200, 100_000);
    for n in 0..events_made {
        board.post("/tasks", json!({ "title": format!("t{n}"), "description": "x".repeat(size) }));
        assert_eq!(reader.next().2["task_seq"], n as i64 + 1);
    }
    // What all of them together have not read is many times what the program has taken.
    let grown = memory().saturating_sub(before);
    assert!(grown < 200_000, "{grown} kB more");
    let begun = Instant::now();
    while followers(&board) > 1.0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} still follow", followers(&board));
    }
    for mut events in deaf {
        let left = events.rest();
        assert!(left < size * events_made, "{left} bytes arrived, and nobody had read them");
    }
    assert_eq!(followers(&board), 1.0);
}

/// How many follow, as the metrics tell.
fn followers(board: &Board) -> f64 {
    let bearer = format!("Bearer {}", board.read);
    let headers = [("host", board.address.as_str()), ("authorization", bearer.as_str())];
    let text = String::from_utf8(board.raw("GET", "/metrics", &headers, b"").bytes).unwrap();
    text.lines().find_map(|line| line.strip_prefix("andon_event_streams ")).unwrap().parse().unwrap()
}
