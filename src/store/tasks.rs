//! Tasks and their dependencies.

use rusqlite::{OptionalExtension, named_params, params};

use super::error::{Failure, StoreError};
use super::rows::{self, task_columns, to_json};
use super::writer::{Tx, View};
use crate::domain::id::IdKind;
use crate::domain::{IdRef, Refusal, Task, TaskId, TaskStatus, WorkflowId};

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
    /// At most so many; 0 = all.
    pub limit: usize,
    /// Go on after this page.
    pub cursor: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// How to get the next page; `None` on the last.
    pub next_cursor: Option<String>,
}

/// A filter as the statements take it.
struct Wanted {
    any: bool,
    statuses: String,
    labels: String,
    assignee: Option<String>,
    all: bool,
    /// Priority and number of the last task of the page before.
    after: (i64, i64),
    /// One more than asked for, which tells whether there is another page; -1 for all.
    limit: i64,
}

impl Wanted {
    fn of(filter: &TaskFilter) -> Result<Wanted, Failure> {
        let after = match &filter.cursor {
            None => (-1, 0),
            Some(cursor) => cursor
                .split_once('.')
                .and_then(|(p, s)| Some((p.parse::<i64>().ok()?, s.parse::<i64>().ok()?)))
                .ok_or_else(|| {
                    Refusal::invalid("cursor", "that is no cursor of a list; leave it out to begin anew")
                })?,
        };
        Ok(Wanted {
            any: filter.statuses.is_empty(),
            statuses: to_json(&filter.statuses)?,
            labels: to_json(&filter.labels)?,
            assignee: filter.assignee.clone(),
            all: filter.all,
            after,
            limit: match filter.limit {
                0 => -1,
                n => i64::try_from(n).unwrap_or(i64::MAX - 1) + 1,
            },
        })
    }
}

