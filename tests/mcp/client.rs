//! A client of the protocol that speaks it by hand: one JSON object a line.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use super::house::LONG_ENOUGH;

/// One client with its server.
pub struct Client {
    server: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: i64,
    /// What came and was not asked for yet.
    waiting: Vec<Value>,
    /// What the server said that it can, in answer to `initialize`.
    pub greeting: Value,
}

impl Client {
    /// Starts the server.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut server = command.spawn().unwrap();
        let stdout = server.stdout.take().unwrap();
        let (said, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if line.is_err() || said.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        let input = server.stdin.take();
        Self { server, input, lines, next_id: 1, waiting: Vec::new(), greeting: Value::Null }
    }

    /// Says hello, as a client that takes no requests.
    pub fn greet(&mut self) {
        self.greet_as(json!({}));
    }

    /// Says hello, with these capabilities.
    pub fn greet_as(&mut self, capabilities: Value) {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": { "name": "tester", "version": "1" },
        });
        self.greeting = self.ask("initialize", params);
        self.tell("notifications/initialized", json!({}));
    }

    /// Sends a line as it is.
    pub fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    /// Sends a message.
    pub fn send(&mut self, message: Value) {
        self.send_line(&message.to_string());
    }

    /// Sends a notification.
    pub fn tell(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and gives its id.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message that `wanted` wants; others are kept.
    #[track_caller]
    pub fn next(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.waiting.iter().position(&wanted) {
            return self.waiting.remove(at);
        }
        let end = Instant::now() + LONG_ENOUGH;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("{what} never came; there was {:?}", self.waiting));
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
            assert_eq!(message["jsonrpc"], "2.0", "stdout carries the protocol only");
            if wanted(&message) {
                return message;
            }
            self.waiting.push(message);
        }
    }

    /// The whole reply to a request.
    #[track_caller]
    pub fn reply(&mut self, id: i64) -> Value {
        self.next("the reply", |message| message["id"] == id && message["method"].is_null())
    }

    /// The result of a request that must succeed.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let reply = self.reply(id);
        assert!(reply["error"].is_null(), "{reply}");
        reply["result"].clone()
    }

    /// The error of a request that must be refused by the protocol.
    #[track_caller]
    pub fn refused(&mut self, method: &str, params: Value) -> i64 {
        let id = self.request(method, params);
        let reply = self.reply(id);
        reply["error"]["code"].as_i64().unwrap_or_else(|| panic!("not refused: {reply}"))
    }

    /// Begins to call a tool, and wants to know of its progress.
    pub fn begin(&mut self, name: &str, arguments: Value) -> i64 {
        let params =
            json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": self.next_id } });
        self.request("tools/call", params)
    }

    /// What a call gave that was begun.
    #[track_caller]
    pub fn result(&mut self, id: i64) -> Value {
        let reply = self.reply(id);
        assert_eq!(reply["result"]["isError"], false, "{reply}");
        reply["result"]["structuredContent"].clone()
    }

    /// Calls a tool that must succeed.
    #[track_caller]
    pub fn call(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.begin(name, arguments);
        self.result(id)
    }

    /// Calls a tool that must fail, and gives its error.
    #[track_caller]
    pub fn failed(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.begin(name, arguments);
        let reply = self.reply(id);
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        let said = reply["result"]["content"][0]["text"].as_str().unwrap();
        let error: Value = serde_json::from_str(said).unwrap();
        assert_eq!(error, reply["result"]["structuredContent"]);
        error
    }

    /// The next notification of this method.
    #[track_caller]
    pub fn heard(&mut self, method: &str) -> Value {
        self.next(method, |message| message["method"] == method)["params"].clone()
    }

    /// What came so far and nobody asked for.
    pub fn unasked(&self) -> &[Value] {
        &self.waiting
    }

    /// The process of the server.
    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.server)
    }

    /// Closes the server's input.
    pub fn hang_up(&mut self) {
        self.input = None;
    }

    /// Waits until the server has ended.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        let end = Instant::now() + LONG_ENOUGH;
        loop {
            if let Some(status) = self.server.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "the server goes on without its client");
            std::thread::yield_now();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.hang_up();
        if self.server.try_wait().is_ok_and(|status| status.is_none()) {
            // One that ended in between needs no signal.
            let _ = self.server.kill();
            let _ = self.server.wait();
        }
    }
}
