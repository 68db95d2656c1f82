//! Databases of every schema that was ever released open, and what is in them reads right. `tests/fixtures` holds
//! one as text for each version; a new version gets its own by `ANDON_WRITE_FIXTURE=1 cargo test --test migrations`,
//! after its migration is written, and from then on neither changes any more.

#![expect(clippy::unwrap_used, reason = "what can't go on here fails, and says where")]

use andon::domain::{
    Actor, Executor, IdRef, Program, StepDefinition, TaskStatus, WaitState, Work, WorkflowDefinition,
    WorkflowStatus, event,
};
use andon::engine::clock::{Clock, Randomness};
use andon::engine::{
    AnswerText, Command, Core, Effect, Ending, Engine, Input, NewTask, Outcome, Paths, Policy, QuestionRef,
    Report, RunSpec, TaskFilter,
};
use andon::store::{Options, SCHEMA_VERSION, Store};
use rusqlite::Connection;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

fn fixture(version: i64) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/schema-{version}.sql"))
}

/// A database made of the fixture of this version.
fn database(version: i64, folder: &Path) -> PathBuf {
    let path = folder.join("andon.db");
    let text = std::fs::read_to_string(fixture(version)).unwrap_or_else(|e| {
        panic!("schema {version} has no fixture ({e}); the head of this file says how to make it")
    });
    Connection::open(&path).unwrap().execute_batch(&text).unwrap();
    path
}

fn schema(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection
        .prepare("SELECT coalesce(sql, name) FROM sqlite_schema WHERE name <> 'sqlite_sequence' ORDER BY type, name")
        .unwrap();
    let found = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    // How a statement is laid out says nothing.
    found.map(|sql| sql.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn an_older_database_becomes_what_a_new_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new.db");
    drop(Engine::open(&new).unwrap());
    for version in 1..=SCHEMA_VERSION {
        let folder = tempfile::tempdir().unwrap();
        let path = database(version, folder.path());
        drop(Engine::open(&path).unwrap());
        assert_eq!(
            schema(&path),
            schema(&new),
            "schema {version} was changed after its fixture was made: write a migration (or, before the first \
             release, the fixture anew)"
        );
    }
}

#[test]
fn what_is_in_an_older_database_reads_right() {
    for version in 1..=SCHEMA_VERSION {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&database(version, folder.path())).unwrap();
        let tasks = engine.list(&TaskFilter { all: true, ..TaskFilter::default() }).unwrap().items;
        let shown: Vec<String> = {
            let mut tasks: Vec<_> = tasks.iter().collect();
            tasks.sort_by_key(|t| t.seq);
            tasks.iter().map(|t| format!("#{} {} {}", t.seq, t.title, t.status)).collect()
        };
        assert_eq!(
            shown,
            [
                "#1 a manual card pending",
                "#2 taken by a person running",
                "#3 done by a person success",
                "#4 given up cancelled",
                "#5 in a moment queued",
                "#6 waits for #1 queued",
                "#7 to be reviewed review",
                "#8 failed and tried again failed",
                "#9 asks blocked",
                "#10 was answered success",
                "#11 held up blocked",
                "#12 set aside suspended",
                "#13 first success",
                "#14 second queued",
            ]
        );
        for task in &tasks {
            let events = engine.events(0, Some(&task.id), usize::MAX).unwrap();
            assert_eq!(event::replay(events.iter().map(|e| &e.patch)).unwrap(), *task);
        }
        let view = |seq| engine.task_view(&IdRef::Seq(seq)).unwrap();
        assert_eq!(view(3).task.result, "修复 ✓");
        assert_eq!((view(6).predecessors[0].seq, view(6).task.open_predecessors), (1, 1));
        assert_eq!(
            (view(8).task.retry_count, view(8).runs.len(), view(8).task.error.as_str()),
            (1, 2, "exit 2: no")
        );
        assert_eq!(view(9).questions[0].options, ["one", "two"]);
        assert_eq!(engine.questions(None).unwrap().len(), 1);
        let answered = &view(10).questions[0];
        assert_eq!((answered.state, answered.answer.as_str()), (WaitState::Consumed, "this one"));
        assert_eq!(view(11).task.blocked_reason, "waits for the vendor");
        assert!(view(2).runs[0].is_active());
        let flow = engine.workflow("release").unwrap();
        assert_eq!((flow.workflow.status, flow.workflow.counts.success), (WorkflowStatus::Running, 1));
        let boards: Vec<String> = engine.boards().unwrap().into_iter().map(|b| b.id).collect();
        assert_eq!(boards, ["default", "work"]);
        // And it goes on from there.
        let me = Actor::operator("ann");
        let done = engine.execute(Command::Complete { task: IdRef::Seq(1), result: None }, &me).unwrap();
        assert_eq!(done.task().unwrap().status, TaskStatus::Success);
        assert_eq!(view(6).task.open_predecessors, 0);
        let made = NewTask { title: "new".into(), ..NewTask::default() };
        let made = engine.execute(Command::Create(Box::new(made)), &me).unwrap();
        assert_eq!(made.task().unwrap().seq, 15, "no number is used again");
    }
}

