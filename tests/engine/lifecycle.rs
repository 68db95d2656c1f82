use super::fake::{House, Player, id, runnable};
use andon::domain::moves;
use andon::domain::{Actor, Dispatch, IdRef, Intent, RunOutcome, TaskStatus};
use andon::engine::{Command, NewTask, Outcome, TaskEdit};
use serde_json::json;

#[test]
fn a_new_task_is_pending_with_an_id_and_the_defaults() {
    let house = House::new();
    let task = house.card("Fix login page 500 error");
    assert_eq!(task.status, TaskStatus::Pending);
    assert!(task.id.0.starts_with("t_") && task.id.0.len() == 14);
    assert_eq!((task.priority, task.max_retries, task.retry_count), (5, 3, 0));
    assert_eq!((task.board_id.as_str(), task.dispatch, task.seq), ("default", Dispatch::Manual, 1));
    assert_eq!(house.now(&task), task, "it is in the database as told");
}

#[test]
fn titles_and_priorities_that_make_no_sense_are_refused_and_nothing_is_written() {
    let house = House::new();
    for (title, priority) in [("", None), (" \n", None), ("x", Some(10)), ("x", Some(-1))] {
        let new = NewTask { title: title.into(), priority, ..NewTask::default() };
        assert_eq!(house.run(Command::Create(Box::new(new))).unwrap_err().code, "invalid_value");
    }
    let huge = NewTask { title: "x".repeat(100_000), ..NewTask::default() };
    assert!(house.run(Command::Create(Box::new(huge))).is_err());
    assert_eq!(house.engine.last_seq().unwrap(), 0);
}

