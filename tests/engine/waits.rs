use super::clockwork::{Clockwork, HOUR};
use super::fake::{House, Player, id, runnable};
use andon::domain::{
    Actor, Dispatch, EventKind, IdRef, Refusal, RunOutcome, Task, TaskStatus, Wait, WaitKind, WaitState, lamp,
};
use andon::engine::{
    AnswerText, Command, Effect, Ending, NewTask, Outcome, QuestionRef, Report, RunSpec, TaskEdit, WaitOn,
};
use serde_json::json;

/// A task that runs, and one that it may wait for.
struct Stage {
    clockwork: Clockwork,
    task: Task,
    spec: RunSpec,
}

fn stage() -> Stage {
    let clockwork = Clockwork::new();
    let task = clockwork.add(NewTask { start: true, timeout_seconds: Some(600), ..runnable("Waits") });
    let spec = clockwork.claim(&[]);
    Stage { clockwork, task, spec }
}

impl Stage {
    fn wait_for(&self, on: WaitOn, waits: bool) -> Result<Wait, Refusal> {
        self.wait_until(on, waits, None)
    }

    fn wait_until(&self, on: WaitOn, waits: bool, expires_at_ms: Option<i64>) -> Result<Wait, Refusal> {
        let command = Command::WaitFor {
            task: id(&self.task),
            on,
            reason: "it builds on that".into(),
            expires_at_ms,
            waits,
        };
        match self.clockwork.run_in(&self.spec, command)?.unwrap() {
            Outcome::Wait(wait) => Ok(*wait),
            other => panic!("{other:?}"),
        }
    }

    fn now(&self) -> Task {
        self.clockwork.now(&self.task)
    }

    fn state(&self, wait: &Wait) -> Wait {
        self.clockwork.store.read(|view| view.wait(wait.id.as_str())).unwrap().unwrap()
    }

    fn wake(&self, key: &str) -> (bool, usize) {
        match self
            .clockwork
            .run(Command::Wake { key: key.into(), data: json!({ "by": "ci" }) })
            .unwrap()
            .unwrap()
        {
            Outcome::Woken { first, woken, .. } => (first, woken),
            other => panic!("{other:?}"),
        }
    }

    fn timer(&self, in_ms: i64) -> String {
        let due_at_ms = self.clockwork.time() + in_ms;
        match self.clockwork.run(Command::CreateTimer { name: "tea".into(), due_at_ms }).unwrap().unwrap() {
            Outcome::Timer(timer) => timer.id.0,
            other => panic!("{other:?}"),
        }
    }

    fn card(&self, title: &str) -> Task {
        self.clockwork.add(NewTask { title: title.into(), ..NewTask::default() })
    }

    fn complete(&self, task: &Task, result: &str) {
        let done = Command::Complete { task: id(task), result: Some(result.into()) };
        self.clockwork.run(done).unwrap();
    }
}

#[test]
fn a_run_that_waits_in_place_frees_its_slot_and_goes_on_when_the_task_has_ended() {
    let stage = stage();
    let other = stage.card("Build");
    let wait = stage.wait_for(WaitOn::TaskResult(id(&other)), true).unwrap();
    assert_eq!(
        (wait.state, wait.kind, wait.subject.as_str()),
        (WaitState::Open, WaitKind::TaskResult, other.id.as_str())
    );
    let blocked = stage.now();
    assert_eq!(blocked.status, TaskStatus::Blocked);
    assert!(blocked.deadline_ms.is_none() && blocked.time_left_ms.is_some(), "its clock stands still");
    let card = stage.clockwork.store.read(|view| view.card(&blocked)).unwrap();
    assert_eq!(lamp::lamp(&card, stage.clockwork.time()), None, "nobody has to do anything");
    assert_eq!(stage.clockwork.store.read(|view| view.slots_used()).unwrap(), 0);
    stage.complete(&other, "v1.2");
    let on = stage.now();
    assert_eq!((on.status, on.current_run_id.as_ref()), (TaskStatus::Running, Some(&stage.spec.run)));
    let over = stage.state(&wait);
    assert_eq!(over.state, WaitState::Consumed);
    assert_eq!((&over.outcome["status"], &over.outcome["result"]), (&json!("success"), &json!("v1.2")));
}

