//! Executors as the engine meets them: a spec goes in, reports come out, real processes run in between.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that can not go on says so by panicking")]

use andon::agents::{
    AgentConfig, LocalExecutors, NoTools, Settings, StepCall, StepProgram, StepReply, StepTools, log,
};
use andon::domain::{Executor, Program, RunId, RunOutcome, TaskId, Work};
use andon::engine::{Ending, Executors, GivenAnswer, LiveRun, Recovery, Report, Reporter, RunSpec};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Executors on a runtime of their own, with a folder for logs.
struct House {
    runtime: Runtime,
    executors: LocalExecutors,
    folder: tempfile::TempDir,
}

impl House {
    fn new() -> House {
        House::with(Settings::default(), Arc::new(NoTools))
    }

    fn with_agent(command: &[&str]) -> House {
        let mut settings = Settings::default();
        settings.agents.insert("bot".into(), AgentConfig::command("bot", command));
        House::with(settings, Arc::new(NoTools))
    }

    fn with(settings: Settings, tools: Arc<dyn StepTools>) -> House {
        House {
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap(),
            executors: LocalExecutors::new(settings, tools),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn spec(&self, run: &str, work: Work) -> RunSpec {
        RunSpec {
            run: run_id(run),
            task: TaskId("t_abc".into()),
            seq: 12,
            epoch: 3,
            number: 2,
            attempt: 1,
            session: "task:t_abc".into(),
            board: "main".into(),
            title: "A card".into(),
            description: String::new(),
            executor: Executor::new(work),
            values: BTreeMap::new(),
            answer: None,
            feedback: None,
            log: self.folder.path().join(format!("{run}.log")),
            database: "/somewhere/andon.db".into(),
        }
    }

    fn shell(&self, run: &str, line: &str) -> RunSpec {
        self.spec(run, Work::Command { command: Program::Shell(line.into()) })
    }

    fn start(&self, spec: RunSpec) -> (Box<dyn LiveRun>, Reports) {
        let (sender, reports) = channel();
        let send = Arc::new(move |_, epoch, report| {
            assert_eq!(epoch, 3);
            sender.send(report).unwrap();
        });
        let reporter = Reporter::new(spec.run.clone(), spec.epoch, send);
        let _inside = self.runtime.enter();
        (self.executors.start(spec, reporter.clone()), Reports { reports, reporter })
    }

    fn run(&self, spec: RunSpec) -> Ending {
        self.start(spec).1.ending()
    }
}

/// An id that the same test in another process does not have at the same time.
fn run_id(name: &str) -> RunId {
    RunId(format!("{name}_{}", std::process::id()))
}

struct Reports {
    reports: Receiver<Report>,
    reporter: Reporter,
}

impl Reports {
    fn next(&self) -> Report {
        self.reports.recv_timeout(Duration::from_secs(30)).unwrap()
    }

    fn started(&self) {
        assert!(matches!(self.next(), Report::Started(_)));
    }

    fn ending(&self) -> Ending {
        loop {
            if let Report::Ended(ending) = self.next() {
                return ending;
            }
        }
    }
}

#[test]
fn a_command_gives_its_output_as_result_and_tells_its_process_first() {
    let house = House::new();
    let (_live, reports) = house.start(house.shell("r_ok", "echo hello; echo noise >&2; sleep 0.2"));
    let Report::Started(process) = reports.next() else { panic!() };
    assert_eq!(process.pid, process.pgid);
    let ending = reports.ending();
    assert_eq!(
        (ending.outcome, ending.result.as_str(), ending.exit_code),
        (RunOutcome::Success, "hello", Some(0))
    );
    assert!(ending.survivors.is_empty());
    assert!(reports.reporter.active_at_ms() > 0);
    assert_eq!(log::read(&house.folder.path().join("r_ok.log")).unwrap().len(), 12);
}

#[test]
fn a_failure_tells_the_code_and_the_last_line_of_stderr() {
    let house = House::new();
    let ending = house.run(house.shell("r_fail", "echo 'first' >&2; echo 'no such target' >&2; exit 2"));
    assert_eq!(ending.outcome, RunOutcome::Failed);
    assert_eq!(ending.error, "exit 2: no such target");
    assert_eq!(house.run(house.shell("r_killed", "kill -KILL $$")).error, "killed by SIGKILL");
}

#[test]
fn a_missing_program_and_a_folder_that_is_gone_are_told_with_what_to_do() {
    let house = House::new();
    let missing = Work::Command { command: Program::Argv(vec!["no-such-program".into()]) };
    let error = house.run(house.spec("r_missing", missing)).error;
    assert!(error.contains("`no-such-program`") && error.contains("install it"), "{error}");
    let mut gone = house.shell("r_gone", "true");
    gone.executor.cwd = Some("/no/such/folder".into());
    let error = house.run(gone).error;
    assert!(error.contains("/no/such/folder is gone"), "{error}");
}

#[test]
fn a_process_is_told_what_it_works_for_and_nothing_that_is_not_its_business() {
    let house = House::new();
    let mut spec = house.shell("r_env", "env");
    spec.executor.env = [
        ("EXTRA".into(), Some("x".into())),
        ("CARGO_PKG_NAME".into(), None),
        ("ANDON_RUN_ID".into(), Some("r_fake".into())),
    ]
    .into();
    let printed = house.run(spec).result;
    for wanted in [
        "ANDON_TASK_ID=t_abc",
        &format!("ANDON_RUN_ID={}", run_id("r_env")),
        "ANDON_SEQ=12",
        "ANDON_EPOCH=3",
        "ANDON_ATTEMPT=1",
        "ANDON_SESSION=task:t_abc",
        "ANDON_BOARD=main",
        "ANDON_DB=/somewhere/andon.db",
        "ANDON_TITLE=A card",
        "EXTRA=x",
        "CARGO_PKG_NAME=andon",
    ] {
        assert!(printed.lines().any(|line| line == wanted), "{wanted} is not in\n{printed}");
    }
    assert!(!printed.contains("CARGO_MANIFEST_DIR"), "{printed}");
    assert!(!printed.contains("ANDON_ANSWER"), "{printed}");
    let here = std::env::current_exe().unwrap().parent().unwrap().display().to_string();
    assert!(printed.lines().any(|line| line.starts_with("PATH=") && line.ends_with(&here)), "{printed}");
}

#[test]
fn an_answer_and_feedback_come_as_variables_and_the_answer_as_a_file_for_its_owner() {
    let house = House::new();
    let line = r#"echo "$ANDON_QUESTION/$ANDON_ANSWER/$ANDON_FEEDBACK"; cat "$ANDON_ANSWER_FILE"; echo; stat -c %a "$ANDON_ANSWER_FILE""#;
    let mut spec = house.shell("r_answer", line);
    spec.answer = Some(GivenAnswer { question: "which?".into(), answer: "the \"left\" one".into() });
    spec.feedback = Some("shorter".into());
    let ending = house.run(spec);
    assert_eq!(ending.result, "which?/the \"left\" one/shorter\nthe \"left\" one\n600");
    let files: Vec<_> =
        std::fs::read_dir(house.folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files, ["r_answer.log"]);
}

#[test]
fn a_step_runs_a_program_and_results_are_data_for_the_shell() {
    use andon::domain::template::{Part, Reference};
    let house = House::new();
    let params = json!({ "command": "printf '%s' ${steps.a.result}", "env": { "A": "1" } });
    let mut spec =
        house.spec("r_step", Work::Tool { name: "exec".into(), params: params.as_object().unwrap().clone() });
    let reference = Reference { step: "a".into(), part: Part::Result };
    spec.values.insert(reference, "$(touch /tmp/never); `id` \"'".into());
    assert_eq!(house.run(spec).result, "$(touch /tmp/never); `id` \"'");
}

#[test]
fn a_question_step_parks_and_the_answer_is_its_result() {
    let house = House::new();
    let params = json!({ "question": "Deploy?", "options": ["yes", "no"] });
    let work = Work::Tool { name: "clarify".into(), params: params.as_object().unwrap().clone() };
    let (_live, reports) = house.start(house.spec("r_ask", work.clone()));
    let asked = Report::Asked { question: "Deploy?".into(), options: vec!["yes".into(), "no".into()] };
    assert_eq!(reports.next(), asked);
    assert_eq!(reports.ending().outcome, RunOutcome::Parked);
    let mut again = house.spec("r_asked", work);
    again.answer = Some(GivenAnswer { question: "Deploy?".into(), answer: "no".into() });
    assert_eq!(house.run(again).result, "no");
}

#[test]
fn an_agent_gets_its_goal_and_what_it_said_last_is_the_result() {
    let house =
        House::with_agent(&["sh", "-c", "seq 1 5000; cat $1; echo \"goal: $0\"", "{goal}", "{prompt_file}"]);
    let mut spec = house.spec("r_agent", Work::Agent { name: "bot".into(), goal: "mend the gate".into() });
    spec.feedback = Some("too slow".into());
    let ending = house.run(spec);
    assert!(
        ending.result.ends_with("said about the work so far\ntoo slow\ngoal: mend the gate"),
        "{ending:?}"
    );
    assert_eq!(ending.result.chars().count(), 4_000);
}

#[test]
fn stopping_ends_the_tree_and_is_reported_once() {
    let house = House::new();
    let (live, reports) = house.start(house.shell("r_stop", "sleep 1000 & sleep 1000"));
    reports.started();
    live.stop(10_000);
    live.stop(10_000);
    let ending = reports.ending();
    assert_eq!((ending.outcome, ending.exit_signal), (RunOutcome::Failed, Some(15)));
    assert!(ending.survivors.is_empty());
    let recovery = house.executors.recover(&run_id("r_stop"), None, 0);
    assert_eq!(recovery, Recovery::Dead { killed: 0 });
}

#[test]
fn the_tools_that_are_handed_in_are_called_and_may_be_programs() {
    struct Some;
    impl StepTools for Some {
        fn names(&self) -> Vec<String> {
            vec!["double".into(), "own".into(), "broken".into()]
        }
        fn call(&self, call: &StepCall<'_>) -> Result<StepReply, String> {
            match call.name {
                "double" => Ok(StepReply::Done((call.params["n"].as_i64().unwrap() * 2).to_string())),
                "own" => {
                    let (argv, stdin) = (vec!["cat".into()], b"from stdin".to_vec());
                    Ok(StepReply::Program(StepProgram { argv, stdin, ..StepProgram::default() }))
                }
                "broken" => panic!("a fault in a tool"),
                other => Err(format!("no {other}")),
            }
        }
    }
    let house = House::with(Settings::default(), Arc::new(Some));
    assert_eq!(house.executors.tools(), ["exec", "clarify", "double", "own", "broken"]);
    let step = |run: &str, name: &str| {
        let params = json!({ "n": 21 });
        let Value::Object(params) = params else { panic!() };
        house.run(house.spec(run, Work::Tool { name: name.into(), params }))
    };
    assert_eq!(step("r_double", "double").result, "42");
    assert_eq!(step("r_own", "own").result, "from stdin");
    assert_eq!(step("r_other", "other").error, "no other");
    assert!(step("r_broken", "broken").error.contains("the tool broke"));
}

#[test]
fn a_log_that_can_not_be_written_holds_nobody_up_and_is_told() {
    let house = House::new();
    let mut spec = house.shell("r_nolog", "echo fine");
    spec.log = Path::new("/no/such/folder/log").to_owned();
    let (_live, reports) = house.start(spec);
    let facts = loop {
        match reports.next() {
            Report::Facts(facts) => break facts,
            // Told only of what does not end at once.
            Report::Started(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert!(facts.contains_key("log_error"));
    assert_eq!(reports.ending().result, "fine");
}

/// Not a test by itself: the scripted agent, in a program that stands for `andon`.
#[test]
fn helper_that_acts() {
    if let Ok(script) = std::env::var("TEST_SCRIPT") {
        std::process::exit(andon::agents::scripted::run(&script));
    }
}

/// Runs a script as an agent would be run.
fn act(house: &House, run: &str, script: &str, stop: Option<u64>) -> Ending {
    use std::os::unix::fs::PermissionsExt;
    let program = house.folder.path().join("andon");
    let this = std::env::current_exe().unwrap();
    let line = format!(
        "#!/bin/sh\nTEST_SCRIPT=\"$2\" exec {} --exact helper_that_acts --nocapture\n",
        this.display()
    );
    std::fs::write(&program, line).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();

    let program = program.to_str().unwrap().to_owned();
    let command = Program::Argv(vec![program.clone(), "scripted-agent".into(), script.into()]);
    let mut spec = house.spec(run, Work::Command { command });
    spec.executor.env.insert("ANDON_BIN".into(), Some(program));
    let log_file = spec.log.clone();
    let (live, reports) = house.start(spec);
    if let Some(grace_ms) = stop {
        let until = Instant::now() + Duration::from_secs(30);
        while !log::read(&log_file).unwrap().ends_with(b"ready\n") {
            assert!(Instant::now() < until, "it never got ready");
            std::thread::park_timeout(Duration::from_millis(2));
        }
        live.stop(grace_ms);
    }
    let ending = reports.ending();
    assert_eq!(house.executors.recover(&run_id(run), None, 0), Recovery::Dead { killed: 0 });
    ending
}

#[test]
fn an_agent_that_forks_and_leaves_daemons_behind_ends_with_all_of_them() {
    let house = House::new();
    let ending = act(&house, "r_forks", "say begin\nfork\ndaemon\nfork\ndaemon\nsay end", None);
    assert_eq!(ending.outcome, RunOutcome::Success);
    let said: Vec<_> = ending.result.lines().filter(|line| ["begin", "end"].contains(line)).collect();
    assert_eq!(said, ["begin", "end"]);
    assert!(ending.survivors.is_empty());
}

#[test]
fn an_agent_that_crashes_hangs_or_does_not_listen_is_ended() {
    let house = House::new();
    assert!(act(&house, "r_crash", "crash", None).error.starts_with("killed by SIGABRT"));
    assert_eq!(act(&house, "r_hang", "daemon\nsay ready\nhang", Some(60_000)).exit_signal, Some(15));
    assert_eq!(act(&house, "r_stubborn", "daemon\nsay ready\nstubborn", Some(300)).exit_signal, Some(9));
}
