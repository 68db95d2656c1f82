//! kill -9 of the dispatching process, again and again, with real processes: no acknowledged write is lost, no
//! task runs twice without leave, nothing is stuck, nothing is left running.
//!
//! `ANDON_CRASH_ROUNDS` makes a longer run.

#![expect(clippy::unwrap_used, reason = "what can't go on here fails, and says where")]

use andon::domain::{
    Actor, Executor, IdRef, Program, QuestionPurpose, RunOutcome, StepDefinition, Task, TaskStatus, Work,
    WorkflowDefinition, WorkflowStatus,
};
use andon::engine::{AnswerText, Command, Engine, NewTask, Outcome, QuestionRef, TaskFilter};
use serde_json::json;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

struct Daemon(Child);

impl Daemon {
    fn start(database: &Path, config: &Path) -> Daemon {
        let child = std::process::Command::new(env!("CARGO_BIN_EXE_andon"))
            .args(["--db".as_ref(), database.as_os_str(), "--config".as_ref(), config.as_os_str()])
            .args(["--headless", "--parallel", "3", "--http", "off"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Daemon(child)
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn wait(engine: &Engine, what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    loop {
        let seen = engine.last_seq().unwrap();
        if holds() {
            return;
        }
        assert!(Instant::now() < end, "waited in vain until {what}");
        engine.wait_for_change(seen, Duration::from_millis(50)).unwrap();
    }
}

/// Each run leaves a line with its task and its run in a file.
fn marking(marks: &Path, rest: &str) -> Executor {
    let line = format!("echo \"$ANDON_TASK_ID $ANDON_RUN_ID\" >> '{}'; {rest}", marks.display());
    Executor::new(Work::Command { command: Program::Shell(line) })
}

fn everything(engine: &Engine) -> Vec<Task> {
    engine.list(&TaskFilter { all: true, ..TaskFilter::default() }).unwrap().items
}

/// Processes that carry the tag of a run of this database.
fn tagged(database: &Path) -> Vec<String> {
    let wanted = format!("ANDON_DB={}", database.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        let text = String::from_utf8_lossy(&environment);
        if text.split('\0').any(|v| v == wanted) && text.split('\0').any(|v| v.starts_with("ANDON_RUN_ID=")) {
            let command = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            found.push(format!("{} {command}", entry.file_name().display()));
        }
    }
    found
}

#[test]
fn whatever_the_moment_of_a_kill_nothing_is_lost_doubled_stuck_or_left_running() {
    let rounds: u64 = std::env::var("ANDON_CRASH_ROUNDS").ok().and_then(|v| v.parse().ok()).unwrap_or(25);
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("andon.db");
    let config = folder.path().join("config.toml");
    std::fs::write(&config, "[dispatch]\ngrace_seconds = 1\n").unwrap();
    let marks = folder.path().join("marks");
    let engine = Engine::open(&database).unwrap();
    let me = Actor::operator("crash");
    let mut acknowledged: HashMap<String, u32> = HashMap::new();
    let mut random: u64 = 0x5eed;
    for round in 0..rounds {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let daemon = Daemon::start(&database, &config);
        for n in 0..4u64 {
            let retry_max = u32::from((random >> n) & 1 == 1);
            let rest = match n {
                0 => "true",
                1 => "sleep 0.02",
                2 => "(sleep 30 & sleep 30 & wait) & sleep 0.05",
                _ => "setsid sleep 30 & sleep 0.01",
            };
            let new = NewTask {
                title: format!("{round}.{n}"),
                executor: Some(marking(&marks, rest)),
                retry_max,
                start: true,
                ..NewTask::default()
            };
            let Ok(Outcome::Task(made)) = engine.execute(Command::Create(Box::new(new)), &me) else {
                panic!()
            };
            acknowledged.insert(made.id.0, retry_max);
        }
        let until = engine.last_seq().unwrap() + (random >> 33) as i64 % 14;
        wait(&engine, "the daemon got so far", || {
            engine.last_seq().unwrap() >= until
                || everything(&engine)
                    .iter()
                    .all(|t| !matches!(t.status, TaskStatus::Queued | TaskStatus::Running))
        });
        daemon.kill();
        // Now and then somebody cancels while nobody dispatches.
        if random >> 60 == 3
            && let Some(task) = everything(&engine).iter().find(|t| t.status == TaskStatus::Running)
        {
            engine.execute(Command::Cancel { task: IdRef::Seq(task.seq), reason: None }, &me).unwrap();
        }
    }
    let daemon = Daemon::start(&database, &config);
    wait(&engine, "everything has come to rest", || {
        for open in engine.questions(None).unwrap() {
            assert_eq!(open.question.purpose, QuestionPurpose::Lost);
            let answer = Command::Answer {
                question: QuestionRef::Id(open.question.id),
                answer: AnswerText::Option(3),
            };
            engine.execute(answer, &me).unwrap();
        }
        everything(&engine).iter().all(|t| t.status.is_settled())
    });
    let tasks = everything(&engine);
    assert_eq!(tasks.len(), acknowledged.len(), "what was acknowledged is there");
    let said = std::fs::read_to_string(&marks).unwrap_or_default();
    let mut started: HashMap<&str, u32> = HashMap::new();
    for line in said.lines() {
        *started.entry(line.split(' ').next().unwrap()).or_insert(0) += 1;
    }
    for task in &tasks {
        let allowed = 1 + acknowledged[&task.id.0];
        let times = started.get(task.id.0.as_str()).copied().unwrap_or(0);
        assert!(times <= allowed, "#{} ran {times} times and may {allowed}", task.seq);
        let view = engine.task_view(&IdRef::Seq(task.seq)).unwrap();
        assert!(view.runs.iter().all(|r| r.outcome.is_some()), "#{} has a run without an end", task.seq);
        let lost = view.runs.iter().filter(|r| r.outcome == Some(RunOutcome::Lost)).count();
        assert!(
            task.status != TaskStatus::Success || times > 0 || lost > 0,
            "#{} succeeded unseen",
            task.seq
        );
    }
    wait(&engine, "no process of any run is left", || tagged(&database).is_empty());
    daemon.kill();
}

#[test]
fn a_kill_in_the_middle_of_a_workflow_leaves_it_able_to_reach_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("andon.db");
    let config = folder.path().join("config.toml");
    std::fs::write(&config, "[dispatch]\ngrace_seconds = 1\n").unwrap();
    let marks = folder.path().join("marks");
    let engine = Engine::open(&database).unwrap();
    let me = Actor::operator("crash");
    let step = |id: &str, needs: &[&str], command: &str, retry_max| StepDefinition {
        id: id.into(),
        name: id.into(),
        tool_name: "exec".into(),
        tool_params: json!({ "command": format!("echo {id} >> '{}'; {command}", marks.display()) })
            .as_object()
            .unwrap()
            .clone(),
        depends_on: needs.iter().map(|n| (*n).to_owned()).collect(),
        retry_max,
        timeout_seconds: 300,
        priority: 5,
        ..StepDefinition::default()
    };
    let gate = folder.path().join("gate");
    let held = format!("while [ ! -e '{}' ]; do sleep 0.01; done", gate.display());
    let steps = vec![
        step("first", &[], "true", 0),
        step("asks", &["first"], &held, 0),
        step("again", &["first"], &held, 1),
        step("last", &["asks", "again"], "true", 0),
    ];
    let definition = Box::new(WorkflowDefinition { name: "w".into(), board: None, steps });
    let daemon = Daemon::start(&database, &config);
    let create = Command::CreateWorkflow { definition, board: None, cwd: None, start: true };
    let Ok(Outcome::Workflow(made)) = engine.execute(create, &me) else { panic!() };
    let view = || engine.workflow(made.id.as_str()).unwrap();
    let said = || std::fs::read_to_string(&marks).unwrap_or_default();
    wait(&engine, "both middle steps run", || said().contains("asks") && said().contains("again"));
    daemon.kill();
    let daemon = Daemon::start(&database, &config);
    wait(&engine, "the lost step asks", || view().steps[1].status == TaskStatus::Blocked);
    wait(&engine, "the other runs again", || said().matches("again").count() == 2);
    std::fs::write(&gate, "").unwrap();
    let question = QuestionRef::OfTask(IdRef::Seq(view().steps[1].seq));
    engine.execute(Command::Answer { question, answer: AnswerText::Text("run again".into()) }, &me).unwrap();
    wait(&engine, "the workflow ends", || view().workflow.status == WorkflowStatus::Success);
    assert_eq!(said().matches("first").count(), 1);
    assert_eq!(said().matches("asks").count(), 2, "once, and once more with leave");
    assert_eq!(said().matches("last").count(), 1);
    daemon.kill();
}
