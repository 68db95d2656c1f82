//! The real binary in a real pseudo-terminal: from an empty folder to work that ran, a question answered, and a
//! terminal that is as it was.

#![expect(clippy::unwrap_used, reason = "what can't go on here fails, and says where")]

use andon::domain::{Actor, IdRef, TaskStatus};
use andon::engine::{Command, Engine, Outcome};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

fn cells(n: u16) -> NonZero<u16> {
    NonZero::new(n).unwrap()
}

struct Screen {
    parser: vt100::Parser,
    raw: Vec<u8>,
    over: bool,
}

struct Terminal {
    screen: Arc<(Mutex<Screen>, Condvar)>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

impl Terminal {
    fn start(folder: &Path, rows: u16, cols: u16) -> Terminal {
        Terminal::start_with(folder, rows, cols, &[])
    }

    fn start_with(folder: &Path, rows: u16, cols: u16, verb: &[&str]) -> Terminal {
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_andon"));
        command.args(["--db", folder.join("andon.db").to_str().unwrap()]);
        command.args(["--config", folder.join("none.toml").to_str().unwrap()]);
        command.args(verb);
        command.cwd(folder);
        command.env("TMPDIR", folder);
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let screen =
            Screen { parser: vt100::Parser::new(cells(rows), cells(cols), 0), raw: Vec::new(), over: false };
        let screen = Arc::new((Mutex::new(screen), Condvar::new()));
        let (shared, answers) = (screen.clone(), writer.clone());
        std::thread::spawn(move || {
            let mut buffer = [0u8; 16_384];
            loop {
                let read = reader.read(&mut buffer).unwrap_or(0);
                let bytes = &buffer[..read];
                // It asks for the background and the device, as programs do; a terminal answers.
                if bytes.windows(5).any(|w| w == b"\x1b]11;") {
                    let answer = b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;c";
                    answers.lock().unwrap().write_all(answer).unwrap();
                }
                let mut screen = shared.0.lock().unwrap();
                screen.parser.process(bytes);
                screen.raw.extend_from_slice(bytes);
                screen.over |= read == 0;
                let over = screen.over;
                drop(screen);
                shared.1.notify_all();
                if over {
                    return;
                }
            }
        });
        Terminal { screen, writer, master: pair.master, child }
    }

    fn press(&self, keys: &str) {
        self.writer.lock().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    fn text(&self) -> String {
        self.screen.0.lock().unwrap().parser.screen().contents()
    }

    fn until(&self, what: &str, holds: impl Fn(&Screen) -> bool) {
        let end = Instant::now() + PATIENCE;
        let mut screen = self.screen.0.lock().unwrap();
        while !holds(&screen) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain until {what}:\n{}", screen.parser.screen().contents());
            screen = self.screen.1.wait_timeout(screen, left).unwrap().0;
        }
    }

    fn shows(&self, text: &str) {
        self.until(&format!("it shows `{text}`"), |screen| screen.parser.screen().contents().contains(text));
    }

    fn shows_not(&self, text: &str) {
        self.until(&format!("`{text}` is gone"), |screen| !screen.parser.screen().contents().contains(text));
    }

    /// Closes the window, as it were: nobody is at the other end any more. Gives the exit code, or the signal.
    fn hangs_up(mut self) -> portable_pty::ExitStatus {
        // The reader lets go at what is printed next, and something moves as long as something runs.
        self.screen.0.lock().unwrap().over = true;
        while Arc::strong_count(&self.writer) > 1 {
            std::thread::yield_now();
        }
        drop(self.writer);
        drop(self.master);
        self.child.wait().unwrap()
    }

