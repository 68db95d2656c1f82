//! The append-only log.

use rusqlite::params;

use super::error::Failure;
use super::rows::{self, to_json};
use super::writer::{Tx, View};
use crate::domain::{Event, RunId, TaskId, WorkflowId};

impl View<'_> {
    /// Events after `since`, at most `limit`, oldest first; of one task where named.
    pub fn events(&self, since: i64, task: Option<&TaskId>, limit: usize) -> Result<Vec<Event>, Failure> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let all = "SELECT seq, at_ms, kind, actor, task_id, workflow_id, run_id, data, patch, task_seq
                   FROM events WHERE seq > ?1 AND ?3 IS NULL ORDER BY seq LIMIT ?2";
        let of_task = "SELECT seq, at_ms, kind, actor, task_id, workflow_id, run_id, data, patch, task_seq
                   FROM events INDEXED BY events_of_task
                   WHERE task_seq = (SELECT tasks.seq FROM tasks WHERE tasks.id = ?3) AND seq > ?1 ORDER BY seq LIMIT ?2";
        let sql = if task.is_some() { of_task } else { all };
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map(params![since, limit, task.map(TaskId::as_str)], rows::event)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The last event's number; 0 before the first.
    pub fn last_event(&self) -> Result<i64, Failure> {
        Ok(self
            .connection
            .prepare_cached("SELECT coalesce(max(seq), 0) FROM events")?
            .query_row([], |row| row.get(0))?)
    }
}

impl Tx<'_> {
    /// Appends one line; its `seq` is given by the log.
    pub fn append_event(&self, event: &Event) -> Result<(), Failure> {
        self.connection
            .prepare_cached(
                "INSERT INTO events (at_ms, kind, actor, task_id, workflow_id, run_id, data, patch, task_seq)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                event.at_ms,
                event.kind.as_str(),
                event.actor,
                event.task_id.as_ref().map(TaskId::as_str),
                event.workflow_id.as_ref().map(WorkflowId::as_str),
                event.run_id.as_ref().map(RunId::as_str),
                to_json(&event.data)?,
                to_json(&event.patch)?,
                event.task_seq,
            ])?;
        Ok(())
    }
}
