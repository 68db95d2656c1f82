use super::fake::{House, Player, id};
use andon::domain::{Actor, Question, Task, TaskStatus, WaitId, WaitState};
use andon::engine::{AnswerText, Command, Dispatcher, Ending, Outcome, QuestionRef, Report, RunSpec};

struct Asking {
    house: House,
    player: Player,
    dispatcher: Dispatcher,
    task: Task,
    spec: RunSpec,
}

fn running() -> Asking {
    let house = House::new();
    let player = Player::default();
    let dispatcher = house.dispatch(&player);
    let task = house.job("Migrate schema");
    let spec = player.running(&task);
    Asking { house, player, dispatcher, task, spec }
}

impl Asking {
    fn agent(&self) -> Actor {
        Actor::Agent { run: self.spec.run.clone(), task: self.task.id.clone(), name: "claude".into() }
    }

    fn ask(&self, text: &str, waits: bool) -> Question {
        let command = Command::Ask {
            task: id(&self.task),
            question: text.into(),
            options: vec!["staging".into(), "production".into()],
            waits,
            expires_at_ms: None,
        };
        match self.house.run_as(command, &self.agent()).unwrap() {
            Outcome::Question(question) => *question,
            other => panic!("{other:?}"),
        }
    }

    fn answer(&self, question: &Question, text: &str) -> Result<Outcome, andon::domain::Refusal> {
        let question = QuestionRef::Id(question.id.clone());
        self.house.run(Command::Answer { question, answer: AnswerText::Text(text.into()) })
    }

    fn end(self) {
        self.dispatcher.stop();
        if let Some(spec) = self.player.starts().last() {
            let over = self.house.engine.task_view(&id(&self.task)).unwrap();
            if over.runs.iter().any(|r| r.id == spec.run && r.is_active()) {
                self.player.say(spec, Report::Ended(Ending::failure("stopped")));
            }
        }
        self.dispatcher.join();
    }
}

#[test]
fn asking_blocks_the_task_keeps_its_session_and_frees_its_slot() {
    let asking = running();
    let session = asking.house.now(&asking.task).session_id;
    let question = asking.ask("Which database is the target?", true);
    let blocked = asking.house.now(&asking.task);
    assert_eq!(blocked.status, TaskStatus::Blocked);
    assert_eq!(blocked.session_id, session);
    assert_eq!(blocked.blocked_reason, "Which database is the target?");
    let board = asking.house.engine.board("default", false).unwrap();
    assert_eq!(board.slots_used, 0);
    assert_eq!(board.cards[0].question.as_ref().map(|q| &q.id), Some(&question.id));
    asking.answer(&question, "staging").unwrap();
    asking.end();
}

#[test]
fn a_process_that_waits_goes_on_in_the_same_run_with_the_answer() {
    let asking = running();
    let question = asking.ask("Which?", true);
    asking.answer(&question, "STAGING").unwrap();
    let on = asking.house.now(&asking.task);
    assert_eq!((on.status, on.current_run_id.as_ref()), (TaskStatus::Running, Some(&asking.spec.run)));
    let read = asking.house.engine.question(&question.id).unwrap();
    assert_eq!((read.state, read.answer.as_str()), (WaitState::Consumed, "staging"));
    asking.player.succeed(&asking.task, "done");
    asking.house.until(&asking.task, TaskStatus::Success);
    asking.end();
}

#[test]
fn one_that_ended_is_queued_again_with_the_answer_as_the_same_task_and_attempt() {
    let asking = running();
    let question = asking.ask("Which?", false);
    asking.player.say(&asking.spec, Report::Ended(Ending::success("asked")));
    asking.house.wait("the run is parked", || {
        asking.house.engine.task_view(&id(&asking.task)).unwrap().runs[0].ended_at_ms.is_some()
    });
    assert_eq!(asking.house.now(&asking.task).status, TaskStatus::Blocked);
    asking.answer(&question, "production").unwrap();
    let next = asking.player.running(&asking.task);
    assert_eq!((next.number, next.attempt, next.session.as_str()), (2, 1, asking.spec.session.as_str()));
    assert_eq!(next.answer.as_ref().unwrap().answer, "production");
    let task = asking.house.now(&asking.task);
    assert_eq!((task.id, task.retry_count), (asking.task.id.clone(), 0));
    asking.player.succeed(&asking.task, "done");
    asking.house.until(&asking.task, TaskStatus::Success);
    asking.end();
}

