use super::clockwork::{Clockwork, HOUR};
use super::fake::{House, Player, id, runnable};
use andon::domain::approval::{ApprovalPolicy, Author, Call, Risk, Rule, Rules, Scope};
use andon::domain::{
    Actor, Approval, Executor, Lamp, Program, Refusal, RunOutcome, StepDefinition, Task, TaskStatus,
    WaitState, Work, WorkflowDefinition, WorkflowStatus, lamp,
};
use andon::engine::{
    AnswerText, ApprovalRef, Command, Dispatcher, Effect, Ending, Engine, Input, NewTask, Options, Outcome,
    Policy, QuestionRef, Report, RunSpec, TaskEdit,
};
use serde_json::json;

/// An agent of another card's run.
fn agent() -> Actor {
    Actor::Agent { run: "r_another".into(), task: "t_another".into(), name: "claude".into() }
}

fn made_by_agent(house: &House, change: impl FnOnce(&mut NewTask)) -> Task {
    let mut new = NewTask { start: true, ..runnable("Clean up") };
    change(&mut new);
    house.run_as(Command::Create(Box::new(new)), &agent()).unwrap().task().unwrap().clone()
}

fn of(task: &Task) -> ApprovalRef {
    ApprovalRef::OfTask(id(task))
}

fn allow(house: &House, task: &Task) -> Result<Approval, Refusal> {
    decided(house.run(Command::Allow { approval: of(task), for_task: false }))
}

fn deny(house: &House, task: &Task, reason: &str) -> Result<Approval, Refusal> {
    decided(house.run(Command::Deny { approval: of(task), reason: reason.into() }))
}

fn decided(outcome: Result<Outcome, Refusal>) -> Result<Approval, Refusal> {
    match outcome? {
        Outcome::Approval(approval) => Ok(*approval),
        other => panic!("{other:?}"),
    }
}

fn approvals(house: &House, task: &Task) -> Vec<Approval> {
    house.engine.task_view(&id(task)).unwrap().approvals
}

fn end(dispatcher: Dispatcher) {
    dispatcher.stop();
    dispatcher.join();
}

