//! Events: one line each of the append-only log. The patches of a task's events, applied in order over a
//! default task, give its row (invariant 8).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

use super::id::{RunId, TaskId, WorkflowId};
use super::status::wire_enum;
use super::task::{Task, TaskPatch};
use super::time::Millis;

/// Who causes a change.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Actor {
    /// The user who owns the database, at any face.
    Operator {
        /// Their name, for the log.
        name: String,
    },
    /// A process inside a run.
    Agent {
        /// The run it belongs to.
        run: RunId,
        /// The task of that run.
        task: TaskId,
        /// Its name, for the log.
        name: String,
    },
    /// An agent outside of any run: a person's own, which plans work onto the board over MCP. What it writes goes by
    /// the same rules as what an agent inside a run writes.
    Guest {
        /// Its name, for the log and the approval policy.
        name: String,
    },
    /// The engine itself: dispatcher, workflow, reconciler.
    Engine,
}

impl Actor {
    /// The operator with this name.
    pub fn operator(name: impl Into<String>) -> Self {
        Actor::Operator { name: name.into() }
    }

    /// Whether it may do what is the operator's: answer, approve, configure.
    pub fn is_operator(&self) -> bool {
        matches!(self, Actor::Operator { .. })
    }

    /// The name for the log and for `owner` and `created_by`.
    pub fn name(&self) -> &str {
        match self {
            Actor::Operator { name } | Actor::Agent { name, .. } | Actor::Guest { name } => name,
            Actor::Engine => "andon",
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A task was made.
    Created,
    /// Its text, priority, labels, … changed.
    Edited,
    /// It joined the queue.
    Queued,
    /// A person or agent took it.
    Taken,
    /// The dispatcher claimed it.
    Claimed,
    /// Its process runs.
    Started,
    /// A live run is to be ended; `closing_as` says how.
    ClosingAs,
    /// A session, usage or other fact about the run arrived.
    Reported,
    /// It waits for a review.
    ReviewAsked,
    /// A reviewer sent it back.
    Rejected,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// It goes into the queue once more.
    Retried,
    /// It was cancelled.
    Cancelled,
    /// It is blocked.
    Blocked,
    /// It is no longer blocked.
    Unblocked,
    /// It was paused by hand, or by the program's stop.
    Suspended,
    /// It goes on.
    Resumed,
    /// It asks a person.
    Asked,
    /// A person answered.
    Answered,
    /// A question was replaced or withdrawn.
    QuestionClosed,
    /// A call waits for a person's decision.
    ApprovalAsked,
    /// A person allowed a call.
    Allowed,
    /// A person denied a call.
    Denied,
    /// What was allowed once is carried out.
    AllowanceUsed,
    /// An approval was replaced, withdrawn, or came too late.
    ApprovalClosed,
    /// It waits for something other than a person: a task, an event, a timer.
    WaitBegun,
    /// What was waited for has happened.
    Triggered,
    /// A wait was replaced or withdrawn.
    WaitClosed,
    /// An external event arrived.
    Woken,
    /// A timer was set, went off, or was cancelled.
    TimerChanged,
    /// An answer or result came that nobody may use any more.
    LateResult,
    /// Its run's holder died.
    Lost,
    /// A dependency was added.
    DependencyAdded,
    /// A dependency was removed.
    DependencyRemoved,
    /// A predecessor succeeded.
    PredecessorDone,
    /// It was held or released with its workflow.
    Held,
    /// Its start time has come.
    Due,
    /// It was put away.
    Archived,
    /// It was brought back.
    Unarchived,
    /// A workflow was made.
    WorkflowCreated,
    /// A workflow's status changed.
    WorkflowChanged,
    /// A workflow's advance failed; the settling stands.
    AdvanceFailed,
    /// The reconciler repaired something.
    Repaired,
    /// A board was made or changed.
    BoardChanged,
    /// What had ended long ago was removed for good.
    Purged,
    /// A check found the database damaged.
    Damaged,
    /// Somebody wants a person to see something; it changes nothing.
    Notified,
}

wire_enum!(EventKind {
    Created = "created",
    Edited = "edited",
    Queued = "queued",
    Taken = "taken",
    Claimed = "claimed",
    Started = "started",
    ClosingAs = "closing_as",
    Reported = "reported",
    ReviewAsked = "review_asked",
    Rejected = "rejected",
    Succeeded = "succeeded",
    Failed = "failed",
    Retried = "retried",
    Cancelled = "cancelled",
    Blocked = "blocked",
    Unblocked = "unblocked",
    Suspended = "suspended",
    Resumed = "resumed",
    Asked = "asked",
    Answered = "answered",
    QuestionClosed = "question_closed",
    ApprovalAsked = "approval_asked",
    Allowed = "allowed",
    Denied = "denied",
    AllowanceUsed = "allowance_used",
    ApprovalClosed = "approval_closed",
    WaitBegun = "wait_begun",
    Triggered = "triggered",
    WaitClosed = "wait_closed",
    Woken = "woken",
    TimerChanged = "timer_changed",
    LateResult = "late_result",
    Lost = "lost",
    DependencyAdded = "dependency_added",
    DependencyRemoved = "dependency_removed",
    PredecessorDone = "predecessor_done",
    Held = "held",
    Due = "due",
    Archived = "archived",
    Unarchived = "unarchived",
    WorkflowCreated = "workflow_created",
    WorkflowChanged = "workflow_changed",
    AdvanceFailed = "advance_failed",
    Repaired = "repaired",
    BoardChanged = "board_changed",
    Purged = "purged",
    Damaged = "damaged",
    Notified = "notified",
});

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its place; grows by one or more, never reused.
    pub seq: i64,
    /// When.
    pub at_ms: Millis,
    /// What.
    pub kind: EventKind,
    /// Who.
    pub actor: String,
    /// The task, if it is about one.
    pub task_id: Option<TaskId>,
    /// That task's number.
    pub task_seq: Option<i64>,
    /// The workflow, if it is about one.
    pub workflow_id: Option<WorkflowId>,
    /// The run, if it came from one.
    pub run_id: Option<RunId>,
    /// What else there is to say: a cause, a text, numbers.
    pub data: Map<String, Value>,
    /// The task's fields that changed.
    pub patch: TaskPatch,
}

/// The task that these patches, in order, describe.
pub fn replay<'a>(patches: impl IntoIterator<Item = &'a TaskPatch>) -> Result<Task, serde_json::Error> {
    let mut whole = TaskPatch::new();
    for patch in patches {
        for (name, value) in patch {
            whole.insert(name.clone(), value.clone());
        }
    }
    Task::default().apply(&whole)
}