    /// Waits for its end, and checks that the terminal is as it was.
    fn ends_clean(mut self) -> u32 {
        self.until("it ends", |screen| screen.over);
        let screen = self.screen.0.lock().unwrap();
        let raw = String::from_utf8_lossy(&screen.raw);
        for (on, off) in
            [("\x1b[?1049h", "\x1b[?1049l"), ("\x1b[?2004h", "\x1b[?2004l"), ("\x1b[?25l", "\x1b[?25h")]
        {
            let (last_on, last_off) = (raw.rfind(on), raw.rfind(off));
            assert!(last_off > last_on, "{on:?} was left on");
        }
        assert!(!screen.parser.screen().alternate_screen() && !screen.parser.screen().hide_cursor());
        self.child.wait().unwrap().exit_code()
    }
}

#[test]
fn from_an_empty_folder_to_real_work_on_a_live_board() {
    let folder = tempfile::tempdir().unwrap();
    let terminal = Terminal::start(folder.path(), 45, 160);
    terminal.shows("PENDING");
    terminal.shows("andon demo");

    // A card with a command: the title, then the form.
    terminal.press("c");
    terminal.press("Say hello 世界\t\techo hello from the run");
    terminal.shows("echo hello from");
    terminal.press("\u{13}");
    terminal.shows("#1 Say hello 世界");
    let engine = Engine::open(&folder.path().join("andon.db")).unwrap();
    let me = Actor::operator("pty");
    terminal.shows("echo hello");

    // Grab, carry one column, drop.
    terminal.press(" ");
    terminal.shows("queue it");
    terminal.press("l\r");
    terminal.shows_not("#1 Say hello");
    let seen = |status: TaskStatus| {
        let end = Instant::now() + PATIENCE;
        loop {
            let seq = engine.last_seq().unwrap();
            let task = engine.task(&IdRef::Seq(1)).unwrap();
            if task.status == status {
                return task;
            }
            assert!(Instant::now() < end, "it is {}", task.status);
            engine.wait_for_change(seq, Duration::from_millis(100)).unwrap();
        }
    };
    assert_eq!(seen(TaskStatus::Success).result, "hello from the run");
    terminal.press("t");
    terminal.shows("SUCCESS");
    terminal.shows("#1 Say hello");
    terminal.press("t");
    terminal.shows_not("SUCCESS");

    // A workflow asks; the answer is given on the keyboard.
    let steps = serde_json::json!({ "name": "ask", "steps": [
        { "id": "which", "name": "Migrate schema", "tool_name": "clarify",
          "tool_params": { "question": "Which database is the target?", "options": ["staging", "production"] } },
    ] });
    let vocabulary = andon::domain::definition::Vocabulary {
        tools: &["clarify"],
        agents: None,
        check: &andon::domain::definition::AnyParams,
    };
    let definition = andon::domain::definition::read(&steps.into(), vocabulary).unwrap();
    let create =
        Command::CreateWorkflow { definition: Box::new(definition), board: None, cwd: None, start: true };
    let Ok(Outcome::Workflow(_)) = engine.execute(create, &me) else { panic!() };
    terminal.shows("asks: Which database is the target?");
    terminal.press("a");
    terminal.shows("production");
    terminal.press("2\r");
    terminal.shows_not("Which database");
    let end = Instant::now() + PATIENCE;
    loop {
        let seq = engine.last_seq().unwrap();
        let task = engine.task(&IdRef::Seq(2)).unwrap();
        if task.status == TaskStatus::Success {
            assert_eq!(task.result, "production");
            break;
        }
        assert!(Instant::now() < end, "it is {}", task.status);
        engine.wait_for_change(seq, Duration::from_millis(100)).unwrap();
    }

    terminal.shows_not(" running");
    terminal.press("q");
    assert_eq!(terminal.ends_clean(), 0);
    let again = Engine::open(&folder.path().join("andon.db")).unwrap();
    assert_eq!(again.task(&IdRef::Seq(1)).unwrap().status, TaskStatus::Success, "all of it is still there");
}

#[test]
fn a_resize_redraws_at_any_size_and_help_is_a_letter_in_a_text_field() {
    let folder = tempfile::tempdir().unwrap();
    let terminal = Terminal::start(folder.path(), 40, 120);
    terminal.shows("PENDING");
    for (rows, cols) in [(24, 80), (6, 20), (3, 10), (1, 1), (60, 200), (30, 50)] {
        terminal.screen.0.lock().unwrap().parser.screen_mut().set_size(cells(rows), cells(cols));
        terminal.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
    }
    terminal.screen.0.lock().unwrap().parser.screen_mut().set_size(cells(24), cells(80));
    terminal.master.resize(PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 }).unwrap();
    terminal.press("cwhy?q\r");
    terminal.shows("#1 why?q");
    assert!(!terminal.text().contains("quit?"));
    terminal.press("q");
    assert_eq!(terminal.ends_clean(), 0);
}