impl View<'_> {
    /// The task with this number.
    pub fn task(&self, seq: i64) -> Result<Option<Task>, Failure> {
        let sql = concat!("SELECT ", task_columns!(), " FROM tasks WHERE seq = ?1");
        Ok(self.connection.prepare_cached(sql)?.query_row([seq], rows::task).optional()?)
    }

    /// The task with this id.
    pub fn task_by_id(&self, id: &TaskId) -> Result<Option<Task>, Failure> {
        let sql = concat!("SELECT ", task_columns!(), " FROM tasks WHERE id = ?1");
        Ok(self.connection.prepare_cached(sql)?.query_row([id.as_str()], rows::task).optional()?)
    }

    /// The task that a reference names; refused when there is none, or more than one starts like that.
    pub fn resolve(&self, reference: &IdRef) -> Result<Task, Failure> {
        let found = match reference {
            IdRef::Seq(seq) => self.task(*seq)?.ok_or_else(|| Refusal::not_found("task", &format!("#{seq}"))),
            IdRef::Full(id) => {
                self.task_by_id(&TaskId(id.clone()))?.ok_or_else(|| Refusal::not_found("task", id))
            }
            IdRef::Prefix(prefix) => {
                let ids = self.ids_with_prefix(
                    "SELECT id FROM tasks WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 6",
                    prefix,
                )?;
                match ids.as_slice() {
                    [] => Err(Refusal::not_found(IdKind::Task.word(), prefix)),
                    [one] => {
                        self.task_by_id(&TaskId(one.clone()))?.ok_or_else(|| Refusal::not_found("task", one))
                    }
                    many => Err(Refusal::ambiguous(IdKind::Task.word(), prefix, many)),
                }
            }
        };
        Ok(found?)
    }

    pub(super) fn ids_with_prefix(&self, sql: &str, prefix: &str) -> Result<Vec<String>, Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let ids = statement.query_map(params![prefix, format!("{prefix}{{")], |row| row.get(0))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    /// The number that the next task gets.
    pub fn next_task_seq(&self) -> Result<i64, Failure> {
        let last: Option<i64> = self
            .connection
            .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'tasks'")?
            .query_row([], |row| row.get(0))
            .optional()?;
        Ok(last.unwrap_or(0) + 1)
    }

    /// A page of tasks by priority, then number.
    pub fn tasks(&self, filter: &TaskFilter) -> Result<Page<Task>, Failure> {
        let wanted = Wanted::of(filter)?;
        // The shapes differ so that the usual ones walk the small index of open tasks in order.
        let open = filter.statuses.iter().all(|s| !s.is_closed()) && !filter.all;
        let mut items = match (open, &filter.board) {
            (true, Some(board)) => self.open_of(board, &wanted, None)?,
            (true, None) => self.open_of_all(&wanted)?,
            (false, _) => self.any(&wanted, filter.board.as_deref())?,
        };
        let mut next_cursor = None;
        if filter.limit > 0 && items.len() > filter.limit {
            items.truncate(filter.limit);
            next_cursor = items.last().map(|task| format!("{}.{}", task.priority, task.seq));
        }
        Ok(Page { items, next_cursor })
    }

    /// The open tasks of all boards: each board is read in its own order, and only as far as it can still matter.
    /// There is no index over all boards, which every step of every task would have to keep.
    fn open_of_all(&self, wanted: &Wanted) -> Result<Vec<Task>, Failure> {
        let mut merged: Vec<Task> = Vec::new();
        let mut until = None;
        for board in self.board_ids()? {
            let found = self.open_of(&board, wanted, until)?;
            if found.is_empty() {
                continue;
            }
            merged.extend(found);
            merged.sort_by_key(|task| (task.priority, task.seq));
            if let Ok(most) = usize::try_from(wanted.limit)
                && merged.len() >= most
            {
                merged.truncate(most);
                until = merged.last().map(|task| (task.priority, task.seq));
            }
        }
        Ok(merged)
    }

    /// The open tasks of a board, in order; with `until`, only those before that place.
    fn open_of(&self, board: &str, wanted: &Wanted, until: Option<(u8, i64)>) -> Result<Vec<Task>, Failure> {
        let sql = concat!(
            "SELECT ",
            task_columns!(),
            " FROM tasks INDEXED BY tasks_open
             WHERE status NOT IN ('success','cancelled') AND archived_at_ms IS NULL
               AND board_id = :board
               AND (priority, seq) > (:priority, :seq)
               AND (priority, seq) < (:until_priority, :until_seq)
               AND (:any OR status IN (SELECT value FROM json_each(:statuses)))
               AND (:assignee IS NULL OR assignee = :assignee)
               AND NOT EXISTS (SELECT 1 FROM json_each(:labels) AS wanted WHERE wanted.value NOT IN
                               (SELECT value FROM json_each(tasks.labels)))
             ORDER BY priority, seq LIMIT :limit"
        );
        let (until_priority, until_seq) = until.map_or((i64::MAX, i64::MAX), |(p, s)| (i64::from(p), s));
        let params = named_params! {
            ":board": board,
            ":any": wanted.any,
            ":statuses": wanted.statuses,
            ":labels": wanted.labels,
            ":assignee": wanted.assignee,
            ":priority": wanted.after.0,
            ":seq": wanted.after.1,
            ":until_priority": until_priority,
            ":until_seq": until_seq,
            ":limit": wanted.limit,
        };
        self.tasks_of(sql, params)
    }

    /// Tasks of any status.
    fn any(&self, wanted: &Wanted, board: Option<&str>) -> Result<Vec<Task>, Failure> {
        let sql = concat!(
            "SELECT ",
            task_columns!(),
            " FROM tasks
             WHERE (:all OR archived_at_ms IS NULL)
               AND (priority, seq) > (:priority, :seq)
               AND (:board IS NULL OR board_id = :board)
               AND (:any OR status IN (SELECT value FROM json_each(:statuses)))
               AND (:assignee IS NULL OR assignee = :assignee)
               AND NOT EXISTS (SELECT 1 FROM json_each(:labels) AS wanted WHERE wanted.value NOT IN
                               (SELECT value FROM json_each(tasks.labels)))
             ORDER BY priority, seq LIMIT :limit"
        );
        let params = named_params! {
            ":board": board,
            ":any": wanted.any,
            ":statuses": wanted.statuses,
            ":labels": wanted.labels,
            ":assignee": wanted.assignee,
            ":all": wanted.all,
            ":priority": wanted.after.0,
            ":seq": wanted.after.1,
            ":limit": wanted.limit,
        };
        self.tasks_of(sql, params)
    }

    /// How many tasks stand where, without those that were put away.
    pub fn count_by_status(&self) -> Result<Vec<(TaskStatus, i64)>, Failure> {
        let sql = "SELECT status, count(*) FROM tasks WHERE archived_at_ms IS NULL GROUP BY status";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
        let found = found.collect::<Result<Vec<(String, i64)>, _>>()?;
        let of = |status: TaskStatus| {
            found.iter().find(|(word, _)| word == status.as_str()).map_or(0, |(_, n)| *n)
        };
        Ok(TaskStatus::ALL.iter().map(|status| (*status, of(*status))).collect())
    }

    /// All steps of a workflow, in the order they were made.
    pub fn steps(&self, workflow: &WorkflowId) -> Result<Vec<Task>, Failure> {
        let sql = concat!("SELECT ", task_columns!(), " FROM tasks WHERE workflow_id = ?1 ORDER BY seq");
        self.tasks_of(sql, [workflow.as_str()])
    }

    /// The numbers of the steps of a workflow that nobody has claimed, PENDING or QUEUED.
    pub fn unclaimed_steps(&self, workflow: &WorkflowId) -> Result<Vec<i64>, Failure> {
        self.numbers(
            "SELECT seq FROM tasks WHERE workflow_id = ?1
               AND (status IN ('pending','queued')
                 OR (status = 'blocked'
                   AND EXISTS (SELECT 1 FROM waits INDEXED BY waits_open
                         WHERE task_seq = tasks.seq AND state = 'open' AND kind = 'approval')
                   AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_active
                         WHERE task_seq = tasks.seq AND ended_at_ms IS NULL)))
             ORDER BY seq",
            [workflow.as_str()],
        )
    }

    /// One step of a workflow by its id there.
    pub fn step(&self, workflow: &WorkflowId, step: &str) -> Result<Option<Task>, Failure> {
        let sql = concat!("SELECT ", task_columns!(), " FROM tasks WHERE workflow_id = ?1 AND step_id = ?2");
        Ok(self
            .connection
            .prepare_cached(sql)?
            .query_row([workflow.as_str(), step], rows::task)
            .optional()?)
    }

    pub(super) fn numbers<P: rusqlite::Params>(&self, sql: &str, params: P) -> Result<Vec<i64>, Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map(params, |row| row.get(0))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// At most 500 at a time.
    pub(super) fn readable_tasks<P: rusqlite::Params>(
        &self,
        sql: &str,
        params: P,
    ) -> Result<Vec<Task>, Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(rows::readable(statement.query(params)?, 500, rows::task, |_| true)?)
    }

    pub(super) fn tasks_of<P: rusqlite::Params>(&self, sql: &str, params: P) -> Result<Vec<Task>, Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map(params, rows::task)?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}