#[test]
fn a_run_that_ended_is_queued_again_with_the_outcome_as_its_answer() {
    let stage = stage();
    let other = stage.card("Build");
    stage.wait_for(WaitOn::TaskResult(id(&other)), false).unwrap();
    stage.clockwork.ends(&stage.spec, Ending::success("waits"));
    assert_eq!(stage.now().status, TaskStatus::Blocked);
    stage.clockwork.run(Command::Cancel { task: id(&other), reason: Some("no need".into()) }).unwrap();
    let next = stage.clockwork.claim(&[]);
    assert_eq!((next.task.clone(), next.number, next.attempt), (stage.task.id.clone(), 2, 1));
    let told: serde_json::Value = serde_json::from_str(&next.answer.unwrap().answer).unwrap();
    assert_eq!((&told["status"], &told["error"]), (&json!("cancelled"), &json!("no need")));
}

#[test]
fn what_has_happened_already_is_handed_over_at_once_and_nothing_waits() {
    let stage = stage();
    let other = stage.card("Build");
    stage.complete(&other, "done");
    stage.wake("deployed");
    let timer = stage.timer(0);
    for on in [WaitOn::TaskResult(id(&other)), WaitOn::Event("deployed".into()), WaitOn::Timer(timer)] {
        let wait = stage.wait_for(on, true).unwrap();
        assert_eq!(wait.state, WaitState::Consumed);
        assert!(!wait.outcome.is_null());
        assert_eq!(stage.now().status, TaskStatus::Running);
    }
}

#[test]
fn an_event_that_comes_early_is_kept_and_the_first_of_its_key_counts() {
    let stage = stage();
    assert_eq!(stage.wake("deployed"), (true, 0));
    let again = Command::Wake { key: "deployed".into(), data: json!("other") };
    let Outcome::Woken { wake, first, woken } = stage.clockwork.run(again).unwrap().unwrap() else {
        panic!()
    };
    assert_eq!((first, woken, &wake.data), (false, 0, &json!({ "by": "ci" })));
    let wait = stage.wait_for(WaitOn::Event("deployed".into()), true).unwrap();
    assert_eq!(wait.outcome["data"], json!({ "by": "ci" }));
    let open = stage.wait_for(WaitOn::Event("approved".into()), true).unwrap();
    assert_eq!(stage.wake("approved"), (true, 1));
    assert_eq!(stage.state(&open).state, WaitState::Consumed);
    for bad in ["", "a\nb"] {
        let refused = stage.clockwork.run(Command::Wake { key: bad.into(), data: json!(null) }).unwrap_err();
        assert_eq!(refused.code, "invalid_value");
    }
}

#[test]
fn a_timer_goes_off_at_a_look_and_also_when_its_time_passed_while_nothing_ran() {
    let mut stage = stage();
    let timer = stage.timer(60_000);
    let wait = stage.wait_for(WaitOn::Timer(timer.clone()), false).unwrap();
    stage.clockwork.ends(&stage.spec, Ending::success("waits"));
    stage.clockwork.pass(30_000);
    stage.clockwork.look(&[]);
    assert_eq!(stage.state(&wait).state, WaitState::Open);
    // The laptop sleeps.
    stage.clockwork.pass(8 * HOUR);
    stage.clockwork.begin("d_2");
    let next = stage.clockwork.claim(&[]);
    let told: serde_json::Value = serde_json::from_str(&next.answer.unwrap().answer).unwrap();
    assert_eq!((&told["timer_id"], &told["state"]), (&json!(timer), &json!("triggered")));
    let late = Command::CancelTimer { timer };
    assert_eq!(stage.clockwork.run(late).unwrap_err().code, "timer_over");
}

#[test]
fn an_unknown_timer_is_an_error_and_a_cancelled_one_lets_nobody_wait_for_ever() {
    let stage = stage();
    assert_eq!(stage.wait_for(WaitOn::Timer("c_zzzzzzzzzzzz".into()), true).unwrap_err().code, "not_found");
    assert_eq!(
        stage.wait_for(WaitOn::Timer("t_zzzzzzzzzzzz".into()), true).unwrap_err().code,
        "invalid_value"
    );
    let timer = stage.timer(HOUR);
    let wait = stage.wait_for(WaitOn::Timer(timer.clone()), true).unwrap();
    stage.clockwork.run(Command::CancelTimer { timer: timer.clone() }).unwrap();
    assert_eq!(stage.state(&wait).outcome["state"], json!("cancelled"));
    assert_eq!(stage.now().status, TaskStatus::Running);
    assert_eq!(stage.wait_for(WaitOn::Timer(timer), true).unwrap_err().code, "timer_cancelled");
}

