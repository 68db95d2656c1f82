//! The tools as their callers meet them: one JSON call in, one JSON reply out, over a real database.
#![expect(clippy::unwrap_used, reason = "what can't be set up has failed")]

mod notify;
mod own;
mod todo;
mod web;

use andon::domain::{Actor, IdRef, ProcessIdentity, RunId, TaskId};
use andon::engine::{
    AnswerText, Command, DispatchOptions, Dispatcher, Ending, Engine, Executors, LiveRun, QuestionRef,
    Recovery, Report, Reporter, RunSpec,
};
use andon::tools::{Answer, Inside, Registry, ToolContext, Waiting};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

struct House {
    home: TempDir,
    engine: Engine,
    registry: Registry,
}

impl House {
    fn new() -> House {
        let home = tempfile::tempdir().unwrap();
        let engine = Engine::open(&home.path().join("andon.db")).unwrap();
        House { home, engine, registry: Registry::new(Some(vec!["claude".to_owned()])) }
    }

    fn operator(&self) -> ToolContext {
        ToolContext {
            engine: self.engine.clone(),
            actor: Actor::operator("ann"),
            inside: None,
            cwd: self.home.path().canonicalize().unwrap(),
            session: None,
            board: None,
            waiting: Waiting::default(),
        }
    }

    /// A caller inside the active run of a task.
    fn inside(&self, task: &Value) -> ToolContext {
        let task = TaskId::from(task["id"].as_str().unwrap());
        let run = self.engine.task(&IdRef::Full(task.0.clone())).unwrap().current_run_id.unwrap();
        let actor = Actor::Agent { run: run.clone(), task: task.clone(), name: "claude".to_owned() };
        ToolContext { actor, inside: Some(Inside { run, task }), ..self.operator() }
    }

    fn answer(&self, ctx: &ToolContext, call: &Value) -> Answer {
        self.registry.answer(ctx, &call.to_string())
    }

    fn call_as(&self, ctx: &ToolContext, call: Value) -> Value {
        let answer = self.answer(ctx, &call);
        let reply: Value = serde_json::from_str(&answer.line).unwrap();
        assert_eq!(reply["ok"], true, "{call} gave {reply}");
        assert_eq!(answer.exit_code, 0);
        reply["result"].clone()
    }

    fn call(&self, call: Value) -> Value {
        self.call_as(&self.operator(), call)
    }

    fn refused_as(&self, ctx: &ToolContext, call: Value) -> (Value, u8) {
        let answer = self.answer(ctx, &call);
        let reply: Value = serde_json::from_str(&answer.line).unwrap();
        assert_eq!(reply["ok"], false, "{call} gave {reply}");
        (reply["error"].clone(), answer.exit_code)
    }

    fn refused(&self, call: Value) -> (Value, u8) {
        self.refused_as(&self.operator(), call)
    }

    /// Waits until a question is open, and gives its id.
    fn question(&self) -> String {
        loop {
            let seen = self.engine.last_seq().unwrap();
            if let Some(open) = self.engine.questions(None).unwrap().first() {
                return open.question.id.0.clone();
            }
            self.engine.wait_for_change(seen, Duration::from_secs(30)).unwrap();
        }
    }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap()
}

#[test]
fn a_task_is_created_started_and_completed_with_a_result() {
    let house = House::new();
    let task = house.call(
        json!({ "tool": "task", "action": "create", "title": "Fix login page 500 error", "priority": 2 }),
    );
    assert_eq!((text(&task, "status"), &task["priority"], text(&task, "owner")), ("pending", &json!(2), ""));
    let id = &task["id"];
    let started = house.call(json!({ "tool": "task", "action": "start", "task_id": id }));
    assert_eq!((text(&started, "status"), text(&started, "owner")), ("running", "ann"));
    assert_eq!(started["lease_until_ms"], Value::Null);
    let done =
        house.call(json!({ "tool": "task", "action": "complete", "task_id": id, "result": "null check" }));
    assert_eq!((text(&done, "status"), text(&done, "result")), ("success", "null check"));
    assert_eq!(text(&done, "finished_at").len(), "2026-11-30T14:50:00.000Z".len());
}

