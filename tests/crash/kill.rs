//! `kill -9` at any moment.

use super::house::House;
use andon::domain::{IdRef, StepDefinition, TaskStatus, WorkflowDefinition, WorkflowStatus};
use andon::engine::{AnswerText, Command, Outcome, QuestionRef};
use serde_json::json;

#[test]
fn whatever_the_moment_of_a_kill_nothing_is_lost_doubled_stuck_or_left_running() {
    let rounds: u64 = std::env::var("ANDON_CRASH_ROUNDS").ok().and_then(|v| v.parse().ok()).unwrap_or(100);
    let mut house = House::new();
    let mut random: u64 = 0x5eed;
    for round in 0..rounds {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let daemon = house.daemon();
        for n in 0..4u64 {
            let retry_max = u32::from((random >> n) & 1 == 1);
            let rest = match n {
                0 => "true",
                1 => "sleep 0.02",
                2 => "(sleep 30 & sleep 30 & wait) & sleep 0.05",
                _ => "setsid sleep 30 & sleep 0.01",
            };
            house.add(&format!("{round}.{n}"), rest, retry_max);
        }
        let until = house.engine.last_seq().unwrap() + (random >> 33) as i64 % 14;
        house.wait("the daemon got so far", || {
            house.engine.last_seq().unwrap() >= until
                || house
                    .everything()
                    .iter()
                    .all(|t| !matches!(t.status, TaskStatus::Queued | TaskStatus::Running))
        });
        daemon.kill();
        // Now and then somebody cancels while nobody dispatches.
        if random >> 60 == 3
            && let Some(task) = house.everything().iter().find(|t| t.status == TaskStatus::Running)
        {
            house.run(Command::Cancel { task: IdRef::Seq(task.seq), reason: None });
        }
    }
    let daemon = house.daemon();
    house.rest();
    house.check();
    daemon.kill();
}

#[test]
fn a_kill_in_the_middle_of_a_workflow_leaves_it_able_to_reach_its_end() {
    let house = House::new();
    let marks = &house.marks;
    let step = |id: &str, needs: &[&str], command: &str, retry_max| StepDefinition {
        id: id.into(),
        name: id.into(),
        tool_name: "exec".into(),
        tool_params: json!({ "command": format!("echo {id} >> '{}'; {command}", marks.display()) })
            .as_object()
            .unwrap()
            .clone(),
        depends_on: needs.iter().map(|n| (*n).to_owned()).collect(),
        retry_max,
        timeout_seconds: 300,
        priority: 5,
        ..StepDefinition::default()
    };
    let gate = house.folder.path().join("gate");
    let held = format!("while [ ! -e '{}' ]; do sleep 0.01; done", gate.display());
    let steps = vec![
        step("first", &[], "true", 0),
        step("asks", &["first"], &held, 0),
        step("again", &["first"], &held, 1),
        step("last", &["asks", "again"], "true", 0),
    ];
    let definition = Box::new(WorkflowDefinition { name: "w".into(), board: None, steps });
    let daemon = house.daemon();
    let create = Command::CreateWorkflow { definition, board: None, cwd: None, start: true };
    let Outcome::Workflow(made) = house.run(create) else { panic!() };
    let view = || house.engine.workflow(made.id.as_str()).unwrap();
    let said = || std::fs::read_to_string(marks).unwrap_or_default();
    house.wait("both middle steps run", || said().contains("asks") && said().contains("again"));
    daemon.kill();
    let daemon = house.daemon();
    house.wait("the lost step asks", || view().steps[1].status == TaskStatus::Blocked);
    house.wait("the other runs again", || said().matches("again").count() == 2);
    std::fs::write(&gate, "").unwrap();
    let question = QuestionRef::OfTask(IdRef::Seq(view().steps[1].seq));
    house.run(Command::Answer { question, answer: AnswerText::Text("run again".into()) });
    house.wait("the workflow ends", || view().workflow.status == WorkflowStatus::Success);
    assert_eq!(said().matches("first").count(), 1);
    assert_eq!(said().matches("asks").count(), 2, "once, and once more with leave");
    assert_eq!(said().matches("last").count(), 1);
    daemon.kill();
}
