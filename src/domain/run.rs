//! Runs: one execution of a task each. Only the run with the task's current epoch may write a result.

use serde::{Deserialize, Serialize};

use super::id::{RunId, TaskId};
use super::status::{TaskStatus, wire_enum};
use super::time::Millis;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunOutcome {
    /// It did what was asked.
    Success,
    /// It failed by itself.
    Failed,
    /// Somebody cancelled the task.
    Cancelled,
    /// Somebody suspended the task, or the program stopped.
    Suspended,
    /// Somebody or itself blocked the task.
    Blocked,
    /// It asked a question and ended; the answer makes the next run (same attempt).
    Parked,
    /// Its time was up.
    Deadline,
    /// Its holder died.
    Lost,
}

wire_enum!(RunOutcome {
    Success = "success",
    Failed = "failed",
    Cancelled = "cancelled",
    Suspended = "suspended",
    Blocked = "blocked",
    Parked = "parked",
    Deadline = "deadline",
    Lost = "lost",
});

/// What a live run is to be ended as, recorded before it is stopped (`closing_as`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Intent {
    /// Settle as done.
    Complete,
    /// Settle as failed.
    Fail,
    /// Settle as cancelled; beats every other intent.
    Cancel,
    /// Pause it.
    Suspend,
    /// Block it with a reason.
    Block,
    /// Its time is up: settle as failed with outcome `deadline`.
    Deadline,
}

wire_enum!(Intent {
    Complete = "complete",
    Fail = "fail",
    Cancel = "cancel",
    Suspend = "suspend",
    Block = "block",
    Deadline = "deadline",
});

impl Intent {
    /// Whether this intent may be recorded over `earlier`: the first wins, but cancel beats all.
    pub fn may_replace(self, earlier: Option<Intent>) -> bool {
        match earlier {
            None => true,
            Some(Intent::Cancel) => false,
            Some(_) => self == Intent::Cancel,
        }
    }

    /// The status that the task has when the intent is carried out.
    pub fn leads_to(self) -> TaskStatus {
        match self {
            Intent::Complete => TaskStatus::Review,
            Intent::Fail | Intent::Deadline => TaskStatus::Failed,
            Intent::Cancel => TaskStatus::Cancelled,
            Intent::Suspend => TaskStatus::Suspended,
            Intent::Block => TaskStatus::Blocked,
        }
    }

    /// The outcome of the run when the intent is carried out.
    pub fn outcome(self) -> RunOutcome {
        match self {
            Intent::Complete => RunOutcome::Success,
            Intent::Fail => RunOutcome::Failed,
            Intent::Cancel => RunOutcome::Cancelled,
            Intent::Suspend => RunOutcome::Suspended,
            Intent::Block => RunOutcome::Blocked,
            Intent::Deadline => RunOutcome::Deadline,
        }
    }
}

/// Which process a run is: a pid alone is recycled, so a signal goes out only where all of this still matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The boot of the machine.
    pub boot_id: String,
    /// The process.
    pub pid: i32,
    /// Its start time in clock ticks since boot.
    pub start_ticks: u64,
    /// Its process group.
    pub pgid: i32,
}

/// What a run used, where the executor reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens in.
    pub input_tokens: u64,
    /// Tokens out.
    pub output_tokens: u64,
    /// Model round trips.
    pub model_rounds: u64,
}

/// One execution of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The task.
    pub task_id: TaskId,
    /// 1 for the first run of the task.
    pub number: u32,
    /// The task's epoch when it was claimed.
    pub epoch: i64,
    /// 1 for the first attempt; a parked run's successor has the same attempt.
    pub attempt: u32,
    /// Who holds it: a dispatcher, a person, an agent.
    pub owner: String,
    /// The dispatcher that carries it out; `None` for a manual run, which has no process, lease or slot.
    pub holder: Option<String>,
    /// `task:<id>`.
    pub session_id: String,
    /// Until when the holder vouches for it.
    pub lease_until_ms: Option<Millis>,
    /// When it began.
    pub started_at_ms: Millis,
    /// When it ended.
    pub ended_at_ms: Option<Millis>,
    /// When its time is up.
    pub deadline_ms: Option<Millis>,
    /// Its process.
    pub process: Option<ProcessIdentity>,
    /// What it is to be ended as.
    pub closing_as: Option<Intent>,
    /// The text that goes with the intent: a result, an error, a reason.
    pub closing_text: String,
    /// The run itself asked to be ended, so it is given time to end by itself.
    pub closing_self: bool,
    /// How it ended.
    pub outcome: Option<RunOutcome>,
    /// Exit code, where a process ended by itself.
    pub exit_code: Option<i32>,
    /// Signal, where a process was ended by one.
    pub exit_signal: Option<i32>,
    /// Why it ended, in words.
    pub note: String,
    /// Waits for a person while its process lives; it holds no slot.
    pub parked: bool,
    /// Tokens, where known.
    pub usage: Option<Usage>,
}

impl Run {
    /// Whether it has not ended.
    pub fn is_active(&self) -> bool {
        self.ended_at_ms.is_none()
    }

    /// Whether a dispatcher carries it out.
    pub fn is_dispatched(&self) -> bool {
        self.holder.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_intent_wins_and_cancel_beats_all() {
        for later in Intent::ALL {
            assert!(later.may_replace(None));
            assert!(!later.may_replace(Some(Intent::Cancel)));
            assert_eq!(later.may_replace(Some(Intent::Complete)), *later == Intent::Cancel);
        }
    }

    #[test]
    fn every_intent_leads_where_a_running_task_may_go() {
        for intent in Intent::ALL {
            assert!(TaskStatus::Running.allows(intent.leads_to()));
        }
    }
}
