//! What users of boards, queues and agent runners met elsewhere, one test for each kind that no other test here
//! would catch.

use super::clockwork::{Clockwork, HOUR};
use super::fake::{House, Player, id, runnable};
use andon::domain::{IdRef, RunOutcome, StepDefinition, TaskStatus, WorkflowDefinition, WorkflowStatus};
use andon::engine::{Command, Effect, Ending, Engine, Input, NewTask, Outcome, Recovery, Report};
use serde_json::json;

fn queued(title: &str) -> NewTask {
    NewTask { start: true, ..runnable(title) }
}

#[test]
fn a_new_claim_inherits_neither_the_lease_nor_the_heartbeat_of_the_run_before() {
    let mut clockwork = Clockwork::new();
    let task = clockwork.add(NewTask { retry_max: 1, ..queued("x") });
    let first = clockwork.claim(&[]);
    let (run, heard) = (first.run.clone(), clockwork.time());
    clockwork.store.write_relaxed(move |tx| tx.renew_lease(&run, "d_1", heard + 99_000, heard)).unwrap();
    clockwork.pass(HOUR);
    let recover = clockwork.begin("d_2");
    assert!(
        recover.iter().any(|effect| matches!(effect, Effect::Recover { run, .. } if *run == first.run)),
        "{recover:?}"
    );
    let recovered = Input::Recovered { run: first.run.clone(), recovery: Recovery::Dead { killed: 1 } };
    clockwork.handle(recovered).unwrap();
    let second = clockwork.claim(&[]);
    let began = clockwork.time();
    let runs = clockwork.runs(&task);
    assert_eq!(runs[1].lease_until_ms, Some(began + 30_000), "a lease of its own, from its own claim");
    let card = clockwork.store.read(|view| view.card(&clockwork.now(&task))).unwrap();
    assert_eq!(card.run.unwrap().active_at_ms, began, "it was heard of when it began, and not before");
    // Whoever held the first one can renew neither.
    for run in [first.run.clone(), second.run.clone()] {
        let later = began + 9 * HOUR;
        let renewed =
            clockwork.store.write_relaxed(move |tx| tx.renew_lease(&run, "d_1", later, later)).unwrap();
        assert!(!renewed);
    }
    assert_eq!(clockwork.runs(&task)[1].lease_until_ms, Some(began + 30_000));
}

#[test]
fn after_a_sleep_beyond_every_lease_nothing_runs_twice() {
    let clockwork = Clockwork::new();
    let (one, two) = (clockwork.add(queued("one")), clockwork.add(queued("two")));
    let started: Vec<_> = clockwork
        .look(&[])
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Start(spec) => Some(*spec),
            _ => None,
        })
        .collect();
    let [first, second] = started.as_slice() else { panic!("both run") };
    // The lid is shut for the night; the same dispatcher wakes up, and its runs with it.
    clockwork.pass(8 * HOUR);
    assert!(clockwork.look(&[first, second]).is_empty(), "nothing is started, stopped or recovered");
    clockwork.ends(first, Ending::success("after the night"));
    clockwork.ends(second, Ending::success(""));
    for task in [one, two] {
        assert_eq!(clockwork.now(&task).status, TaskStatus::Success);
        assert_eq!(clockwork.runs(&task).len(), 1);
    }
}

#[test]
fn what_crashes_at_start_is_tried_within_its_budget_at_growing_distance_and_keeps_its_last_words() {
    let clockwork = Clockwork::new();
    let task = clockwork.add(NewTask { retry_max: 3, max_retries: Some(3), ..queued("crashes") });
    let mut logs = std::collections::BTreeSet::new();
    let mut waits = Vec::new();
    for attempt in 1..=4 {
        let spec = clockwork.claim(&[]);
        assert_eq!(spec.attempt, attempt);
        assert!(logs.insert(spec.log.clone()), "each attempt has a log of its own");
        clockwork.ends(&spec, Ending::failure(format!("exit 1: no key ({attempt})")));
        let now = clockwork.now(&task);
        if attempt < 4 {
            assert_eq!(now.status, TaskStatus::Queued);
            let wait = now.not_before_ms.map_or(0, |at| at - clockwork.time());
            if wait > 0 {
                assert!(clockwork.look(&[]).is_empty(), "not before its time");
            }
            waits.push(wait);
            clockwork.pass(wait);
        }
    }
    assert!(waits[0] == 0 && waits[1] >= 1_000 && waits[2] >= 2_000, "{waits:?}");
    let failed = clockwork.now(&task);
    assert_eq!((failed.status, failed.error.as_str()), (TaskStatus::Failed, "exit 1: no key (4)"));
    clockwork.pass(24 * HOUR);
    assert!(clockwork.look(&[]).is_empty(), "and never again by itself");
    let notes: Vec<String> = clockwork.runs(&task).into_iter().map(|run| run.note).collect();
    assert_eq!(notes, (1..=4).map(|n| format!("exit 1: no key ({n})")).collect::<Vec<_>>());
}