#[test]
fn an_answer_before_the_asker_has_ended_is_kept_and_given_to_the_next_run() {
    let asking = running();
    let question = asking.ask("Which?", false);
    asking.answer(&question, "production").unwrap();
    assert_eq!(asking.house.now(&asking.task).status, TaskStatus::Blocked, "its process is not gone yet");
    asking.player.say(&asking.spec, Report::Ended(Ending::success("asked")));
    let next = asking.player.running(&asking.task);
    assert_eq!((next.number, next.answer.unwrap().answer.as_str()), (2, "production"));
    asking.player.succeed(&asking.task, "done");
    asking.house.until(&asking.task, TaskStatus::Success);
    asking.end();
}

fn attend(asking: &Asking, question: &Question, waits: bool) -> WaitState {
    let command = Command::Attend { wait: WaitId(question.id.0.clone()), waits };
    match asking.house.run_as(command, &asking.agent()).unwrap() {
        Outcome::Wait(wait) => wait.state,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_that_stops_waiting_leaves_the_answer_to_the_next_run() {
    let asking = running();
    let question = asking.ask("Which?", true);
    assert_eq!(attend(&asking, &question, false), WaitState::Open);
    asking.answer(&question, "production").unwrap();
    assert_eq!(asking.house.now(&asking.task).status, TaskStatus::Blocked, "its process is not gone yet");
    asking.player.say(&asking.spec, Report::Ended(Ending::success("parked")));
    let next = asking.player.running(&asking.task);
    assert_eq!((next.number, next.answer.unwrap().answer.as_str()), (2, "production"));
    asking.player.succeed(&asking.task, "done");
    asking.house.until(&asking.task, TaskStatus::Success);
    asking.end();
}

#[test]
fn one_that_waits_again_is_given_what_was_answered_meanwhile_in_the_same_run() {
    let asking = running();
    let question = asking.ask("Which?", true);
    attend(&asking, &question, false);
    asking.answer(&question, "production").unwrap();
    assert_eq!(attend(&asking, &question, true), WaitState::Consumed);
    let on = asking.house.now(&asking.task);
    assert_eq!((on.status, on.current_run_id.as_ref()), (TaskStatus::Running, Some(&asking.spec.run)));
    asking.player.succeed(&asking.task, "done");
    asking.house.until(&asking.task, TaskStatus::Success);
    assert_eq!(asking.house.engine.task_view(&id(&asking.task)).unwrap().runs.len(), 1);
    asking.end();
}

#[test]
fn only_the_run_that_asked_says_whether_it_waits() {
    let asking = running();
    let question = asking.ask("Which?", true);
    let stranger = Actor::Agent { run: "r_other".into(), task: asking.task.id.clone(), name: "x".into() };
    for actor in [stranger, Actor::Guest { name: "mcp:x".into() }] {
        let command = Command::Attend { wait: WaitId(question.id.0.clone()), waits: false };
        assert_eq!(asking.house.run_as(command, &actor).unwrap_err().code, "not_allowed");
    }
    asking.answer(&question, "staging").unwrap();
    assert_eq!(asking.house.now(&asking.task).status, TaskStatus::Running);
    asking.end();
}

#[test]
fn a_second_answer_is_refused_and_restarts_nothing() {
    let asking = running();
    let question = asking.ask("Which?", true);
    asking.answer(&question, "staging").unwrap();
    let before = asking.house.now(&asking.task);
    assert_eq!(asking.answer(&question, "production").unwrap_err().code, "question_answered");
    assert_eq!(asking.house.now(&asking.task), before);
    asking.end();
}

#[test]
fn an_answer_to_a_superseded_question_is_refused() {
    let asking = running();
    let first = asking.ask("Which?", true);
    let second = asking.ask("Which one, really?", true);
    assert_eq!(asking.answer(&first, "staging").unwrap_err().code, "question_superseded");
    assert_eq!(asking.house.now(&asking.task).status, TaskStatus::Blocked);
    asking.answer(&second, "staging").unwrap();
    asking.end();
}

#[test]
fn an_answer_to_a_question_of_a_cancelled_task_is_refused() {
    let asking = running();
    let question = asking.ask("Which?", true);
    asking.house.run(Command::Cancel { task: id(&asking.task), reason: None }).unwrap();
    asking.player.say(&asking.spec, Report::Ended(Ending::failure("killed")));
    asking.house.until(&asking.task, TaskStatus::Cancelled);
    assert_eq!(asking.answer(&question, "staging").unwrap_err().code, "question_cancelled");
    assert_eq!(asking.house.now(&asking.task).status, TaskStatus::Cancelled);
    asking.end();
}

#[test]
fn only_the_operator_answers_and_an_answer_is_no_more_than_a_text() {
    let asking = running();
    let question = asking.ask("Which?", true);
    let answer =
        Command::Answer { question: QuestionRef::Id(question.id.clone()), answer: AnswerText::Option(1) };
    let refused = asking.house.run_as(answer, &asking.agent()).unwrap_err();
    assert_eq!(refused.code, "not_allowed");
    for bad in ["", "  ", &"x".repeat(10_001)] {
        assert_eq!(asking.answer(&question, bad).unwrap_err().code, "invalid_value");
    }
    let before = asking.house.engine.last_seq().unwrap();
    asking.answer(&question, &"x".repeat(10_000)).unwrap();
    let events = asking.house.engine.events(before, None, 100).unwrap();
    assert!(
        events.iter().all(|e| e.kind.as_str() == "answered"),
        "an answer grants nothing else: {events:?}"
    );
    asking.end();
}

#[test]
fn unblocking_drops_the_question_and_never_starts_a_second_process() {
    let asking = running();
    let question = asking.ask("Which?", true);
    let free = asking.house.task(Command::Unblock { task: id(&asking.task) });
    assert_eq!(free.status, TaskStatus::Running, "its process lives, so it goes on in its run");
    assert_eq!(asking.player.starts().len(), 1);
    assert_eq!(asking.answer(&question, "staging").unwrap_err().code, "question_superseded");
    asking.end();
}

#[test]
fn a_question_survives_a_restart_of_the_program() {
    let asking = running();
    let question = asking.ask("Which?", false);
    asking.player.say(&asking.spec, Report::Ended(Ending::success("asked")));
    asking.house.wait("the run is parked", || {
        asking.house.engine.task_view(&id(&asking.task)).unwrap().runs[0].ended_at_ms.is_some()
    });
    asking.dispatcher.stop();
    asking.dispatcher.join();
    let again = andon::engine::Engine::open(&asking.house.path()).unwrap();
    let open = again.questions(None).unwrap();
    assert_eq!((open.len(), &open[0].question.id, open[0].seq), (1, &question.id, asking.task.seq));
    assert_eq!(open[0].question.options, ["staging", "production"]);
}

#[test]
fn a_result_of_an_earlier_run_is_kept_as_an_event_and_changes_nothing() {
    let asking = running();
    asking.player.fail(&asking.task, "first try");
    asking.house.until(&asking.task, TaskStatus::Failed);
    asking.house.task(Command::Retry { task: id(&asking.task) });
    let second = asking.player.running(&asking.task);
    let late = Command::Complete { task: id(&asking.task), result: Some("from the first run".into()) };
    let refused = asking.house.run_as(late, &asking.agent()).unwrap_err();
    assert_eq!(refused.code, "late_result");
    let task = asking.house.now(&asking.task);
    assert_eq!(
        (task.status, task.current_run_id.as_ref(), task.result.as_str()),
        (TaskStatus::Running, Some(&second.run), "")
    );
    let kinds: Vec<_> = asking.house.engine.events(0, Some(&task.id), 100).unwrap();
    assert!(kinds.iter().any(|e| e.kind.as_str() == "late_result"));
    asking.end();
}

#[test]
fn an_end_never_overtakes_the_question_that_was_told_before_it() {
    for _ in 0..20 {
        let asking = running();
        asking.player.say(&asking.spec, Report::Asked { question: "which?".into(), options: vec![] });
        asking.player.say(
            &asking.spec,
            Report::Ended(Ending { outcome: andon::domain::RunOutcome::Parked, ..Ending::success("") }),
        );
        let blocked = asking.house.until(&asking.task, TaskStatus::Blocked);
        assert_eq!(blocked.blocked_reason, "which?");
        asking.house.wait("the run is parked", || {
            asking.house.engine.task_view(&id(&asking.task)).unwrap().runs[0].ended_at_ms.is_some()
        });
        assert_eq!(asking.house.engine.questions(None).unwrap().len(), 1);
        asking.end();
    }
}