const COLUMNS: &str = "
  INSERT INTO tasks (seq, id, workflow_id, step_id, parent_task_id, board_id, title, description, status, priority,
    labels, assignee, source, created_by, session_id, blocked_reason, review_summary, result, error, retry_count,
    max_retries, retry_max, dispatch, executor, lane, review_required, worktree, worktree_state, metadata, version,
    epoch, current_run_id, timeout_seconds, deadline_ms, time_left_ms, not_before_ms, open_predecessors, held, run_next, since_ms,
    created_at_ms, updated_at_ms, queued_at_ms, started_at_ms, finished_at_ms, archived_at_ms, written_by)
  VALUES (:seq, :id, :workflow_id, :step_id, :parent_task_id, :board_id, :title, :description, :status, :priority,
    :labels, :assignee, :source, :created_by, :session_id, :blocked_reason, :review_summary, :result, :error,
    :retry_count, :max_retries, :retry_max, :dispatch, :executor, :lane, :review_required, :worktree,
    :worktree_state, :metadata, :version, :epoch, :current_run_id, :timeout_seconds, :deadline_ms, :time_left_ms, :not_before_ms,
    :open_predecessors, :held, :run_next, :since_ms, :created_at_ms, :updated_at_ms, :queued_at_ms, :started_at_ms,
    :finished_at_ms, :archived_at_ms, :written_by)";