#[test]
fn a_failed_task_keeps_its_error_and_is_retried_within_its_budget() {
    let house = House::new();
    house.call(json!({ "tool": "task", "action": "create", "title": "x", "max_retries": 1, "start": true }));
    let failed = house.call(json!({ "tool": "task", "action": "fail", "task_id": 1, "error": "no network" }));
    assert_eq!((text(&failed, "status"), text(&failed, "error")), ("failed", "no network"));
    let queued = house.call(json!({ "tool": "task", "action": "retry", "task_id": 1 }));
    assert_eq!((text(&queued, "status"), &queued["retry_count"]), ("queued", &json!(1)));
    house.call(json!({ "tool": "task", "action": "start", "task_id": 1 }));
    house.call(json!({ "tool": "task", "action": "fail", "task_id": 1 }));
    let (error, exit) = house.refused(json!({ "tool": "task", "action": "retry", "task_id": 1 }));
    assert_eq!((text(&error, "code"), exit), ("retries_exhausted", 4));
}

#[test]
fn an_illegal_transition_names_both_states_and_changes_nothing() {
    let house = House::new();
    let task = house.call(json!({ "tool": "task", "action": "create", "title": "x" }));
    let (error, exit) = house.refused(json!({ "tool": "task", "action": "suspend", "task_id": task["id"] }));
    assert_eq!((text(&error, "code"), exit), ("illegal_transition", 4));
    assert!(text(&error, "message").contains("from pending to suspended"), "{error}");
    assert_eq!(
        house.call(json!({ "tool": "task", "action": "get", "task_id": 1 }))["version"],
        task["version"]
    );
}

#[test]
fn pausing_blocking_and_cancelling_by_tool() {
    let house = House::new();
    house.call(json!({ "tool": "task", "action": "create", "title": "x", "start": true }));
    let suspended = house.call(json!({ "tool": "task", "action": "suspend", "task_id": 1 }));
    assert_eq!(text(&suspended, "status"), "suspended");
    assert_eq!(
        text(&house.call(json!({ "tool": "task", "action": "resume", "task_id": 1 })), "status"),
        "queued"
    );
    house.call(json!({ "tool": "task", "action": "start", "task_id": 1 }));
    let blocked = house.call(json!({ "tool": "task", "action": "block", "task_id": 1, "reason": "no VPN" }));
    assert_eq!((text(&blocked, "status"), text(&blocked, "blocked_reason")), ("blocked", "no VPN"));
    let cancelled =
        house.call(json!({ "tool": "task", "action": "cancel", "task_id": 1, "reason": "not needed" }));
    assert_eq!(text(&cancelled, "status"), "cancelled");
}

#[test]
fn fields_are_updated_and_a_stale_version_is_refused() {
    let house = House::new();
    let task = house.call(json!({ "tool": "task", "action": "create", "title": "x" }));
    let call = json!({ "tool": "task", "action": "update", "task_id": 1, "title": "y", "labels": ["a", "b"],
        "version": task["version"] });
    let updated = house.call(call.clone());
    assert_eq!((text(&updated, "title"), &updated["labels"]), ("y", &json!(["a", "b"])));
    assert_eq!(text(&house.refused(call).0, "code"), "stale_version");
}

#[test]
fn tasks_are_listed_by_status_label_and_board() {
    let house = House::new();
    for (title, board, label) in [("a", "default", "bug"), ("b", "default", "doc"), ("c", "web", "bug")] {
        house.call(
            json!({ "tool": "task", "action": "create", "title": title, "board_id": board, "labels": label }),
        );
    }
    house.call(json!({ "tool": "task", "action": "start", "task_id": 2 }));
    let titles = |call: Value| -> Vec<String> {
        let mut call = call;
        call["tool"] = json!("task");
        call["action"] = json!("list");
        let page = house.call(call);
        page["items"].as_array().unwrap().iter().map(|task| text(task, "title").to_owned()).collect()
    };
    assert_eq!(titles(json!({ "status": "RUNNING" })), ["b"]);
    assert_eq!(titles(json!({ "labels": ["bug"] })), ["a"]);
    assert_eq!(titles(json!({ "labels": ["bug"], "board_id": "*" })).len(), 2);
    let (error, exit) = house.refused(json!({ "tool": "task", "action": "list", "status": "runing" }));
    assert!(text(&error, "message").contains("did you mean `running`?"), "{error}");
    assert_eq!(exit, 2);
}

