//! The task record: one card, and how two states of it differ.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::executor::Executor;
use super::id::{RunId, TaskId, WorkflowId};
use super::status::{TaskStatus, wire_enum};
use super::time::{Millis, SECOND_MS, rfc3339};

/// Who takes a task: the dispatcher, or a person or agent by hand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Dispatch {
    /// The dispatcher claims it from the queue.
    Auto,
    /// Somebody takes it.
    #[default]
    Manual,
}

wire_enum!(Dispatch { Auto = "auto", Manual = "manual" });

/// The board a task is on unless another is named.
pub const DEFAULT_BOARD: &str = "default";
/// The usual priority.
pub const DEFAULT_PRIORITY: u8 = 5;
/// How often a task may be retried at all, unless said otherwise.
pub const DEFAULT_MAX_RETRIES: u32 = 3;

/// A patch of a task: the fields that changed, by name, with their new values.
pub type TaskPatch = Map<String, Value>;

macro_rules! task {
    ($($(#[$doc:meta])* $field:ident : $type:ty = $default:expr),+ $(,)?) => {
        /// What is to be done; one card.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct Task { $($(#[$doc])* pub $field: $type),+ }

        impl Default for Task {
            fn default() -> Self { Self { $($field: $default),+ } }
        }

        impl Task {
            /// The fields of `self` that differ from `before`.
            pub fn patch_from(&self, before: &Task) -> TaskPatch {
                let mut patch = Map::new();
                $(if self.$field != before.$field {
                    patch.insert(stringify!($field).to_owned(), json!(self.$field));
                })+
                patch
            }
        }
    };
}

task! {
    /// The number that people use: #12. Unique in the database, never reused.
    seq: i64 = 0,
    /// The id that programs use.
    id: TaskId = TaskId::default(),
    /// The workflow it is a step of.
    workflow_id: Option<WorkflowId> = None,
    /// Its id within the workflow.
    step_id: String = String::new(),
    /// The task that it is a part of.
    parent_task_id: Option<TaskId> = None,
    /// The board it is on.
    board_id: String = DEFAULT_BOARD.to_owned(),
    /// One line.
    title: String = String::new(),
    /// Any text.
    description: String = String::new(),
    /// Where it stands.
    status: TaskStatus = TaskStatus::Pending,
    /// 0 (highest) to 9.
    priority: u8 = DEFAULT_PRIORITY,
    /// Words to find it by.
    labels: Vec<String> = Vec::new(),
    /// Who should do it (a wish).
    assignee: String = String::new(),
    /// Where it came from.
    source: String = String::new(),
    /// Who made it.
    created_by: String = String::new(),
    /// The agent that wrote what it runs with, for the approval policy; empty where a person did.
    written_by: String = String::new(),
    /// The conversation it works in, `task:<id>` once it ran.
    session_id: String = String::new(),
    /// Why it is BLOCKED.
    blocked_reason: String = String::new(),
    /// What the reviewer should know, and what the reviewer said.
    review_summary: String = String::new(),
    /// What came out.
    result: String = String::new(),
    /// Why it failed or was cancelled.
    error: String = String::new(),
    /// Retries already made.
    retry_count: u32 = 0,
    /// The cap for retries of any kind.
    max_retries: u32 = DEFAULT_MAX_RETRIES,
    /// How often the engine retries by itself.
    retry_max: u32 = 0,
    /// Who takes it.
    dispatch: Dispatch = Dispatch::Manual,
    /// What it runs with; `None` = a manual card.
    executor: Option<Executor> = None,
    /// Finished work waits for a person.
    review_required: bool = false,
    /// Whether it wants a worktree, or the folder of the one it has.
    worktree: String = String::new(),
    /// `unbound`, `active`, `kept` or `removed`.
    worktree_state: String = "unbound".to_owned(),
    /// Free data, such as a step's tool and parameters.
    metadata: Map<String, Value> = Map::new(),
    /// Grows by one at each change.
    version: i64 = 0,
    /// Grows by one at each run; only the run that carries it may write (invariant 2).
    epoch: i64 = 0,
    /// The active run.
    current_run_id: Option<RunId> = None,
    /// How long one attempt may take, queue included, in seconds.
    timeout_seconds: Option<u32> = None,
    /// When the attempt's time is up.
    deadline_ms: Option<Millis> = None,
    /// What is left of the attempt's time while its clock stands still.
    time_left_ms: Option<Millis> = None,
    /// Not to be claimed before.
    not_before_ms: Option<Millis> = None,
    /// Predecessors that have not succeeded yet.
    open_predecessors: u32 = 0,
    /// Held by the pause of its workflow.
    held: bool = false,
    /// Put at the head of the queue by a person.
    run_next: bool = false,
    /// When its status last changed.
    since_ms: Millis = 0,
    /// When it was made.
    created_at_ms: Millis = 0,
    /// When it last changed.
    updated_at_ms: Millis = 0,
    /// When it was last queued.
    queued_at_ms: Option<Millis> = None,
    /// When it last began to run.
    started_at_ms: Option<Millis> = None,
    /// When it settled.
    finished_at_ms: Option<Millis> = None,
    /// When it was put away.
    archived_at_ms: Option<Millis> = None,
}

impl Task {
    /// Whether the dispatcher may run it.
    pub fn has_executor(&self) -> bool {
        self.executor.is_some()
    }

    /// Begins the clock of a new attempt. It runs unless the task waits for a predecessor or is held.
    pub fn start_clock(&mut self, now: Millis) {
        self.deadline_ms = None;
        self.time_left_ms = self.timeout_seconds.map(|seconds| i64::from(seconds) * SECOND_MS);
        self.run_clock(now);
    }

    /// Lets the clock of the attempt run on with what is left.
    pub fn run_clock(&mut self, now: Millis) {
        if self.open_predecessors == 0
            && !self.held
            && let Some(left) = self.time_left_ms.take()
        {
            self.deadline_ms = Some(now + left);
        }
    }

    /// Stops the clock of the attempt: while a question is open, while the workflow is paused.
    pub fn park_clock(&mut self, now: Millis) {
        if let Some(deadline) = self.deadline_ms.take() {
            self.time_left_ms = Some((deadline - now).max(0));
        }
    }

    /// The queue lane of its executor.
    pub fn lane(&self) -> &str {
        self.executor.as_ref().map_or("", Executor::lane)
    }

    /// Applies a patch over this task; the inverse of [`Task::patch_from`].
    pub fn apply(&self, patch: &TaskPatch) -> Result<Task, serde_json::Error> {
        let mut value = serde_json::to_value(self)?;
        if let Value::Object(fields) = &mut value {
            for (name, new) in patch {
                fields.insert(name.clone(), new.clone());
            }
        }
        serde_json::from_value(value)
    }

    /// The record as programs read it: empty strings where there is nothing, times as `…_ms` with an RFC 3339
    /// twin.
    pub fn record(&self) -> Map<String, Value> {
        let mut record = Map::new();
        let Ok(Value::Object(fields)) = serde_json::to_value(self) else { return record };
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("workflow_id" | "parent_task_id", Value::Null) => {
                    record.insert(name, json!(""));
                }
                (_, value) if name.ends_with("_at_ms") => {
                    let twin = name.trim_end_matches("_ms").to_owned();
                    record.insert(twin, value.as_i64().map_or(Value::Null, |at| json!(rfc3339(at))));
                    record.insert(name, value);
                }
                (_, value) => {
                    record.insert(name, value);
                }
            }
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_plan() {
        let task = Task::default();
        assert_eq!((task.priority, task.max_retries, task.retry_max), (5, 3, 0));
        assert_eq!((task.board_id.as_str(), task.status), ("default", TaskStatus::Pending));
        assert_eq!(task.dispatch, Dispatch::Manual);
    }

    #[test]
    fn a_patch_holds_what_changed_and_rebuilds_the_task() {
        let before = Task::default();
        let after = Task {
            title: "修复".into(),
            status: TaskStatus::Queued,
            queued_at_ms: Some(7),
            labels: vec!["bug".into()],
            ..before.clone()
        };
        let patch = after.patch_from(&before);
        assert_eq!(patch.keys().collect::<Vec<_>>(), ["title", "status", "labels", "queued_at_ms"]);
        assert_eq!(before.apply(&patch).unwrap(), after);
        assert!(after.patch_from(&after).is_empty());
    }

    #[test]
    fn the_record_has_every_named_field() {
        let record = Task::default().record();
        for field in [
            "id",
            "workflow_id",
            "parent_task_id",
            "board_id",
            "title",
            "description",
            "status",
            "priority",
            "labels",
            "assignee",
            "source",
            "session_id",
            "blocked_reason",
            "review_summary",
            "result",
            "error",
            "retry_count",
            "max_retries",
            "metadata",
            "version",
            "seq",
            "current_run_id",
            "deadline_ms",
            "retry_max",
            "dispatch",
            "executor",
            "review_required",
            "worktree",
            "worktree_state",
            "created_at",
            "updated_at",
            "queued_at",
            "started_at",
            "finished_at",
            "archived_at",
        ] {
            assert!(record.contains_key(field), "{field}");
        }
        assert_eq!(record["workflow_id"], "");
    }
}