const UPDATE: &str = "
  UPDATE tasks SET parent_task_id = :parent_task_id, board_id = :board_id, title = :title,
    description = :description, status = :status, priority = :priority, labels = :labels, assignee = :assignee,
    source = :source, session_id = :session_id, blocked_reason = :blocked_reason, review_summary = :review_summary,
    result = :result, error = :error, retry_count = :retry_count, max_retries = :max_retries,
    retry_max = :retry_max, dispatch = :dispatch, executor = :executor, lane = :lane,
    review_required = :review_required, worktree = :worktree, worktree_state = :worktree_state,
    metadata = :metadata, written_by = :written_by, version = :version, epoch = :epoch, current_run_id = :current_run_id,
    timeout_seconds = :timeout_seconds, deadline_ms = :deadline_ms, time_left_ms = :time_left_ms, not_before_ms = :not_before_ms,
    open_predecessors = :open_predecessors, held = :held, run_next = :run_next, since_ms = :since_ms,
    updated_at_ms = :updated_at_ms, queued_at_ms = :queued_at_ms, started_at_ms = :started_at_ms,
    finished_at_ms = :finished_at_ms, archived_at_ms = :archived_at_ms
  WHERE seq = :seq AND version = :loaded_version";

/// The fields that most steps change; none of them is JSON.
const NARROW: &[&str] = &[
    "status",
    "session_id",
    "blocked_reason",
    "result",
    "error",
    "retry_count",
    "version",
    "epoch",
    "current_run_id",
    "deadline_ms",
    "time_left_ms",
    "not_before_ms",
    "open_predecessors",
    "held",
    "run_next",
    "since_ms",
    "updated_at_ms",
    "queued_at_ms",
    "started_at_ms",
    "finished_at_ms",
    "archived_at_ms",
];

const UPDATE_NARROW: &str = "
  UPDATE tasks SET status = :status, session_id = :session_id, blocked_reason = :blocked_reason, result = :result,
    error = :error, retry_count = :retry_count, version = :version, epoch = :epoch,
    current_run_id = :current_run_id, deadline_ms = :deadline_ms, time_left_ms = :time_left_ms, not_before_ms = :not_before_ms,
    open_predecessors = :open_predecessors, held = :held, run_next = :run_next, since_ms = :since_ms,
    updated_at_ms = :updated_at_ms, queued_at_ms = :queued_at_ms, started_at_ms = :started_at_ms,
    finished_at_ms = :finished_at_ms, archived_at_ms = :archived_at_ms
  WHERE seq = :seq AND version = :loaded_version";

/// Whether a change of these fields is one of the usual steps.
pub(crate) fn is_narrow<'f>(mut fields: impl Iterator<Item = &'f String>) -> bool {
    fields.all(|field| NARROW.contains(&field.as_str()))
}