#[test]
fn a_persons_command_runs_and_an_agents_waits_until_it_is_allowed() {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let mine = house.job("Mine");
    player.succeed(&mine, "done");
    let task = made_by_agent(&house, |_| {});
    let blocked = house.until(&task, TaskStatus::Blocked);
    assert_eq!(blocked.blocked_reason, "waits for approval: true");
    let open = house.engine.approvals(None).unwrap();
    assert_eq!((open.len(), open[0].seq, open[0].title.as_str()), (1, task.seq, "Clean up"));
    let approval = &open[0].approval;
    assert_eq!(approval.call, json!({ "tool": "exec", "params": { "command": ["true"] } }));
    assert_eq!(
        (approval.tool.as_str(), approval.risk, approval.asked_by.as_str()),
        ("exec", Risk::Exec, "claude")
    );
    assert_eq!(approval.hash.len(), 64);
    let board = house.engine.board("default", false).unwrap();
    let card = board.cards.iter().find(|card| card.seq == task.seq).unwrap();
    assert_eq!(lamp::lamp(card, board.at_ms), Some(Lamp::Approval));
    assert_eq!(board.slots_used, 0);
    let why = house.engine.why(&id(&task)).unwrap();
    assert_eq!(why[0].code, "approval");
    assert!(why[0].fix.contains(&format!("andon allow {}", task.seq)), "{why:?}");
    assert_eq!(player.starts().len(), 1, "nothing of it was started");

    allow(&house, &task).unwrap();
    let spec = player.running(&task);
    assert_eq!((spec.number, spec.attempt), (2, 1));
    player.succeed(&task, "done");
    house.until(&task, TaskStatus::Success);
    let used = &approvals(&house, &task)[0];
    assert_eq!((used.state, used.decided_by.as_str()), (WaitState::Consumed, "ann"));
    let kinds: Vec<_> =
        house.engine.events(0, Some(&task.id), 100).unwrap().iter().map(|e| e.kind.as_str()).collect();
    for kind in ["approval_asked", "allowed", "allowance_used"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    end(dispatcher);
}

#[test]
fn an_agents_card_walks_only_legal_steps_and_its_events_give_its_row() {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let task = made_by_agent(&house, |new| new.timeout_seconds = Some(600));
    let blocked = house.until(&task, TaskStatus::Blocked);
    assert!(blocked.deadline_ms.is_some() && blocked.time_left_ms.is_none(), "its clock runs on");
    let events = house.engine.events(0, Some(&task.id), 100).unwrap();
    let walked: Vec<_> =
        events.iter().filter_map(|e| e.patch.get("status")?.as_str().map(str::to_owned)).collect();
    assert_eq!(walked, ["queued", "running", "blocked"]);
    assert_eq!(andon::domain::event::replay(events.iter().map(|e| &e.patch)).unwrap(), blocked);
    let view = house.engine.task_view(&id(&task)).unwrap();
    assert_eq!((view.runs.len(), view.runs[0].outcome), (1, Some(RunOutcome::Parked)));
    assert!(view.runs[0].process.is_none() && view.runs[0].holder.is_none());
    end(dispatcher);
}

#[test]
fn a_denied_card_fails_with_the_reason_and_is_not_retried_by_itself() {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let task = made_by_agent(&house, |new| new.retry_max = 2);
    house.until(&task, TaskStatus::Blocked);
    let denied = deny(&house, &task, "not on a Friday").unwrap();
    assert_eq!((denied.state, denied.reason.as_str()), (WaitState::Denied, "not on a Friday"));
    let failed = house.now(&task);
    assert_eq!((failed.status, failed.retry_count), (TaskStatus::Failed, 0));
    assert_eq!(failed.error, "ann denied `true`: not on a Friday");
    house.task(Command::Retry { task: id(&task) });
    house.wait("it asks anew", || approvals(&house, &task).len() == 2);
    assert!(player.starts().is_empty());
    end(dispatcher);
}

#[test]
fn the_first_decision_counts_and_every_later_one_is_refused() {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let task = made_by_agent(&house, |_| {});
    house.until(&task, TaskStatus::Blocked);
    let first = allow(&house, &task).unwrap();
    let again = Command::Deny { approval: ApprovalRef::Id(first.id.clone()), reason: String::new() };
    assert_eq!(house.run(again).unwrap_err().code, "approval_decided");
    assert_eq!(allow(&house, &task).unwrap_err().code, "approval_decided");
    player.succeed(&task, "done");
    house.until(&task, TaskStatus::Success);
    assert_eq!(allow(&house, &task).unwrap_err().code, "approval_decided");

    let cancelled = made_by_agent(&house, |_| {});
    house.until(&cancelled, TaskStatus::Blocked);
    house.task(Command::Cancel { task: id(&cancelled), reason: None });
    assert_eq!(allow(&house, &cancelled).unwrap_err().code, "approval_cancelled");
    assert_eq!(house.now(&cancelled).status, TaskStatus::Cancelled);

    let mine = house.card("Mine");
    assert_eq!(allow(&house, &mine).unwrap_err().code, "no_approval");
    end(dispatcher);
}

#[test]
fn only_the_operator_decides() {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let task = made_by_agent(&house, |_| {});
    house.until(&task, TaskStatus::Blocked);
    let guest = Actor::Guest { name: "assistant".into() };
    for who in [agent(), guest] {
        let allowed = house.run_as(Command::Allow { approval: of(&task), for_task: true }, &who);
        assert_eq!(allowed.unwrap_err().code, "not_allowed");
        let denied = house.run_as(Command::Deny { approval: of(&task), reason: "no".into() }, &who);
        assert_eq!(denied.unwrap_err().code, "not_allowed");
    }
    assert_eq!(approvals(&house, &task)[0].state, WaitState::Open);
    end(dispatcher);
}

#[test]
fn what_is_allowed_once_is_asked_again_at_the_retry_and_what_is_allowed_for_the_task_is_not() {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let once = made_by_agent(&house, |_| {});
    house.until(&once, TaskStatus::Blocked);
    allow(&house, &once).unwrap();
    player.fail(&once, "no luck");
    house.until(&once, TaskStatus::Failed);
    house.task(Command::Retry { task: id(&once) });
    house.until(&once, TaskStatus::Blocked);
    assert_eq!(approvals(&house, &once).len(), 2);

    let always = made_by_agent(&house, |_| {});
    house.until(&always, TaskStatus::Blocked);
    let allowed = decided(house.run(Command::Allow { approval: of(&always), for_task: true })).unwrap();
    assert_eq!((allowed.state, allowed.scope), (WaitState::Allowed, Scope::Task));
    player.fail(&always, "no luck");
    house.until(&always, TaskStatus::Failed);
    house.task(Command::Retry { task: id(&always) });
    player.succeed(&always, "done");
    house.until(&always, TaskStatus::Success);
    assert_eq!(approvals(&house, &always).len(), 1);
    let before = house.engine.decided_before(&approvals(&house, &once)[1], 10).unwrap();
    assert_eq!(before.len(), 2, "the same call, of this task and of the other");
    end(dispatcher);
}

fn command(line: &str) -> Option<Option<Executor>> {
    Some(Some(Executor::new(Work::Command { command: Program::Shell(line.into()) })))
}

#[test]
fn a_call_that_changes_while_it_waits_is_asked_for_anew_and_what_was_allowed_before_covers_only_what_was_shown()
 {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let task = made_by_agent(&house, |_| {});
    house.until(&task, TaskStatus::Blocked);
    let shown = approvals(&house, &task)[0].clone();
    let edit = TaskEdit { executor: command("rm -rf build"), ..TaskEdit::default() };
    let edit = Command::Edit { task: id(&task), edit: Box::new(edit), if_version: None };
    house.run_as(edit, &agent()).unwrap();
    house.wait("it asks for the new call", || approvals(&house, &task).len() == 2);
    let stale = Command::Allow { approval: ApprovalRef::Id(shown.id.clone()), for_task: true };
    assert_eq!(house.run(stale).unwrap_err().code, "approval_superseded");
    let fresh = approvals(&house, &task)[1].clone();
    assert_eq!((fresh.label().as_str(), fresh.state), ("rm -rf build", WaitState::Open));
    assert_ne!(fresh.hash, shown.hash);
    assert!(player.starts().is_empty());
    // Other fields are no part of the call, and leave the approval as it is.
    let other = TaskEdit { priority: Some(0), ..TaskEdit::default() };
    house.task(Command::Edit { task: id(&task), edit: Box::new(other), if_version: None });
    assert_eq!(house.now(&task).status, TaskStatus::Blocked);
    // What a person writes over it is theirs.
    let edit = TaskEdit { executor: command("make clean"), ..TaskEdit::default() };
    house.task(Command::Edit { task: id(&task), edit: Box::new(edit), if_version: None });
    player.succeed(&task, "done");
    house.until(&task, TaskStatus::Success);
    end(dispatcher);
}

#[test]
fn an_agent_that_rewrites_a_persons_command_has_to_ask_and_a_copy_of_its_card_too() {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let task = house.task(Command::Create(Box::new(runnable("Mine"))));
    let edit = TaskEdit { executor: command("curl evil"), ..TaskEdit::default() };
    house
        .run_as(Command::Edit { task: id(&task), edit: Box::new(edit), if_version: None }, &agent())
        .unwrap();
    house.task(Command::Start { task: id(&task) });
    house.until(&task, TaskStatus::Blocked);
    let copy = house.task(Command::Copy { task: id(&task) });
    house.task(Command::Start { task: id(&copy) });
    house.until(&copy, TaskStatus::Blocked);
    assert_eq!(Author::of(&house.now(&copy)), Author::Agent("claude"));
    assert!(player.starts().is_empty());
    end(dispatcher);
}

#[test]
fn steps_of_an_agents_workflow_ask_where_they_run_programs_and_those_of_a_person_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let approvals = ApprovalPolicy {
        risks: [("exec".to_owned(), Risk::Exec), ("read_file".to_owned(), Risk::Read)].into(),
        ..ApprovalPolicy::default()
    };
    let policy = Policy { approvals, ..Policy::default() };
    let options = Options { policy, ..Options::default() };
    let engine = Engine::open_with(&folder.path().join("andon.db"), options).unwrap();
    let house = House { engine, folder, who: Actor::operator("ann") };
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let step = |name: &str, tool: &str, on: &[&str], params| StepDefinition {
        id: name.into(),
        name: name.into(),
        tool_name: tool.into(),
        tool_params: serde_json::from_value(params).unwrap(),
        depends_on: on.iter().map(|s| (*s).to_owned()).collect(),
        timeout_seconds: 300,
        priority: 5,
        ..StepDefinition::default()
    };
    let steps = vec![
        step("look", "read_file", &[], json!({ "path": "version" })),
        step("build", "exec", &["look"], json!({ "command": "build ${steps.look.result}" })),
    ];
    let definition = Box::new(WorkflowDefinition { name: "release".into(), board: None, steps });
    let make = |who: &Actor| {
        let command =
            Command::CreateWorkflow { definition: definition.clone(), board: None, cwd: None, start: true };
        let Outcome::Workflow(made) = house.run_as(command, who).unwrap() else { panic!() };
        let view = house.engine.workflow(made.id.as_str()).unwrap();
        let tasks: Vec<Task> = view
            .steps
            .iter()
            .map(|s| house.engine.task(&andon::domain::IdRef::Seq(s.seq)).unwrap())
            .collect();
        (made.id, tasks)
    };
    let (id_of_agents, agents) = make(&agent());
    player.succeed(&agents[0], "1.2");
    house.until(&agents[1], TaskStatus::Blocked);
    let status = || house.engine.workflow(id_of_agents.as_str()).unwrap().workflow.status;
    assert_eq!(status(), WorkflowStatus::Blocked);
    let open = house.engine.approvals(None).unwrap();
    assert_eq!(
        open[0].approval.call["values"],
        json!({ "${steps.look.result}": "1.2" }),
        "shown with what it will get"
    );
    // A pause holds it, and so does its clock; what is allowed meanwhile starts when the workflow goes on.
    house.run(Command::PauseWorkflow { workflow: id_of_agents.0.clone() }).unwrap();
    assert_eq!(house.now(&agents[1]).deadline_ms, None);
    allow(&house, &agents[1]).unwrap();
    let held = house.now(&agents[1]);
    assert_eq!((held.status, held.held), (TaskStatus::Queued, true));
    house.run(Command::ResumeWorkflow { workflow: id_of_agents.0.clone() }).unwrap();
    player.succeed(&agents[1], "built");
    house.until(&agents[1], TaskStatus::Success);

    let (_, mine) = make(&house.who);
    player.succeed(&mine[0], "1.3");
    player.succeed(&mine[1], "built");
    house.until(&mine[1], TaskStatus::Success);
    end(dispatcher);
}

