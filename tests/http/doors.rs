//! Who is let in: addresses, tokens, roles, hosts and origins.

use super::client::Board;
use super::house::House;
use serde_json::json;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_daemon_says_where_it_is_served_and_off_means_off() {
    let board = Board::new();
    assert!(board.address.starts_with("127.0.0.1:"));
    let house = House::new();
    assert_eq!(house.daemon(&["--http", "off"]).ready, "ready -");
}

#[test]
fn an_address_that_was_asked_for_and_is_taken_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let house = House::new();
    house.andon(&["--headless", "--http", &address]).refused(1, &[&address, "--http"]);
    let configured = house.file("config.toml", &format!("[http]\naddress = \"{address}\"\n"));
    house.andon(&["--headless", "--config", &configured]).refused(1, &[&address]);
    house.andon(&["--headless", "--http", "nowhere"]).refused(2, &["nowhere", "127.0.0.1:7420"]);
}

#[test]
fn where_only_the_usual_address_is_taken_another_port_is_used() {
    // Somebody has the usual address: this one, or whoever was here first.
    let _taken = TcpListener::bind("127.0.0.1:7420");
    let board = Board::with(House::new(), &[]);
    assert_ne!(board.address, "127.0.0.1:7420");
    assert_eq!(board.ask("GET", "/tasks", None).status, 200);
}

#[test]
fn an_attached_daemon_serves_too() {
    let board = Board::new();
    let second = board.house.daemon(&["--http", "127.0.0.1:0"]);
    let address = second.ready.strip_prefix("ready http://").unwrap().to_owned();
    let attached = Board { address, house: House::new(), daemon: second, ..Board::new() };
    let attached = Board { admin: board.admin.clone(), read: board.read.clone(), ..attached };
    let made = attached.post("/tasks", json!({ "title": "by the second", "command": "true", "start": true }));
    board.house.until(&made["seq"].to_string(), "success");
}

#[test]
fn an_address_that_others_reach_needs_a_token_that_somebody_has_seen() {
    let house = House::new();
    house.andon(&["--headless", "--http", "0.0.0.0:0"]).refused(1, &["andon token"]);
    house.done(&["token"]);
    let again = House::new();
    again.done(&["token"]);
    let daemon = again.daemon(&["--http", "0.0.0.0:0"]);
    assert!(daemon.ready.starts_with("ready http://127.0.0.1:"), "{}", daemon.ready);
}

