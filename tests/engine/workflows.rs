use super::fake::{House, Player, id};
use andon::domain::definition::{self, Node, Vocabulary};
use andon::domain::{Task, TaskStatus, WorkflowDefinition, WorkflowId, WorkflowStatus};
use andon::engine::{Command, Dispatcher, Outcome, WorkflowView};
use serde_json::{Value, json};

fn define(steps: Value) -> WorkflowDefinition {
    let vocabulary = Vocabulary {
        tools: &["exec", "clarify"],
        agents: None,
        check: &andon::domain::definition::AnyParams,
    };
    definition::read(&Node::from(json!({ "name": "release", "steps": steps })), vocabulary).unwrap()
}

fn exec(id: &str, needs: &[&str]) -> Value {
    json!({ "id": id, "tool_name": "exec", "tool_params": { "command": format!("make {id}") }, "depends_on": needs })
}

fn diamond() -> Value {
    json!([exec("a", &[]), exec("b", &["a"]), exec("c", &["a"]), exec("d", &["b", "c"])])
}

fn chain() -> Value {
    json!([exec("test", &[]), exec("build", &["test"]), exec("deploy", &["build"])])
}

struct Flow {
    house: House,
    player: Player,
    dispatcher: Dispatcher,
    id: WorkflowId,
}

fn flow(steps: Value, start: bool) -> Flow {
    let house = House::new();
    let player = Player::obedient();
    let command =
        Command::CreateWorkflow { definition: Box::new(define(steps)), board: None, cwd: None, start };
    let Ok(Outcome::Workflow(made)) = house.run(command) else { panic!() };
    let dispatcher = house.dispatch(&player);
    Flow { house, player, dispatcher, id: made.id }
}

impl Flow {
    fn view(&self) -> WorkflowView {
        self.house.engine.workflow(self.id.as_str()).unwrap()
    }

    fn step(&self, id: &str) -> Task {
        let seq = self.view().steps.iter().find(|s| s.id == id).unwrap().seq;
        self.house.engine.task(&andon::domain::IdRef::Seq(seq)).unwrap()
    }

    fn statuses(&self) -> Vec<TaskStatus> {
        self.view().steps.iter().map(|s| s.status).collect()
    }

    fn succeed(&self, id: &str) {
        let task = self.step(id);
        self.player.succeed(&task, &format!("{id} done"));
        self.house.until(&task, TaskStatus::Success);
    }

    fn verb(&self, make: impl Fn(String) -> Command) -> Result<Outcome, andon::domain::Refusal> {
        self.house.run(make(self.id.0.clone()))
    }

    fn until(&self, status: WorkflowStatus) {
        self.house.wait(&format!("the workflow is {status}"), || self.view().workflow.status == status);
    }

    fn end(self) {
        self.dispatcher.stop();
        self.dispatcher.join();
    }
}

#[test]
fn creating_makes_all_steps_pending_and_starting_queues_the_roots() {
    let flow = flow(diamond(), false);
    use TaskStatus::*;
    assert_eq!(flow.statuses(), [Pending; 4]);
    assert_eq!(flow.view().workflow.status, WorkflowStatus::Pending);
    let step = flow.step("b");
    assert_eq!(step.metadata["tool_name"], "exec");
    assert_eq!(step.metadata["tool_params"], json!({ "command": "make b" }));
    flow.verb(|workflow| Command::StartWorkflow { workflow }).unwrap();
    flow.player.running(&flow.step("a"));
    assert_eq!(flow.statuses(), [Running, Pending, Pending, Pending]);
    assert_eq!(flow.view().workflow.status, WorkflowStatus::Running);
    let again = flow.verb(|workflow| Command::StartWorkflow { workflow }).unwrap_err();
    assert_eq!(again.code, "workflow_started");
    flow.end();
}

