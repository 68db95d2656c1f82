//! Findings: what the reconciler and `andon doctor` look for. None of them can come from the engine's own
//! transactions; each has a cause in words and one thing that is done about it.

use serde::Serialize;

use super::id::{RunId, WorkflowId};
use super::status::wire_enum;

/// What is not as it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// An active run is held by a dispatcher that is not at work.
    OrphanedRun,
    /// The dispatcher at work holds a run whose lease is over, and does not know it.
    ForgottenRun,
    /// A task has an active run and is not RUNNING in it.
    StrayRun,
    /// A task is RUNNING without a run.
    NobodyRuns,
    /// The counter of open predecessors is not their count.
    Predecessors,
    /// A step is held, and its workflow is not paused.
    HeldForNobody,
    /// An answer was given, the run that asked has ended, and the task still waits.
    UnreadAnswer,
    /// A wait is open, and its task does not wait for it.
    StrayQuestion,
    /// A task waits for what has happened already, or can never happen.
    VainWait,
    /// A workflow's counts or status do not follow from its steps, or a step is ready and nothing queues it.
    Workflow,
}

wire_enum!(FindingKind {
    OrphanedRun = "orphaned_run",
    ForgottenRun = "forgotten_run",
    StrayRun = "stray_run",
    NobodyRuns = "nobody_runs",
    Predecessors = "predecessors",
    HeldForNobody = "held_for_nobody",
    UnreadAnswer = "unread_answer",
    StrayQuestion = "stray_question",
    VainWait = "vain_wait",
    Workflow = "workflow",
});

impl FindingKind {
    /// What is wrong: the cause of the repair in the log.
    pub fn cause(self) -> &'static str {
        match self {
            FindingKind::OrphanedRun => "its run is held by a dispatcher that is gone",
            FindingKind::ForgottenRun => {
                "the lease of its run is over, and its dispatcher does not know the run"
            }
            FindingKind::StrayRun => "it has an active run and is not running in it",
            FindingKind::NobodyRuns => "it is running, and no run carries it out",
            FindingKind::Predecessors => "the count of open predecessors was wrong",
            FindingKind::HeldForNobody => "it was held, and its workflow is not paused",
            FindingKind::UnreadAnswer => "its answer was given, and nothing went on with it",
            FindingKind::StrayQuestion => "its question was open, and it does not wait for an answer",
            FindingKind::VainWait => "it waited for what has happened already, or can never happen",
            FindingKind::Workflow => "counts, status or queue of the workflow did not follow from its steps",
        }
    }

    /// What is done about it.
    pub fn repair(self) -> &'static str {
        match self {
            FindingKind::OrphanedRun | FindingKind::ForgottenRun => {
                "stop what is left of the run, then settle it as lost"
            }
            FindingKind::StrayRun => {
                "show the task as running in it, or end the run where the task has moved on"
            }
            FindingKind::NobodyRuns => "treat the run as lost",
            FindingKind::Predecessors => "count anew",
            FindingKind::HeldForNobody => "let it go",
            FindingKind::UnreadAnswer => "queue the task with its answer",
            FindingKind::StrayQuestion => "withdraw the question",
            FindingKind::VainWait => "let it go on with what became of that",
            FindingKind::Workflow => "count anew, queue or sweep steps, and set the status that follows",
        }
    }

    /// Whether processes must be proven dead for the repair, which only a dispatcher does.
    pub fn needs_dispatcher(self) -> bool {
        matches!(self, FindingKind::OrphanedRun | FindingKind::ForgottenRun)
    }
}

/// One thing that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// The number of the task that it is about; 0 for a workflow.
    pub seq: i64,
    /// The run, if it is about one.
    pub run: Option<RunId>,
    /// The workflow, if it is about one.
    pub workflow: Option<WorkflowId>,
}

impl Finding {
    /// A finding about a task.
    pub fn of_task(kind: FindingKind, seq: i64) -> Self {
        Finding { kind, seq, run: None, workflow: None }
    }
}
