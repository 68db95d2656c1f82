//! Rows that the engine would never write are broken in on purpose while a dispatcher is at work; it finds them
//! within its next look, sets them right, and logs why.

use super::fake::{House, Player, id, runnable};
use andon::domain::{
    EventKind, QuestionPurpose, RunOutcome, StepDefinition, Task, TaskStatus, WaitState, WorkflowDefinition,
    WorkflowStatus, event,
};
use andon::engine::{
    Command, DispatchOptions, Dispatcher, Ending, NewTask, OnLost, Options, Outcome, Policy, Report,
};
use serde_json::{Value, json};

fn dispatch(house: &House, player: &Player) -> Dispatcher {
    let options =
        DispatchOptions { parallel: 1, grace_ms: 300, reconcile_ms: 50, ..DispatchOptions::default() };
    let dispatcher = house.dispatch_with(player, options);
    house.wait("somebody dispatches", || house.engine.has_dispatcher());
    dispatcher
}

fn end(dispatcher: &Dispatcher) {
    // What the player still plays would be waited for.
    dispatcher.die();
}

/// Writes past the engine.
fn break_in(house: &House, sql: &str, about: &Task) {
    let connection = rusqlite::Connection::open(house.path()).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    let changed = connection.execute(sql, [about.seq]).unwrap();
    assert!(changed > 0, "{sql}");
}

fn repairs(house: &House) -> Vec<Value> {
    let events = house.engine.events(0, None, usize::MAX).unwrap();
    let repaired = events.into_iter().filter(|e| e.kind == EventKind::Repaired);
    repaired
        .map(|e| json!({ "seq": e.task_seq, "finding": e.data["finding"], "cause": e.data["cause"] }))
        .collect()
}

/// Waits until the repair is logged, and holds that it was logged with its cause.
fn repaired(house: &House, task: &Task, finding: &str) {
    house.wait(&format!("#{} is repaired: {finding}", task.seq), || {
        repairs(house).iter().any(|r| r["seq"] == task.seq && r["finding"] == finding && r["cause"] != "")
    });
}

fn replays(house: &House, task: &Task) {
    let events = house.engine.events(0, Some(&task.id), usize::MAX).unwrap();
    assert_eq!(event::replay(events.iter().map(|e| &e.patch)).unwrap(), house.now(task));
}

#[test]
fn a_wrong_count_of_predecessors_is_counted_anew_and_the_task_runs() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let first = house.job("first");
    player.running(&first);
    let second = house.job("second");
    break_in(&house, "UPDATE tasks SET open_predecessors = 3 WHERE seq = ?1", &second);
    repaired(&house, &second, "predecessors");
    player.succeed(&first, "");
    player.succeed(&second, "");
    house.until(&second, TaskStatus::Success);
    replays(&house, &second);
    end(&dispatcher);
}

#[test]
fn a_running_task_without_a_run_is_asked_about_and_never_run_again_by_itself() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let task = house.job("x");
    let spec = player.running(&task);
    break_in(&house, "UPDATE runs SET ended_at_ms = 1, outcome = 'failed' WHERE task_seq = ?1", &task);
    house.until(&task, TaskStatus::Blocked);
    repaired(&house, &task, "nobody_runs");
    let question = house.engine.task_view(&id(&task)).unwrap().questions.pop().unwrap();
    assert_eq!((question.purpose, question.state), (QuestionPurpose::Lost, WaitState::Open));
    house.wait("what is left of it is stopped", || player.recovered().contains(&spec.run));
    player.say(&spec, Report::Ended(Ending::success("too late")));
    house.wait("the late end is kept as such", || {
        let events = house.engine.events(0, Some(&task.id), usize::MAX).unwrap();
        events.iter().any(|e| e.kind == EventKind::LateResult)
    });
    assert_eq!(house.now(&task).status, TaskStatus::Blocked);
    assert_eq!(player.starts().len(), 1);
    end(&dispatcher);
}

#[test]
fn by_policy_a_running_task_without_a_run_fails() {
    let mut house = House::new();
    let policy = Policy { on_lost: OnLost::Fail, ..Policy::default() };
    house.engine =
        andon::engine::Engine::open_with(&house.path(), Options { policy, ..Options::default() }).unwrap();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let task = house.job("x");
    player.running(&task);
    break_in(&house, "UPDATE runs SET ended_at_ms = 1, outcome = 'failed' WHERE task_seq = ?1", &task);
    assert_eq!(house.until(&task, TaskStatus::Failed).error, "nothing ran it any more");
    end(&dispatcher);
}

#[test]
fn a_task_that_is_shown_as_queued_while_it_runs_is_shown_as_running_and_not_started_twice() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let task = house.job("x");
    player.running(&task);
    break_in(&house, "UPDATE tasks SET status = 'queued', current_run_id = NULL WHERE seq = ?1", &task);
    repaired(&house, &task, "stray_run");
    house.until(&task, TaskStatus::Running);
    player.succeed(&task, "once");
    assert_eq!(house.until(&task, TaskStatus::Success).result, "once");
    assert_eq!(player.starts().len(), 1);
    end(&dispatcher);
}