#[test]
fn three_steps_run_in_the_order_of_their_dependencies() {
    let flow = flow(chain(), true);
    for step in ["test", "build", "deploy"] {
        flow.succeed(step);
    }
    flow.until(WorkflowStatus::Success);
    let order: Vec<i64> = flow.player.starts().iter().map(|s| s.seq).collect();
    assert_eq!(order, [1, 2, 3]);
    assert!(flow.player.starts().iter().all(|s| s.session == format!("task:{}", s.task)));
    flow.end();
}

#[test]
fn a_diamond_runs_its_middle_in_parallel_and_joins() {
    let flow = flow(diamond(), true);
    flow.succeed("a");
    flow.player.running(&flow.step("b"));
    flow.player.running(&flow.step("c"));
    flow.succeed("b");
    assert_eq!(flow.step("d").status, TaskStatus::Pending, "c is open");
    flow.succeed("c");
    flow.succeed("d");
    flow.until(WorkflowStatus::Success);
    flow.end();
}

#[test]
fn settling_a_step_and_queueing_its_successors_are_one_transaction() {
    let flow = flow(chain(), true);
    flow.succeed("test");
    let build = flow.step("build");
    assert_ne!(build.status, TaskStatus::Pending);
    let test = flow.step("test");
    let settled = flow.house.engine.events(0, Some(&test.id), 100).unwrap().pop().unwrap();
    let queued = flow.house.engine.events(0, Some(&build.id), 100).unwrap();
    let queued = queued.iter().find(|e| e.kind.as_str() == "queued").unwrap();
    assert_eq!(settled.at_ms, queued.at_ms, "the same act");
    flow.end();
}

#[test]
fn a_failed_step_is_retried_within_retry_max_and_fails_the_workflow_only_after() {
    let mut steps = chain();
    steps[0]["retry_max"] = json!(1);
    let flow = flow(steps, true);
    let test = flow.step("test");
    flow.player.fail(&test, "exit 1");
    flow.house.wait("it is retried", || flow.step("test").retry_count == 1);
    assert_eq!(flow.view().workflow.status, WorkflowStatus::Running);
    flow.player.fail(&test, "exit 1: again");
    flow.until(WorkflowStatus::Failed);
    use TaskStatus::*;
    assert_eq!(flow.statuses(), [Failed, Cancelled, Cancelled]);
    assert_eq!(flow.step("test").error, "exit 1: again");
    assert_eq!(flow.step("deploy").error, "cancelled since `test` (#1) failed");
    flow.end();
}

#[test]
fn siblings_that_run_may_finish_after_a_failure_and_the_rest_is_cancelled() {
    let flow = flow(json!([exec("a", &[]), exec("b", &[]), exec("c", &["b"]), exec("d", &["a"])]), true);
    flow.player.running(&flow.step("a"));
    flow.player.running(&flow.step("b"));
    flow.player.fail(&flow.step("a"), "no");
    flow.house.until(&flow.step("d"), TaskStatus::Cancelled);
    assert_eq!(flow.view().workflow.status, WorkflowStatus::Running, "b still runs");
    assert_eq!(flow.step("c").status, TaskStatus::Cancelled);
    flow.succeed("b");
    flow.until(WorkflowStatus::Failed);
    flow.end();
}

#[test]
fn a_cancelled_step_makes_the_workflow_cancelled_never_success() {
    let flow = flow(chain(), true);
    flow.succeed("test");
    flow.player.running(&flow.step("build"));
    flow.house.run(Command::Cancel { task: id(&flow.step("build")), reason: None }).unwrap();
    flow.until(WorkflowStatus::Cancelled);
    use TaskStatus::*;
    assert_eq!(flow.statuses(), [Success, Cancelled, Cancelled]);
    flow.end();
}

#[test]
fn pause_holds_what_is_not_claimed_lets_the_claimed_finish_and_resume_goes_on() {
    let flow = flow(chain(), true);
    flow.player.running(&flow.step("test"));
    flow.verb(|workflow| Command::PauseWorkflow { workflow }).unwrap();
    assert_eq!(flow.view().workflow.status, WorkflowStatus::Waiting);
    flow.succeed("test");
    let build = flow.step("build");
    assert_eq!((build.status, build.held), (TaskStatus::Queued, true));
    let other = flow.house.job("other");
    flow.player.running(&other);
    assert!(!flow.player.starts().iter().any(|s| s.task == build.id), "a held step is not claimed");
    flow.verb(|workflow| Command::ResumeWorkflow { workflow }).unwrap();
    flow.succeed("build");
    flow.succeed("deploy");
    flow.until(WorkflowStatus::Success);
    flow.end();
}

