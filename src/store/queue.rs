//! The ready queue: what can be claimed, and what time will bring.

use rusqlite::{OptionalExtension, params};

use super::error::Failure;
use super::rows::{self, task_columns};
use super::writer::View;
use crate::domain::time::Millis;
use crate::domain::{Task, WorkflowId};

/// The claim's query. Its plan is asserted by a test: with a second index over the status SQLite would take
/// that one and sort.
pub(super) const NEXT_READY: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM tasks INDEXED BY tasks_ready
     WHERE status = 'queued' AND dispatch = 'auto' AND open_predecessors = 0 AND held = 0
       AND not_before_ms IS NULL AND archived_at_ms IS NULL AND lane = ?1
     ORDER BY run_next DESC, priority, queued_at_ms, seq"
);

impl View<'_> {
    /// The lanes that have something ready, in order: one seek for each.
    pub fn ready_lanes(&self) -> Result<Vec<String>, Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT lane FROM tasks INDEXED BY tasks_ready
             WHERE status = 'queued' AND dispatch = 'auto' AND open_predecessors = 0 AND held = 0
               AND not_before_ms IS NULL AND archived_at_ms IS NULL ORDER BY lane LIMIT 1",
        )?;
        let mut after = self.connection.prepare_cached(
            "SELECT lane FROM tasks INDEXED BY tasks_ready
             WHERE status = 'queued' AND dispatch = 'auto' AND open_predecessors = 0 AND held = 0
               AND not_before_ms IS NULL AND archived_at_ms IS NULL AND lane > ?1 ORDER BY lane LIMIT 1",
        )?;
        let mut lanes = Vec::new();
        let mut found: Option<String> = statement.query_row([], |row| row.get(0)).optional()?;
        while let Some(lane) = found {
            found = after.query_row([&lane], |row| row.get(0)).optional()?;
            lanes.push(lane);
        }
        Ok(lanes)
    }

    /// The next task of a lane: at the head by a person's wish, then priority, age, number. Costs the same
    /// beside a million finished tasks. What can't be read, and the numbers in `passed`, are passed over.
    pub fn next_ready(&self, lane: &str, passed: &[i64]) -> Result<Option<Task>, Failure> {
        let mut statement = self.connection.prepare_cached(NEXT_READY)?;
        let wanted = |task: &Task| !passed.contains(&task.seq);
        Ok(rows::readable(statement.query([lane])?, 1, rows::task, wanted)?.pop())
    }

    /// As [`View::next_ready`], within one workflow.
    pub fn next_ready_of(
        &self,
        lane: &str,
        workflow: &WorkflowId,
        passed: &[i64],
    ) -> Result<Option<Task>, Failure> {
        let sql = concat!(
            "SELECT ",
            task_columns!(),
            " FROM tasks INDEXED BY tasks_ready
             WHERE status = 'queued' AND dispatch = 'auto' AND open_predecessors = 0 AND held = 0
               AND not_before_ms IS NULL AND archived_at_ms IS NULL AND lane = ?1 AND workflow_id = ?2
             ORDER BY run_next DESC, priority, queued_at_ms, seq"
        );
        let mut statement = self.connection.prepare_cached(sql)?;
        let wanted = |task: &Task| !passed.contains(&task.seq);
        Ok(rows::readable(statement.query([lane, workflow.as_str()])?, 1, rows::task, wanted)?.pop())
    }

    /// How many ready tasks of its lane come before this one, at most `limit`.
    pub fn ready_before(&self, task: &Task, limit: u32) -> Result<u32, Failure> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY tasks_ready
                 WHERE status = 'queued' AND dispatch = 'auto' AND open_predecessors = 0 AND held = 0
                   AND not_before_ms IS NULL AND archived_at_ms IS NULL AND lane = ?1
                   AND (-run_next, priority, queued_at_ms, seq) < (-?2, ?3, ?4, ?5) LIMIT ?6)",
            )?
            .query_row(
                params![
                    task.lane(),
                    task.run_next,
                    task.priority,
                    task.queued_at_ms.unwrap_or(0),
                    task.seq,
                    limit
                ],
                |row| row.get(0),
            )?)
    }

    /// Queued tasks whose start time has come, and when the next one comes.
    pub fn due(&self, now: Millis) -> Result<(Vec<Task>, Option<Millis>), Failure> {
        let sql = concat!(
            "SELECT ", task_columns!(), " FROM tasks INDEXED BY tasks_due
             WHERE not_before_ms IS NOT NULL AND not_before_ms <= ?1 AND status = 'queued' ORDER BY not_before_ms"
        );
        let due = self.readable_tasks(sql, [now])?;
        let next = self
            .connection
            .prepare_cached(
                "SELECT min(not_before_ms) FROM tasks INDEXED BY tasks_due
                 WHERE not_before_ms IS NOT NULL AND not_before_ms > ?1 AND status = 'queued'",
            )?
            .query_row([now], |row| row.get(0))?;
        Ok((due, next))
    }

    /// Tasks whose time is up, and when the next one's is.
    pub fn overdue(&self, now: Millis) -> Result<(Vec<Task>, Option<Millis>), Failure> {
        let sql = concat!(
            "SELECT ",
            task_columns!(),
            " FROM tasks INDEXED BY tasks_deadline
             WHERE deadline_ms IS NOT NULL AND deadline_ms <= ?1 ORDER BY deadline_ms"
        );
        let over = self.readable_tasks(sql, [now])?;
        let next = self
            .connection
            .prepare_cached(
                "SELECT min(deadline_ms) FROM tasks INDEXED BY tasks_deadline
                 WHERE deadline_ms IS NOT NULL AND deadline_ms > ?1",
            )?
            .query_row([now], |row| row.get(0))?;
        Ok((over, next))
    }

    /// Tasks with a deadline that are queued or wait for approval: the clocks that a starting dispatcher sets anew.
    pub fn waiting_with_deadline(&self) -> Result<Vec<Task>, Failure> {
        let sql = concat!(
            "SELECT ",
            task_columns!(),
            " FROM tasks INDEXED BY tasks_deadline
             WHERE deadline_ms IS NOT NULL AND status IN ('queued','blocked')"
        );
        self.readable_tasks(sql, [])
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Options, Store};
    use super::NEXT_READY;
    use crate::store::Failure;

    #[test]
    fn the_claim_walks_the_ready_index_and_sorts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("x.db"), Options::default()).unwrap();
        let plan: Vec<String> = store
            .read(|view| {
                let mut statement = view.connection.prepare(&["EXPLAIN QUERY PLAN ", NEXT_READY].concat())?;
                let rows = statement.query_map([""], |row| row.get(3))?;
                Ok(rows.collect::<Result<_, rusqlite::Error>>()?)
            })
            .map_err(|e: Failure| e.to_string())
            .unwrap();
        assert_eq!(plan, ["SEARCH tasks USING INDEX tasks_ready (lane=?)"]);
    }
}
