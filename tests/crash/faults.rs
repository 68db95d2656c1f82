//! The process ends at each commit and at each effect in turn, by the points of `store/fault.rs`.

use super::house::{Daemon, House, andon};
use andon::domain::{IdRef, StepDefinition, Task, TaskStatus, WorkflowDefinition};
use andon::engine::{Command, Outcome};
use serde_json::json;

/// A build without debug assertions has no such points.
fn has_points() -> bool {
    cfg!(debug_assertions)
}

struct Scene {
    house: House,
    endless: Task,
}

/// Work of each kind: what ends at once, is retried, leaves a process behind, belongs to a workflow, never ends.
fn scene() -> Scene {
    let mut house = House::new();
    house.add("quick", "true", 0);
    house.add("again", "exit 1", 1);
    house.add("leaves", "setsid sleep 30 & sleep 0.01", 0);
    let endless = house.add("endless", "exec sleep 60", 0);
    let line = |id: &str| {
        let command =
            format!("echo \"$ANDON_TASK_ID $ANDON_RUN_ID\" >> '{}'; echo {id}", house.marks.display());
        json!({ "command": command }).as_object().unwrap().clone()
    };
    let step = |id: &str, needs: &[&str]| StepDefinition {
        id: id.into(),
        name: id.into(),
        tool_name: "exec".into(),
        tool_params: line(id),
        depends_on: needs.iter().map(|n| (*n).to_owned()).collect(),
        timeout_seconds: 300,
        priority: 5,
        ..StepDefinition::default()
    };
    let steps = vec![step("a", &[]), step("b", &["a"])];
    let definition = Box::new(WorkflowDefinition { name: "w".into(), board: None, steps });
    let made = house.run(Command::CreateWorkflow { definition, board: None, cwd: None, start: true });
    assert!(matches!(made, Outcome::Workflow(_)));
    Scene { house, endless }
}

impl Scene {
    /// A person cancels the endless one as soon as it runs.
    fn cancel(&self) {
        if self.house.now(&self.endless).status == TaskStatus::Running {
            // Refused where it is being ended already.
            self.house.try_to(Command::Cancel { task: IdRef::Seq(self.endless.seq), reason: None });
        }
    }

    fn is_at_rest(&self) -> bool {
        self.house.everything().iter().all(|t| t.status.is_settled() || t.status == TaskStatus::Blocked)
    }

    /// Lets the daemon go on until it is dead, or there is nothing left to do. Whether it died.
    fn play(&self, mut daemon: Daemon) -> bool {
        let mut dead = false;
        self.house.wait("it is dead or done", || {
            self.cancel();
            dead = daemon.is_dead();
            dead || self.is_at_rest()
        });
        daemon.kill();
        dead
    }

    /// The next daemon brings everything to its end.
    fn end(self) {
        let daemon = self.house.daemon();
        self.house.rest_while(|| self.cancel());
        self.house.check();
        drop(daemon);
    }
}

/// Dies at the first passing of the point, at the second, and so on until one daemon gets through without.
fn dies_at_each(point: &str, at_least: u32) {
    if !has_points() {
        return;
    }
    for n in 1..60 {
        let scene = scene();
        let daemon = scene.house.daemon_with(3, |c| {
            c.env("ANDON_FAULT", format!("{point}:{n}"));
        });
        let died = scene.play(daemon);
        scene.end();
        if !died {
            assert!(n > at_least, "it came to {point} only {} times", n - 1);
            return;
        }
    }
}

#[test]
fn a_death_before_a_transaction_begins() {
    dies_at_each("store.begin", 6);
}

#[test]
fn a_death_before_a_commit() {
    dies_at_each("store.commit", 6);
}

#[test]
fn a_death_after_a_commit_and_before_its_answer() {
    dies_at_each("store.committed", 6);
}

#[test]
fn a_death_before_a_claimed_run_is_started() {
    dies_at_each("effect.start", 5);
}

#[test]
fn a_death_after_a_run_was_started_and_before_anything_is_known_of_it() {
    dies_at_each("effect.started", 5);
}

#[test]
fn a_death_before_and_after_a_run_is_stopped() {
    dies_at_each("effect.stop", 1);
    dies_at_each("effect.stopped", 1);
}

#[test]
fn a_death_while_what_another_death_left_is_recovered() {
    if !has_points() {
        return;
    }
    for point in ["effect.recover", "effect.recovering", "effect.recovered"] {
        let scene = scene();
        let first = scene.house.daemon();
        scene.house.wait("the endless one runs", || {
            scene.house.now(&scene.endless).status == TaskStatus::Running
                && scene.house.starts().contains_key(&scene.endless.id.0)
        });
        first.kill();
        let second = scene.house.daemon_with(3, |c| {
            c.env("ANDON_FAULT", format!("{point}:1"));
        });
        assert!(scene.play(second), "it never came to {point}");
        scene.end();
    }
}

#[test]
fn a_command_that_dies_before_its_commit_did_nothing_and_after_it_everything() {
    if !has_points() {
        return;
    }
    let house = House::new();
    for (point, made) in [("store.begin", false), ("store.commit", false), ("store.committed", true)] {
        let before = house.everything().len();
        let said = andon(&house.database)
            .args(["add", point])
            .env("ANDON_FAULT", format!("{point}:1"))
            .output()
            .unwrap();
        assert!(!said.status.success() && said.stdout.is_empty(), "it was not acknowledged: {said:?}");
        assert_eq!(house.everything().len() - before, usize::from(made), "{point}");
        let after = house.andon(&["add", "after"]);
        assert!(after.status.success(), "whoever comes next is not held up: {after:?}");
        let title = |t: &Task| t.title.clone();
        assert_eq!(house.everything().iter().map(title).filter(|t| t == point).count(), usize::from(made));
    }
}