#[test]
fn a_triggered_wait_is_only_consumed_never_replaced() {
    let stage = stage();
    let wait = stage.wait_for(WaitOn::Event("deployed".into()), false).unwrap();
    stage.wake("deployed");
    assert_eq!(stage.state(&wait).state, WaitState::Triggered, "its process has not ended yet");
    let ask = Command::Ask {
        task: id(&stage.task),
        question: "and now?".into(),
        options: vec![],
        waits: false,
        expires_at_ms: None,
    };
    assert_eq!(stage.clockwork.run_in(&stage.spec, ask).unwrap_err().code, "wait_triggered");
    let other = WaitOn::Event("another".into());
    assert_eq!(stage.wait_for(other, false).unwrap_err().code, "wait_triggered");
    stage.clockwork.run(Command::Unblock { task: id(&stage.task) }).unwrap();
    assert_eq!(stage.state(&wait).state, WaitState::Consumed);
    stage.clockwork.ends(&stage.spec, Ending::failure("no luck"));
    stage.clockwork.run(Command::Retry { task: id(&stage.task) }).unwrap();
    let next = stage.clockwork.claim(&[]);
    assert!(next.answer.unwrap().answer.contains("deployed"), "the outcome is not lost");
}

#[test]
fn a_new_wait_supersedes_an_open_one_and_cancelling_the_task_ends_it() {
    let stage = stage();
    let first = stage.wait_for(WaitOn::Event("one".into()), true).unwrap();
    let second = stage.wait_for(WaitOn::Event("two".into()), true).unwrap();
    assert_eq!(stage.state(&first).state, WaitState::Superseded);
    stage.wake("one");
    assert_eq!(stage.now().status, TaskStatus::Blocked, "a superseded wait wakes nobody");
    stage.clockwork.run(Command::Cancel { task: id(&stage.task), reason: None }).unwrap();
    stage.clockwork.ends(&stage.spec, Ending::failure("killed"));
    assert_eq!(stage.state(&second).state, WaitState::Cancelled);
    assert_eq!(stage.wake("two"), (true, 0));
    assert_eq!(stage.now().status, TaskStatus::Cancelled);
}

