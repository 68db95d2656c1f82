//! The real loop over a real database, with a screen in memory and keys from a string. A scripted executor stands
//! in for programs: what a card runs says what it does.

use andon::domain::{Actor, ProcessIdentity, RunOutcome, Work};
use andon::engine::{
    Command, DispatchOptions, Dispatcher, Ending, Engine, Executors, LiveRun, NewTask, Outcome, Recovery,
    Report, Reporter, RunSpec,
};
use andon::tui::event::Event;
use andon::tui::input::{Incoming, Input};
use andon::tui::outside::Outside;
use andon::tui::run::{Session, app, channel};
use andon::tui::terminal::Host;
use andon::tui::{Exit, Keymap, Options, Theme};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::io;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::screen::{keys_of, text};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Typed(UnboundedReceiver<Incoming>);

impl Input for Typed {
    async fn next(&mut self) -> Incoming {
        match self.0.recv().await {
            Some(incoming) => incoming,
            None => std::future::pending().await,
        }
    }
    fn pause(&mut self) {}
    fn resume(&mut self) {}
}

/// What was asked of the terminal.
#[derive(Default)]
pub struct Told {
    pub calls: Vec<String>,
}

impl Host for Told {
    fn leave(&mut self) -> io::Result<()> {
        self.calls.push("leave".into());
        Ok(())
    }
    fn enter(&mut self) -> io::Result<()> {
        self.calls.push("enter".into());
        Ok(())
    }
    fn stop_program(&mut self) -> io::Result<()> {
        self.calls.push("stop".into());
        Ok(())
    }
    fn clipboard(&mut self, text: &str) -> io::Result<()> {
        self.calls.push(format!("clipboard {text}"));
        Ok(())
    }
    fn title(&mut self, text: &str) -> io::Result<()> {
        self.calls.push(format!("title {text}"));
        Ok(())
    }
    fn notify(&mut self, text: &str) -> io::Result<()> {
        self.calls.push(format!("notify {text}"));
        Ok(())
    }
    fn begin_frame(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn end_frame(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A database with a board on it.
pub struct Table {
    pub engine: Engine,
    pub folder: TempDir,
    pub session: Session<TestBackend, Told, Typed>,
    pub keys: UnboundedSender<Incoming>,
    pub exit: Option<Exit>,
    dispatcher: Option<Running>,
    runtime: Runtime,
}

pub fn operator() -> Actor {
    Actor::operator("mara")
}

impl Table {
    /// A board that nobody dispatches.
    pub fn new() -> Table {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("andon.db")).unwrap();
        Table::over(folder, engine, None)
    }

    /// A board with a dispatcher in its process.
    pub fn dispatching() -> Table {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("andon.db")).unwrap();
        let options = DispatchOptions { parallel: 4, grace_ms: 100, ..DispatchOptions::default() };
        let dispatcher = Dispatcher::start(&engine, Arc::new(Script), options).unwrap();
        let mut table = Table::over(folder, engine, Some(Running(Arc::new(dispatcher))));
        table.until("dispatching");
        table
    }

    fn over(folder: TempDir, engine: Engine, dispatcher: Option<Running>) -> Table {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (keys, typed) = unbounded_channel();
        let session = runtime.block_on(async {
            let mut options = Options::new("default", operator());
            options.cwd = Some("/".into());
            options.dispatcher = dispatcher.as_ref().map(|running| running.0.clone() as _);
            let terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
            let theme = Theme::named("dark").unwrap();
            let app = app(&options, theme, Keymap::read(None).unwrap(), &terminal).unwrap();
            let (send, inbox) = channel();
            let outside = Outside::new(engine.clone(), options.actor, options.dispatcher, send).unwrap();
            let clock = engine.clone();
            Session::new(
                app,
                terminal,
                Told::default(),
                Typed(typed),
                outside,
                inbox,
                engine.changes(),
                move || clock.now(),
            )
        });
        Table { engine, folder, session, keys, exit: None, dispatcher, runtime }
    }

    /// Closes the board and opens it again over the same database.
    pub fn reopen(self) -> Table {
        let Table { engine, folder, session, dispatcher, .. } = self;
        drop(session);
        Table::over(folder, engine, dispatcher)
    }

    /// Carries out a command as somebody else would.
    pub fn execute(&self, command: Command) -> Outcome {
        self.engine.execute(command, &operator()).unwrap()
    }

    /// A card that runs this line of the script.
    pub fn card(&self, title: &str, line: &str, start: bool) -> andon::domain::Task {
        let executor = (!line.is_empty()).then(|| {
            andon::domain::Executor::new(Work::Command {
                command: andon::domain::Program::Shell(line.into()),
            })
        });
        let new = NewTask { title: title.into(), executor, start, ..NewTask::default() };
        match self.execute(Command::Create(Box::new(new))) {
            Outcome::Task(task) => *task,
            other => panic!("{other:?}"),
        }
    }

    pub fn send(&self, event: Event) {
        self.keys.send(Incoming::Event(event)).unwrap();
    }

    pub fn press(&mut self, keys: &str) {
        for key in keys_of(keys) {
            self.send(Event::Key(key));
        }
        self.turn(Duration::from_millis(50));
    }

    /// Lets the loop go on until it has nothing to do, at most for so long.
    pub fn turn(&mut self, most: Duration) {
        let Table { session, runtime, exit, .. } = self;
        let end = Instant::now() + most;
        runtime.block_on(async {
            while exit.is_none() {
                let left = end.saturating_duration_since(Instant::now());
                match tokio::time::timeout(left, session.turn()).await {
                    Ok(done) => *exit = done.unwrap(),
                    Err(_) => return,
                }
            }
        });
    }

    pub fn screen(&self) -> String {
        text(self.session.terminal.backend().buffer())
    }

    /// Lets the loop go on until the screen shows the words.
    pub fn until(&mut self, words: &str) {
        self.wait(&format!("the screen to show `{words}`"), |table| table.screen().contains(words));
    }

    pub fn wait(&mut self, what: &str, is_there: impl Fn(&Table) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_there(self) {
            assert!(Instant::now() < end, "waited in vain for {what}:\n{}", self.screen());
            self.turn(Duration::from_millis(20));
        }
    }
}

/// A dispatcher that ends with its test.
struct Running(Arc<Dispatcher>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.stop_now();
        self.0.join();
    }
}