#[test]
fn an_answer_to_a_question_does_not_let_the_next_command_through() {
    let asking = running();
    let Asking { house, player, .. } = &asking;
    let question = Command::Ask {
        task: id(&asking.task),
        question: "May I?".into(),
        options: vec!["yes".into()],
        waits: true,
        expires_at_ms: None,
    };
    let Outcome::Question(question) = house.run_as(question, &asking.agent()).unwrap() else { panic!() };
    let question = QuestionRef::Id(question.id);
    house.run(Command::Answer { question, answer: AnswerText::Text("yes".into()) }).unwrap();
    let Outcome::Approval(open) = asking.permit("rm -rf build") else { panic!("it was let through") };
    assert_eq!((open.state, house.now(&asking.task).status), (WaitState::Open, TaskStatus::Blocked));
    let made = made_by_agent(house, |_| {});
    house.until(&made, TaskStatus::Blocked);
    assert_eq!(player.starts().len(), 1);
    asking.end();
}

struct Asking {
    house: House,
    player: Player,
    dispatcher: Dispatcher,
    task: Task,
    spec: RunSpec,
}

fn running() -> Asking {
    let house = House::new();
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let task = house.job("Migrate schema");
    let spec = player.running(&task);
    Asking { house, player, dispatcher, task, spec }
}