#[test]
fn cancel_ends_the_workflow_and_all_unfinished_steps() {
    let flow = flow(diamond(), true);
    flow.succeed("a");
    flow.player.running(&flow.step("b"));
    flow.verb(|workflow| Command::CancelWorkflow { workflow }).unwrap();
    assert_eq!(flow.view().workflow.status, WorkflowStatus::Cancelled);
    for step in ["b", "c", "d"] {
        flow.house.until(&flow.step(step), TaskStatus::Cancelled);
    }
    assert_eq!(flow.step("a").status, TaskStatus::Success);
    let refused = flow.verb(|workflow| Command::PauseWorkflow { workflow }).unwrap_err();
    assert_eq!(refused.code, "workflow_closed");
    flow.end();
}

#[test]
fn advance_finds_nothing_to_repair_on_a_healthy_workflow() {
    let flow = flow(diamond(), true);
    flow.succeed("a");
    let outcome = flow.verb(|workflow| Command::AdvanceWorkflow { workflow }).unwrap();
    assert!(matches!(outcome, Outcome::Advanced { changes: 0, .. }), "{outcome:?}");
    flow.end();
}

#[test]
fn concurrent_advances_and_ends_queue_each_step_once() {
    let flow = flow(diamond(), true);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let other = andon::engine::Engine::open(&flow.house.path()).unwrap();
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let workflow = flow.view().workflow.id.0.clone();
                    let advance = Command::AdvanceWorkflow { workflow };
                    // A closed workflow has nothing to advance.
                    let _ = other.execute(advance, &andon::domain::Actor::operator("another"));
                }
            });
        }
        for step in ["a", "b", "c", "d"] {
            flow.succeed(step);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let view = flow.view();
    assert_eq!(view.workflow.status, WorkflowStatus::Success);
    assert_eq!(view.steps.len(), 4);
    assert_eq!(flow.player.starts().len(), 4, "each step ran once");
    flow.end();
}

#[test]
fn a_step_that_asks_does_not_advance_its_workflow() {
    let flow = flow(chain(), true);
    let test = flow.step("test");
    let spec = flow.player.running(&test);
    let asked = andon::engine::Report::Asked { question: "go on?".into(), options: vec![] };
    flow.player.say(&spec, asked);
    flow.house.until(&test, TaskStatus::Blocked);
    assert_eq!(flow.step("build").status, TaskStatus::Pending);
    assert_eq!(flow.view().workflow.status, WorkflowStatus::Blocked);
    flow.end();
}

#[test]
fn a_step_of_a_closed_workflow_is_not_retried_but_run_again_in_a_new_one() {
    let flow = flow(chain(), true);
    flow.succeed("test");
    flow.player.fail(&flow.step("build"), "no");
    flow.until(WorkflowStatus::Failed);
    let refused = flow.house.run(Command::Retry { task: id(&flow.step("build")) }).unwrap_err();
    assert_eq!(refused.code, "workflow_closed");
    assert!(refused.message.contains("workflow rerun"), "{refused}");
    let again = flow.verb(|workflow| Command::RerunWorkflow { workflow, from_failed: true }).unwrap();
    let Outcome::Workflow(new) = again else { panic!() };
    let steps = flow.house.engine.workflow(new.id.as_str()).unwrap().steps;
    assert_eq!((steps[0].status, steps[0].result.as_str()), (TaskStatus::Success, "test done"));
    assert_eq!(steps[2].status, TaskStatus::Pending);
    let build = flow.house.engine.task(&andon::domain::IdRef::Seq(steps[1].seq)).unwrap();
    flow.player.succeed(&build, "");
    flow.house.until(&build, TaskStatus::Success);
    assert_eq!(flow.view().workflow.status, WorkflowStatus::Failed, "the old one stays as it ended");
    flow.end();
}

