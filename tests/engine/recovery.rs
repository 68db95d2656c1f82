use super::fake::{House, Player, id, runnable};
use andon::domain::{QuestionPurpose, RunOutcome, TaskStatus};
use andon::engine::{
    AnswerText, Command, DispatchOptions, Engine, NewTask, OnLost, Options, Policy, QuestionRef,
};

/// A run whose dispatcher died: the first engine claims, and its dispatcher is forgotten without a word. The lock
/// is on a file of the process, so the death is played by stopping a dispatcher that does not stop its runs.
fn lost(house: &House, new: NewTask) -> andon::domain::Task {
    let task = house.task(Command::Create(Box::new(NewTask { start: true, ..new })));
    let stubborn = Player::default();
    let dispatcher =
        house.dispatch_with(&stubborn, DispatchOptions { grace_ms: 0, ..DispatchOptions::default() });
    stubborn.running(&task);
    dispatcher.die();
    house.now(&task)
}

#[test]
fn a_lost_run_is_asked_about_and_never_run_again_by_itself() {
    let house = House::new();
    let task = lost(&house, runnable("x"));
    assert_eq!(task.status, TaskStatus::Running);
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    let blocked = house.until(&task, TaskStatus::Blocked);
    assert_eq!(player.recovered().len(), 1, "its processes were proven dead first");
    let view = house.engine.task_view(&id(&task)).unwrap();
    assert_eq!(view.runs[0].outcome, Some(RunOutcome::Lost));
    let question = view.questions.last().unwrap();
    assert_eq!(question.purpose, QuestionPurpose::Lost);
    assert_eq!(question.options, ["run again", "mark as failed", "mark as done"]);
    assert!(player.starts().is_empty());
    assert_eq!(blocked.retry_count, 0);
    let answer =
        |n| Command::Answer { question: QuestionRef::OfTask(id(&task)), answer: AnswerText::Option(n) };
    house.run(answer(1)).unwrap();
    let spec = player.running(&task);
    assert_eq!((spec.number, spec.epoch), (2, 2));
    player.succeed(&task, "second time");
    house.until(&task, TaskStatus::Success);
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn a_lost_run_can_be_marked_as_failed_or_as_done() {
    for (option, status) in [(2, TaskStatus::Failed), (3, TaskStatus::Success)] {
        let house = House::new();
        let task = lost(&house, runnable("x"));
        let player = Player::default();
        let dispatcher = house.dispatch(&player);
        house.until(&task, TaskStatus::Blocked);
        let question = QuestionRef::OfTask(id(&task));
        house.run(Command::Answer { question, answer: AnswerText::Option(option) }).unwrap();
        assert_eq!(house.now(&task).status, status);
        dispatcher.stop();
        dispatcher.join();
    }
}

#[test]
fn a_lost_run_with_an_automatic_retry_left_is_retried_and_counted() {
    let house = House::new();
    let task = lost(&house, NewTask { retry_max: 1, ..runnable("x") });
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    let spec = player.running(&task);
    assert_eq!((spec.number, spec.attempt), (2, 2));
    assert_eq!(house.now(&task).retry_count, 1);
    player.succeed(&task, "");
    house.until(&task, TaskStatus::Success);
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn by_policy_a_lost_run_fails() {
    let mut house = House::new();
    let task = lost(&house, runnable("x"));
    let policy = Policy { on_lost: OnLost::Fail, ..Policy::default() };
    house.engine = Engine::open_with(&house.path(), Options { policy, ..Options::default() }).unwrap();
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    let failed = house.until(&task, TaskStatus::Failed);
    assert_eq!(failed.error, "the worker died while this ran");
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn a_cancel_asked_for_before_the_worker_died_is_carried_out() {
    let house = House::new();
    let task = house.job("x");
    let stubborn = Player::default();
    let dispatcher = house.dispatch(&stubborn);
    stubborn.running(&task);
    house.run(Command::Cancel { task: id(&task), reason: None }).unwrap();
    dispatcher.die();
    let player = Player::default();
    let next = house.dispatch(&player);
    house.until(&task, TaskStatus::Cancelled);
    next.stop();
    next.join();
}

#[test]
fn stopping_suspends_what_runs_and_resume_goes_on() {
    let house = House::new();
    let task = house.job("x");
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    player.running(&task);
    dispatcher.stop();
    dispatcher.join();
    assert_eq!(house.now(&task).status, TaskStatus::Suspended);
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    house.task(Command::Resume { task: id(&task) });
    player.succeed(&task, "");
    house.until(&task, TaskStatus::Success);
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn draining_claims_nothing_more_and_waits_for_what_runs() {
    let house = House::new();
    let first = house.job("first");
    let player = Player::default();
    let dispatcher =
        house.dispatch_with(&player, DispatchOptions { parallel: 1, ..DispatchOptions::default() });
    player.running(&first);
    let second = house.job("second");
    dispatcher.drain();
    player.succeed(&first, "");
    dispatcher.join();
    assert_eq!(house.now(&first).status, TaskStatus::Success);
    assert_eq!(house.now(&second).status, TaskStatus::Queued);
}

#[test]
fn one_process_dispatches_and_an_attached_one_takes_over() {
    let house = House::new();
    let (one, two) = (Player::default(), Player::default());
    let first = house.dispatch(&one);
    house.wait("somebody dispatches", || house.engine.has_dispatcher());
    let other = Engine::open(&house.path()).unwrap();
    let attached = andon::engine::Dispatcher::start(
        &other,
        std::sync::Arc::new(two.clone()),
        DispatchOptions::default(),
    )
    .unwrap();
    let task = house.job("x");
    one.succeed(&task, "");
    house.until(&task, TaskStatus::Success);
    assert_eq!(other.dispatcher_state(), andon::domain::DispatcherState::Elsewhere);
    first.stop();
    first.join();
    let task = house.job("y");
    two.succeed(&task, "");
    house.until(&task, TaskStatus::Success);
    attached.stop();
    attached.join();
}

#[test]
fn who_loses_the_lock_hands_out_nothing_more_and_stands_by() {
    let house = House::new();
    let (one, two) = (Player::default(), Player::default());
    let first = house.dispatch(&one);
    let task = house.job("x");
    let held = one.running(&task);
    // Somebody clears up, and with the file goes the lock.
    std::fs::remove_file(house.folder.path().join("andon.db-dispatch")).unwrap();
    let other = Engine::open(&house.path()).unwrap();
    let options = DispatchOptions { grace_ms: 500, ..DispatchOptions::default() };
    let second = andon::engine::Dispatcher::start(&other, std::sync::Arc::new(two.clone()), options).unwrap();
    house.until(&task, TaskStatus::Blocked);
    assert_eq!(two.recovered(), std::slice::from_ref(&held.run), "what the first one ran was proven dead");
    let next = house.job("next");
    two.running(&next);
    let question = QuestionRef::OfTask(id(&task));
    house.run(Command::Answer { question, answer: AnswerText::Option(1) }).unwrap();
    two.succeed(&task, "again");
    two.succeed(&next, "");
    house.until(&task, TaskStatus::Success);
    house.until(&next, TaskStatus::Success);
    // The first one hears last of the end of its own, which counts no more, and stands by.
    one.say(&held, andon::engine::Report::Ended(andon::engine::Ending::success("late")));
    house.wait("the first one stands by", || {
        house.engine.dispatcher_state() == andon::domain::DispatcherState::Elsewhere
    });
    assert_eq!(house.now(&task).result, "again");
    assert_eq!(one.starts().len(), 1, "it handed out nothing more");
    second.stop();
    second.join();
    let last = house.job("last");
    one.succeed(&last, "");
    house.until(&last, TaskStatus::Success);
    first.stop();
    first.join();
}

#[test]
fn a_deadline_ends_a_run_and_one_that_passes_in_the_queue_makes_a_run_without_a_process() {
    let house = House::new();
    let timed = |title: &str| NewTask { timeout_seconds: Some(1), start: true, ..runnable(title) };
    let player = Player::obedient();
    let dispatcher =
        house.dispatch_with(&player, DispatchOptions { parallel: 1, ..DispatchOptions::default() });
    let runs = house.task(Command::Create(Box::new(timed("runs"))));
    player.running(&runs);
    let waits = house.task(Command::Create(Box::new(timed("waits"))));
    let over = house.until(&runs, TaskStatus::Failed);
    assert_eq!(over.error, "its 1 s were over");
    let never = house.until(&waits, TaskStatus::Failed);
    let view = house.engine.task_view(&id(&never)).unwrap();
    assert_eq!(view.runs.last().unwrap().outcome, Some(RunOutcome::Deadline));
    dispatcher.stop();
    dispatcher.join();
}

fn timed(title: &str) -> NewTask {
    NewTask { timeout_seconds: Some(300), start: true, ..runnable(title) }
}

#[test]
fn the_clock_of_a_queued_task_stands_still_while_nobody_dispatches() {
    let house = House::new();
    let player = Player::default();
    let options = || DispatchOptions { parallel: 1, ..DispatchOptions::default() };
    let first = house.job("first");
    let dispatcher = house.dispatch_with(&player, options());
    player.running(&first);
    let waits = house.task(Command::Create(Box::new(timed("waits"))));
    let deadline = waits.deadline_ms.unwrap();
    dispatcher.drain();
    player.succeed(&first, "");
    dispatcher.join();
    let ended = house.engine.now();
    let player = Player::default();
    let busy =
        house.task(Command::Create(Box::new(NewTask { priority: Some(0), start: true, ..runnable("busy") })));
    let dispatcher = house.dispatch_with(&player, options());
    player.running(&busy);
    let began = house.engine.now();
    let later = house.now(&waits).deadline_ms.unwrap();
    assert!(later >= deadline && later <= deadline + (began - ended) + 5_000, "{deadline} {later}");
    assert!(later <= began + 300_000, "a restart gives no time on top");
    dispatcher.die();
}

#[test]
fn an_open_question_and_a_pause_stop_the_clock_and_what_is_left_runs_on() {
    let house = House::new();
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    let task = house.task(Command::Create(Box::new(timed("asks"))));
    let spec = player.running(&task);
    assert!(house.now(&task).deadline_ms.is_some());
    player.say(&spec, andon::engine::Report::Asked { question: "which?".into(), options: vec![] });
    let blocked = house.until(&task, TaskStatus::Blocked);
    let left = blocked.time_left_ms.unwrap();
    assert!(blocked.deadline_ms.is_none() && left <= 300_000 && left > 290_000, "{left}");
    player.say(&spec, andon::engine::Report::Ended(andon::engine::Ending::success("")));
    house.wait("the run is parked", || house.engine.active_run(&house.now(&task)).unwrap().is_none());
    let before = house.engine.now();
    let answer = AnswerText::Text("this".into());
    house.run(Command::Answer { question: QuestionRef::OfTask(id(&task)), answer }).unwrap();
    player.running(&task);
    let deadline = house.now(&task).deadline_ms.unwrap();
    assert!((before + left..=house.engine.now() + left).contains(&deadline), "what was left runs on");
    dispatcher.die();
}