/// Not a test: writes the fixture of the present schema where it is asked to.
#[test]
fn helper_that_writes_the_fixture() {
    if std::env::var_os("ANDON_WRITE_FIXTURE").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("andon.db");
    Story::begin(&path).tell();
    std::fs::write(fixture(SCHEMA_VERSION), dump(&path)).unwrap();
}

struct Same(AtomicU64);

impl Randomness for Same {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> i64 {
        self.0.fetch_add(1_000, Ordering::Relaxed)
    }
}

/// One story, the same each time.
struct Story {
    store: Store,
    core: Core,
    live: Vec<RunSpec>,
}

impl Story {
    fn begin(path: &Path) -> Story {
        let store = Store::open(path, Options::default()).unwrap();
        let (clock, dice) = (Ticking(AtomicI64::new(1_800_000_000_000)), Same(AtomicU64::new(7)));
        let paths = Paths { database: path.to_owned(), logs: path.to_owned() };
        let core = Core::with(Policy::default(), paths, Arc::new(clock), Arc::new(dice));
        Story { store, core, live: Vec::new() }
    }

    fn handle(&mut self, input: Input) -> Option<Outcome> {
        let core = self.core.clone();
        let handled = self.store.write(move |tx| core.handle(tx, input)).unwrap();
        for effect in handled.effects {
            if let Effect::Start(spec) = effect {
                self.live.push(*spec);
            }
        }
        handled.reply.unwrap()
    }

    fn run(&mut self, command: Command) {
        self.handle(Input::Command { command, actor: Actor::operator("ann") });
    }

    fn add(&mut self, title: &str, change: impl FnOnce(&mut NewTask)) {
        let mut new = NewTask { title: title.into(), ..NewTask::default() };
        change(&mut new);
        self.run(Command::Create(Box::new(new)));
    }

    fn look(&mut self) {
        let (dispatcher, agents, only) = ("d_1".to_owned(), Vec::new(), None);
        self.handle(Input::Look { dispatcher, slots: 1, agents, only, all: true, careful: false });
    }

    fn tell_of(&mut self, report: Report) {
        let spec = self.live.last().unwrap().clone();
        if matches!(report, Report::Ended(_)) {
            self.live.pop();
        }
        self.handle(Input::Report { run: spec.run, epoch: spec.epoch, report });
    }

    /// The dispatcher runs the one card that is ready, to this end.
    fn ends(&mut self, ending: Ending) {
        self.look();
        self.tell_of(Report::Ended(ending));
    }