/// Runs that do what their line says: `print WORDS`, `ask QUESTION`, `hold`, `fail WORDS`.
pub struct Script;

struct Held(Mutex<Option<Reporter>>);

impl LiveRun for Held {
    fn stop(&self, _grace_ms: u64) {
        if let Some(reporter) = self.0.lock().unwrap().take() {
            reporter.report(Report::Ended(Ending::failure("stopped")));
        }
    }
}

impl Executors for Script {
    fn start(&self, spec: RunSpec, reporter: Reporter) -> Box<dyn LiveRun> {
        let line = spec.executor.label();
        let (verb, words) = line.split_once(' ').unwrap_or((&line, ""));
        let print = |words: &str| {
            let mut log = std::fs::OpenOptions::new().create(true).append(true).open(&spec.log).unwrap();
            writeln!(log, "{words}").unwrap();
        };
        let ended = match verb {
            "print" => {
                print(words);
                Some(Ending::success(words))
            }
            "fail" => Some(Ending::failure(words)),
            "ask" if spec.answer.is_none() => {
                print("looking for databases");
                let options = vec!["staging".to_owned(), "production".to_owned()];
                reporter.report(Report::Asked { question: words.to_owned(), options });
                Some(Ending { outcome: RunOutcome::Parked, ..Ending::success("") })
            }
            "ask" => Some(Ending::success(spec.answer.map(|given| given.answer).unwrap_or_default())),
            _ => {
                print("holding on");
                None
            }
        };
        match ended {
            Some(ending) => {
                reporter.report(Report::Ended(ending));
                Box::new(Held(Mutex::new(None)))
            }
            None => Box::new(Held(Mutex::new(Some(reporter)))),
        }
    }

    fn recover(&self, _: &andon::domain::RunId, _: Option<&ProcessIdentity>, _: u64) -> Recovery {
        Recovery::Dead { killed: 0 }
    }

    fn tools(&self) -> Vec<String> {
        vec!["exec".into()]
    }

    fn agents(&self) -> Vec<(String, u32)> {
        Vec::new()
    }
}
