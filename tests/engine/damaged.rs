//! Rows with bad data, as a fault of a disk, another program or an older version leaves them: each is told of and
//! passed over, and holds up nobody else.

use super::fake::{House, Player, id, runnable};
use andon::domain::{EventKind, Task, TaskStatus};
use andon::engine::{Command, DispatchOptions, Dispatcher, Ending, NewTask, Report};

fn damage(house: &House, sql: &str) {
    let foreign = rusqlite::Connection::open(house.path()).unwrap();
    foreign.busy_timeout(super::fake::PATIENCE).unwrap();
    assert_eq!(foreign.execute(sql, []).unwrap(), 1, "{sql}");
}

fn damage_task(house: &House, task: &Task) {
    damage(house, &format!("UPDATE tasks SET executor = '{{\"no\":1}}' WHERE seq = {}", task.seq));
}

fn end(dispatcher: Dispatcher) {
    dispatcher.drain();
    dispatcher.join();
}

#[test]
fn at_the_head_of_the_queue_it_does_not_hold_those_behind() {
    let house = House::new();
    for _ in 0..3 {
        let first = NewTask { priority: Some(0), start: true, ..runnable("bad") };
        damage_task(&house, &house.task(Command::Create(Box::new(first))));
    }
    let good = house.job("good");
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    player.succeed(&good, "done");
    house.until(&good, TaskStatus::Success);
    end(dispatcher);
}

#[test]
fn a_successor_that_can_not_be_advanced_holds_neither_the_end_nor_the_others_and_is_advanced_once_it_is_mended()
 {
    let house = House::new();
    let player = Player::default();
    let options = DispatchOptions { reconcile_ms: 50, ..DispatchOptions::default() };
    let dispatcher = house.dispatch_with(&player, options);
    let first = house.job("first");
    let after = |title: &str| {
        let task = NewTask { after: vec![id(&first)], start: true, ..runnable(title) };
        house.task(Command::Create(Box::new(task)))
    };
    let (bad, good) = (after("bad"), after("good"));
    damage_task(&house, &bad);
    player.succeed(&first, "done");
    player.succeed(&good, "");
    house.until(&good, TaskStatus::Success);
    assert_eq!(house.now(&first).result, "done");
    let failed = house.engine.events(0, Some(&first.id), usize::MAX).unwrap();
    assert_eq!(failed.iter().filter(|e| e.kind == EventKind::AdvanceFailed).count(), 1);
    let mended = serde_json::to_string(&runnable("bad").executor).unwrap();
    damage(&house, &format!("UPDATE tasks SET executor = '{mended}' WHERE seq = {}", bad.seq));
    player.succeed(&bad, "");
    house.until(&bad, TaskStatus::Success);
    end(dispatcher);
}

#[test]
fn a_run_whose_task_is_damaged_does_not_hold_the_ends_and_claims_of_others() {
    let house = House::new();
    let player = Player::default();
    let (bad, good) = (house.job("bad"), house.job("good"));
    let dispatcher =
        house.dispatch_with(&player, DispatchOptions { parallel: 2, ..DispatchOptions::default() });
    let spec = player.running(&bad);
    player.running(&good);
    damage_task(&house, &bad);
    player.say(&spec, Report::Ended(Ending::success("")));
    let next = house.job("next");
    player.succeed(&good, "");
    house.until(&good, TaskStatus::Success);
    player.succeed(&next, "");
    house.until(&next, TaskStatus::Success);
    // Once it is mended, its end is written, for it was not forgotten.
    damage(&house, &format!("UPDATE tasks SET executor = NULL WHERE seq = {}", bad.seq));
    house.until(&bad, TaskStatus::Success);
    end(dispatcher);
}

#[test]
fn an_orphan_that_can_not_be_read_does_not_hold_the_recovery_of_others() {
    let house = House::new();
    let player = Player::default();
    let (bad, good) = (house.job("bad"), house.job("good"));
    let dispatcher = house.dispatch(&player);
    player.running(&bad);
    player.running(&good);
    dispatcher.die();
    damage(&house, &format!("UPDATE runs SET process = '{{\"no\":1}}' WHERE task_seq = {}", bad.seq));
    let next = house.job("next");
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    player.succeed(&next, "");
    house.until(&good, TaskStatus::Blocked);
    house.until(&next, TaskStatus::Success);
    dispatcher.stop_now();
    dispatcher.join();
}

#[test]
fn a_damaged_task_that_is_due_or_out_of_time_does_not_hold_others() {
    let house = House::new();
    let late = || NewTask { timeout_seconds: Some(1), start: true, ..runnable("late") };
    let soon = || {
        let at = house.engine.now() + 300;
        NewTask { not_before_ms: Some(at), start: true, ..runnable("soon") }
    };
    let make = |new: NewTask| house.task(Command::Create(Box::new(new)));
    let player = Player::default();
    let holds = house.job("holds the only slot");
    let dispatcher =
        house.dispatch_with(&player, DispatchOptions { parallel: 1, ..DispatchOptions::default() });
    player.running(&holds);
    let (bad_late, bad_soon) = (make(late()), make(soon()));
    damage_task(&house, &bad_late);
    damage_task(&house, &bad_soon);
    let (good_late, good_soon) = (make(late()), make(soon()));
    house.until(&good_late, TaskStatus::Failed);
    player.succeed(&holds, "");
    player.succeed(&good_soon, "");
    house.until(&good_soon, TaskStatus::Success);
    end(dispatcher);
}

#[test]
fn a_damaged_card_does_not_hide_the_board() {
    let house = House::new();
    let (bad, good) = (house.job("bad"), house.job("good"));
    damage_task(&house, &bad);
    let error = house.engine.task(&id(&bad)).unwrap_err().to_string();
    assert!(error.contains(&format!("#{}", bad.seq)) && error.contains("executor"), "{error}");
    let board = house.engine.board("default", false).unwrap();
    let shown: Vec<_> = board.cards.iter().map(|c| (c.seq, c.executor.as_str())).collect();
    assert_eq!(shown, [(bad.seq, "(damaged)"), (good.seq, "true")]);
}