#[test]
fn what_a_task_runs_with_is_named_at_create() {
    let house = House::new();
    let task = house
        .call(json!({ "tool": "task", "action": "create", "title": "t", "command": "make", "cwd": "sub",
        "depends_on": [], "env": { "CI": "1" } }));
    assert_eq!(text(&task, "dispatch"), "auto");
    assert_eq!(task["executor"]["command"], "make");
    assert!(task["executor"]["cwd"].as_str().unwrap().starts_with('/'));
    let agents = house
        .call(json!({ "tool": "task", "action": "create", "title": "Notes", "description": "for 1.2",
        "agent": "claude" }));
    assert_eq!(agents["executor"]["goal"], "Notes\n\nfor 1.2");
    let (error, _) =
        house.refused(json!({ "tool": "task", "action": "create", "title": "t", "agent": "nobody" }));
    assert_eq!(text(&error, "code"), "unknown_agent");
    house.refused(
        json!({ "tool": "task", "action": "create", "title": "t", "agent": "claude", "command": "x" }),
    );
}

#[test]
fn inside_a_run_the_own_task_needs_no_name() {
    let house = House::new();
    let task = house.call(json!({ "tool": "task", "action": "create", "title": "x", "start": true }));
    let inside = house.inside(&task);
    assert_eq!(house.call_as(&inside, json!({ "tool": "task", "action": "get" }))["id"], task["id"]);
    let done = house.call_as(&inside, json!({ "tool": "task", "action": "complete", "result": "r" }));
    assert_eq!(text(&done, "result"), "r");
    assert_eq!(house.refused(json!({ "tool": "task", "action": "complete" })).1, 2);
}

#[test]
fn a_workflow_is_made_run_by_hand_and_followed() {
    let house = House::new();
    let step = |id: &str, needs: &[&str]| json!({ "id": id, "tool_name": "exec", "tool_params": { "command": "true" }, "depends_on": needs });
    let made = house.call(json!({ "tool": "workflow", "action": "create", "name": "release",
        "steps": [step("test", &[]), step("build", &["test"])] }));
    assert_eq!((text(&made, "status"), made["steps"].as_array().unwrap().len()), ("pending", 2));
    let started = house.call(json!({ "tool": "workflow", "action": "start", "workflow_id": made["id"] }));
    assert_eq!((text(&started, "status"), &started["steps"][0]["status"]), ("running", &json!("queued")));
    let paused = house.call(json!({ "tool": "workflow", "action": "pause", "workflow_id": "release" }));
    assert_eq!(text(&paused, "status"), "waiting");
    house.call(json!({ "tool": "workflow", "action": "resume", "workflow_id": "release" }));
    let first = &started["steps"][0]["task_id"];
    house.call(json!({ "tool": "task", "action": "start", "task_id": first }));
    house.call(json!({ "tool": "task", "action": "complete", "task_id": first, "result": "ok" }));
    let status = house.call(json!({ "tool": "workflow", "action": "status", "workflow_id": "release" }));
    assert_eq!(
        (&status["steps"][0]["result"], &status["steps"][1]["status"]),
        (&json!("ok"), &json!("queued"))
    );
    let advanced = house.call(json!({ "tool": "workflow", "action": "advance", "workflow_id": "release" }));
    assert_eq!(advanced["changes"], 0);
    let cancelled = house.call(json!({ "tool": "workflow", "action": "cancel", "workflow_id": "release" }));
    assert_eq!(text(&cancelled, "status"), "cancelled");
    let listed = house.call(json!({ "tool": "workflow", "action": "list", "status": "cancelled" }));
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let running = house.call(json!({ "tool": "workflow", "action": "list", "status": "running" }));
    assert_eq!(running["items"], json!([]));
}

