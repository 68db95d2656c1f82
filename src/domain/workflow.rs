//! Workflows: a named set of tasks with dependencies. The status is a pure function of the steps, pause and
//! cancel.

use serde::{Deserialize, Serialize};

use super::id::WorkflowId;
use super::status::{TaskStatus, WorkflowStatus};
use super::time::Millis;

/// How many steps stand where. Kept beside the workflow, so that a step's settling costs the same in a workflow
/// of three steps and of ten thousand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCounts {
    /// Steps that are PENDING.
    pub pending: u32,
    /// Steps that are QUEUED.
    pub queued: u32,
    /// Steps that are RUNNING.
    pub running: u32,
    /// Steps that are in REVIEW.
    pub review: u32,
    /// Steps that are BLOCKED.
    pub blocked: u32,
    /// Steps that FAILED for good.
    pub failed: u32,
    /// Steps that are SUSPENDED.
    pub suspended: u32,
    /// Steps that succeeded.
    pub success: u32,
    /// Steps that a person cancelled.
    pub cancelled: u32,
    /// Steps that were cancelled since another failed or was cancelled; the other one decides.
    pub swept: u32,
}

impl StepCounts {
    /// The counter of a status. `swept` says whether a CANCELLED step was cancelled on behalf of another.
    fn slot(&mut self, status: TaskStatus, swept: bool) -> &mut u32 {
        match status {
            TaskStatus::Pending => &mut self.pending,
            TaskStatus::Queued => &mut self.queued,
            TaskStatus::Running => &mut self.running,
            TaskStatus::Review => &mut self.review,
            TaskStatus::Blocked => &mut self.blocked,
            TaskStatus::Failed => &mut self.failed,
            TaskStatus::Suspended => &mut self.suspended,
            TaskStatus::Success => &mut self.success,
            TaskStatus::Cancelled if swept => &mut self.swept,
            TaskStatus::Cancelled => &mut self.cancelled,
        }
    }

    /// Counts one more step.
    pub fn add(&mut self, status: TaskStatus, swept: bool) {
        *self.slot(status, swept) += 1;
    }

    /// Counts so many more steps.
    pub fn add_many(&mut self, status: TaskStatus, swept: bool, steps: u32) {
        *self.slot(status, swept) += steps;
    }

    /// Moves one step from one counter to another.
    pub fn shift(&mut self, from: TaskStatus, to: TaskStatus, swept: bool) {
        let slot = self.slot(from, false);
        *slot = slot.saturating_sub(1);
        self.add(to, swept);
    }

    /// All steps.
    pub fn total(&self) -> u32 {
        self.open() + self.failed + self.success + self.cancelled + self.swept
    }

    /// Steps that have not settled.
    pub fn open(&self) -> u32 {
        self.pending + self.queued + self.running + self.review + self.blocked + self.suspended
    }
}

/// The status of a workflow. `started` is false until somebody starts it.
pub fn status(started: bool, paused: bool, cancel_requested: bool, steps: &StepCounts) -> WorkflowStatus {
    if cancel_requested {
        return WorkflowStatus::Cancelled;
    }
    if steps.open() > 0 {
        let moving = steps.queued + steps.running > 0;
        let waits_for_person = steps.blocked + steps.review + steps.suspended > 0;
        return match () {
            () if !started => WorkflowStatus::Pending,
            () if !moving && waits_for_person => WorkflowStatus::Blocked,
            () if paused => WorkflowStatus::Waiting,
            () => WorkflowStatus::Running,
        };
    }
    match () {
        () if steps.failed > 0 => WorkflowStatus::Failed,
        () if steps.cancelled + steps.swept > 0 => WorkflowStatus::Cancelled,
        () => WorkflowStatus::Success,
    }
}

/// A workflow's row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// Its id.
    pub id: WorkflowId,
    /// Its name; unique names can be used instead of the id.
    pub name: String,
    /// The board of its steps.
    pub board_id: String,
    /// Where it stands.
    pub status: WorkflowStatus,
    /// Whether it was started.
    pub started: bool,
    /// Whether it is paused.
    pub paused: bool,
    /// Whether its cancelling was asked for.
    pub cancel_requested: bool,
    /// How many steps stand where.
    pub counts: StepCounts,
    /// Grows by one at each change.
    pub version: i64,
    /// The workflow it is a rerun of.
    pub rerun_of: Option<WorkflowId>,
    /// When it was made.
    pub created_at_ms: Millis,
    /// When it last changed.
    pub updated_at_ms: Millis,
    /// When it was started.
    pub started_at_ms: Option<Millis>,
    /// When it ended.
    pub finished_at_ms: Option<Millis>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(list: &[TaskStatus]) -> StepCounts {
        let mut counts = StepCounts::default();
        for status in list {
            counts.add(*status, false);
        }
        counts
    }

    fn running(list: &[TaskStatus]) -> WorkflowStatus {
        status(true, false, false, &counts(list))
    }

    #[test]
    fn success_only_when_every_step_succeeded() {
        use TaskStatus::*;
        assert_eq!(running(&[Success, Success]), WorkflowStatus::Success);
        assert_eq!(running(&[Success, Queued]), WorkflowStatus::Running);
        assert_eq!(running(&[Success, Failed]), WorkflowStatus::Failed);
        assert_eq!(running(&[Success, Cancelled]), WorkflowStatus::Cancelled);
        assert_eq!(running(&[Failed, Cancelled]), WorkflowStatus::Failed);
    }

    #[test]
    fn a_failed_workflow_ends_when_the_last_running_step_has() {
        use TaskStatus::*;
        assert_eq!(running(&[Failed, Running]), WorkflowStatus::Running);
        let mut swept = counts(&[Failed]);
        swept.add(Cancelled, true);
        assert_eq!(status(true, false, false, &swept), WorkflowStatus::Failed);
    }

    #[test]
    fn blocked_when_nothing_moves_and_a_person_is_needed() {
        use TaskStatus::*;
        for waits in [Blocked, Review, Suspended] {
            assert_eq!(running(&[waits, Pending]), WorkflowStatus::Blocked);
            assert_eq!(running(&[waits, Running]), WorkflowStatus::Running);
        }
    }

    #[test]
    fn pause_shows_as_waiting_and_cancel_beats_all() {
        use TaskStatus::*;
        assert_eq!(status(true, true, false, &counts(&[Running])), WorkflowStatus::Waiting);
        assert_eq!(status(true, true, true, &counts(&[Success])), WorkflowStatus::Cancelled);
        assert_eq!(status(false, false, false, &counts(&[Pending])), WorkflowStatus::Pending);
    }

    proptest! {
        #[test]
        fn any_change_of_counts_is_a_legal_transition_of_the_workflow(
            before in prop::collection::vec(0usize..7, 1..8),
            step in 0usize..8,
            to in 0usize..9,
            paused: bool,
            cancel: bool,
        ) {
            // Open and settled steps alike; one of them takes one step of its table.
            let list: Vec<TaskStatus> = before.iter().map(|s| TaskStatus::ALL[*s]).collect();
            let step = step % list.len();
            let to = TaskStatus::ALL[to];
            prop_assume!(list[step].allows(to));
            let mut after = counts(&list);
            after.shift(list[step], to, false);
            let old = status(true, paused, false, &counts(&list));
            let new = status(true, paused, cancel, &after);
            prop_assume!(!old.is_closed());
            prop_assert!(old == new || old.allows(new), "{} to {}", old, new);
        }
    }
}
