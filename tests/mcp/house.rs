//! A house of its own for each test: a folder with a database, the binary run in it, and a daemon where wanted.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

use super::client::Client;

const PROGRAM: &str = env!("CARGO_BIN_EXE_andon");
/// Nothing here takes long; what does is a hang.
pub const LONG_ENOUGH: Duration = Duration::from_secs(60);
/// A run that ends when its gate is opened; one that is given an answer prints it and ends.
const GATED: &str = r#"if [ -n "$ANDON_ANSWER" ]; then echo "got $ANDON_ANSWER"; exit; fi
    rm -f gate gate.new; mkfifo gate.new; mv gate.new gate; read _ < gate"#;

/// A folder with a database.
pub struct House {
    folder: TempDir,
}

impl House {
    /// An empty one.
    pub fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the configuration.
    pub fn configure(&self, text: &str) {
        let folder = self.path().join("config/andon");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), text).unwrap();
    }

    /// A call of the program, with nothing of the caller's own surroundings in it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.path()).args(args);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ANDON_") {
                command.env_remove(name);
            }
        }
        command
            .env("HOME", self.path())
            .env("XDG_CONFIG_HOME", self.path().join("config"))
            .env("XDG_DATA_HOME", self.path().join("data"))
            .env("ANDON_DB", self.path().join("board.db"))
            .env("USER", "pat");
        command
    }

    /// Runs a verb that has to succeed, with `--json`.
    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.command(args).arg("--json").output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    }

    /// Runs a verb that has to succeed, and gives what it prints.
    pub fn text(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until a card has this status.
    pub fn until(&self, id: &str, status: &str) -> Value {
        let end = Instant::now() + LONG_ENOUGH;
        loop {
            let card = self.json(&["show", id]);
            if card["status"] == status {
                return card;
            }
            assert!(Instant::now() < end, "{id} never became {status}: {card}");
        }
    }

    /// The open question, once there is one.
    pub fn question(&self) -> Value {
        let end = Instant::now() + LONG_ENOUGH;
        loop {
            if let Some(question) = self.json(&["questions"])["items"].get(0) {
                return question.clone();
            }
            assert!(Instant::now() < end, "nothing was ever asked");
        }
    }

    /// Starts a daemon on the database; it is stopped with the value.
    pub fn daemon(&self) -> Daemon {
        let mut command = self.command(&["--headless", "--http", "off"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.starts_with("ready"), "{ready}");
        Daemon(child)
    }

    /// Starts a daemon that serves HTTP at a free port; it is stopped with the value.
    pub fn serve(&self) -> Served {
        let mut command = self.command(&["--headless", "--http", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let url = ready.trim().strip_prefix("ready http://").unwrap().to_owned();
        Served { address: url, daemon: Daemon(child) }
    }

    /// Waits until so many questions are open.
    pub fn questions(&self, count: usize) {
        let end = Instant::now() + LONG_ENOUGH;
        while self.json(&["questions"])["items"].as_array().map_or(0, Vec::len) != count {
            assert!(Instant::now() < end, "there never were {count} questions");
        }
    }

    /// A client of `andon mcp`, not greeted yet; `change` sets what else the server gets.
    pub fn client_with(&self, args: &[&str], change: impl FnOnce(&mut Command)) -> Client {
        let mut command = self.command(&[&["mcp"], args].concat());
        change(&mut command);
        Client::start(command)
    }

    /// A client that was greeted, outside of any run.
    pub fn client(&self, args: &[&str]) -> Client {
        let mut client = self.client_with(args, |_| {});
        client.greet();
        client
    }

    /// A card whose run goes on until its gate is opened, and that run as `show` prints it.
    pub fn gated(&self) -> (String, Value) {
        self.text(&["add", "gated", "--start", "--", "sh", "-c", GATED]);
        let card = self.until("1", "running");
        (card["id"].as_str().unwrap().to_owned(), card["runs"][0].clone())
    }

    /// Lets the gated run go on to its end.
    pub fn open_gate(&self) {
        let gate = self.path().join("gate");
        let end = Instant::now() + LONG_ENOUGH;
        while !gate.exists() {
            assert!(Instant::now() < end, "no gate");
        }
        std::fs::write(gate, "\n").unwrap();
    }

    /// A client inside the run of the gated card, not greeted yet.
    pub fn inside(&self, card: &str, run: &Value, args: &[&str]) -> Client {
        self.client_with(args, |command| {
            command.env("ANDON_RUN_ID", run["id"].as_str().unwrap()).env("ANDON_TASK_ID", card);
            command.env("ANDON_AGENT", "claude");
        })
    }
}

/// A daemon of a test.
pub struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        // One that has ended already needs no signal.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.0.wait();
    }
}

/// A daemon that serves HTTP.
pub struct Served {
    address: String,
    daemon: Daemon,
}

impl Served {
    /// Host and port.
    pub fn address(&self) -> String {
        self.address.clone()
    }

    /// Stops it as a person would; it ends in good order and soon.
    pub fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.daemon.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let end = Instant::now() + LONG_ENOUGH;
        loop {
            if let Some(status) = self.daemon.0.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            assert!(Instant::now() < end, "the daemon does not end");
            std::thread::yield_now();
        }
    }
}