/// A board with one run going, which has printed its process id.
fn running(folder: &Path) -> (Engine, Terminal, String) {
    let engine = Engine::open(&folder.join("andon.db")).unwrap();
    let terminal = Terminal::start(folder, 30, 120);
    let new = andon::engine::NewTask {
        title: "A long one".into(),
        executor: Some(andon::domain::Executor::new(andon::domain::Work::Command {
            command: andon::domain::Program::Shell("echo $$ > pid; exec sleep 1000".into()),
        })),
        start: true,
        ..Default::default()
    };
    let mut new = new;
    new.executor.as_mut().unwrap().cwd = Some(folder.to_str().unwrap().into());
    engine.execute(Command::Create(Box::new(new)), &Actor::operator("pty")).unwrap();
    terminal.shows("1 running");
    let pid = folder.join("pid");
    terminal.until("the process runs", |_| std::fs::read_to_string(&pid).is_ok_and(|p| p.ends_with('\n')));
    (engine, terminal, std::fs::read_to_string(&pid).unwrap())
}

#[test]
fn quitting_with_a_run_going_asks_and_stopping_it_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, terminal, pid) = running(folder.path());
    terminal.press("q");
    terminal.shows("stop");
    terminal.press("s");
    assert_eq!(terminal.ends_clean(), 0);
    assert_eq!(engine.task(&IdRef::Seq(1)).unwrap().status, TaskStatus::Suspended);
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "its process lives on");
}

#[test]
fn a_window_that_is_closed_suspends_what_runs_and_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, terminal, pid) = running(folder.path());
    let status = terminal.hangs_up();
    assert!(status.success(), "{status:?}");
    assert_eq!(engine.task(&IdRef::Seq(1)).unwrap().status, TaskStatus::Suspended);
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "its process lives on");
}