#[test]
fn many_tasks_are_made_all_or_none() {
    let house = House::new();
    let new = |title: &str| NewTask { title: title.into(), ..NewTask::default() };
    assert!(house.run(Command::CreateMany(vec![new("a"), new(""), new("c")])).is_err());
    assert_eq!(house.engine.last_seq().unwrap(), 0);
    let Ok(Outcome::Tasks(made)) = house.run(Command::CreateMany(vec![new("a"), new("b")])) else { panic!() };
    assert_eq!(made.iter().map(|t| t.seq).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn create_start_work_complete_ends_success_with_the_result() {
    let house = House::new();
    let new = NewTask { title: "Fix login page 500 error".into(), priority: Some(2), ..NewTask::default() };
    let task = house.task(Command::Create(Box::new(new)));
    let started = house.task(Command::Take { task: id(&task) });
    assert_eq!(started.status, TaskStatus::Running);
    let done = house.task(Command::Complete { task: id(&task), result: Some("fixed".into()) });
    assert_eq!((done.status, done.result.as_str()), (TaskStatus::Success, "fixed"));
    let kinds: Vec<&str> =
        house.engine.events(0, Some(&task.id), 100).unwrap().iter().map(|e| e.kind.as_str()).collect();
    assert_eq!(
        kinds,
        ["created", "queued", "taken", "review_asked", "succeeded"],
        "each legal step is in the log"
    );
}

#[test]
fn taking_a_task_walks_pending_queued_running_for_the_caller() {
    let house = House::new();
    let task = house.card("x");
    let taken = house.task(Command::Take { task: id(&task) });
    let view = house.engine.task_view(&id(&task)).unwrap();
    let run = &view.runs[0];
    assert_eq!((run.owner.as_str(), run.holder.as_deref(), run.lease_until_ms), ("ann", None, None));
    assert_eq!(taken.current_run_id.as_ref(), Some(&run.id));
    assert_eq!(taken.session_id, format!("task:{}", task.id));
    assert_eq!(house.run(Command::Take { task: id(&task) }).unwrap_err().code, "illegal_transition");
}

#[test]
fn whatever_is_outside_the_table_is_refused_and_the_row_stays_as_it_was() {
    let house = House::new();
    let reach = |status: TaskStatus| {
        let task = house.card(status.as_str());
        let start = || house.task(Command::Take { task: id(&task) });
        match status {
            TaskStatus::Pending => {}
            TaskStatus::Queued => {
                drop(house.task(Command::Move { task: id(&task), to: TaskStatus::Queued, text: None }))
            }
            TaskStatus::Running => drop(start()),
            TaskStatus::Review => {
                start();
                house.task(Command::Move { task: id(&task), to: TaskStatus::Review, text: None });
            }
            TaskStatus::Blocked => {
                start();
                house.task(Command::Block { task: id(&task), reason: "the network".into() });
            }
            TaskStatus::Suspended => {
                start();
                house.task(Command::Suspend { task: id(&task) });
            }
            TaskStatus::Failed => {
                start();
                house.task(Command::Fail { task: id(&task), error: Some("no".into()) });
            }
            TaskStatus::Success => drop(house.task(Command::Complete { task: id(&task), result: None })),
            TaskStatus::Cancelled => drop(house.task(Command::Cancel { task: id(&task), reason: None })),
        }
        let task = house.now(&task);
        assert_eq!(task.status, status);
        task
    };
    for from in TaskStatus::ALL {
        for to in TaskStatus::ALL {
            let task = reach(*from);
            let seen = house.engine.last_seq().unwrap();
            let card = house.engine.task_view(&id(&task)).unwrap().card;
            let allowed = moves::to(&card, *to);
            let moved = house.run(Command::Move { task: id(&task), to: *to, text: Some("why".into()) });
            assert_eq!(moved.is_ok(), allowed.is_ok(), "{from} to {to}: the board and the engine disagree");
            assert_eq!(moved.is_ok(), from.allows(*to), "{from} to {to}");
            if moved.is_err() {
                assert_eq!(house.now(&task), task);
                assert_eq!(house.engine.last_seq().unwrap(), seen);
            } else {
                assert_eq!(house.now(&task).status, *to);
            }
        }
    }
}

#[test]
fn complete_on_a_manual_card_walks_the_legal_steps() {
    let house = House::new();
    let task = house.card("x");
    let done = house.task(Command::Complete { task: id(&task), result: Some("y".into()) });
    assert_eq!((done.status, done.result.as_str()), (TaskStatus::Success, "y"));
    let again = house.run(Command::Complete { task: id(&task), result: None }).unwrap_err();
    assert_eq!(again.code, "illegal_transition");
}

#[test]
fn finished_work_waits_for_a_review_where_one_is_required() {
    let house = House::new();
    let new = NewTask { title: "x".into(), review_required: Some(true), ..NewTask::default() };
    let task = house.task(Command::Create(Box::new(new)));
    house.task(Command::Take { task: id(&task) });
    let waits = house.task(Command::Complete { task: id(&task), result: Some("r".into()) });
    assert_eq!(waits.status, TaskStatus::Review);
    let agent = Actor::Agent { run: "r_x".into(), task: task.id.clone(), name: "bot".into() };
    assert_eq!(house.run_as(Command::Approve { task: id(&task) }, &agent).unwrap_err().code, "not_allowed");
    let back = house.task(Command::Reject { task: id(&task), feedback: Some("more tests".into()) });
    assert_eq!((back.status, back.review_summary.as_str()), (TaskStatus::Queued, "more tests"));
    house.task(Command::Take { task: id(&task) });
    house.task(Command::Complete { task: id(&task), result: Some("r2".into()) });
    assert_eq!(house.task(Command::Approve { task: id(&task) }).status, TaskStatus::Success);
}

#[test]
fn fail_keeps_the_error_and_retry_counts_up_to_its_cap() {
    let house = House::new();
    let task = house.card("x");
    for attempt in 1..=4 {
        house.task(Command::Take { task: id(&task) });
        let failed = house.task(Command::Fail { task: id(&task), error: Some(format!("no {attempt}")) });
        assert_eq!((failed.status, failed.error), (TaskStatus::Failed, format!("no {attempt}")));
        let retried = house.run(Command::Retry { task: id(&task) });
        match attempt {
            1..=3 => {
                let task = retried.unwrap().task().unwrap().clone();
                assert_eq!((task.status, task.retry_count), (TaskStatus::Queued, attempt));
            }
            _ => assert_eq!(retried.unwrap_err().code, "retries_exhausted"),
        }
    }
    assert_eq!(house.now(&task).retry_count, 3);
}

#[test]
fn a_retry_of_anything_but_a_failed_task_is_refused() {
    let house = House::new();
    let task = house.card("x");
    assert_eq!(house.run(Command::Retry { task: id(&task) }).unwrap_err().code, "illegal_transition");
}

#[test]
fn a_suspended_task_can_be_resumed_to_queued_or_to_running() {
    let house = House::new();
    for to in [TaskStatus::Queued, TaskStatus::Running] {
        let task = house.card("x");
        house.task(Command::Take { task: id(&task) });
        house.task(Command::Suspend { task: id(&task) });
        assert_eq!(house.task(Command::Move { task: id(&task), to, text: None }).status, to);
    }
}

#[test]
fn a_blocked_task_says_why_and_unblock_queues_it() {
    let house = House::new();
    let task = house.card("x");
    house.task(Command::Take { task: id(&task) });
    assert!(house.run(Command::Block { task: id(&task), reason: " ".into() }).is_err());
    let blocked = house.task(Command::Block { task: id(&task), reason: "waits for the vendor".into() });
    assert_eq!(
        (blocked.status, blocked.blocked_reason.as_str()),
        (TaskStatus::Blocked, "waits for the vendor")
    );
    let free = house.task(Command::Unblock { task: id(&task) });
    assert_eq!((free.status, free.blocked_reason.as_str()), (TaskStatus::Queued, ""));
}

#[test]
fn the_loser_of_two_concurrent_edits_does_not_overwrite_the_winner() {
    let house = House::new();
    let task = house.card("x");
    let edit = |title: &str| TaskEdit { title: Some(title.into()), ..TaskEdit::default() };
    let with = |title, version| Command::Edit {
        task: id(&task),
        edit: Box::new(edit(title)),
        if_version: Some(version),
    };
    house.task(with("first", task.version));
    assert_eq!(house.run(with("second", task.version)).unwrap_err().code, "stale_version");
    let kept = house.now(&task);
    assert_eq!(kept.title, "first");
    assert!(kept.version > task.version && kept.updated_at_ms >= task.updated_at_ms);
}

#[test]
fn the_dispatcher_claims_by_priority_then_age_then_number() {
    let house = House::new();
    let make = |title: &str, priority| {
        let new = NewTask { priority: Some(priority), start: true, ..runnable(title) };
        house.task(Command::Create(Box::new(new)))
    };
    let (low, first, second, urgent) =
        (make("low", 9), make("first", 5), make("second", 5), make("urgent", 0));
    let player = Player::default();
    let options = andon::engine::DispatchOptions { parallel: 1, ..Default::default() };
    let dispatcher = house.dispatch_with(&player, options);
    for task in [&urgent, &first, &second, &low] {
        player.succeed(task, "ok");
        house.until(task, TaskStatus::Success);
    }
    let order: Vec<i64> = player.starts().iter().map(|s| s.seq).collect();
    assert_eq!(order, [urgent.seq, first.seq, second.seq, low.seq]);
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn no_more_runs_than_slots_and_an_agent_no_more_than_its_own() {
    let house = House::new();
    let agent = |n: i64| {
        let executor = andon::domain::Executor::new(andon::domain::Work::Agent {
            name: "claude".into(),
            goal: "x".into(),
        });
        let new = NewTask {
            title: format!("agent {n}"),
            executor: Some(executor),
            start: true,
            ..NewTask::default()
        };
        house.task(Command::Create(Box::new(new)))
    };
    let (a1, a2) = (agent(1), agent(2));
    let jobs: Vec<_> = (0..3).map(|n| house.job(&format!("job {n}"))).collect();
    let player = Player::default();
    let options = andon::engine::DispatchOptions { parallel: 3, ..Default::default() };
    let dispatcher = house.dispatch_with(&player, options);
    player.running(&a1);
    player.running(&jobs[0]);
    player.running(&jobs[1]);
    assert_eq!(player.starts().len(), 3, "three slots");
    player.succeed(&jobs[0], "");
    player.running(&jobs[2]);
    assert!(!player.starts().iter().any(|s| s.seq == a2.seq), "one run of the agent at a time");
    player.succeed(&a1, "");
    player.running(&a2);
    for task in [&jobs[1], &jobs[2], &a2] {
        player.succeed(task, "");
        house.until(task, TaskStatus::Success);
    }
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn a_dispatched_run_has_its_own_session_a_lease_and_its_result_lands_on_the_task() {
    let house = House::new();
    let task = house.job("x");
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    let spec = player.running(&task);
    assert_eq!(spec.session, format!("task:{}", task.id));
    let run = house.engine.task_view(&id(&task)).unwrap().runs[0].clone();
    assert!(run.lease_until_ms.is_some() && run.holder.is_some() && run.epoch == 1);
    player.succeed(&task, "the final response");
    let done = house.until(&task, TaskStatus::Success);
    assert_eq!(done.result, "the final response");
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn ending_a_live_run_is_an_intent_until_its_processes_are_gone() {
    let house = House::new();
    let task = house.job("x");
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    let spec = player.running(&task);
    let accepted = house.run(Command::Suspend { task: id(&task) }).unwrap();
    assert!(matches!(accepted, Outcome::Accepted { .. }));
    player.stopped(&spec);
    assert_eq!(house.now(&task).status, TaskStatus::Running, "still running until proven dead");
    let again = house.run(Command::Complete { task: id(&task), result: None }).unwrap_err();
    assert_eq!(again.code, "closing", "the first intent wins");
    house.run(Command::Cancel { task: id(&task), reason: Some("enough".into()) }).unwrap();
    player.say(&spec, andon::engine::Report::Ended(andon::engine::Ending::success("too late")));
    let over = house.until(&task, TaskStatus::Cancelled);
    assert_eq!((over.error.as_str(), over.result.as_str()), ("enough", ""), "but cancel beats all");
    let run = house.engine.task_view(&id(&task)).unwrap().runs[0].clone();
    assert_eq!((run.closing_as, run.outcome), (Some(Intent::Cancel), Some(RunOutcome::Cancelled)));
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn dropping_a_queued_card_on_running_puts_it_at_the_head() {
    let house = House::new();
    let jobs: Vec<_> = (0..3).map(|n| house.job(&format!("job {n}"))).collect();
    let moved = house.task(Command::Move { task: id(&jobs[2]), to: TaskStatus::Running, text: None });
    assert_eq!((moved.status, moved.run_next), (TaskStatus::Queued, true));
    let player = Player::default();
    let options = andon::engine::DispatchOptions { parallel: 1, ..Default::default() };
    let dispatcher = house.dispatch_with(&player, options);
    player.running(&jobs[2]);
    assert_eq!(player.starts()[0].seq, jobs[2].seq);
    dispatcher.stop();
    player.fail(&jobs[2], "stopped");
    dispatcher.join();
}

#[test]
fn a_task_waits_for_its_predecessors_and_starting_it_names_them() {
    let house = House::new();
    let first = house.card("first");
    let after = |new: NewTask| NewTask { after: vec![id(&first)], ..new };
    let waits = house.task(Command::Create(Box::new(after(runnable("second")))));
    let refusal = house.run(Command::Start { task: id(&waits) }).unwrap_err();
    assert_eq!(refusal.code, "predecessors_open");
    assert!(refusal.message.contains("#1 first (pending)"), "{refusal}");
    let queued = house.task(Command::Create(Box::new(NewTask { start: true, ..after(runnable("third")) })));
    assert_eq!((queued.status, queued.open_predecessors), (TaskStatus::Queued, 1));
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    let other = house.job("other");
    player.running(&other);
    assert!(!player.starts().iter().any(|s| s.seq == queued.seq), "an open predecessor holds it");
    house.task(Command::Complete { task: id(&first), result: None });
    player.succeed(&queued, "");
    house.until(&queued, TaskStatus::Success);
    player.succeed(&other, "");
    house.until(&other, TaskStatus::Success);
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn a_dependency_that_closes_a_cycle_is_refused_with_its_path() {
    let house = House::new();
    let cards: Vec<_> = (0..3).map(|n| house.card(&format!("c{n}"))).collect();
    let need = |a: usize, b: usize| house.run(Command::Depend { task: id(&cards[a]), on: id(&cards[b]) });
    need(0, 1).unwrap();
    need(1, 2).unwrap();
    let refusal = need(2, 0).unwrap_err();
    assert_eq!(refusal.code, "cycle");
    assert!(refusal.message.contains("#3 → #1 → #2 → #3"), "{refusal}");
    assert_eq!(need(0, 0).unwrap_err().code, "cycle");
    house.run(Command::Undepend { task: id(&cards[0]), on: id(&cards[1]) }).unwrap();
    need(2, 0).unwrap();
}

#[test]
fn deleting_hides_a_card_and_frees_what_waited_for_it() {
    let house = House::new();
    let first = house.card("first");
    let second = house.card("second");
    house.run(Command::Depend { task: id(&second), on: id(&first) }).unwrap();
    let gone = house.task(Command::Delete { task: id(&first) });
    assert_eq!(gone.status, TaskStatus::Cancelled);
    assert!(gone.archived_at_ms.is_some());
    assert_eq!(house.now(&second).open_predecessors, 0);
    house.task(Command::Take { task: id(&second) });
    assert_eq!(house.run(Command::Delete { task: id(&second) }).unwrap_err().code, "run_is_live");
    assert!(!house.engine.board("default", true).unwrap().cards.iter().any(|c| c.seq == first.seq));
}

#[test]
fn a_failed_card_that_was_put_away_comes_back_when_it_is_retried() {
    let house = House::new();
    let task = house.card("x");
    house.task(Command::Take { task: id(&task) });
    house.task(Command::Fail { task: id(&task), error: None });
    house.task(Command::Archive { task: id(&task) });
    let back = house.task(Command::Retry { task: id(&task) });
    assert_eq!((back.status, back.archived_at_ms), (TaskStatus::Queued, None));
}

#[test]
fn a_copy_is_a_fresh_pending_card_with_the_same_content() {
    let house = House::new();
    let task = house.task(Command::Create(Box::new(NewTask {
        description: "d".into(),
        labels: vec!["a".into()],
        priority: Some(1),
        ..runnable("x")
    })));
    house.task(Command::Cancel { task: id(&task), reason: None });
    let copy = house.task(Command::Copy { task: id(&task) });
    assert_eq!((copy.status, copy.title.as_str(), copy.priority), (TaskStatus::Pending, "x", 1));
    assert_eq!((copy.description.as_str(), copy.labels.len(), copy.epoch), ("d", 1, 0));
    assert_eq!(copy.executor, task.executor);
    assert_eq!(copy.metadata["copy_of"], json!(task.id));
}

#[test]
fn ids_are_full_prefix_or_number_and_an_unclear_one_is_refused() {
    let house = House::new();
    let task = house.card("x");
    let prefix = IdRef::Prefix(task.id.0[..8].to_owned());
    assert_eq!(house.engine.task(&prefix).unwrap().id, task.id);
    assert_eq!(house.engine.task(&IdRef::Seq(1)).unwrap().id, task.id);
    assert!(house.engine.task(&IdRef::Seq(99)).is_err());
    for n in 0..60 {
        house.card(&n.to_string());
    }
    let ambiguous = ('a'..='z').chain('0'..='9').any(|c| {
        house
            .engine
            .task(&IdRef::Prefix(format!("t_{c}")))
            .is_err_and(|e| e.to_string().contains("type more"))
    });
    assert!(ambiguous, "sixty ids must share a first letter");
}