impl Tx<'_> {
    /// Writes a new task.
    pub fn insert_task(&self, task: &Task) -> Result<(), Failure> {
        let (labels, metadata) = (to_json(&task.labels)?, to_json(&task.metadata)?);
        let executor = task.executor.as_ref().map(to_json).transpose()?;
        self.connection.prepare_cached(COLUMNS)?.execute(named_params! {
            ":seq": task.seq, ":id": task.id.as_str(),
            ":workflow_id": task.workflow_id.as_ref().map(WorkflowId::as_str), ":step_id": task.step_id,
            ":parent_task_id": task.parent_task_id.as_ref().map(TaskId::as_str), ":board_id": task.board_id,
            ":title": task.title, ":description": task.description, ":status": task.status.as_str(),
            ":priority": task.priority, ":labels": labels, ":assignee": task.assignee, ":source": task.source,
            ":created_by": task.created_by, ":session_id": task.session_id,
            ":blocked_reason": task.blocked_reason, ":review_summary": task.review_summary,
            ":result": task.result, ":error": task.error, ":retry_count": task.retry_count,
            ":max_retries": task.max_retries, ":retry_max": task.retry_max, ":dispatch": task.dispatch.as_str(),
            ":executor": executor, ":lane": task.lane(), ":review_required": task.review_required,
            ":worktree": task.worktree, ":worktree_state": task.worktree_state, ":metadata": metadata,
            ":version": task.version, ":epoch": task.epoch,
            ":current_run_id": task.current_run_id.as_ref().map(|r| r.as_str()),
            ":timeout_seconds": task.timeout_seconds, ":deadline_ms": task.deadline_ms, ":time_left_ms": task.time_left_ms,
            ":not_before_ms": task.not_before_ms, ":open_predecessors": task.open_predecessors,
            ":held": task.held, ":run_next": task.run_next, ":since_ms": task.since_ms,
            ":created_at_ms": task.created_at_ms, ":updated_at_ms": task.updated_at_ms,
            ":queued_at_ms": task.queued_at_ms, ":started_at_ms": task.started_at_ms,
            ":finished_at_ms": task.finished_at_ms, ":archived_at_ms": task.archived_at_ms,
            ":written_by": task.written_by,
        })?;
        Ok(())
    }

    /// Writes the fields of a task that changed over the version it was loaded with.
    pub fn update_task<'f>(
        &self,
        task: &Task,
        loaded_version: i64,
        changed: impl Iterator<Item = &'f String>,
    ) -> Result<(), Failure> {
        let written = match is_narrow(changed) {
            true => self.update_narrow(task, loaded_version)?,
            false => self.update_whole(task, loaded_version)?,
        };
        match written {
            1 => Ok(()),
            _ => Err(StoreError::Row(format!(
                "task #{} changed while this was decided; nothing was written, try again",
                task.seq
            ))
            .into()),
        }
    }

    fn update_narrow(&self, task: &Task, loaded_version: i64) -> Result<usize, Failure> {
        Ok(self.connection.prepare_cached(UPDATE_NARROW)?.execute(named_params! {
            ":seq": task.seq, ":loaded_version": loaded_version, ":status": task.status.as_str(),
            ":session_id": task.session_id, ":blocked_reason": task.blocked_reason, ":result": task.result,
            ":error": task.error, ":retry_count": task.retry_count, ":version": task.version,
            ":epoch": task.epoch, ":current_run_id": task.current_run_id.as_ref().map(|r| r.as_str()),
            ":deadline_ms": task.deadline_ms, ":time_left_ms": task.time_left_ms, ":not_before_ms": task.not_before_ms,
            ":open_predecessors": task.open_predecessors, ":held": task.held, ":run_next": task.run_next,
            ":since_ms": task.since_ms, ":updated_at_ms": task.updated_at_ms,
            ":queued_at_ms": task.queued_at_ms, ":started_at_ms": task.started_at_ms,
            ":finished_at_ms": task.finished_at_ms, ":archived_at_ms": task.archived_at_ms,
        })?)
    }

    fn update_whole(&self, task: &Task, loaded_version: i64) -> Result<usize, Failure> {
        let (labels, metadata) = (to_json(&task.labels)?, to_json(&task.metadata)?);
        let executor = task.executor.as_ref().map(to_json).transpose()?;
        Ok(self.connection.prepare_cached(UPDATE)?.execute(named_params! {
            ":seq": task.seq, ":loaded_version": loaded_version,
            ":parent_task_id": task.parent_task_id.as_ref().map(TaskId::as_str), ":board_id": task.board_id,
            ":title": task.title, ":description": task.description, ":status": task.status.as_str(),
            ":priority": task.priority, ":labels": labels, ":assignee": task.assignee, ":source": task.source,
            ":session_id": task.session_id, ":blocked_reason": task.blocked_reason,
            ":review_summary": task.review_summary, ":result": task.result, ":error": task.error,
            ":retry_count": task.retry_count, ":max_retries": task.max_retries, ":retry_max": task.retry_max,
            ":dispatch": task.dispatch.as_str(), ":executor": executor, ":lane": task.lane(),
            ":review_required": task.review_required, ":worktree": task.worktree,
            ":worktree_state": task.worktree_state, ":metadata": metadata, ":version": task.version,
            ":epoch": task.epoch, ":current_run_id": task.current_run_id.as_ref().map(|r| r.as_str()),
            ":timeout_seconds": task.timeout_seconds, ":deadline_ms": task.deadline_ms, ":time_left_ms": task.time_left_ms,
            ":not_before_ms": task.not_before_ms, ":open_predecessors": task.open_predecessors,
            ":held": task.held, ":run_next": task.run_next, ":since_ms": task.since_ms,
            ":updated_at_ms": task.updated_at_ms, ":queued_at_ms": task.queued_at_ms,
            ":started_at_ms": task.started_at_ms, ":finished_at_ms": task.finished_at_ms,
            ":archived_at_ms": task.archived_at_ms, ":written_by": task.written_by,
        })?)
    }
}
