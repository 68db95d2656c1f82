//! A client of few lines: one request, one connection. It speaks HTTP/1.0, so that an answer ends where the
//! connection does.

use super::house::{House, Process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Nothing here takes long; what does is a hang.
const LONG_ENOUGH: Duration = Duration::from_secs(60);

/// A daemon with its tokens.
pub struct Board {
    /// Its house.
    pub house: House,
    /// It.
    pub daemon: Process,
    /// `127.0.0.1:PORT`.
    pub address: String,
    /// The token of the person.
    pub admin: String,
    /// The token of who looks.
    pub read: String,
}

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub bytes: Vec<u8>,
}

impl Board {
    /// A board that is served at any free port.
    pub fn new() -> Board {
        Board::with(House::new(), &["--http", "127.0.0.1:0"])
    }

    /// A board of this house.
    pub fn with(house: House, args: &[&str]) -> Board {
        let daemon = house.daemon(args);
        let address = daemon.ready.strip_prefix("ready http://").expect("it is served").to_owned();
        let (admin, read) = (house.done(&["token"]), house.done(&["token", "read"]));
        Board { house, daemon, address, admin, read }
    }

    /// A request with the person's token.
    pub fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.ask_with(method, path, &[], body)
    }

    /// As [`Board::ask`], with further headers.
    pub fn ask_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Answer {
        let bearer = format!("Bearer {}", self.admin);
        let mut all = vec![("host", self.address.as_str()), ("authorization", bearer.as_str())];
        all.extend(headers);
        let body = body.map(|body| body.to_string());
        if body.is_some() {
            all.push(("content-type", "application/json"));
        }
        self.raw(method, &format!("/api/v1{path}"), &all, body.unwrap_or_default().as_bytes())
    }

    /// `GET` that has to succeed.
    pub fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, None);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// `POST` that has to succeed.
    pub fn post(&self, path: &str, body: Value) -> Value {
        let answer = self.ask("POST", path, Some(body));
        assert!((200..300).contains(&answer.status), "{path}: {answer:?}");
        answer.json()
    }

    /// A request of any bytes.
    pub fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let mut head = format!("{method} {path} HTTP/1.0\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        // An answer may come before all was sent.
        let _ = stream.write_all(&[head.as_bytes(), body].concat());
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer");
        Answer::read(&bytes)
    }

    /// A bare connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(LONG_ENOUGH)).unwrap();
        stream.set_write_timeout(Some(LONG_ENOUGH)).unwrap();
        stream
    }

    /// The stream of events, with its head read.
    pub fn follow(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let mut stream = self.connect();
        let mut head = format!("GET /api/v1/events{path} HTTP/1.0\r\nhost: {}\r\n", self.address);
        head.push_str(&format!("authorization: Bearer {}\r\n", self.read));
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        let mut events = Events { lines: BufReader::new(stream) };
        let first = events.line();
        assert!(first.contains(" 200 "), "{first}");
        while !events.line().is_empty() {}
        events
    }

    /// A card that asks a question: its number and the question's id.
    pub fn asking(&self) -> (i64, String) {
        let step = json!({ "id": "ask", "tool_name": "clarify",
            "tool_params": { "question": "Which?", "options": ["staging", "production"] } });
        let made = self.post("/workflows?start=true", json!({ "name": "asks", "steps": [step] }));
        let seq = made["steps"][0]["seq"].as_i64().expect("a step");
        loop {
            let open = self.get("/questions");
            let of_it = |item: &&Value| item["seq"].as_i64() == Some(seq);
            if let Some(item) = open["items"].as_array().expect("a list").iter().find(of_it) {
                return (seq, item["question_id"].as_str().expect("an id").to_owned());
            }
        }
    }
}

impl Answer {
    fn read(bytes: &[u8]) -> Answer {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or_else(|| {
            panic!("no answer: {:?}", String::from_utf8_lossy(bytes));
        });
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        Answer {
            status,
            headers: headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect(),
            bytes: bytes[end + 4..].to_vec(),
        }
    }

    /// A header; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts a problem with this status and gives its code.
    #[track_caller]
    pub fn problem(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{} {self:?}", String::from_utf8_lossy(&self.bytes));
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
        problem["code"].as_str().unwrap().to_owned()
    }
}

/// A stream of events.
pub struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    /// The next line, without its end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    /// The next event: its number, kind and data. Heartbeats are passed over.
    pub fn next(&mut self) -> (i64, String, Value) {
        let (mut id, mut kind) = (0, String::new());
        loop {
            let line = self.line();
            match line.split_once(": ") {
                Some(("id", number)) => id = number.parse().unwrap(),
                Some(("event", name)) => kind = name.to_owned(),
                Some(("data", json)) => return (id, kind, serde_json::from_str(json).unwrap()),
                _ => {}
            }
        }
    }

    /// How many bytes there are still, until the end; fewer where it was cut off.
    pub fn rest(&mut self) -> usize {
        let mut rest = Vec::new();
        // It may be cut off.
        let _ = self.lines.read_to_end(&mut rest);
        rest.len()
    }

    /// Whether the other end has closed.
    pub fn has_ended(&mut self) -> bool {
        let mut rest = Vec::new();
        self.lines.read_to_end(&mut rest).is_ok()
    }
}