#[test]
fn all_faults_of_a_workflow_are_told_at_once() {
    let house = House::new();
    let (error, exit) =
        house.refused(json!({ "tool": "workflow", "action": "create", "name": "w", "steps": [
        { "id": "a", "tool_name": "exce", "tool_params": {}, "depends_on": ["b"] },
        { "id": "a", "tool_name": "exec", "tool_params": { "command": "true" }, "retry_max": -1 },
    ] }));
    assert_eq!((text(&error, "code"), exit), ("invalid_workflow", 2));
    for part in ["did you mean `exec`?", "-1 is not", "there is no step `b`", "the id of steps[0] already"] {
        assert!(text(&error, "message").contains(part), "{part} in {error}");
    }
    assert_eq!(house.call(json!({ "tool": "workflow", "action": "list" }))["items"], json!([]));
}

#[test]
fn a_question_blocks_the_task_and_its_answer_comes_back_to_the_asker() {
    let house = House::new();
    let task = house.call(json!({ "tool": "task", "action": "create", "title": "x", "start": true }));
    let inside = house.inside(&task);
    let given = std::thread::scope(|scope| {
        let asker = scope.spawn(|| {
            let call = json!({ "tool": "clarify", "question": "Which database?", "options": ["staging", "production"] });
            house.call_as(&inside, call)
        });
        let question = house.question();
        let blocked = house.call(json!({ "tool": "task", "action": "get", "task_id": 1 }));
        assert_eq!(text(&blocked, "status"), "blocked");
        let answer = Command::Answer {
            question: QuestionRef::Id(question.as_str().into()),
            answer: AnswerText::Option(2),
        };
        house.engine.execute(answer, &Actor::operator("ann")).unwrap();
        asker.join().unwrap()
    });
    assert_eq!(text(&given, "answer"), "production");
    let again = house.call(json!({ "tool": "task", "action": "get", "task_id": 1 }));
    assert_eq!(text(&again, "status"), "running", "the same run goes on");
}

#[test]
fn a_question_of_a_cancelled_task_ends_the_waiting() {
    let house = House::new();
    let task = house.call(json!({ "tool": "task", "action": "create", "title": "x", "start": true }));
    let inside = house.inside(&task);
    let (error, exit) = std::thread::scope(|scope| {
        let asker =
            scope.spawn(|| house.refused_as(&inside, json!({ "tool": "clarify", "question": "Sure?" })));
        house.question();
        house.call(json!({ "tool": "task", "action": "cancel", "task_id": 1 }));
        asker.join().unwrap()
    });
    assert_eq!((text(&error, "code"), exit), ("question_cancelled", 4));
}

#[test]
fn a_caller_that_does_not_wait_gets_the_question_at_once() {
    let house = House::new();
    let task = house.call(json!({ "tool": "task", "action": "create", "title": "x", "start": true }));
    let asked = house
        .call_as(&house.inside(&task), json!({ "tool": "clarify", "question": "Which?", "wait": false }));
    assert_eq!((text(&asked, "state"), text(&asked, "question_id")), ("open", house.question().as_str()));
    let outside = house.refused(json!({ "tool": "clarify", "question": "Which?" }));
    assert!(text(&outside.0, "message").contains("needs `task_id`"));
    assert_eq!(house.refused(json!({ "tool": "clarify", "task_id": 1, "question": " " })).1, 2);
}

#[test]
fn files_stay_in_the_folder_of_the_callers_task() {
    let house = House::new();
    let folder = house.home.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(house.home.path().join("secret"), "s").unwrap();
    let task = house
        .call(json!({ "tool": "task", "action": "create", "title": "x", "command": "true", "cwd": "work" }));
    house.call(json!({ "tool": "task", "action": "start", "task_id": task["id"] }));
    let elsewhere = ToolContext { cwd: PathBuf::from("/"), ..house.inside(&task) };
    house.call_as(&elsewhere, json!({ "tool": "write_file", "path": "a.txt", "content": "hello" }));
    assert_eq!(std::fs::read_to_string(folder.join("a.txt")).unwrap(), "hello");
    for path in ["../secret", house.home.path().join("secret").to_str().unwrap()] {
        let (error, exit) = house.refused_as(&elsewhere, json!({ "tool": "read_file", "path": path }));
        assert_eq!((text(&error, "code"), exit), ("outside_folder", 5));
    }
}