impl Asking {
    fn agent(&self) -> Actor {
        Actor::Agent { run: self.spec.run.clone(), task: self.task.id.clone(), name: "claude".into() }
    }

    fn permit(&self, line: &str) -> Outcome {
        let params = json!({ "command": line }).as_object().unwrap().clone();
        let call = Box::new(Call::of_tool("exec", Risk::Exec, &params, "/tmp"));
        self.house.run_as(Command::Permit { task: Some(id(&self.task)), call }, &self.agent()).unwrap()
    }

    fn end(self) {
        end(self.dispatcher);
    }
}

#[test]
fn a_call_from_inside_a_run_waits_with_its_process_alive_and_goes_on_in_the_same_run() {
    let asking = running();
    let Outcome::Approval(open) = asking.permit("make deploy") else { panic!() };
    let blocked = asking.house.now(&asking.task);
    assert_eq!(
        (blocked.status, blocked.current_run_id.as_ref()),
        (TaskStatus::Blocked, Some(&asking.spec.run))
    );
    assert_eq!(asking.house.engine.board("default", false).unwrap().slots_used, 0);
    let allowed = allow(&asking.house, &asking.task).unwrap();
    assert_eq!((allowed.id, allowed.state), (open.id, WaitState::Consumed));
    assert_eq!(asking.house.now(&asking.task).status, TaskStatus::Running);
    let Outcome::Approval(again) = asking.permit("make deploy") else { panic!("once means once") };
    let by_id = ApprovalRef::Id(again.id.clone());
    decided(asking.house.run(Command::Allow { approval: by_id, for_task: true })).unwrap();
    assert!(matches!(asking.permit("make deploy"), Outcome::Permitted));
    let Outcome::Approval(other) = asking.permit("make deploy-all") else {
        panic!("another call is another call")
    };
    deny(&asking.house, &asking.task, "too much").unwrap();
    assert_eq!(asking.house.engine.approval(&other.id).unwrap().state, WaitState::Denied);
    assert_eq!(asking.house.now(&asking.task).status, TaskStatus::Running, "it is told, and goes on");
    assert_eq!(asking.player.starts().len(), 1);
    asking.end();
}