#[test]
fn the_demo_is_played_to_its_end_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let terminal = Terminal::start_with(folder.path(), 40, 150, &["demo"]);
    terminal.shows("andon ▸ demo");
    terminal.shows("1 needs you");
    terminal.press("a");
    terminal.shows("staging");
    terminal.press("1\r");
    terminal.shows("◇ deployed to");
    // The selection stays with the card that was answered, wherever that goes; the next lamp is the review.
    terminal.press("nA");
    // The helper of the next step wants to run a program.
    terminal.shows("wants your approval");
    terminal.press("a");
    terminal.shows("allow once");
    terminal.press("1\r");
    terminal.shows("Nothing is open here. t shows 8 closed cards.");
    terminal.press("t");
    terminal.shows("told everybody");
    terminal.press("q");
    terminal.until("it says where it ran", |screen| {
        String::from_utf8_lossy(&screen.raw).contains("ran in a scratch folder, which goes now")
    });
    assert_eq!(terminal.ends_clean(), 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A board with twenty lamps: five questions, reviews, failures and calls that wait for approval, in turn.
fn twenty_lamps(folder: &Path) -> Engine {
    use andon::engine::NewTask;
    let engine = Engine::open(&folder.join("andon.db")).unwrap();
    let me = Actor::operator("pty");
    let make = |title: &str, shell: Option<&str>, actor: &Actor, start: bool| {
        let executor = shell.map(|line| {
            let work = andon::domain::Work::Command { command: andon::domain::Program::Shell(line.into()) };
            andon::domain::Executor {
                cwd: Some(folder.to_str().unwrap().into()),
                ..andon::domain::Executor::new(work)
            }
        });
        let new = NewTask {
            title: title.into(),
            executor,
            start,
            review_required: Some(false),
            ..NewTask::default()
        };
        match engine.execute(Command::Create(Box::new(new)), actor).unwrap() {
            Outcome::Task(task) => *task,
            other => panic!("{other:?}"),
        }
    };
    let by_hand = |title: &str| {
        let task = make(title, None, &me, false);
        let task = IdRef::Full(task.id.0);
        engine.execute(Command::Start { task: task.clone() }, &me).unwrap();
        task
    };
    // What an agent writes has a run behind it.
    let writer = by_hand("The writer");
    let writing = engine.task(&writer).unwrap();
    let run = engine.active_run(&writing).unwrap().unwrap().id;
    let agent = Actor::Agent { run, task: writing.id, name: "helper".into() };
    for n in 1..=5 {
        let task = by_hand(&format!("Question {n}"));
        let ask = Command::Ask {
            task,
            question: format!("What about {n}?"),
            options: vec!["this".into(), "that".into()],
            waits: false,
            expires_at_ms: None,
        };
        engine.execute(ask, &me).unwrap();
        let task = by_hand(&format!("Review {n} 审查"));
        engine
            .execute(Command::Move { task, to: TaskStatus::Review, text: Some(format!("did {n}")) }, &me)
            .unwrap();
        let task = by_hand(&format!("Failure {n}"));
        engine.execute(Command::Fail { task, error: Some(format!("no {n}")) }, &me).unwrap();
        make(&format!("Call {n}"), Some("echo called"), &agent, true);
    }
    engine.execute(Command::Complete { task: writer, result: None }, &me).unwrap();
    engine
}

#[test]
fn twenty_lamps_are_walked_with_the_keyboard_and_a_text_survives_a_failure_and_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let engine = twenty_lamps(folder.path());
    let mut terminal = Terminal::start(folder.path(), 40, 140);
    // The calls are put before a person by the dispatcher of the board.
    terminal.shows("15 need you");
    // The selected card comes first: here the oldest review.
    terminal.press("hhhhhhlllga");
    terminal.shows("answer 1 of 20");
    terminal.shows("did 1");
    let longest = "长".repeat(9_999);
    // The first text is too long by one: refused, kept, and right after a letter less.
    terminal.press(&format!("2\x1b[200~{longest}!?\x1b[201~"));
    terminal.shows("10,001/10,000");
    terminal.press("\r");
    terminal.shows("what you typed is kept");
    terminal.shows("10,001/10,000");
    terminal.press("\x7f");
    terminal.shows("10,000/10,000");
    // Killed before it is sent. Typing has stopped for as long as it takes to see that.
    let drafts = folder.path().join("andon.db-drafts");
    let kept = || {
        let files = std::fs::read_dir(&drafts).ok()?;
        let mut texts = files.flatten().filter_map(|file| std::fs::read_to_string(file.path()).ok());
        // Beside the drafts lies until where the board was seen.
        texts.find(|text| text.chars().count() == 10_000)
    };
    let end = Instant::now() + PATIENCE;
    while kept().is_none() {
        assert!(Instant::now() < end, "the text is not on disk");
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_raw(terminal.child.process_id().unwrap() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    terminal.child.wait().unwrap();
    drop(terminal);

    let terminal = Terminal::start(folder.path(), 40, 140);
    terminal.shows("15 need you");
    terminal.press("hhhhhhlllga");
    terminal.shows("10,000/10,000");
    terminal.press("\r");
    terminal.shows("answer 2 of 20");
    // From here on nobody looks at the screen: the keys come faster than it can answer. Oldest first means in the
    // order in which they were made, the calls last, since the dispatcher asked for them last.
    let mut keys = "\tneither of them\r1\r".to_owned();
    for _ in 2..=5 {
        keys.push_str("1\r2more tests, l q s?\r1\r");
    }
    for n in 1..=5 {
        keys.push_str(match n {
            1 => "3not this one\r",
            2 => "2\r",
            _ => "1\r",
        });
    }
    keys.push('x');
    terminal.press(&keys);
    // The call that was denied has failed, which is a lamp of its own.
    terminal.shows("operator denied");
    terminal.shows("nothing is typed here; pick one");
    terminal.press("\x1b");
    terminal.shows_not("oldest first");

    let list = engine
        .list(&andon::engine::TaskFilter { limit: 100, all: true, ..Default::default() })
        .unwrap()
        .items;
    let view = |title: &str| {
        let task =
            list.iter().find(|task| task.title.starts_with(title)).unwrap_or_else(|| panic!("{title}"));
        engine.task_view(&IdRef::Full(task.id.0.clone())).unwrap()
    };
    assert_eq!(view("Review 1").task.review_summary, format!("{longest}!"));
    assert_eq!(view("Question 1").questions[0].answer, "neither of them");
    for n in 2..=5 {
        assert_eq!(view(&format!("Question {n}")).questions[0].answer, "this");
        assert_eq!(view(&format!("Review {n}")).task.review_summary, "more tests, l q s?");
    }
    for n in 1..=5 {
        assert_eq!(view(&format!("Failure {n}")).task.retry_count, 1, "it was retried");
    }
    let decided: Vec<_> = (1..=5).map(|n| view(&format!("Call {n}")).approvals[0].clone()).collect();
    let denied: Vec<_> =
        decided.iter().filter(|call| call.state == andon::domain::WaitState::Denied).collect();
    assert_eq!(denied.len(), 1);
    assert_eq!(denied[0].reason, "not this one");
    let open = decided.iter().filter(|call| call.state == andon::domain::WaitState::Open).count();
    assert_eq!(open, 0, "no key was lost");
    drop(terminal);
}
