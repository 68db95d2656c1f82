//! A task on its way from one stored state to the next: every legal step is an event, and all steps are
//! written in one transaction. Nothing else in the house changes a task.

use serde_json::{Map, Value};

use super::event::EventKind;
use super::refusal::Refusal;
use super::status::TaskStatus;
use super::task::{Task, TaskPatch};
use super::time::Millis;

/// An event that is not written yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// What happened.
    pub kind: EventKind,
    /// What else there is to say.
    pub data: Map<String, Value>,
    /// The fields that changed.
    pub patch: TaskPatch,
    /// The statuses before and after, where they differ.
    pub moved: Option<(TaskStatus, TaskStatus)>,
}

/// A task, the version it was loaded with, and the steps taken since.
#[derive(Debug, Clone)]
pub struct Ledger {
    loaded_version: i64,
    task: Task,
    drafts: Vec<Draft>,
}

impl Ledger {
    /// Opens a stored task for change.
    pub fn open(task: Task) -> Self {
        Self { loaded_version: task.version, task, drafts: Vec::new() }
    }

    /// Begins the ledger of a new task.
    pub fn create(task: Task, at: Millis) -> Self {
        let mut ledger = Ledger { loaded_version: 0, task: Task::default(), drafts: Vec::new() };
        ledger.edit(EventKind::Created, Map::new(), at, |t| {
            let version = t.version;
            *t = task;
            t.version = version;
            t.created_at_ms = at;
            t.since_ms = at;
        });
        ledger
    }

    /// The task as it stands now.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The version that the row must still have.
    pub fn loaded_version(&self) -> i64 {
        self.loaded_version
    }

    /// Whether anything changed.
    pub fn is_dirty(&self) -> bool {
        !self.drafts.is_empty()
    }

    /// Ends the ledger: the new row and what is to be logged.
    pub fn close(self) -> (Task, Vec<Draft>) {
        (self.task, self.drafts)
    }

    /// Changes fields other than the status.
    pub fn edit(
        &mut self,
        kind: EventKind,
        data: Map<String, Value>,
        at: Millis,
        change: impl FnOnce(&mut Task),
    ) {
        let before = self.task.clone();
        change(&mut self.task);
        self.record(kind, data, at, &before);
    }

    /// Takes one step of the table, and sets what always goes with it; `change` sets the rest.
    pub fn step(
        &mut self,
        to: TaskStatus,
        kind: EventKind,
        data: Map<String, Value>,
        at: Millis,
        change: impl FnOnce(&mut Task),
    ) -> Result<(), Refusal> {
        let from = self.task.status;
        if !from.allows(to) {
            return Err(Refusal::illegal_transition(self.task.seq, from, to));
        }
        let before = self.task.clone();
        let task = &mut self.task;
        task.status = to;
        task.since_ms = at;
        if from == TaskStatus::Blocked {
            task.blocked_reason.clear();
        }
        match to {
            TaskStatus::Queued => {
                task.queued_at_ms = Some(at);
                task.finished_at_ms = None;
                task.current_run_id = None;
                // What goes on is no longer put away; the queue would never give it out.
                task.archived_at_ms = None;
            }
            TaskStatus::Running => {
                task.started_at_ms = Some(at);
                task.run_next = false;
                task.not_before_ms = None;
                if from == TaskStatus::Queued {
                    task.error.clear();
                }
            }
            TaskStatus::Success | TaskStatus::Failed | TaskStatus::Cancelled => {
                task.finished_at_ms = Some(at);
                task.current_run_id = None;
                task.deadline_ms = None;
                task.time_left_ms = None;
                task.not_before_ms = None;
                task.run_next = false;
            }
            TaskStatus::Review | TaskStatus::Suspended => {
                task.current_run_id = None;
                task.deadline_ms = None;
            }
            TaskStatus::Blocked => {
                task.current_run_id = None;
                task.park_clock(at);
            }
            TaskStatus::Pending => {}
        }
        change(task);
        self.record(kind, data, at, &before);
        Ok(())
    }

    fn record(&mut self, kind: EventKind, data: Map<String, Value>, at: Millis, before: &Task) {
        if self.task == *before && data.is_empty() {
            return;
        }
        self.task.version += 1;
        self.task.updated_at_ms = at;
        let moved = (before.status != self.task.status).then_some((before.status, self.task.status));
        self.drafts.push(Draft { kind, data, patch: self.task.patch_from(before), moved });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::replay;
    use proptest::prelude::*;

    fn fresh() -> Ledger {
        Ledger::create(Task { seq: 3, title: "x".into(), ..Task::default() }, 1)
    }

    #[test]
    fn a_step_outside_the_table_is_refused_and_changes_nothing() {
        let mut ledger = fresh();
        let before = ledger.task().clone();
        let refusal = ledger
            .step(TaskStatus::Success, EventKind::Succeeded, Map::new(), 2, |t| t.result = "no".into())
            .unwrap_err();
        assert_eq!(refusal.code, "illegal_transition");
        assert_eq!(ledger.task(), &before);
        assert_eq!(ledger.close().1.len(), 1);
    }

    #[test]
    fn every_write_sets_updated_at_and_grows_the_version() {
        let mut ledger = fresh();
        assert_eq!((ledger.task().version, ledger.task().updated_at_ms), (1, 1));
        ledger.edit(EventKind::Edited, Map::new(), 9, |t| t.priority = 1);
        assert_eq!((ledger.task().version, ledger.task().updated_at_ms), (2, 9));
        ledger.edit(EventKind::Edited, Map::new(), 10, |t| t.priority = 1);
        assert_eq!(ledger.task().version, 2, "nothing changed, nothing is logged");
    }

    proptest! {
        #[test]
        fn replaying_the_drafts_gives_the_task_and_closed_states_absorb(steps in prop::collection::vec(0usize..9, 0..40)) {
            let mut ledger = fresh();
            for (at, step) in steps.into_iter().enumerate() {
                let to = TaskStatus::ALL[step];
                let from = ledger.task().status;
                let done = ledger.step(to, EventKind::Edited, Map::new(), at as i64 + 2, |t| t.result = format!("{at}"));
                prop_assert_eq!(done.is_ok(), from.allows(to));
                if from.is_closed() {
                    prop_assert_eq!(ledger.task().status, from);
                }
            }
            let (task, drafts) = ledger.close();
            prop_assert_eq!(replay(drafts.iter().map(|d| &d.patch)).unwrap(), task);
        }
    }
}