#[test]
fn a_call_whose_process_ended_while_it_waited_is_allowed_for_the_next_run() {
    let asking = running();
    asking.permit("make deploy");
    asking.player.say(&asking.spec, Report::Ended(Ending::failure("killed")));
    asking.house.wait("the run is parked", || {
        asking.house.engine.task_view(&id(&asking.task)).unwrap().runs[0].ended_at_ms.is_some()
    });
    assert_eq!(asking.house.now(&asking.task).status, TaskStatus::Blocked);
    assert_eq!(allow(&asking.house, &asking.task).unwrap().state, WaitState::Allowed);
    let next = asking.player.running(&asking.task);
    assert_eq!((next.number, next.attempt), (2, 1));
    let params = json!({ "command": "make deploy" }).as_object().unwrap().clone();
    let call = Box::new(Call::of_tool("exec", Risk::Exec, &params, "/tmp"));
    let who = Actor::Agent { run: next.run.clone(), task: asking.task.id.clone(), name: "claude".into() };
    let permit = Command::Permit { task: Some(id(&asking.task)), call };
    assert!(matches!(asking.house.run_as(permit.clone(), &who).unwrap(), Outcome::Permitted));
    assert!(matches!(asking.house.run_as(permit, &who).unwrap(), Outcome::Approval(_)));
    asking.end();
}

#[test]
fn a_policy_that_allows_or_denies_asks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let all = Rules { exec: Some(Rule::Deny), ..Rules::default() };
    let trusted = Rules { exec: Some(Rule::Allow), ..Rules::default() };
    let approvals =
        ApprovalPolicy { all, agents: [("trusted".to_owned(), trusted)].into(), ..ApprovalPolicy::default() };
    let policy = Policy { approvals, ..Policy::default() };
    let options = Options { policy, ..Options::default() };
    let engine = Engine::open_with(&folder.path().join("andon.db"), options).unwrap();
    let house = House { engine, folder, who: Actor::operator("ann") };
    let player = Player::obedient();
    let dispatcher = house.dispatch(&player);
    let new = || Command::Create(Box::new(NewTask { start: true, ..runnable("x") }));
    let refused = house.run_as(new(), &agent()).unwrap_err();
    assert_eq!(refused.code, "denied_by_policy");
    assert!(refused.message.contains("[approvals]"), "{refused}");
    let guest = Actor::Guest { name: "trusted".into() };
    let task = house.run_as(new(), &guest).unwrap().task().unwrap().clone();
    player.succeed(&task, "done");
    house.until(&task, TaskStatus::Success);
    player.succeed(&house.job("mine"), "done");
    end(dispatcher);
}

fn timed(clockwork: &Clockwork, seconds: u32) -> Task {
    let new = NewTask { start: true, timeout_seconds: Some(seconds), ..runnable("Clean up") };
    let command = Command::Create(Box::new(new));
    let (made, _) = clockwork.handle(Input::Command { command, actor: agent() }).unwrap();
    made.unwrap().task().unwrap().clone()
}