#[test]
fn a_run_of_a_task_that_has_ended_is_stopped_and_changes_it_no_more() {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = dispatch(&house, &player);
    let task = house.job("x");
    let spec = player.running(&task);
    break_in(&house, "UPDATE tasks SET status = 'cancelled', current_run_id = NULL WHERE seq = ?1", &task);
    repaired(&house, &task, "stray_run");
    player.stopped(&spec);
    let view = house.engine.task_view(&id(&task)).unwrap();
    assert_eq!(view.runs[0].outcome, Some(RunOutcome::Lost));
    assert_eq!(house.now(&task).status, TaskStatus::Cancelled);
    end(&dispatcher);
}

#[test]
fn a_run_held_by_a_dispatcher_that_is_gone_is_recovered_while_another_is_at_work() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let card = house.card("x");
    let card = house.task(Command::Start { task: id(&card) });
    let run = card.current_run_id.clone().unwrap();
    break_in(&house, "UPDATE runs SET holder = 'd_gone' WHERE task_seq = ?1", &card);
    repaired(&house, &card, "orphaned_run");
    house.until(&card, TaskStatus::Blocked);
    assert!(player.recovered().contains(&run));
    end(&dispatcher);
}

#[test]
fn a_run_of_its_own_that_the_dispatcher_forgot_is_recovered_when_its_lease_is_over() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let card = house.card("x");
    let card = house.task(Command::Start { task: id(&card) });
    break_in(
        &house,
        "UPDATE runs SET holder = (SELECT id FROM dispatchers WHERE ended_at_ms IS NULL), lease_until_ms = 1
         WHERE task_seq = ?1",
        &card,
    );
    repaired(&house, &card, "forgotten_run");
    house.until(&card, TaskStatus::Blocked);
    end(&dispatcher);
}

#[test]
fn a_run_that_is_carried_out_is_left_alone_though_its_lease_is_over() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let task = house.job("x");
    player.running(&task);
    break_in(&house, "UPDATE runs SET lease_until_ms = 1 WHERE task_seq = ?1", &task);
    let other = house.card("y");
    break_in(&house, "UPDATE tasks SET open_predecessors = 1 WHERE seq = ?1", &other);
    repaired(&house, &other, "predecessors");
    assert_eq!(repairs(&house).len(), 1, "it looked, and found nothing else: {:?}", repairs(&house));
    player.succeed(&task, "");
    house.until(&task, TaskStatus::Success);
    end(&dispatcher);
}

/// A job that asked, and whose process has ended.
fn asked(house: &House, player: &Player) -> Task {
    let task = house.job("asks");
    let spec = player.running(&task);
    player.say(&spec, Report::Asked { question: "which?".into(), options: Vec::new() });
    house.until(&task, TaskStatus::Blocked);
    player.say(&spec, Report::Ended(Ending { outcome: RunOutcome::Parked, ..Ending::success("") }));
    house.wait("its run is over", || house.now(&task).current_run_id.is_none());
    task
}

#[test]
fn an_answer_that_nobody_read_queues_the_task_and_is_delivered() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let task = asked(&house, &player);
    break_in(&house, "UPDATE waits SET state = 'answered', answer = 'this' WHERE task_seq = ?1", &task);
    repaired(&house, &task, "unread_answer");
    let spec = player.running(&task);
    assert_eq!((spec.number, spec.answer.unwrap().answer), (2, "this".to_owned()));
    end(&dispatcher);
}

#[test]
fn a_question_of_a_task_that_does_not_wait_is_withdrawn() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let task = asked(&house, &player);
    break_in(&house, "UPDATE tasks SET status = 'suspended' WHERE seq = ?1", &task);
    repaired(&house, &task, "stray_question");
    assert!(house.engine.questions(None).unwrap().is_empty());
    end(&dispatcher);
}

fn workflow(house: &House) -> (String, Vec<Task>) {
    let step = |n: u32, needs: &[&str]| StepDefinition {
        id: format!("s{n}"),
        name: format!("step {n}"),
        tool_name: "exec".into(),
        tool_params: json!({ "command": "true" }).as_object().unwrap().clone(),
        depends_on: needs.iter().map(|on| (*on).to_owned()).collect(),
        timeout_seconds: 300,
        priority: 5,
        ..StepDefinition::default()
    };
    let steps = vec![step(1, &[]), step(2, &[]), step(3, &["s1", "s2"])];
    let definition = WorkflowDefinition { name: "w".into(), board: None, steps };
    let made =
        Command::CreateWorkflow { definition: Box::new(definition), board: None, cwd: None, start: true };
    let Outcome::Workflow(made) = house.run(made).unwrap() else { panic!() };
    let view = house.engine.workflow(made.id.as_str()).unwrap();
    let tasks = view.steps.iter().map(|s| house.engine.task(&andon::domain::IdRef::Seq(s.seq)).unwrap());
    (made.id.0, tasks.collect())
}

