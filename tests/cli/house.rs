//! A house of its own for each test: a folder with a database, and the binary run in it.

use assert_cmd::Command;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_andon");
/// Nothing here takes long; what does is a hang.
const LONG_ENOUGH: Duration = Duration::from_secs(60);

/// A folder with a database.
pub struct House {
    folder: TempDir,
}

/// What the program said, and how it ended.
#[derive(Debug)]
pub struct Said {
    /// The exit code.
    pub code: i32,
    /// stdout, as bytes.
    pub bytes: Vec<u8>,
    /// stdout, as text.
    pub out: String,
    /// stderr.
    pub err: String,
}

impl House {
    /// An empty one.
    pub fn new() -> Self {
        Self { folder: TempDir::new().expect("a folder for the test") }
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Its database.
    pub fn database(&self) -> PathBuf {
        self.path().join("board.db")
    }

    /// Writes a file into its folder and gives its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("the test's own file");
        path.to_str().expect("a path of plain characters").to_owned()
    }

    /// Writes its configuration.
    pub fn configure(&self, text: &str) {
        std::fs::create_dir_all(self.path().join("config/andon")).expect("the test's own folder");
        self.file("config/andon/config.toml", text);
    }

    /// Runs a verb.
    pub fn andon(&self, args: &[&str]) -> Said {
        self.andon_with(args, |_| {})
    }

    /// Runs a verb; `change` sets what else the call needs.
    pub fn andon_with(&self, args: &[&str], change: impl FnOnce(&mut Command)) -> Said {
        self.andon_os(args, change)
    }

    /// As [`House::andon_with`], with arguments of any bytes.
    pub fn andon_os(&self, args: &[impl AsRef<OsStr>], change: impl FnOnce(&mut Command)) -> Said {
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.path()).timeout(LONG_ENOUGH).args(args);
        for (name, value) in self.environment() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        change(&mut command);
        let output = command.output().expect("the program starts");
        Said {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            bytes: output.stdout,
        }
    }

    /// Runs a verb that has to succeed; gives its stdout without the last line break.
    pub fn done(&self, args: &[&str]) -> String {
        let said = self.andon(args);
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said.out.trim_end_matches('\n').to_owned()
    }

    /// Runs a verb with `--json` that has to succeed.
    pub fn json(&self, args: &[&str]) -> Value {
        let said = self.andon(&[args, &["--json"]].concat());
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said.json()
    }

    /// The status of a card.
    pub fn status(&self, id: &str) -> String {
        self.json(&["show", id])["status"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the card has this status.
    pub fn until(&self, id: &str, status: &str) {
        let end = Instant::now() + LONG_ENOUGH;
        while self.status(id) != status {
            assert!(Instant::now() < end, "{id} never became {status}: {:?}", self.andon(&["show", id]));
        }
    }

    /// Waits until something is true of what the program says.
    pub fn wait_for(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let end = Instant::now() + LONG_ENOUGH;
        while !holds() {
            assert!(Instant::now() < end, "waited in vain until {what}");
        }
    }

    /// Starts a daemon on the database; it is stopped with the value.
    pub fn daemon(&self, args: &[&str]) -> Process {
        let mut daemon = self.start(&[&["--headless"], args].concat());
        daemon.ready = daemon.line();
        assert!(daemon.ready.starts_with("ready "), "{:?}", daemon.ready);
        daemon
    }

    /// Starts a verb that goes on; it is stopped with the value.
    pub fn start(&self, args: &[&str]) -> Process {
        self.start_with(args, Stdio::piped())
    }

    /// As [`House::start`], with this for its stderr.
    pub fn start_with(&self, args: &[&str], stderr: Stdio) -> Process {
        self.spawn(args, Stdio::null(), stderr)
    }

    /// As [`House::start`], with these for its stdin and stderr.
    pub fn spawn(&self, args: &[&str], stdin: Stdio, stderr: Stdio) -> Process {
        let mut command = std::process::Command::new(PROGRAM);
        command.current_dir(self.path()).args(args);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(stderr);
        for (name, value) in self.environment() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut child = command.spawn().expect("the program starts");
        let stdout = child.stdout.take().map(BufReader::new);
        Process { child: Some(child), stdout, ready: String::new() }
    }

    fn environment(&self) -> Vec<(&'static str, Option<PathBuf>)> {
        let mut variables = vec![
            ("HOME", Some(self.path().to_owned())),
            ("XDG_CONFIG_HOME", Some(self.path().join("config"))),
            ("XDG_DATA_HOME", Some(self.path().join("data"))),
            ("ANDON_DB", Some(self.database())),
            ("TZ", Some("UTC".into())),
            ("USER", Some("pat".into())),
        ];
        let absent = [
            "ANDON_BOARD",
            "ANDON_CONFIG",
            "ANDON_HTTP",
            "ANDON_RUN_ID",
            "ANDON_TASK_ID",
            "ANDON_AGENT",
            "NO_COLOR",
        ];
        variables.extend(absent.map(|name| (name, None)));
        variables
    }
}

impl Said {
    /// stdout as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// stderr as one problem object.
    pub fn problem(&self) -> Value {
        serde_json::from_str(&self.err).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts a refusal with this exit code that says all of `words` in one to three lines.
    #[track_caller]
    pub fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "stdout carries the answer only: {self:?}");
        let lines = self.err.lines().count();
        assert!((1..=3).contains(&lines), "{lines} lines: {self:?}");
        for word in words {
            assert!(self.err.contains(word), "`{word}` is missing: {self:?}");
        }
        assert!(!self.err.contains("panicked") && !self.err.contains('\x1b'), "{self:?}");
    }
}