fn steps(list: &[(&str, &[&str])]) -> Box<WorkflowDefinition> {
    let steps = list
        .iter()
        .map(|(id, needs)| StepDefinition {
            id: (*id).into(),
            name: (*id).into(),
            tool_name: "exec".into(),
            tool_params: json!({ "command": "true" }).as_object().unwrap().clone(),
            depends_on: needs.iter().map(|n| (*n).to_owned()).collect(),
            timeout_seconds: 300,
            priority: 5,
            ..StepDefinition::default()
        })
        .collect();
    Box::new(WorkflowDefinition { name: "w".into(), board: None, steps })
}

#[test]
fn what_is_blocked_for_a_person_is_lifted_by_no_sweep() {
    let mut clockwork = Clockwork::new();
    let by_reason = clockwork.add(NewTask { retry_max: 3, ..queued("blocked by a person") });
    let spec = clockwork.claim(&[]);
    clockwork.run(Command::Block { task: id(&by_reason), reason: "waits for the vendor".into() }).unwrap();
    clockwork.ends(&spec, Ending::failure("killed"));
    let create = Command::CreateWorkflow {
        definition: steps(&[("asks", &[]), ("next", &["asks"])]),
        board: None,
        cwd: None,
        start: true,
    };
    let Ok(Some(Outcome::Workflow(made))) = clockwork.run(create) else { panic!() };
    let spec = clockwork.claim(&[]);
    clockwork.report(&spec, Report::Asked { question: "which?".into(), options: vec![] });
    clockwork.ends(&spec, Ending { outcome: RunOutcome::Parked, ..Ending::success("") });
    let by_question = clockwork.store.read(|view| view.resolve(&IdRef::Seq(spec.seq))).unwrap();
    assert_eq!(by_question.status, TaskStatus::Blocked);
    // Days go by, dispatchers come and go, somebody has the workflow looked at, paused and gone on with.
    for day in 0..5 {
        clockwork.pass(24 * HOUR);
        clockwork.begin(&format!("d_next_{day}"));
        assert!(clockwork.look(&[]).is_empty(), "nothing is started");
        for verb in [
            Command::AdvanceWorkflow { workflow: made.id.0.clone() },
            Command::PauseWorkflow { workflow: made.id.0.clone() },
            Command::ResumeWorkflow { workflow: made.id.0.clone() },
        ] {
            clockwork.run(verb).unwrap();
        }
    }
    for task in [&by_reason, &by_question] {
        let now = clockwork.now(task);
        assert_eq!(now.status, TaskStatus::Blocked, "{}", now.title);
        assert_eq!(clockwork.runs(task).len(), 1, "it ran no more");
        assert_eq!(now.retry_count, 0);
    }
    let flow = clockwork.store.read(|view| view.resolve_workflow(made.id.as_str())).unwrap();
    assert_eq!(flow.status, WorkflowStatus::Blocked);
}

#[test]
fn no_order_of_cancel_completion_timeout_and_end_leaves_a_terminal_state_again() {
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Deed {
        Cancel,
        CompleteByItself,
        TimeIsUp,
        Success,
        Crash,
    }
    use Deed::*;
    let mut orders: Vec<Vec<Deed>> = vec![vec![]];
    for deed in [Cancel, CompleteByItself, TimeIsUp, Success, Crash] {
        orders = orders
            .into_iter()
            .flat_map(|order| {
                (0..=order.len()).map(move |at| {
                    let mut longer = order.clone();
                    longer.insert(at, deed);
                    longer
                })
            })
            .collect();
    }
    assert_eq!(orders.len(), 120);
    let clockwork = Clockwork::new();
    for order in orders {
        let task = clockwork.add(NewTask { timeout_seconds: Some(60), ..queued("x") });
        let spec = clockwork.claim(&[]);
        let mut closed: Option<TaskStatus> = None;
        for deed in &order {
            match deed {
                // Refused where it is over already.
                Cancel => drop(clockwork.run(Command::Cancel { task: id(&task), reason: None })),
                CompleteByItself => {
                    let complete = Command::Complete { task: id(&task), result: Some("mine".into()) };
                    drop(clockwork.run_in(&spec, complete));
                }
                TimeIsUp => {
                    clockwork.pass(61_000);
                    clockwork.look(&[&spec]);
                }
                Success => clockwork.ends(&spec, Ending::success("yes")),
                Crash => clockwork.ends(&spec, Ending::failure("exit 1")),
            }
            let now = clockwork.now(&task).status;
            if let Some(closed) = closed {
                assert_eq!(now, closed, "{order:?} left {closed}");
            }
            closed = now.is_closed().then_some(now);
        }
        let place = |deed| order.iter().position(|d| *d == deed).unwrap();
        let end = place(Success).min(place(Crash));
        let status = clockwork.now(&task).status;
        if place(Cancel) < end {
            assert_eq!(status, TaskStatus::Cancelled, "cancel beats all: {order:?}");
        }
        assert_eq!(clockwork.runs(&task).len(), 1, "{order:?}");
        if !status.is_closed() {
            assert_eq!(status, TaskStatus::Failed, "{order:?}");
            clockwork.run(Command::Cancel { task: id(&task), reason: None }).unwrap_err();
        }
    }
}