#[test]
fn a_wait_expires_only_where_that_was_asked_for() {
    let stage = stage();
    let wait = stage.wait_for(WaitOn::Event("one".into()), true).unwrap();
    stage.clockwork.pass(30 * 24 * HOUR);
    stage.clockwork.look(&[&stage.spec]);
    assert_eq!(stage.state(&wait).state, WaitState::Open);
    let until = Some(stage.clockwork.time() + HOUR);
    let wait = stage.wait_until(WaitOn::Event("two".into()), true, until).unwrap();
    stage.clockwork.pass(HOUR);
    stage.clockwork.look(&[&stage.spec]);
    assert_eq!(stage.state(&wait).state, WaitState::Expired);
    assert_eq!(stage.now().status, TaskStatus::Running);
    let until = Some(stage.clockwork.time() + HOUR);
    stage.wait_until(WaitOn::Event("three".into()), false, until).unwrap();
    stage.clockwork.ends(&stage.spec, Ending::success("waits"));
    stage.clockwork.pass(HOUR);
    let next = stage.clockwork.claim(&[]);
    assert_eq!(next.answer.unwrap().answer, r#"{"status":"expired","subject":"three"}"#);
}

#[test]
fn a_question_that_expires_fails_its_task_and_an_answer_after_that_is_too_late() {
    let stage = stage();
    let expires_at_ms = Some(stage.clockwork.time() + HOUR);
    let ask = |expires_at_ms| Command::Ask {
        task: id(&stage.task),
        question: "Which?".into(),
        options: vec![],
        waits: false,
        expires_at_ms,
    };
    let past = ask(Some(stage.clockwork.time() - 1));
    assert_eq!(stage.clockwork.run_in(&stage.spec, past).unwrap_err().code, "invalid_value");
    let Outcome::Question(question) =
        stage.clockwork.run_in(&stage.spec, ask(expires_at_ms)).unwrap().unwrap()
    else {
        panic!()
    };
    stage.clockwork.ends(&stage.spec, Ending::success("asked"));
    stage.clockwork.pass(HOUR - 1);
    stage.clockwork.look(&[]);
    assert_eq!(stage.now().status, TaskStatus::Blocked);
    stage.clockwork.pass(1);
    stage.clockwork.look(&[]);
    let failed = stage.now();
    assert_eq!(failed.status, TaskStatus::Failed);
    assert!(failed.error.contains("nobody answered") && failed.error.contains("Which?"), "{}", failed.error);
    let answer =
        Command::Answer { question: QuestionRef::Id(question.id), answer: AnswerText::Text("this".into()) };
    assert_eq!(stage.clockwork.run(answer).unwrap_err().code, "question_expired");
    assert_eq!(stage.now().status, TaskStatus::Failed);
}

#[test]
fn tasks_that_would_wait_for_each_other_are_refused() {
    let stage = stage();
    let me = WaitOn::TaskResult(id(&stage.task));
    assert_eq!(stage.wait_for(me, true).unwrap_err().code, "cycle");
    let needs_me = stage.clockwork.add(NewTask { after: vec![id(&stage.task)], ..runnable("Needs it") });
    let refused = stage.wait_for(WaitOn::TaskResult(id(&needs_me)), true).unwrap_err();
    assert_eq!(refused.code, "cycle");
    assert_eq!(stage.now().status, TaskStatus::Running);
    let free = stage.card("Free");
    stage.wait_for(WaitOn::TaskResult(id(&free)), true).unwrap();
    let back = Command::Depend { task: id(&free), on: id(&stage.task) };
    assert_eq!(stage.clockwork.run(back).unwrap_err().code, "cycle");
}

#[test]
fn a_step_that_is_swept_wakes_whoever_waited_for_it_and_a_retried_one_does_not() {
    let stage = stage();
    let other = stage.clockwork.add(NewTask { start: true, retry_max: 1, ..runnable("Flaky") });
    let wait = stage.wait_for(WaitOn::TaskResult(id(&other)), true).unwrap();
    let first = stage.clockwork.claim(&[&stage.spec]);
    stage.clockwork.ends(&first, Ending::failure("no luck"));
    assert_eq!(stage.state(&wait).state, WaitState::Open, "it is tried again by itself");
    stage.clockwork.pass(HOUR);
    let again = stage.clockwork.claim(&[&stage.spec]);
    stage.clockwork.ends(&again, Ending::failure("no luck"));
    assert_eq!(stage.state(&wait).outcome["status"], json!("failed"));
}

#[test]
fn the_reconciler_lets_go_what_waits_for_what_can_never_come() {
    let stage = stage();
    let other = stage.card("Build");
    let wait = stage.wait_for(WaitOn::TaskResult(id(&other)), true).unwrap();
    // As after damage: the task ended, and its end woke nobody.
    stage.clockwork.damage("UPDATE tasks SET status = 'cancelled' WHERE title = 'Build'");
    stage.clockwork.look(&[&stage.spec]);
    assert_eq!(stage.state(&wait).state, WaitState::Consumed);
    assert_eq!(stage.now().status, TaskStatus::Running);
    let events = stage.clockwork.store.read(|view| view.events(0, Some(&stage.task.id), 100)).unwrap();
    let repaired = events.iter().find(|e| e.kind == EventKind::Repaired).unwrap();
    assert_eq!(repaired.data["finding"], json!("vain_wait"));
    let timer = stage.timer(HOUR);
    let wait = stage.wait_for(WaitOn::Timer(timer), true).unwrap();
    stage.clockwork.damage("DELETE FROM timers");
    stage.clockwork.look(&[&stage.spec]);
    assert_eq!(stage.state(&wait).outcome["status"], json!("gone"));
}

#[test]
fn a_question_that_no_client_has_shown_is_known_as_such_after_a_restart_too() {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let task = house.job("Asks");
    let spec = player.running(&task);
    player.say(&spec, Report::Asked { question: "which?".into(), options: vec![] });
    player.say(&spec, Report::Ended(Ending { outcome: RunOutcome::Parked, ..Ending::success("") }));
    house.until(&task, TaskStatus::Blocked);
    let asked = house.engine.questions(None).unwrap().remove(0);
    assert!(asked.seen_by.is_empty());
    for _ in 0..2 {
        house.engine.delivered(asked.question.id.as_str(), "board").unwrap();
    }
    house.engine.delivered(asked.question.id.as_str(), "http").unwrap();
    assert!(house.engine.delivered("q_zzzzzzzzzzzz", "board").is_err());
    dispatcher.stop();
    dispatcher.join();
    let again = andon::engine::Engine::open(&house.path()).unwrap();
    assert_eq!(again.questions(None).unwrap()[0].seen_by, ["board", "http"]);
}

#[test]
fn of_two_clients_that_answer_move_and_cancel_at_once_exactly_one_wins_and_the_other_is_told() {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    for round in 0..30 {
        let task = house.job(&format!("round {round}"));
        let spec = player.running(&task);
        player.say(&spec, Report::Asked { question: "which?".into(), options: vec![] });
        player.say(&spec, Report::Ended(Ending { outcome: RunOutcome::Parked, ..Ending::success("") }));
        house.wait("the run is parked", || {
            let view = house.engine.task_view(&id(&task)).unwrap();
            view.runs[0].ended_at_ms.is_some() && view.card.question.is_some()
        });
        // Those that take the same thing away from each other: an answer, and moving or cancelling without one.
        let answer = |text: &str| Command::Answer {
            question: QuestionRef::OfTask(id(&task)),
            answer: AnswerText::Text(text.into()),
        };
        let pause = TaskEdit { priority: Some(1), ..TaskEdit::default() };
        let commands = [
            answer("one"),
            answer("two"),
            Command::Move { task: id(&task), to: TaskStatus::Queued, text: None },
            Command::Unblock { task: id(&task) },
            Command::Cancel { task: id(&task), reason: None },
            Command::Edit { task: id(&task), edit: Box::new(pause), if_version: Some(1) },
        ];
        let start = std::sync::Barrier::new(commands.len());
        let results: Vec<Result<Outcome, Refusal>> = std::thread::scope(|scope| {
            let threads: Vec<_> = commands
                .into_iter()
                .map(|command| {
                    let (house, start) = (&house, &start);
                    scope.spawn(move || {
                        start.wait();
                        house.run_as(command, &Actor::operator("client"))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let lifted = results[..4].iter().filter(|r| r.is_ok()).count();
        let cancelled = results[4].is_ok();
        assert!(lifted <= 1 && (lifted == 1 || cancelled), "{results:#?}");
        for refused in results.iter().filter_map(|r| r.as_ref().err()) {
            assert!(!refused.message.is_empty());
            let told = [
                "question_answered",
                "question_superseded",
                "question_cancelled",
                "illegal_transition",
                "closing",
                "stale_version",
                "no_question",
            ];
            assert!(told.contains(&refused.code), "{refused:?}");
        }
        assert_eq!(results[5].as_ref().unwrap_err().code, "stale_version");
        match cancelled {
            true => drop(house.until(&task, TaskStatus::Cancelled)),
            false => player.succeed(&task, "done"),
        }
        let view = house.engine.task_view(&id(&task)).unwrap();
        assert!(view.questions.iter().all(|q| q.state != WaitState::Open));
        assert!(view.runs.len() <= 2, "nothing ran twice");
    }
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn waiting_is_for_runs_and_needs_a_reason() {
    let stage = stage();
    let on = WaitOn::Event("x".into());
    let blank = Command::WaitFor {
        task: id(&stage.task),
        on: on.clone(),
        reason: " ".into(),
        expires_at_ms: None,
        waits: true,
    };
    assert_eq!(stage.clockwork.run_in(&stage.spec, blank).unwrap_err().code, "invalid_value");
    let card = stage.card("Manual");
    assert_eq!(card.dispatch, Dispatch::Manual);
    let idle = Command::WaitFor {
        task: IdRef::Seq(card.seq),
        on,
        reason: "x".into(),
        expires_at_ms: None,
        waits: false,
    };
    assert_eq!(stage.clockwork.run(idle).unwrap_err().code, "not_running");
    assert!(!stage.clockwork.look(&[&stage.spec]).iter().any(|e| matches!(e, Effect::Stop { .. })));
}
