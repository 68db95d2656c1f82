//! What a face shows: the cards of a board with the facts around them, copied out of the store at one instant.

use serde::{Deserialize, Serialize};

use super::approval::Approval;
use super::id::{RunId, TaskId, WorkflowId};
use super::run::Intent;
use super::status::{TaskStatus, WorkflowStatus};
use super::task::Dispatch;
use super::time::Millis;
use super::wait::{Question, Wait};

/// Whether anybody dispatches, as seen from this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DispatcherState {
    /// This process dispatches.
    Here,
    /// Another process does; this one is attached.
    Elsewhere,
    /// Nobody does.
    #[default]
    Nobody,
    /// This process dispatches and is stopping: it claims nothing more.
    Draining,
}

/// A predecessor that has not succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predecessor {
    /// Its id.
    pub id: TaskId,
    /// Its number.
    pub seq: i64,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: TaskStatus,
}

/// The active run of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunBrief {
    /// Its id.
    pub id: RunId,
    /// Its number within the task.
    pub number: u32,
    /// Who holds it.
    pub owner: String,
    /// A dispatcher carries it out (not a person or agent by hand).
    pub dispatched: bool,
    /// When it began.
    pub started_at_ms: Millis,
    /// When it last gave a sign: output, a report. The start, until then.
    pub active_at_ms: Millis,
    /// What it is being ended as.
    pub closing_as: Option<Intent>,
}

/// The workflow of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowBrief {
    /// Its id.
    pub id: WorkflowId,
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub status: WorkflowStatus,
    /// Steps that succeeded.
    pub done: u32,
    /// All steps.
    pub total: u32,
}

/// One card. Long texts stay in the store; a face that opens the card asks for the task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The id.
    pub id: TaskId,
    /// The number.
    pub seq: i64,
    /// The row's version, for compare-and-set.
    pub version: i64,
    /// The board.
    pub board_id: String,
    /// One line.
    pub title: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// 0 (highest) to 9.
    pub priority: u8,
    /// Words to find it by.
    pub labels: Vec<String>,
    /// Who should do it.
    pub assignee: String,
    /// Where it came from.
    pub source: String,
    /// Who takes it.
    pub dispatch: Dispatch,
    /// The few words for what it runs with; empty for a manual card.
    pub executor: String,
    /// The agent it runs with, if it does.
    pub agent: Option<String>,
    /// Retries already made.
    pub retry_count: u32,
    /// The cap for retries.
    pub max_retries: u32,
    /// Its step id within the workflow.
    pub step_id: String,
    /// Its workflow.
    pub workflow: Option<WorkflowBrief>,
    /// When its status last changed.
    pub since_ms: Millis,
    /// When it was made.
    pub created_at_ms: Millis,
    /// When it was last queued.
    pub queued_at_ms: Option<Millis>,
    /// Not to be claimed before.
    pub not_before_ms: Option<Millis>,
    /// Put at the head of the queue.
    pub run_next: bool,
    /// Held by the pause of its workflow.
    pub held: bool,
    /// Why it is BLOCKED.
    pub blocked_reason: String,
    /// Why it failed or was cancelled (shortened).
    pub error: String,
    /// What came out (shortened).
    pub result: String,
    /// What the reviewer should know (shortened).
    pub review_summary: String,
    /// Whether it was put away.
    pub archived: bool,
    /// Predecessors that have not succeeded, oldest first.
    pub predecessors: Vec<Predecessor>,
    /// The open question.
    pub question: Option<Question>,
    /// The call that waits for a decision.
    pub approval: Option<Approval>,
    /// What else it waits for, which comes by itself.
    pub waiting: Option<Wait>,
    /// The active run.
    pub run: Option<RunBrief>,
}

impl Card {
    /// Whether a dispatcher's run is going.
    pub fn has_live_run(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.dispatched)
    }
}

/// A board in one line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardSummary {
    /// Its id, which is its name.
    pub id: String,
    /// Cards that are neither closed nor put away.
    pub open: u32,
    /// Cards running.
    pub running: u32,
    /// Cards that need a person.
    pub lamps: u32,
}

/// A board at one instant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardSnapshot {
    /// Which board.
    pub board_id: String,
    /// The last event that it reflects.
    pub seq: i64,
    /// When it was taken.
    pub at_ms: Millis,
    /// Its cards, by status column, then priority, age and number; closed ones only where asked for.
    pub cards: Vec<Card>,
    /// How many closed cards there are, shown or not.
    pub closed: u32,
    /// Whether anybody dispatches.
    pub dispatcher: DispatcherState,
    /// Whoever dispatches starts nothing, since the database was found damaged.
    pub halted: bool,
    /// Slots in use over all boards.
    pub slots_used: u32,
    /// Slots there are; 0 where nobody dispatches.
    pub slots_total: u32,
    /// All boards.
    pub boards: Vec<BoardSummary>,
}