/// A process of a test.
pub struct Process {
    child: Option<Child>,
    stdout: Option<BufReader<ChildStdout>>,
    /// The line that a daemon printed when it served.
    pub ready: String,
}

impl Process {
    /// Its process id.
    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(self.child.as_ref().expect("it runs"))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).expect("it is there");
    }

    /// The next line that it prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.as_mut().expect("its stdout").read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    /// All that it prints until it ends.
    pub fn rest(&mut self) -> String {
        let mut text = String::new();
        self.stdout.as_mut().expect("its stdout").read_to_string(&mut text).expect("text");
        text
    }

    /// Reads no more of what it prints.
    pub fn stop_reading(&mut self) {
        self.stdout = None;
    }

    /// Sends SIGTERM and waits; gives the exit code and what it logged.
    pub fn terminate(mut self) -> (Option<i32>, String) {
        self.signal(rustix::process::Signal::TERM);
        let child = self.child.take().expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Waits until it ends by itself.
    pub fn wait(mut self) -> Option<i32> {
        self.child.take().expect("it runs").wait().expect("it ends").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended already; then there is nothing to stop.
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_child(&child),
                rustix::process::Signal::TERM,
            );
            let _ = child.wait();
        }
    }
}

/// Text with what differs from run to run replaced: ids, times of day.
pub fn settled(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let words: Vec<String> = line.split(' ').map(word).collect();
        out.push_str(&words.join(" "));
        out.push('\n');
    }
    out
}

fn word(word: &str) -> String {
    let id = word.len() == 14
        && ["t_", "w_", "r_", "q_", "a_", "h_", "c_"].contains(&&word[..2])
        && word[2..].bytes().all(|b| b.is_ascii_alphanumeric());
    let time = word.len() == 8
        && word.bytes().enumerate().all(|(at, b)| match at {
            2 | 5 => b == b':',
            _ => b.is_ascii_digit(),
        });
    let date = word.len() == 10 && word.starts_with("20") && word.matches('-').count() == 2;
    match (id, time, date) {
        (true, ..) => format!("{}____________", &word[..2]),
        (_, true, _) => "HH:MM:SS".to_owned(),
        (_, _, true) => "YYYY-MM-DD".to_owned(),
        _ => word.to_owned(),
    }
}
