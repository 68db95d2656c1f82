//! Dependencies: who needs whom. Rows are kept for ever; what is open is a view of them.

use super::error::Failure;
use super::rows;
use super::writer::{Tx, View};
use crate::domain::board::Predecessor;
use crate::domain::{TaskId, TaskStatus};

impl View<'_> {
    /// What a task needs: all of it, settled or not.
    pub fn predecessors(&self, seq: i64) -> Result<Vec<Predecessor>, Failure> {
        self.neighbours(
            "SELECT tasks.seq, title, status, tasks.id FROM dependencies JOIN tasks ON tasks.seq = on_seq
             WHERE task_seq = ?1 ORDER BY on_seq",
            seq,
        )
    }

    /// What needs a task.
    pub fn successors(&self, seq: i64) -> Result<Vec<Predecessor>, Failure> {
        self.neighbours(
            "SELECT tasks.seq, title, status, tasks.id FROM dependencies JOIN tasks ON tasks.seq = task_seq
             WHERE on_seq = ?1 ORDER BY task_seq",
            seq,
        )
    }

    fn neighbours(&self, sql: &str, seq: i64) -> Result<Vec<Predecessor>, Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map([seq], |row| {
            Ok(Predecessor {
                id: TaskId(row.get(3)?),
                seq: row.get(0)?,
                title: row.get(1)?,
                status: rows::word(row, 2, TaskStatus::parse)?,
            })
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The numbers of what a task needs.
    pub fn needs(&self, seq: i64) -> Result<Vec<i64>, Failure> {
        self.numbers("SELECT on_seq FROM dependencies WHERE task_seq = ?1", [seq])
    }

    /// The numbers of what needs a task.
    pub fn needed_by(&self, seq: i64) -> Result<Vec<i64>, Failure> {
        self.numbers("SELECT task_seq FROM dependencies WHERE on_seq = ?1 ORDER BY task_seq", [seq])
    }

    /// How many open predecessors a task has, counted.
    pub fn count_open_predecessors(&self, seq: i64) -> Result<u32, Failure> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT count(*) FROM dependencies JOIN tasks ON tasks.seq = on_seq
                 WHERE task_seq = ?1 AND status <> 'success'",
            )?
            .query_row([seq], |row| row.get(0))?)
    }
}

impl Tx<'_> {
    /// Notes that `task` needs `on`; false where that was known.
    pub fn add_dependency(&self, task: i64, on: i64) -> Result<bool, Failure> {
        let sql = "INSERT INTO dependencies (task_seq, on_seq) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        Ok(self.connection.prepare_cached(sql)?.execute([task, on])? == 1)
    }

    /// Forgets that `task` needs `on`; false where it did not.
    pub fn remove_dependency(&self, task: i64, on: i64) -> Result<bool, Failure> {
        let sql = "DELETE FROM dependencies WHERE task_seq = ?1 AND on_seq = ?2";
        Ok(self.connection.prepare_cached(sql)?.execute([task, on])? == 1)
    }
}
