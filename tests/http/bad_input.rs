//! Whatever is sent: an answer below 500, as a problem with a code, and nothing is changed.

use super::client::Board;
use serde_json::{Value, json};
use std::io::{Read, Write};

#[test]
fn every_bad_body_is_refused_with_its_own_status() {
    let board = Board::new();
    board.post("/tasks", json!({ "title": "the one" }));
    let before = board.get("/tasks/1");
    let posts: [(&str, &str, u16); 25] = [
        ("/tasks", "", 400),
        ("/tasks", "{", 400),
        ("/tasks", "\u{0}", 400),
        ("/tasks", "[1]", 422),
        ("/tasks", "null", 422),
        ("/tasks", "{}", 422),
        ("/tasks", r#"{"title":5}"#, 422),
        ("/tasks", r#"{"title":" "}"#, 422),
        ("/tasks", r#"{"title":"x","titel":"y"}"#, 422),
        ("/tasks", r#"{"title":"x","priority":10}"#, 422),
        ("/tasks", r#"{"title":"x","priority":1e999}"#, 400),
        ("/tasks", r#"{"title":"x","priority":4.5}"#, 422),
        ("/tasks", r#"{"title":"x","labels":[{}]}"#, 422),
        ("/tasks", r#"{"title":"x","command":[]}"#, 422),
        ("/tasks", r#"{"title":"x","command":["a\u0000b"]}"#, 422),
        ("/tasks", r#"{"title":"x","depends_on":[99]}"#, 404),
        ("/tasks", r#"{"title":"x","depends_on":["w_x"]}"#, 422),
        ("/tasks", r#"{"title":"x","agent":"nobody"}"#, 422),
        ("/tasks", r#"{"title":"x","cwd":"/","env":{"A":1}}"#, 422),
        ("/tasks/1/transition", "{}", 422),
        ("/tasks/1/transition", r#"{"status":"done"}"#, 422),
        ("/tasks/1/transition", r#"{"status":"success"}"#, 409),
        ("/tasks/1/transition", r#"{"status":"queued","to":"failed"}"#, 422),
        ("/tasks/1/clarification", r#"{"answer":"x"}"#, 422),
        ("/tasks/1/clarification", r#"{"question_id":"q_abcdefghijkl","answer":"x"}"#, 404),
    ];
    let bearer = format!("Bearer {}", board.admin);
    let headers = [
        ("host", board.address.as_str()),
        ("authorization", bearer.as_str()),
        ("content-type", "application/json; charset=utf-8"),
    ];
    for (path, body, status) in posts {
        let answer = board.raw("POST", &format!("/api/v1{path}"), &headers, body.as_bytes());
        assert_eq!(answer.status, status, "{path} {body}: {}", String::from_utf8_lossy(&answer.bytes));
        assert!(!answer.problem(status).is_empty());
    }
    let bytes: &[u8] = b"{\"title\":\"\xff\xfe\"}";
    assert_eq!(board.raw("POST", "/api/v1/tasks", &headers, bytes).problem(400), "bad_json");
    let deep = "[".repeat(100_000);
    board.raw("POST", "/api/v1/tasks", &headers, deep.as_bytes()).problem(400);
    assert_eq!(board.get("/tasks/1"), before);
    assert_eq!(board.get("/tasks?all=true")["items"].as_array().unwrap().len(), 1);
}

#[test]
fn a_body_of_another_type_or_size_is_refused_before_it_is_looked_at() {
    let board = Board::new();
    let bearer = format!("Bearer {}", board.admin);
    let with = |media: &'static str, body: &[u8]| {
        let mut headers = vec![("host", board.address.as_str()), ("authorization", bearer.as_str())];
        if !media.is_empty() {
            headers.push(("content-type", media));
        }
        board.raw("POST", "/api/v1/tasks", &headers, body)
    };
    for media in ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "\u{7f}"] {
        let answer = with(media, br#"{"title":"x"}"#);
        assert!([400, 415].contains(&answer.status), "{media}: {answer:?}");
    }
    assert_eq!(with("text/plain", br#"{"title":"x"}"#).problem(415), "unsupported_media_type");
    let huge = format!(r#"{{"title":"x","description":"{}"}}"#, "y".repeat(3 << 20));
    assert_eq!(with("application/json", huge.as_bytes()).problem(413), "body_too_large");
    let long = json!({ "title": "y".repeat(501) }).to_string();
    with("application/json", long.as_bytes()).problem(422);
    let most = json!({ "title": "x", "description": "y".repeat(100_000) }).to_string();
    assert_eq!(with("application/json", most.as_bytes()).status, 201);
}

#[test]
fn a_chunked_body_has_the_same_limit() {
    let board = Board::new();
    let mut stream = board.connect();
    let head = format!(
        "POST /api/v1/tasks HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        board.address, board.admin
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 65_536, "x".repeat(65_536));
    for _ in 0..40 {
        stream.write_all(chunk.as_bytes()).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[test]
fn paths_methods_and_queries_that_are_wrong_say_so() {
    let board = Board::new();
    board.post("/tasks", json!({ "title": "the one" }));
    let asked: [(&str, &str, u16); 29] = [
        ("GET", "/nothing", 404),
        ("GET", "/tasks/", 404),
        ("GET", "/tasks/99", 404),
        ("GET", "/tasks/t_abcdefghijkl", 404),
        ("GET", "/tasks/w_abcdefghijkl", 422),
        ("GET", "/tasks/99999999999999999999999", 404),
        ("GET", "/tasks/%ff%fe", 400),
        ("GET", "/tasks/1%00", 400),
        ("GET", "/tasks/..%2f..%2fetc%2fpasswd", 404),
        ("GET", "/tasks/../../../etc/passwd", 404),
        ("GET", "/tasks/1/log/../../..", 404),
        ("GET", "/tasks/1/log?run=9", 404),
        ("GET", "/tasks/1/log?run=x", 422),
        ("GET", "/tasks/1/log?tail=-1", 422),
        ("GET", "/tasks/1/diff", 409),
        ("GET", "/tasks?status=done", 422),
        ("GET", "/tasks?limit=0", 422),
        ("GET", "/tasks?limit=1001", 422),
        ("GET", "/tasks?limit=5&limit=6", 422),
        ("GET", "/tasks?cursor=x", 422),
        ("GET", "/tasks?bogus=1", 422),
        ("GET", "/tasks?label=%ff", 400),
        ("GET", "/tasks?all=maybe", 422),
        ("GET", "/events?since=-1", 422),
        ("GET", "/events?task_id=99", 404),
        ("PUT", "/tasks/1", 405),
        ("TRACE", "/tasks", 405),
        ("GET", "/tasks/1/start", 405),
        ("POST", "/events", 405),
    ];
    for (method, path, status) in asked {
        let answer = board.ask(method, path, None);
        assert_eq!(answer.status, status, "{method} {path}: {}", String::from_utf8_lossy(&answer.bytes));
        answer.problem(status);
        assert_eq!(status == 405, !answer.header("allow").is_empty(), "{method} {path}");
    }
    let long = format!("/tasks/{}", "x".repeat(8_000));
    board.ask("GET", &long, None).problem(404);
    assert_eq!(board.ask("HEAD", "/tasks", None).status, 200);
    for headers in [[("last-event-id", "x")], [("last-event-id", "-1")]] {
        board.ask_with("GET", "/events", &headers, None).problem(400);
    }
}

#[test]
fn bytes_that_are_no_request_end_their_own_connection_only() {
    let board = Board::new();
    let garbage: [&[u8]; 4] =
        [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", &[0xff; 9_000]];
    for bytes in garbage {
        let mut stream = board.connect();
        let mut answer = Vec::new();
        // It may be cut off at any point of this.
        let _ = stream.write_all(bytes).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        let _ = stream.read_to_end(&mut answer);
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"),
            "{:?}",
            String::from_utf8_lossy(&answer)
        );
    }
    assert_eq!(board.ask("GET", "/tasks", None).status, 200);
}

#[test]
fn every_endpoint_refuses_what_it_does_not_know() {
    let board = Board::new();
    board.post("/tasks", json!({ "title": "the one" }));
    let document = board.get("/openapi.json");
    let mut asked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.strip_prefix("/api/v1").unwrap().replace("{id}", "1").replace("{on}", "1");
        for method in methods.as_object().unwrap().keys() {
            let unknown = board.ask(&method.to_uppercase(), &format!("{path}?bogus=1"), None);
            unknown.problem(422);
            let no_token =
                board.raw(&method.to_uppercase(), &format!("/api/v1{path}"), &[("host", "localhost")], b"");
            no_token.problem(401);
            if methods[method]["requestBody"].is_object() && !path.ends_with("/workflows") {
                let body = json!({ "bogus": 1 });
                board.ask(&method.to_uppercase(), &path, Some(body)).problem(422);
            }
            asked += 1;
        }
    }
    assert!(asked > 35, "{asked}");
    let untouched: Value = board.get("/tasks/1");
    assert_eq!((untouched["version"].as_i64(), untouched["status"].as_str()), (Some(1), Some("pending")));
}