#[test]
fn a_call_that_is_no_call_is_answered_with_what_one_looks_like() {
    let house = House::new();
    let ctx = house.operator();
    for (line, code) in [("{", "invalid_json"), ("[]", "invalid_json"), ("{}", "missing_tool")] {
        let answer = house.registry.answer(&ctx, line);
        assert!(answer.line.contains(code) && answer.exit_code == 2, "{}", answer.line);
        assert!(!answer.line.contains('\n'));
    }
    let (error, _) = house.refused(json!({ "tool": "taks", "action": "list" }));
    assert!(text(&error, "message").contains("did you mean `task`?"), "{error}");
    let answer = house.answer(&ctx, &json!({ "tool": "exec", "command": "echo hi", "correlation_id": 7 }));
    let reply: Value = serde_json::from_str(&answer.line).unwrap();
    assert_eq!((&reply["result"]["stdout"], &reply["correlation_id"]), (&json!("hi\n"), &json!(7)));
    let failed = house.answer(&ctx, &json!({ "tool": "exec", "command": "exit 3" }));
    assert_eq!(failed.exit_code, 1);
}

#[test]
fn a_step_of_a_plain_tool_gives_text() {
    let house = House::new();
    let ctx = house.operator();
    let params = |value: Value| value.as_object().cloned().unwrap();
    let write = params(json!({ "path": "n.txt", "content": "notes" }));
    assert_eq!(house.registry.call_step("write_file", &write, &ctx).unwrap(), "wrote 5 bytes to n.txt");
    let read = params(json!({ "path": "n.txt" }));
    assert_eq!(house.registry.call_step("read_file", &read, &ctx).unwrap(), "notes");
    let create = params(json!({ "action": "create", "title": "from a step" }));
    assert!(house.registry.call_step("task", &create, &ctx).unwrap().contains("from a step"));
    assert!(house.registry.call_step("clarify", &params(json!({ "question": "?" })), &ctx).is_err());
}

/// An executor whose runs go on until they are stopped.
struct Patient;

struct PatientRun(Reporter);

impl LiveRun for PatientRun {
    fn stop(&self, _grace_ms: u64) {
        self.0.report(Report::Ended(Ending::failure("stopped")));
    }
}

impl Executors for Patient {
    fn start(&self, _spec: RunSpec, reporter: Reporter) -> Box<dyn LiveRun> {
        Box::new(PatientRun(reporter))
    }

    fn recover(&self, _run: &RunId, _process: Option<&ProcessIdentity>, _grace_ms: u64) -> Recovery {
        Recovery::Dead { killed: 0 }
    }

    fn tools(&self) -> Vec<String> {
        andon::tools::names().iter().map(|name| (*name).to_owned()).collect()
    }

    fn agents(&self) -> Vec<(String, u32)> {
        Vec::new()
    }
}

#[test]
fn whoever_ends_a_live_run_from_outside_waits_for_its_end_and_from_inside_hears_at_once() {
    let house = House::new();
    let dispatcher = Dispatcher::start(&house.engine, Arc::new(Patient), DispatchOptions::default()).unwrap();
    let running = |seq: i64| -> Value {
        let call =
            json!({ "tool": "task", "action": "create", "title": "x", "command": "true", "start": true });
        assert_eq!(house.call(call)["seq"], seq);
        loop {
            let seen = house.engine.last_seq().unwrap();
            let task = house.call(json!({ "tool": "task", "action": "get", "task_id": seq }));
            if task["status"] == "running" {
                return task;
            }
            house.engine.wait_for_change(seen, Duration::from_secs(30)).unwrap();
        }
    };
    let task = running(1);
    assert!(task["lease_until_ms"].is_i64(), "{task}");
    let cancelled = house.call(json!({ "tool": "task", "action": "cancel", "task_id": 1 }));
    assert_eq!((text(&cancelled, "status"), &cancelled["accepted"]), ("cancelled", &Value::Null));

    let inside = house.inside(&running(2));
    let done = house.call_as(&inside, json!({ "tool": "task", "action": "complete", "result": "all" }));
    assert_eq!((text(&done, "status"), &done["accepted"]), ("running", &json!(true)));

    running(3);
    let call = json!({ "tool": "task", "action": "suspend", "task_id": 3, "wait": false });
    assert_eq!(house.call(call)["accepted"], true);
    dispatcher.stop();
    dispatcher.join();
    let after = house.call(json!({ "tool": "task", "action": "get", "task_id": 3 }));
    assert_eq!(text(&after, "status"), "suspended");
}
