//! On a terminal: the board opens and closes, a question is answered on the spot, a log can only colour itself.

use super::house::House;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The program on a terminal of 100 by 30 cells.
pub struct Terminal {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    bytes: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    raw: Vec<u8>,
    _master: Box<dyn portable_pty::MasterPty + Send>,
}

impl Terminal {
    pub fn open(house: &House, args: &[&str]) -> Self {
        let size = PtySize { rows: 30, cols: 100, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_andon"));
        command.args(args);
        command.cwd(house.path());
        for (name, value) in [("ANDON_DB", house.database()), ("HOME", house.path().to_owned())] {
            command.env(name, value);
        }
        command.env("TERM", "xterm-256color");
        command.env("TZ", "UTC");
        for name in ["ANDON_BOARD", "ANDON_CONFIG", "ANDON_RUN_ID", "ANDON_TASK_ID", "NO_COLOR"] {
            command.env_remove(name);
        }
        let child = pair.slave.spawn_command(command).expect("the program starts");
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("its output");
        let keys = pair.master.take_writer().expect("its keys");
        let (send, bytes) = channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut chunk) {
                if send.send(chunk[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let cells = |count| std::num::NonZero::new(count).expect("some cells");
        let screen = vt100::Parser::new(cells(30), cells(100), 0);
        Terminal { child, keys, bytes, screen, raw: Vec::new(), _master: pair.master }
    }

    /// Waits until the screen shows the text.
    pub fn shows(&mut self, text: &str) {
        self.wait_for(text, |terminal| terminal.screen.screen().contents().contains(text));
    }

    pub fn wait_for(&mut self, what: &str, done: impl Fn(&Terminal) -> bool) {
        let end = Instant::now() + Duration::from_secs(30);
        while !done(self) {
            let left = end.saturating_duration_since(Instant::now());
            match self.bytes.recv_timeout(left) {
                Ok(bytes) => {
                    self.screen.process(&bytes);
                    self.raw.extend(bytes);
                }
                Err(_) => panic!("`{what}` never came:\n{}", self.screen.screen().contents()),
            }
        }
    }

    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("somebody reads");
    }

    /// Waits for the end; gives the exit code.
    pub fn ends(mut self) -> u32 {
        let code = self.child.wait().expect("it ends").exit_code();
        // What is left is not looked at.
        drop(self.bytes);
        code
    }
}

#[test]
fn the_board_opens_and_dispatches_and_closes() {
    let house = House::new();
    house.done(&["add", "Fix login page"]);
    house.done(&["add", "work", "--start", "--", "true"]);
    let mut terminal = Terminal::open(&house, &[]);
    terminal.shows("Fix login page");
    house.until("2", "success");
    terminal.types("q");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn without_a_terminal_the_board_says_what_to_do_instead() {
    let house = House::new();
    house.andon(&[]).refused(2, &["andon list", "andon --headless"]);
}

#[test]
fn the_demo_opens_on_the_board_of_its_own() {
    let house = House::new();
    let mut terminal = Terminal::open(&house, &["demo"]);
    terminal.shows("Everything is built and tested");
    terminal.types("q");
    assert_eq!(terminal.ends(), 0);
    assert!(!house.database().exists());
}

#[test]
fn a_question_of_what_is_run_is_answered_on_the_spot() {
    let house = House::new();
    let file = house.file(
        "w.yaml",
        "name: w\nsteps: [{id: a, tool_name: clarify, tool_params: {question: Which one?, options: [red, blue]}}]\n",
    );
    let mut terminal = Terminal::open(&house, &["run", &file]);
    terminal.shows("2  blue");
    terminal.shows("a number or words>");
    terminal.types("2\n");
    terminal.shows("1 of 1 steps done");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(house.json(&["show", "1"])["result"], "blue");
}

#[test]
fn a_log_on_a_terminal_keeps_colours_and_shows_the_rest() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    house.andon(&["add", "x", "--wait", "--", "printf", r"\033[31mred\033[0m \033[2J\033]0;title\007 end\n"]);
    let mut terminal = Terminal::open(&house, &["log", "1"]);
    terminal.shows("end");
    assert!(terminal.screen.screen().contents().contains("␛[2J␛]0;title␇ end"));
    assert!(String::from_utf8_lossy(&terminal.raw).contains("\x1b[31mred"));
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn an_empty_list_says_why_it_is_empty() {
    let house = House::new();
    let says = |args: &[&str], words: &str| {
        let mut terminal = Terminal::open(&house, args);
        terminal.shows(words);
        assert_eq!(terminal.ends(), 0);
    };
    says(&["list"], "`andon add TITLE` makes one");
    house.done(&["add", "x"]);
    house.done(&["complete", "1"]);
    says(&["list"], "`andon list --all` shows the closed ones");
    says(&["list", "--label", "bug"], "no card of this board matches");
}

#[test]
fn a_table_is_cut_to_the_width_of_the_terminal() {
    let house = House::new();
    house.done(&["add", &"界".repeat(80), "-l", "bug"]);
    let mut terminal = Terminal::open(&house, &["list"]);
    terminal.shows("bug");
    let shown = terminal.screen.screen().contents();
    assert!(shown.contains("界…") && shown.trim_end().lines().count() == 1, "{shown}");
    assert_eq!(terminal.ends(), 0);
}
