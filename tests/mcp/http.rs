//! MCP over HTTP: behind the same guard as every other path, one answer or one stream a request.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::house::{House, LONG_ENOUGH, Served};

const ASKED: &str = "Which database is the target?";

/// A client over HTTP.
struct Http {
    address: String,
    token: String,
    session: Option<String>,
    next_id: i64,
}

/// An answer whose head was read.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Box<dyn BufRead>,
}

impl Http {
    fn new(served: &Served, house: &House, role: &str) -> Self {
        let token = house.text(&["token", role]).trim().to_owned();
        Self { address: served.address(), token, session: None, next_id: 1 }
    }

    fn greeted(served: &Served, house: &House, role: &str, capabilities: Value) -> Self {
        let mut http = Http::new(served, house, role);
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities,
            "clientInfo": { "name": "tester", "version": "1" } });
        let (id, mut answer) = http.begin("initialize", hello);
        assert_eq!(answer.status, 200);
        http.session = answer.header("mcp-session-id");
        assert_eq!(answer.reply(id)["result"]["serverInfo"]["name"], "andon");
        let told = http.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }), &[]);
        assert_eq!(told.status, 202);
        http
    }

    /// Posts a body, with these headers on top or instead.
    fn post_raw(&self, body: &[u8], headers: &[(&str, &str)]) -> Answer {
        let mut all = vec![
            ("Host", self.address.clone()),
            ("Authorization", format!("Bearer {}", self.token)),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ];
        all.extend(self.session.clone().map(|session| ("Mcp-Session-Id", session)));
        for (name, value) in headers {
            all.retain(|(known, _)| known != name);
            all.push((name, (*value).to_owned()));
        }
        let mut request = format!("POST /mcp HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in all {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG_ENOUGH)).unwrap();
        stream.write_all(format!("{request}\r\n").as_bytes()).unwrap();
        // One that refuses a long body may close before it has read it all; its answer counts.
        let _ = stream.write_all(body);
        Answer::read(stream)
    }

    fn post(&self, message: &Value, headers: &[(&str, &str)]) -> Answer {
        self.post_raw(message.to_string().as_bytes(), headers)
    }

    /// Posts a request, and gives its id with the answer that begins.
    fn begin(&mut self, method: &str, params: Value) -> (i64, Answer) {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        (id, self.post(&message, &[]))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let (id, mut answer) = self.begin(method, params);
        answer.reply(id)
    }

    fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments }))["result"].clone()
    }

    /// A card of its own that it works on.
    fn take_a_card(&mut self) {
        self.call("task", json!({ "action": "create", "title": "deploy" }));
        self.call("task", json!({ "action": "start", "task_id": 1 }));
    }
}

impl Answer {
    fn read(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no answer: {line:?}"));
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        let body: Box<dyn BufRead> = match chunked {
            true => Box::new(BufReader::new(Chunks { reader, left: 0 })),
            false => Box::new(reader.take(length)),
        };
        Self { status, headers, body }
    }

    fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// The next message of the stream.
    fn message(&mut self) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.body.read_line(&mut line).unwrap() > 0, "the stream ended");
            if let Ok(message) = serde_json::from_str(line.strip_prefix("data:").unwrap_or(&line)) {
                return message;
            }
        }
    }

    /// The next message of this method.
    fn heard(&mut self, method: &str) -> Value {
        loop {
            let message = self.message();
            if message["method"] == method {
                return message;
            }
        }
    }

    /// The reply to a request.
    fn reply(&mut self, id: i64) -> Value {
        loop {
            let message = self.message();
            if message["id"] == id && message["method"].is_null() {
                return message;
            }
        }
    }
}

/// A body in chunks (RFC 9112, 7.1).
struct Chunks {
    reader: BufReader<TcpStream>,
    left: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                line.clear();
                self.reader.read_line(&mut line)?;
            }
            self.left = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            if self.left == 0 {
                return Ok(0);
            }
        }
        let most = buffer.len().min(self.left);
        let count = self.reader.read(&mut buffer[..most])?;
        self.left -= count;
        Ok(count)
    }
}

#[test]
fn the_same_guard_stands_before_it_as_before_every_path() {
    let house = House::new();
    let served = house.serve();
    let http = Http::new(&served, &house, "admin");
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(http.post(&ping, &[("Authorization", "Bearer wrong")]).status, 401);
    assert_eq!(http.post(&ping, &[("Origin", "http://evil.example")]).status, 403);
    assert_eq!(http.post(&ping, &[("Host", "evil.example")]).status, 403);
    assert_eq!(http.post(&ping, &[("Content-Type", "text/plain")]).status, 415);
    assert_eq!(http.post(&ping, &[("Accept", "text/plain")]).status, 406);
    assert_eq!(http.post(&ping, &[("Mcp-Session-Id", "none")]).status, 404);
    assert!((400..500).contains(&http.post_raw(b"nonsense", &[]).status));
    assert!((400..500).contains(&http.post_raw(b"[]", &[]).status));
    assert_eq!(http.post_raw(&vec![b' '; 3 << 20], &[]).status, 413);
}