#[test]
fn a_workflow_whose_counts_status_or_queue_are_wrong_is_set_right_and_ends() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let (name, steps) = workflow(&house);
    player.running(&steps[0]);
    let wrong = "UPDATE workflows SET status = 'blocked', counts = json_set(counts, '$.running', 7)
                 WHERE id = (SELECT workflow_id FROM tasks WHERE seq = ?1)";
    break_in(&house, wrong, &steps[0]);
    let is_right = || {
        let found = house.engine.workflow(&name).unwrap().workflow;
        (found.status, found.counts.running) == (WorkflowStatus::Running, 1)
    };
    house.wait("the workflow is right", is_right);
    let forgotten = "UPDATE tasks SET status = 'pending', queued_at_ms = NULL WHERE seq = ?1";
    break_in(&house, forgotten, &steps[1]);
    house.wait("the forgotten step is queued", || house.now(&steps[1]).status == TaskStatus::Queued);
    assert!(repairs(&house).iter().all(|r| r["finding"] == "workflow"), "{:?}", repairs(&house));
    break_in(&house, "UPDATE tasks SET held = 1 WHERE seq = ?1", &steps[1]);
    repaired(&house, &steps[1], "held_for_nobody");
    for step in &steps {
        player.succeed(step, "");
    }
    let ended = || house.engine.workflow(&name).unwrap().workflow.status == WorkflowStatus::Success;
    house.wait("the workflow ends", ended);
    end(&dispatcher);
}

#[test]
fn a_step_that_should_have_been_swept_is_swept() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let (name, steps) = workflow(&house);
    player.running(&steps[0]);
    break_in(&house, "UPDATE tasks SET status = 'failed' WHERE seq = ?1", &steps[1]);
    house.until(&steps[2], TaskStatus::Cancelled);
    player.succeed(&steps[0], "");
    let ended = || house.engine.workflow(&name).unwrap().workflow.status == WorkflowStatus::Failed;
    house.wait("the workflow ends", ended);
    end(&dispatcher);
}

#[test]
fn a_task_that_can_not_be_handed_out_fails_with_the_reason_and_holds_no_other() {
    let house = House::new();
    let bad = house.job("bad");
    break_in(&house, "UPDATE tasks SET executor = NULL WHERE seq = ?1", &bad);
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let good = house.job("good");
    player.succeed(&good, "");
    house.until(&good, TaskStatus::Success);
    let failed = house.until(&bad, TaskStatus::Failed);
    assert!(failed.error.contains("nothing to run"), "{}", failed.error);
    end(&dispatcher);
}

#[test]
fn a_repair_that_fails_holds_no_other() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    let (bad, good) = (house.card("bad"), house.card("good"));
    let made = house.task(Command::Create(Box::new(NewTask { start: true, ..runnable("after") })));
    player.running(&made);
    let broken = "UPDATE tasks SET open_predecessors = 9, metadata = '[]' WHERE seq = ?1";
    break_in(&house, broken, &bad);
    break_in(&house, "UPDATE tasks SET open_predecessors = 9 WHERE seq = ?1", &good);
    repaired(&house, &good, "predecessors");
    assert_eq!(house.now(&good).open_predecessors, 0);
    end(&dispatcher);
}

#[test]
fn the_look_walks_through_all_open_tasks_a_window_at_a_time() {
    let house = House::new();
    let many = (0..1_200).map(|n| NewTask { title: format!("card {n}"), ..NewTask::default() }).collect();
    let Outcome::Tasks(cards) = house.run(Command::CreateMany(many)).unwrap() else { panic!() };
    let player = Player::default();
    let dispatcher = dispatch(&house, &player);
    for card in [&cards[0], &cards[600], &cards[1_199]] {
        break_in(&house, "UPDATE tasks SET open_predecessors = 1 WHERE seq = ?1", card);
        repaired(&house, card, "predecessors");
    }
    end(&dispatcher);
}

#[test]
fn a_write_ahead_log_that_a_long_reader_holds_is_cut_when_the_reader_has_gone() {
    let house = House::new();
    let limit = 300_000;
    let options = DispatchOptions { reconcile_ms: 50, wal_limit: limit, ..DispatchOptions::default() };
    let dispatcher = house.dispatch_with(&Player::default(), options);
    let reader = rusqlite::Connection::open(house.path()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = || reader.query_row("SELECT count(*) FROM tasks", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 0);
    while house.engine.wal_bytes() <= limit * 2 {
        house.task(Command::Create(Box::new(NewTask {
            title: "x".into(),
            description: "y".repeat(20_000),
            ..NewTask::default()
        })));
    }
    assert!(!house.engine.truncate_wal().unwrap(), "it waits for nobody");
    assert_eq!(count(), 0, "the reader is not disturbed");
    reader.execute_batch("COMMIT").unwrap();
    house.wait("the log is cut", || house.engine.wal_bytes() < limit);
    end(&dispatcher);
}
