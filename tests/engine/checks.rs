//! What a check that passes, fails or can't be run means for a task.

use super::fake::{House, Player, id, runnable};
use andon::domain::{Actor, Program, Task, TaskStatus};
use andon::engine::{Checked, Command, Ending, NewTask, Report, RunSpec, TaskEdit};

fn new(max_retries: u32) -> NewTask {
    let mut new = NewTask { start: true, review_required: Some(true), ..runnable("Build") };
    new.max_retries = Some(max_retries);
    new.executor.as_mut().unwrap().check = Some(Program::Shell("make test".into()));
    new
}

fn checked(house: &House, max_retries: u32) -> Task {
    house.task(Command::Create(Box::new(new(max_retries))))
}

fn success(check: Checked) -> Report {
    Report::Ended(Ending { check: Some(check), ..Ending::success("done") })
}

fn failed() -> Report {
    success(Checked::Failed {
        error: "check failed: make test: exit 2".into(),
        output: "1 of 9 failed\n".into(),
    })
}

#[test]
fn a_person_is_asked_once_the_check_has_passed() {
    let (house, player) = (House::new(), Player::default());
    let dispatcher = house.dispatch(&player);
    let task = checked(&house, 3);
    let spec = player.running(&task);
    assert_eq!(spec.check, Some(Program::Shell("make test".into())));
    player.say(&spec, success(Checked::Passed("check passed: make test".into())));
    let waits = house.until(&task, TaskStatus::Review);
    assert_eq!((waits.result.as_str(), waits.review_summary.as_str()), ("done", "check passed: make test"));
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn a_failed_check_goes_back_with_its_output_until_the_retries_are_used_up() {
    let (house, player) = (House::new(), Player::default());
    let dispatcher = house.dispatch(&player);
    let task = checked(&house, 1);
    let first = player.running(&task);
    assert_eq!(first.feedback, None);
    player.say(&first, failed());
    let second = player.running(&task);
    assert_eq!(second.feedback.as_deref(), Some("check failed: make test: exit 2\n\n1 of 9 failed"));
    assert_eq!(house.now(&task).retry_count, 1);
    player.say(&second, failed());
    let over = house.until(&task, TaskStatus::Failed);
    assert_eq!(over.error, "check failed: make test: exit 2\n\n1 of 9 failed");
    // A person may still give it another try, and it knows what was wrong.
    house
        .run(Command::Edit {
            task: id(&task),
            edit: Box::new(TaskEdit { max_retries: Some(2), ..TaskEdit::default() }),
            if_version: None,
        })
        .unwrap();
    house.run(Command::Retry { task: id(&task) }).unwrap();
    let third = player.running(&task);
    assert!(third.feedback.unwrap().contains("1 of 9 failed"));
    player.say(&player.running(&task), success(Checked::Passed("check passed: make test".into())));
    house.until(&task, TaskStatus::Review);
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn a_check_that_can_not_be_run_is_no_fault_of_the_work_and_fails_the_task() {
    let (house, player) = (House::new(), Player::default());
    let dispatcher = house.dispatch(&player);
    let task = checked(&house, 3);
    let spec = player.running(&task);
    player.say(&spec, success(Checked::Broken("the check `make test` could not be run: no make".into())));
    let over = house.until(&task, TaskStatus::Failed);
    assert_eq!((over.retry_count, over.error.contains("no make")), (0, true));
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn cancelling_beats_the_check() {
    let (house, player) = (House::new(), Player::default());
    let dispatcher = house.dispatch(&player);
    let task = checked(&house, 3);
    let spec = player.running(&task);
    house.run(Command::Cancel { task: id(&task), reason: None }).unwrap();
    player.stopped(&spec);
    player.say(&spec, failed());
    assert_eq!(house.until(&task, TaskStatus::Cancelled).retry_count, 0);
    dispatcher.stop();
    dispatcher.join();
}

fn agent(spec: &RunSpec) -> Actor {
    Actor::Agent { run: spec.run.clone(), task: spec.task.clone(), name: "claude".into() }
}

#[test]
fn who_calls_its_own_task_done_does_not_get_around_the_check() {
    let (house, player) = (House::new(), Player::default());
    let dispatcher = house.dispatch(&player);
    let task = checked(&house, 0);
    let spec = player.running(&task);
    let complete = Command::Complete { task: id(&task), result: Some("trust me".into()) };
    house.run_as(complete, &agent(&spec)).unwrap();
    // It did not end by itself, so nothing was checked.
    player.say(&spec, Report::Ended(Ending::failure("killed by SIGTERM")));
    let over = house.until(&task, TaskStatus::Failed);
    assert!(over.error.contains("could not be run"), "{}", over.error);
    // A person may pass it over.
    let task = checked(&house, 0);
    let spec = player.running(&task);
    house.run(Command::Complete { task: id(&task), result: None }).unwrap();
    player.say(&spec, Report::Ended(Ending::failure("killed by SIGTERM")));
    house.until(&task, TaskStatus::Review);
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn an_agent_sets_no_check_and_takes_none_away() {
    let (house, player) = (House::new(), Player::default());
    let dispatcher = house.dispatch(&player);
    let spec = player.running(&checked(&house, 3));
    let who = agent(&spec);
    let refused = house.run_as(Command::Create(Box::new(new(3))), &who).unwrap_err();
    assert_eq!(refused.code, "not_allowed");
    let other = NewTask { start: false, ..new(3) };
    let other = house.task(Command::Create(Box::new(other)));
    let edit = |edit: TaskEdit| {
        let edit = Box::new(edit);
        house.run_as(Command::Edit { task: id(&other), edit, if_version: None }, &who)
    };
    for check in [None, Some(Program::Shell("true".into()))] {
        let refused = edit(TaskEdit { check: Some(check), ..TaskEdit::default() }).unwrap_err();
        assert_eq!(refused.code, "not_allowed");
    }
    let manual = TaskEdit { executor: Some(None), ..TaskEdit::default() };
    assert_eq!(edit(manual).unwrap_err().code, "not_allowed");
    // Other work keeps the check.
    let work = runnable("x").executor.unwrap();
    assert_eq!(work.check, None);
    edit(TaskEdit { executor: Some(Some(work)), ..TaskEdit::default() }).unwrap();
    let check = house.now(&other).executor.unwrap().check;
    assert_eq!(check, Some(Program::Shell("make test".into())));
    player.say(&spec, Report::Ended(Ending::success("")));
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn nothing_is_checked_where_nobody_reviews() {
    let (house, player) = (House::new(), Player::default());
    let dispatcher = house.dispatch(&player);
    let task = house.task(Command::Create(Box::new(NewTask { review_required: Some(false), ..new(3) })));
    let spec = player.running(&task);
    assert_eq!(spec.check, None);
    player.say(&spec, Report::Ended(Ending::success("")));
    house.until(&task, TaskStatus::Success);
    dispatcher.stop();
    dispatcher.join();
}