#[test]
fn the_admin_token_makes_the_caller_the_persons_agent() {
    let house = House::new();
    let served = house.serve();
    let mut http = Http::greeted(&served, &house, "admin", json!({}));
    let tools = http.ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap().len();
    assert!(tools >= andon::tools::names().len());
    let card = http.call("task", json!({ "action": "create", "title": "from afar" }));
    assert_eq!(card["structuredContent"]["created_by"], "mcp:tester");
    assert_eq!(house.json(&["show", "1"])["source"], "mcp:tester");
    assert_eq!(http.ask("tools/call", json!({ "name": "tusk" }))["error"]["code"], -32602);
}

#[test]
fn the_read_token_looks_at_the_board_and_changes_nothing() {
    let house = House::new();
    house.text(&["add", "watched"]);
    let served = house.serve();
    let mut http = Http::greeted(&served, &house, "read", json!({ "elicitation": {} }));
    let tools = http.ask("tools/list", json!({}))["result"]["tools"].clone();
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["name"] != "exec" && tool["name"] != "clarify"));
    assert_eq!(
        http.call("task", json!({ "action": "get", "task_id": 1 }))["structuredContent"]["title"],
        "watched"
    );
    for (tool, arguments) in [
        ("task", json!({ "action": "create", "title": "no" })),
        ("task", json!({ "action": "cancel", "task_id": 1 })),
        ("exec", json!({ "command": "true" })),
        ("read_file", json!({ "path": "board.db" })),
        ("clarify", json!({ "question": "x", "task_id": 1 })),
    ] {
        let refused = http.call(tool, arguments);
        assert_eq!(refused["structuredContent"]["code"], "not_allowed", "{tool}");
    }
    let board = http.ask("resources/read", json!({ "uri": "andon://board/default" }));
    assert!(board["result"]["contents"][0]["text"].as_str().unwrap().contains("watched"));
    assert_eq!(house.json(&["list"])["items"].as_array().unwrap().len(), 1);
}

fn which() -> Value {
    json!({ "question": ASKED, "options": ["staging", "production"], "task_id": 1, "wait": true })
}

#[test]
fn the_person_at_the_client_is_asked_on_the_stream_of_the_call() {
    let house = House::new();
    let served = house.serve();
    let mut http = Http::greeted(&served, &house, "admin", json!({ "elicitation": {} }));
    http.take_a_card();
    let (id, mut answer) = http.begin("tools/call", json!({ "name": "clarify", "arguments": which() }));
    let form = answer.heard("elicitation/create");
    assert_eq!(form["params"]["message"], ASKED);
    let filled = json!({ "action": "accept", "content": { "choice": "staging" } });
    let taken = http.post(&json!({ "jsonrpc": "2.0", "id": form["id"], "result": filled }), &[]);
    assert_eq!(taken.status, 202);
    assert_eq!(answer.reply(id)["result"]["structuredContent"]["answer"], "staging");
}

#[test]
fn calls_that_wait_for_a_person_keep_nobody_else_waiting() {
    let house = House::new();
    let served = house.serve();
    let mut http = Http::greeted(&served, &house, "admin", json!({}));
    for n in 1..=30 {
        http.call("task", json!({ "action": "create", "title": format!("card {n}") }));
        http.call("task", json!({ "action": "start", "task_id": n }));
    }
    let ask = |n| json!({ "question": ASKED, "task_id": n, "wait": true });
    let waiting: Vec<(i64, Answer)> = (1..=30)
        .map(|n| http.begin("tools/call", json!({ "name": "clarify", "arguments": ask(n) })))
        .collect();
    house.questions(30);
    let list = http.call("task", json!({ "action": "list", "status": "blocked" }));
    assert_eq!(list["structuredContent"]["items"].as_array().unwrap().len(), 30);
    for (n, (id, mut answer)) in waiting.into_iter().enumerate() {
        house.text(&["answer", &(n + 1).to_string(), "go"]);
        assert_eq!(answer.reply(id)["result"]["structuredContent"]["answer"], "go");
    }
}

#[test]
fn a_newer_client_needs_no_session() {
    let house = House::new();
    house.text(&["add", "deploy"]);
    house.text(&["start", "1"]);
    let served = house.serve();
    let http = Http::new(&served, &house, "admin");
    let call = |more: Value| {
        let mut params = json!({ "name": "clarify", "arguments": which(), "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "newer", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        } });
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers =
            [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "clarify")];
        http.post(&message, &headers).reply(1)["result"].clone()
    };
    let asked = call(json!({}));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let filled = json!({ "answer": { "action": "accept", "content": { "choice": "production" } } });
    let done = call(json!({ "inputResponses": filled, "requestState": asked["requestState"] }));
    assert_eq!(done["structuredContent"]["answer"], "production");
}

#[test]
fn a_call_that_waits_does_not_keep_the_daemon() {
    let house = House::new();
    let served = house.serve();
    let mut http = Http::greeted(&served, &house, "admin", json!({}));
    http.take_a_card();
    let (_, answer) = http.begin("tools/call", json!({ "name": "clarify", "arguments": which() }));
    house.question();
    served.stop();
    drop(answer);
    assert_eq!(house.question()["question"], ASKED, "it is asked still");
}