#[test]
fn tokens_are_their_owners_alone_and_no_agent_gets_one() {
    let house = House::new();
    let token = house.done(&["token"]);
    assert_eq!(token, house.done(&["token", "admin"]));
    assert_ne!(token, house.done(&["token", "read"]));
    for role in ["admin", "read"] {
        let file = house.path().join(format!("board.db-token-{role}"));
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let inside = house.andon_with(&["token"], |command| {
        command.env("ANDON_RUN_ID", "r_abcdefghijkl").env("ANDON_TASK_ID", "t_abcdefghijkl");
    });
    inside.refused(5, &["person"]);
}

#[test]
fn without_a_token_nothing_is_told_and_a_reader_changes_nothing() {
    let board = Board::new();
    let (seq, question) = board.asking();
    let host = ("host", board.address.as_str());
    let paths =
        ["/api/v1/tasks", "/api/v1/nothing", "/metrics", "/api/v1/events", "/api/v1/openapi.json", "/"];
    for path in paths {
        assert_eq!(board.raw("GET", path, &[host], b"").problem(401), "no_token");
        let wrong = ("authorization", "Bearer 0123456789abcdef0123456789abcdef");
        let answer = board.raw("GET", path, &[host, wrong], b"");
        answer.problem(401);
        assert!(answer.header("www-authenticate").starts_with("Bearer"));
        let in_query = format!("{path}?token={}&access_token={}", board.admin, board.admin);
        board.raw("GET", &in_query, &[host], b"").problem(401);
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(board.raw("GET", path, &[host], b"").status, 200);
    }
    let bearer = format!("Bearer {}", board.read);
    let reader = [host, ("authorization", bearer.as_str()), ("content-type", "application/json")];
    let list = board.raw("GET", "/api/v1/tasks", &reader, b"");
    assert_eq!(list.status, 200);
    assert_eq!(board.raw("GET", "/metrics", &reader, b"").status, 200);
    let answer = json!({ "question_id": question, "answer": "staging" }).to_string();
    let writes = [
        ("POST", "/api/v1/tasks".to_owned(), r#"{"title":"x"}"#),
        ("PATCH", format!("/api/v1/tasks/{seq}"), r#"{"title":"x"}"#),
        ("DELETE", format!("/api/v1/tasks/{seq}"), ""),
        ("POST", format!("/api/v1/tasks/{seq}/cancel"), ""),
        ("POST", format!("/api/v1/tasks/{seq}/clarification"), answer.as_str()),
        ("POST", format!("/api/v1/tasks/{seq}/approval"), r#"{"decision":"approve"}"#),
        ("POST", "/api/v1/workflows".to_owned(), "{}"),
    ];
    for (method, path, body) in writes {
        assert_eq!(board.raw(method, &path, &reader, body.as_bytes()).problem(403), "not_allowed", "{path}");
    }
    assert_eq!(board.get(&format!("/tasks/{seq}"))["status"], "blocked");
}

#[test]
fn foreign_hosts_and_origins_are_turned_away_whatever_they_bring() {
    let board = Board::new();
    let bearer = format!("Bearer {}", board.admin);
    let ask = |headers: &[(&str, &str)]| {
        let mut all = vec![("authorization", bearer.as_str())];
        all.extend(headers);
        board.raw("GET", "/api/v1/tasks", &all, b"")
    };
    for host in
        ["evil.example", "evil.example:7420", "10.1.2.3", "localhost.evil.example", "127.0.0.1.evil.example"]
    {
        assert_eq!(ask(&[("host", host)]).problem(403), "foreign_host", "{host}");
    }
    for host in ["", "a b", "x@127.0.0.1"] {
        let answer = ask(&[("host", host)]);
        assert!([400, 403].contains(&answer.status), "{host}: {answer:?}");
    }
    assert_eq!(ask(&[]).problem(400), "bad_host");
    for host in ["localhost", "LOCALHOST:1", "[::1]:7420", "127.0.0.1"] {
        assert_eq!(ask(&[("host", host)]).status, 200, "{host}");
    }
    let host = ("host", board.address.as_str());
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "file://", "http://localhost"] {
        assert_eq!(ask(&[host, ("origin", origin)]).problem(403), "foreign_origin", "{origin}");
    }
    assert_eq!(ask(&[host, ("origin", &format!("http://{}", board.address))]).status, 200);
    let health = board.raw("GET", "/healthz", &[("host", "evil.example")], b"");
    assert_eq!(health.problem(403), "foreign_host");
}

#[test]
fn the_prefix_is_configured_and_the_names_of_the_machine_too() {
    let house = House::new();
    let config = house.file("config.toml", "[http]\nprefix = \"/gateway/v2\"\nhosts = [\"board.example\"]\n");
    let board = Board::with(house, &["--http", "127.0.0.1:0", "--config", &config]);
    let bearer = format!("Bearer {}", board.admin);
    let headers = [("host", "Board.example:80"), ("authorization", bearer.as_str())];
    assert_eq!(board.raw("GET", "/gateway/v2/tasks", &headers, b"").status, 200);
    board.raw("GET", "/api/v1/tasks", &headers, b"").problem(404);
    let document = board.raw("GET", "/gateway/v2/openapi.json", &headers, b"").json();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.contains_key("/gateway/v2/tasks/{id}/clarification"));
    assert!(paths.keys().all(|path| path.starts_with("/gateway/v2/")));
}

#[test]
fn a_stop_ends_streams_and_connections_at_once() {
    let board = Board::new();
    let mut events = board.follow("", &[]);
    let _idle = board.connect();
    let begun = std::time::Instant::now();
    let (code, log) = board.daemon.terminate();
    assert_eq!(code, Some(0), "{log}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(events.has_ended());
}