    fn tell(&mut self) {
        let id = IdRef::Seq;
        let job = |new: &mut NewTask| {
            let work = Work::Command { command: Program::Shell("make \"it\"".into()) };
            new.executor = Some(Executor::new(work));
            new.start = true;
        };
        self.handle(Input::Begin { dispatcher: "d_1".into(), pid: 4711, slots: 1, only: None });
        self.run(Command::CreateBoard { name: "work".into() });
        self.add("a manual card", |new| {
            new.labels = vec!["security".into(), "修复".into()];
            new.description = "It's \"quoted\",\nand has lines".into();
        });
        self.add("taken by a person", |_| {});
        self.run(Command::Take { task: id(2) });
        self.add("done by a person", |new| new.board = Some("work".into()));
        self.run(Command::Complete { task: id(3), result: Some("修复 ✓".into()) });
        self.add("given up", |_| {});
        self.run(Command::Cancel { task: id(4), reason: Some("no need".into()) });
        self.add("in a moment", |new| {
            job(new);
            new.not_before_ms = Some(4_000_000_000_000);
        });
        self.add("waits for #1", |new| {
            job(new);
            new.after = vec![id(1)];
            new.timeout_seconds = Some(60);
        });
        self.add("to be reviewed", |new| {
            job(new);
            new.review_required = Some(true);
        });
        self.ends(Ending::success("have a look"));
        self.add("failed and tried again", |new| {
            job(new);
            new.retry_max = 1;
        });
        self.ends(Ending::failure("exit 1: no"));
        self.ends(Ending::failure("exit 2: no"));
        let asked = |options: &[&str]| Report::Asked {
            question: "which?".into(),
            options: options.iter().map(|o| (*o).to_owned()).collect(),
        };
        self.add("asks", job);
        self.look();
        self.tell_of(asked(&["one", "two"]));
        self.tell_of(Report::Ended(Ending::success("")));
        self.add("was answered", job);
        self.look();
        self.tell_of(asked(&[]));
        self.tell_of(Report::Ended(Ending::success("")));
        let answer = AnswerText::Text("this one".into());
        self.run(Command::Answer { question: QuestionRef::OfTask(id(10)), answer });
        self.ends(Ending::success("thanks"));
        for (seq, title) in [(11, "held up"), (12, "set aside")] {
            self.add(title, |_| {});
            self.run(Command::Take { task: id(seq) });
        }
        self.run(Command::Block { task: id(11), reason: "waits for the vendor".into() });
        self.run(Command::Suspend { task: id(12) });
        let step = |id: &str, needs: &[&str]| StepDefinition {
            id: id.into(),
            name: id.into(),
            tool_name: "exec".into(),
            tool_params: json!({ "command": "make" }).as_object().unwrap().clone(),
            depends_on: needs.iter().map(|n| (*n).to_owned()).collect(),
            timeout_seconds: 300,
            priority: 5,
            ..StepDefinition::default()
        };
        let steps = vec![step("first", &[]), step("second", &["first"])];
        let definition = Box::new(WorkflowDefinition { name: "release".into(), board: None, steps });
        self.run(Command::CreateWorkflow { definition, board: None, cwd: None, start: true });
        self.look();
        // The next step is queued, and nobody claims it.
        let first = self.live.pop().unwrap();
        let report = Report::Ended(Ending::success("built"));
        self.handle(Input::Report { run: first.run, epoch: first.epoch, report });
    }
}

/// The whole database as SQL.
fn dump(path: &Path) -> String {
    let connection = Connection::open(path).unwrap();
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let mut out = format!(
        "PRAGMA application_id = {};\nPRAGMA user_version = {};\nBEGIN;\n",
        number("PRAGMA application_id"),
        number("PRAGMA user_version")
    );
    let objects = |kind: &str| {
        texts(&format!(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND type {kind} 'table' \
             ORDER BY rowid"
        ))
    };
    for sql in objects("=") {
        writeln!(out, "{sql};").unwrap();
    }
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid";
    for table in texts(tables) {
        let columns = texts(&format!("SELECT name FROM pragma_table_info('{table}')"));
        let quoted: Vec<String> = columns.iter().map(|c| format!("quote({c})")).collect();
        let rows = format!("SELECT concat_ws(', ', {}) FROM {table}", quoted.join(", "));
        for row in texts(&rows) {
            // Where the story was told is nobody's business.
            let row = row.replace(path.to_str().unwrap(), "/somewhere/andon.db");
            writeln!(out, "INSERT INTO {table} ({}) VALUES ({row});", columns.join(", ")).unwrap();
        }
    }
    for sql in objects("<>") {
        writeln!(out, "{sql};").unwrap();
    }
    out + "COMMIT;\n"
}
