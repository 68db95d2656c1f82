//! A database with the real daemon on it, and what must be true of it in the end.

use andon::domain::{Actor, Executor, IdRef, Program, QuestionPurpose, RunOutcome, Task, TaskStatus, Work};
use andon::engine::{AnswerText, Command, Engine, NewTask, Outcome, QuestionRef, TaskFilter};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a database, whose engine the test holds as a person at a board would.
pub struct House {
    pub folder: TempDir,
    pub database: PathBuf,
    pub engine: Engine,
    pub marks: PathBuf,
    /// What was acknowledged, and how often the engine may retry it by itself.
    pub acknowledged: HashMap<String, u32>,
}

/// The daemon; killed with the value.
pub struct Daemon(Child);

impl Daemon {
    pub fn kill(mut self) {
        self.end();
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.0)
    }

    /// Whether it has ended.
    pub fn is_dead(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    fn end(&mut self) {
        if self.0.try_wait().unwrap().is_none() {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// The real program on a database, with nothing of the test's own surroundings that could matter.
pub fn andon(database: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_andon"));
    let folder = database.parent().unwrap();
    command.current_dir(folder).env("HOME", folder).env("ANDON_DB", database);
    command.env("XDG_CONFIG_HOME", folder.join("config")).env("XDG_DATA_HOME", folder.join("data"));
    for name in ["ANDON_BOARD", "ANDON_CONFIG", "ANDON_HTTP", "ANDON_RUN_ID", "ANDON_TASK_ID", "ANDON_FAULT"]
    {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

impl House {
    pub fn new() -> House {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("andon.db");
        House::at(folder, database)
    }

    pub fn at(folder: TempDir, database: PathBuf) -> House {
        let engine = Engine::open(&database).unwrap();
        let marks = folder.path().join("marks");
        House { folder, database, engine, marks, acknowledged: HashMap::new() }
    }

    pub fn andon(&self, args: &[&str]) -> Output {
        andon(&self.database).args(args).output().unwrap()
    }

    pub fn daemon(&self) -> Daemon {
        self.daemon_with(3, |_| {})
    }

    pub fn daemon_with(&self, parallel: u32, change: impl FnOnce(&mut std::process::Command)) -> Daemon {
        let config = self.folder.path().join("config.toml");
        std::fs::write(&config, "[dispatch]\ngrace_seconds = 1\n").unwrap();
        let mut command = andon(&self.database);
        command.arg("--config").arg(config).args(["--headless", "--http", "off"]);
        command.arg(format!("--parallel={parallel}"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        change(&mut command);
        Daemon(command.spawn().unwrap())
    }

    /// Makes a card that leaves a line with its task and its run at each start, and queues it.
    pub fn add(&mut self, title: &str, then: &str, retry_max: u32) -> Task {
        let line = format!("echo \"$ANDON_TASK_ID $ANDON_RUN_ID\" >> '{}'; {then}", self.marks.display());
        let new = NewTask {
            title: title.into(),
            executor: Some(Executor::new(Work::Command { command: Program::Shell(line) })),
            retry_max,
            start: true,
            ..NewTask::default()
        };
        let made = self.run(Command::Create(Box::new(new)));
        let made = made.task().unwrap().clone();
        self.acknowledged.insert(made.id.0.clone(), retry_max);
        made
    }

    pub fn run(&self, command: Command) -> Outcome {
        self.engine.execute(command, &Actor::operator("crash")).unwrap()
    }

    pub fn try_to(&self, command: Command) -> Option<Outcome> {
        self.engine.execute(command, &Actor::operator("crash")).ok()
    }

    pub fn everything(&self) -> Vec<Task> {
        self.engine.list(&TaskFilter { all: true, ..TaskFilter::default() }).unwrap().items
    }

    fn summary(&self) -> Vec<String> {
        self.everything().iter().map(|t| format!("#{} {} {}", t.seq, t.title, t.status)).collect()
    }

    pub fn now(&self, task: &Task) -> Task {
        self.engine.task(&IdRef::Seq(task.seq)).unwrap()
    }

    /// Waits for a condition, woken by each change.
    pub fn wait(&self, what: &str, holds: impl FnMut() -> bool) {
        self.wait_for(PATIENCE, what, holds);
    }

    fn wait_for(&self, patience: Duration, what: &str, mut holds: impl FnMut() -> bool) {
        let end = Instant::now() + patience;
        loop {
            let seen = self.engine.last_seq().unwrap();
            if holds() {
                return;
            }
            assert!(Instant::now() < end, "waited in vain until {what}: {:?}", self.summary());
            self.engine.wait_for_change(seen, Duration::from_millis(50)).unwrap();
        }
    }

    /// Answers what is asked about lost work with "mark as done", until all cards are settled.
    pub fn rest(&self) {
        self.rest_while(|| {});
    }

    /// As `rest`, doing something else at each look too.
    pub fn rest_while(&self, meanwhile: impl Fn()) {
        // What is left of many rounds takes its time, on a busy machine more of it.
        let open = self.everything().iter().filter(|t| !t.status.is_settled()).count();
        let patience = PATIENCE + Duration::from_secs(open as u64);
        self.wait_for(patience, "everything has come to rest", || {
            meanwhile();
            for open in self.engine.questions(None).unwrap() {
                assert_eq!(open.question.purpose, QuestionPurpose::Lost);
                let question = QuestionRef::Id(open.question.id);
                self.run(Command::Answer { question, answer: AnswerText::Option(3) });
            }
            self.everything().iter().all(|t| t.status.is_settled())
        });
    }

    /// How often each task was started, by the marks that it left.
    pub fn starts(&self) -> HashMap<String, u32> {
        let mut started = HashMap::new();
        for line in std::fs::read_to_string(&self.marks).unwrap_or_default().lines() {
            *started.entry(line.split(' ').next().unwrap().to_owned()).or_insert(0) += 1;
        }
        started
    }

    /// Nothing acknowledged is lost, nothing ran more often than it may, each run has an end, what succeeded was
    /// seen to run, and no process is left.
    pub fn check(&self) {
        let tasks = self.everything();
        assert!(tasks.len() >= self.acknowledged.len(), "what was acknowledged is there");
        let started = self.starts();
        for task in &tasks {
            let allowed = 1 + self.acknowledged.get(&task.id.0).copied().unwrap_or(0);
            let times = started.get(&task.id.0).copied().unwrap_or(0);
            assert!(times <= allowed, "#{} ran {times} times and may {allowed}", task.seq);
            let view = self.engine.task_view(&IdRef::Seq(task.seq)).unwrap();
            assert!(view.runs.iter().all(|r| r.outcome.is_some()), "#{} has a run without an end", task.seq);
            let lost = view.runs.iter().any(|r| r.outcome == Some(RunOutcome::Lost));
            assert!(
                task.status != TaskStatus::Success || times > 0 || lost,
                "#{} succeeded unseen",
                task.seq
            );
        }
        for id in self.acknowledged.keys() {
            assert!(tasks.iter().any(|t| t.id.0 == *id), "{id} was acknowledged and is not there");
        }
        self.wait("no process of any run is left", || self.tagged().is_empty());
    }

    /// Processes that carry the tag of a run of this database.
    pub fn tagged(&self) -> Vec<String> {
        let wanted = format!("ANDON_DB={}", self.database.display());
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
            let text = String::from_utf8_lossy(&environment);
            let of_a_run = text.split('\0').any(|v| v.starts_with("ANDON_RUN_ID="));
            if of_a_run && text.split('\0').any(|v| v == wanted) {
                let command = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
                found.push(format!("{} {command}", entry.file_name().display()));
            }
        }
        found
    }
}
