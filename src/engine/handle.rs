//! The handle that faces hold: execute a command, read a snapshot, wait for a change.

use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

use super::command::{Command, Outcome};
use crate::domain::time::Millis;
use crate::domain::why::Reason;
use crate::domain::{
    Actor, BoardSnapshot, BoardSummary, Card, Event, IdRef, Question, Refusal, Run, RunId, Task, TaskId,
    TaskStatus, Workflow, WorkflowStatus,
};
use crate::store::StoreError;

/// Why a command or a read gave nothing.
#[derive(Debug, Error)]
pub enum EngineError {
    /// Refused; nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The database can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which tasks to list.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// The board; `None` = all boards.
    pub board: Option<String>,
    /// Any of these; empty = all that are neither closed nor put away, unless `all`.
    pub statuses: Vec<TaskStatus>,
    /// All of these.
    pub labels: Vec<String>,
    /// This assignee.
    pub assignee: Option<String>,
    /// Closed and archived ones too.
    pub all: bool,
    /// At most so many.
    pub limit: usize,
    /// Go on after this page.
    pub cursor: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, Serialize)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// How to get the next page; `None` on the last.
    pub next_cursor: Option<String>,
}

/// A task with all that hangs on it.
#[derive(Debug, Clone)]
pub struct TaskView {
    /// The record.
    pub task: Task,
    /// The card, with the facts around it.
    pub card: Card,
    /// All runs, the first one first.
    pub runs: Vec<Run>,
    /// All questions, the first one first.
    pub questions: Vec<Question>,
    /// What it needs: number, title, status (settled ones too).
    pub predecessors: Vec<crate::domain::board::Predecessor>,
    /// What needs it.
    pub successors: Vec<crate::domain::board::Predecessor>,
}

/// One step of a workflow.
#[derive(Debug, Clone, Serialize)]
pub struct StepView {
    /// Its id within the workflow.
    pub id: String,
    /// The title of its card.
    pub name: String,
    /// Its task.
    pub task_id: TaskId,
    /// Its task's number.
    pub seq: i64,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it needs.
    pub depends_on: Vec<String>,
    /// What came out.
    pub result: String,
    /// Why it failed or was cancelled.
    pub error: String,
    /// Retries made.
    pub retry_count: u32,
    /// When it began.
    pub started_at_ms: Option<Millis>,
    /// When it settled.
    pub finished_at_ms: Option<Millis>,
}

/// A workflow with its steps, in the order of the definition.
#[derive(Debug, Clone)]
pub struct WorkflowView {
    /// The workflow.
    pub workflow: Workflow,
    /// Its steps.
    pub steps: Vec<StepView>,
}

/// An open question with its task.
#[derive(Debug, Clone)]
pub struct OpenQuestion {
    /// The question.
    pub question: Question,
    /// The task's number.
    pub seq: i64,
    /// The task's title.
    pub title: String,
    /// The task's board.
    pub board_id: String,
}

/// The handle. Cheap to clone; usable from any thread. Every call blocks until the answer is on disk (for a
/// command) or copied out (for a read), so a face calls it off its UI thread.
#[derive(Clone)]
pub struct Engine {}

impl Engine {
    /// Opens the database at `path`, making it where there is none, and migrating it where it is older.
    pub fn open(path: &Path) -> Result<Engine, StoreError> {
        let _ = path;
        todo!()
    }

    /// Carries out one command. Once this returns `Ok`, what it says is on disk.
    pub fn execute(&self, command: Command, actor: &Actor) -> Result<Outcome, EngineError> {
        let _ = (command, actor);
        todo!()
    }

    /// The board as it is now; with `closed`, the closed cards too (newest 500).
    pub fn board(&self, board: &str, closed: bool) -> Result<BoardSnapshot, EngineError> {
        let _ = (board, closed);
        todo!()
    }

    /// All boards.
    pub fn boards(&self) -> Result<Vec<BoardSummary>, EngineError> {
        todo!()
    }

    /// One task.
    pub fn task(&self, task: &IdRef) -> Result<Task, EngineError> {
        let _ = task;
        todo!()
    }

    /// One task with all that hangs on it.
    pub fn task_view(&self, task: &IdRef) -> Result<TaskView, EngineError> {
        let _ = task;
        todo!()
    }

    /// Why a task does not move.
    pub fn why(&self, task: &IdRef) -> Result<Vec<Reason>, EngineError> {
        let _ = task;
        todo!()
    }

    /// A page of tasks: priority, then age.
    pub fn list(&self, filter: &TaskFilter) -> Result<Page<Task>, EngineError> {
        let _ = filter;
        todo!()
    }

    /// The open questions, oldest first; of one board, or of all.
    pub fn questions(&self, board: Option<&str>) -> Result<Vec<OpenQuestion>, EngineError> {
        let _ = board;
        todo!()
    }

    /// One question by its id, open or not.
    pub fn question(&self, id: &crate::domain::QuestionId) -> Result<Question, EngineError> {
        let _ = id;
        todo!()
    }

    /// Events after `since`, at most `limit`, oldest first; of one task where named.
    pub fn events(&self, since: i64, task: Option<&TaskId>, limit: usize) -> Result<Vec<Event>, EngineError> {
        let _ = (since, task, limit);
        todo!()
    }

    /// The last event's number.
    pub fn last_seq(&self) -> Result<i64, EngineError> {
        todo!()
    }

    /// One workflow by id, unique prefix or unique name.
    pub fn workflow(&self, name: &str) -> Result<WorkflowView, EngineError> {
        let _ = name;
        todo!()
    }

    /// All workflows, newest first; with one status where named.
    pub fn workflows(&self, status: Option<WorkflowStatus>) -> Result<Vec<Workflow>, EngineError> {
        let _ = status;
        todo!()
    }

    /// Where a run's raw output is. The file is there from the first byte on, not before.
    pub fn log_path(&self, run: &RunId) -> PathBuf {
        let _ = run;
        todo!()
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        todo!()
    }

    /// Whether some process dispatches now.
    pub fn has_dispatcher(&self) -> bool {
        todo!()
    }

    /// Blocks until anything was committed after event `seen`, by any process, or the time is over. True when
    /// there is something new.
    pub fn wait_for_change(&self, seen: i64, timeout: Duration) -> Result<bool, EngineError> {
        let _ = (seen, timeout);
        todo!()
    }

    /// Hears of every change, by any process: the number grows. A hint; read `events` for the truth.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        todo!()
    }
}