#[test]
fn a_card_whose_time_is_up_while_it_waits_for_approval_fails_over_legal_steps_in_one_transaction() {
    let clockwork = Clockwork::new();
    let task = timed(&clockwork, 60);
    assert!(clockwork.look(&[]).is_empty(), "nothing is started");
    clockwork.pass(59_000);
    clockwork.look(&[]);
    assert_eq!(clockwork.now(&task).status, TaskStatus::Blocked);
    clockwork.pass(2_000);
    let before = clockwork.store.read(|view| view.last_event()).unwrap();
    clockwork.look(&[]);
    let failed = clockwork.now(&task);
    assert_eq!(failed.status, TaskStatus::Failed);
    assert_eq!(failed.error, "its 60 s were over while it waited for approval");
    let events = clockwork.store.read(|view| view.events(before, Some(&task.id), 100)).unwrap();
    let walked: Vec<_> =
        events.iter().filter_map(|e| e.patch.get("status")?.as_str().map(str::to_owned)).collect();
    assert_eq!(walked, ["running", "failed"]);
    assert_eq!(clockwork.runs(&task).last().unwrap().outcome, Some(RunOutcome::Deadline));
    let late = clockwork.run(Command::Allow { approval: of(&task), for_task: false }).unwrap_err();
    assert_eq!(late.code, "approval_expired");
    assert_eq!(clockwork.now(&task).status, TaskStatus::Failed);
}

#[test]
fn the_clock_of_what_waits_for_approval_stands_still_while_nobody_dispatches() {
    let mut clockwork = Clockwork::new();
    let task = timed(&clockwork, 60);
    clockwork.look(&[]);
    clockwork.pass(8 * HOUR);
    clockwork.begin("d_2");
    clockwork.look(&[]);
    assert_eq!(clockwork.now(&task).status, TaskStatus::Blocked, "the night did not count");
    clockwork.run(Command::Allow { approval: of(&task), for_task: false }).unwrap();
    let spec = clockwork.claim(&[]);
    assert_eq!(spec.task, task.id);
    assert!(
        clockwork.now(&task).deadline_ms.unwrap() <= clockwork.time() + 60_000,
        "the same attempt goes on"
    );
}

#[test]
fn a_live_run_whose_time_is_up_while_its_call_waits_is_stopped_and_fails() {
    let clockwork = Clockwork::new();
    let task = clockwork.add(NewTask { start: true, timeout_seconds: Some(60), ..runnable("Deploy") });
    let spec = clockwork.claim(&[]);
    let params = json!({ "command": "make deploy" }).as_object().unwrap().clone();
    let call = Box::new(Call::of_tool("exec", Risk::Exec, &params, "/tmp"));
    clockwork.run_in(&spec, Command::Permit { task: Some(id(&task)), call }).unwrap();
    clockwork.pass(61_000);
    let stops = clockwork.look(&[&spec]);
    assert!(matches!(&stops[..], [Effect::Stop { run, .. }] if *run == spec.run), "{stops:?}");
    clockwork.ends(&spec, Ending::failure("killed"));
    let failed = clockwork.now(&task);
    assert_eq!(
        (failed.status, failed.error.as_str()),
        (TaskStatus::Failed, "its 60 s were over while it waited for approval")
    );
    let late = clockwork.run(Command::Deny { approval: of(&task), reason: String::new() }).unwrap_err();
    assert_eq!(late.code, "approval_expired");
}

#[test]
fn a_thousand_cards_that_ask_hold_up_nothing_that_may_run() {
    let clockwork = Clockwork::new();
    let many =
        (0..250).map(|n| NewTask { start: true, priority: Some(0), ..runnable(&format!("{n}")) }).collect();
    clockwork.handle(Input::Command { command: Command::CreateMany(many), actor: agent() }).unwrap();
    let mine = clockwork.add(NewTask { start: true, ..runnable("Mine") });
    let started = (0..4).find_map(|_| {
        clockwork.look(&[]).into_iter().find_map(|effect| match effect {
            Effect::Start(spec) => Some(spec.task),
            _ => None,
        })
    });
    assert_eq!(started, Some(mine.id));
    assert_eq!(clockwork.store.read(|view| view.open_approvals(None)).unwrap().len(), 250);
}