#[test]
fn results_of_predecessors_reach_the_run_as_values() {
    let uses = json!({ "id": "b", "tool_name": "exec", "depends_on": ["a"],
        "tool_params": { "command": "echo ${steps.a.result}" } });
    let flow = flow(json!([exec("a", &[]), uses]), true);
    flow.succeed("a");
    let spec = flow.player.running(&flow.step("b"));
    assert_eq!(spec.values.values().collect::<Vec<_>>(), ["a done"]);
    flow.succeed("b");
    flow.end();
}

#[test]
fn a_graph_with_faults_is_refused_as_a_whole_at_create() {
    let house = House::new();
    let mut bad = define(json!([exec("a", &[]), exec("b", &["a"])]));
    bad.steps[0].depends_on.push("b".into());
    bad.steps.push(bad.steps[1].clone());
    let command = Command::CreateWorkflow { definition: Box::new(bad), board: None, cwd: None, start: true };
    let refused = house.run(command).unwrap_err();
    assert_eq!(refused.code, "invalid_workflow");
    assert_eq!(refused.detail["faults"].as_array().unwrap().len(), 2, "{refused}");
    assert_eq!(house.engine.last_seq().unwrap(), 0);
    assert!(house.engine.workflows(None).unwrap().is_empty());
}

#[test]
fn workflows_are_listed_and_filtered_by_status() {
    let flow = flow(chain(), false);
    assert_eq!(flow.house.engine.workflows(None).unwrap().len(), 1);
    assert_eq!(flow.house.engine.workflows(Some(WorkflowStatus::Pending)).unwrap().len(), 1);
    assert!(flow.house.engine.workflows(Some(WorkflowStatus::Running)).unwrap().is_empty());
    assert_eq!(flow.house.engine.workflow("release").unwrap().workflow.id, flow.id, "by its unique name");
    flow.end();
}

#[test]
fn ten_thousand_steps_are_made_and_queued_with_linear_cost() {
    let house = House::new();
    let steps: Vec<Value> = (0..10_000).map(|n| exec(&format!("s{n}"), &[])).collect();
    let definition = Box::new(define(json!(steps)));
    let begun = std::time::Instant::now();
    house.run(Command::CreateWorkflow { definition, board: None, cwd: None, start: true }).unwrap();
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(house.engine.board("default", false).unwrap().cards.len(), 10_000);
}

#[test]
fn a_graph_that_went_bad_in_the_file_is_refused_at_start_too() {
    let step = |id: &str, needs: &[&str]| {
        json!({ "id": id, "name": id, "tool_name": "exec", "tool_params": { "command": "true" },
            "depends_on": needs, "timeout_seconds": 300, "priority": 5 })
    };
    let bad = [
        (json!([]), "at least one step"),
        (json!([step("a", &[]), step("a", &[])]), "ids must differ"),
        (json!([step("a", &["nope"])]), "there is no step `nope`"),
        (json!([step("a", &["b"]), step("b", &["a"])]), "a cycle: "),
    ];
    for (steps, words) in bad {
        let house = House::new();
        let definition = Box::new(define(chain()));
        house.run(Command::CreateWorkflow { definition, board: None, cwd: None, start: false }).unwrap();
        let stored = json!({ "name": "release", "board": null, "steps": steps }).to_string();
        let connection = rusqlite::Connection::open(house.path()).unwrap();
        connection.execute("UPDATE definitions SET definition = ?1", [stored]).unwrap();
        let refused = house.run(Command::StartWorkflow { workflow: "release".into() }).unwrap_err();
        assert_eq!(refused.code, "invalid_workflow");
        assert!(refused.message.contains(words), "{refused}");
        assert!(
            house
                .engine
                .list(&Default::default())
                .unwrap()
                .items
                .iter()
                .all(|t| t.status == TaskStatus::Pending)
        );
    }
}