#[test]
fn blocking_from_outside_ends_the_worker_first_and_unblocking_starts_one_and_no_second() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    let task = house.job("x");
    let first = player.running(&task);
    house.run(Command::Block { task: id(&task), reason: "wait".into() }).unwrap();
    player.stopped(&first);
    assert_eq!(house.now(&task).status, TaskStatus::Running, "its processes are not proven dead yet");
    house.run(Command::Unblock { task: id(&task) }).unwrap_err();
    player.say(&first, Report::Ended(Ending::failure("killed by SIGTERM")));
    house.until(&task, TaskStatus::Blocked);
    assert_eq!(player.starts().len(), 1);
    house.run(Command::Unblock { task: id(&task) }).unwrap();
    player.succeed(&task, "");
    house.until(&task, TaskStatus::Success);
    assert_eq!(player.starts().len(), 2, "one for each leave");
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn a_change_that_no_bell_told_of_is_found_all_the_same() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    house.wait("it listens", || {
        house.folder.path().join("andon.db-bells").read_dir().is_ok_and(|mut d| d.next().is_some())
    });
    // Somebody clears up the bells; nobody can be rung any more.
    std::fs::remove_dir_all(house.folder.path().join("andon.db-bells")).unwrap();
    let other = Engine::open(&house.path()).unwrap();
    for n in 0..3 {
        let made = other
            .execute(
                Command::Create(Box::new(queued(&format!("{n}")))),
                &andon::domain::Actor::operator("bob"),
            )
            .unwrap();
        let task = made.task().unwrap().clone();
        player.succeed(&task, "");
        house.until(&task, TaskStatus::Success);
    }
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn the_deadline_of_an_attempt_is_written_once_whatever_dispatchers_come_and_go() {
    let mut clockwork = Clockwork::new();
    let new = NewTask { timeout_seconds: Some(600), retry_max: 0, ..queued("x") };
    let task = clockwork.add(new);
    let spec = clockwork.claim(&[]);
    let deadline = clockwork.now(&task).deadline_ms.unwrap();
    for n in 0..4 {
        clockwork.pass(60_000);
        clockwork.look(&[&spec]);
        assert_eq!(clockwork.now(&task).deadline_ms, Some(deadline), "look {n}");
    }
    // Its worker dies, it is asked about, and run again: a new attempt, with a time of its own, once.
    clockwork.begin("d_2");
    let dead = Recovery::Dead { killed: 0 };
    clockwork.handle(Input::Recovered { run: spec.run.clone(), recovery: dead }).unwrap();
    assert_eq!(clockwork.now(&task).deadline_ms, None, "no clock runs while a person is asked");
    clockwork.pass(24 * HOUR);
    let question = andon::engine::QuestionRef::OfTask(id(&task));
    clockwork.run(Command::Answer { question, answer: andon::engine::AnswerText::Option(1) }).unwrap();
    let anew = clockwork.now(&task).deadline_ms.unwrap();
    assert_eq!(anew, clockwork.time() + 600_000);
    let second = clockwork.claim(&[]);
    assert_eq!(clockwork.now(&task).deadline_ms, Some(anew), "the claim does not start it anew");
    clockwork.pass(601_000);
    let stop = clockwork.look(&[&second]);
    assert!(
        stop.iter().any(|effect| matches!(effect, Effect::Stop { run, .. } if *run == second.run)),
        "{stop:?}"
    );
    clockwork.ends(&second, Ending::failure("killed by SIGTERM"));
    let failed = clockwork.now(&task);
    assert_eq!((failed.status, failed.error.as_str()), (TaskStatus::Failed, "its 600 s were over"));
}
