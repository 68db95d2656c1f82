//! What comes by itself: waits for tasks, events and timers, the timers, and the events that arrived.

use rusqlite::{OptionalExtension, Params, params};

use super::error::Failure;
use super::rows::{self, to_json, wait_columns};
use super::writer::{Tx, View};
use crate::domain::time::Millis;
use crate::domain::{RunId, Timer, TimerId, Wait, WaitKind, Waiter, Wake};

impl View<'_> {
    /// One wait of any kind.
    pub fn wait(&self, id: &str) -> Result<Option<Wait>, Failure> {
        let sql = concat!("SELECT ", wait_columns!(), " FROM waits WHERE id = ?1");
        Ok(self.connection.prepare_cached(sql)?.query_row([id], rows::wait).optional()?)
    }

    /// What a task waits for now.
    pub fn open_wait(&self, task_seq: i64) -> Result<Option<Wait>, Failure> {
        let sql = concat!(
            "SELECT ",
            wait_columns!(),
            " FROM waits INDEXED BY waits_open WHERE task_seq = ?1 AND state = 'open'"
        );
        Ok(self.connection.prepare_cached(sql)?.query_row([task_seq], rows::wait).optional()?)
    }

    /// What a task waited for, which has happened; it has not gone on yet.
    pub fn triggered_wait(&self, task_seq: i64) -> Result<Option<Wait>, Failure> {
        let sql = concat!(
            "SELECT ",
            wait_columns!(),
            " FROM waits INDEXED BY waits_of_task WHERE task_seq = ?1 AND state IN ('answered','triggered')"
        );
        Ok(self.connection.prepare_cached(sql)?.query_row([task_seq], rows::wait).optional()?)
    }

    /// All waits of a task but questions and approvals, the first one first.
    pub fn waits_of(&self, task_seq: i64) -> Result<Vec<Wait>, Failure> {
        let sql = concat!(
            "SELECT ",
            wait_columns!(),
            " FROM waits INDEXED BY waits_of_task
             WHERE task_seq = ?1 AND kind NOT IN ('question','approval') ORDER BY asked_at_ms, id"
        );
        self.waits(sql, [task_seq])
    }

    /// The open waits for this, the oldest first.
    pub fn waits_for(&self, kind: WaitKind, subject: &str) -> Result<Vec<Wait>, Failure> {
        let sql = concat!(
            "SELECT ",
            wait_columns!(),
            " FROM waits INDEXED BY waits_for WHERE kind = ?1 AND subject = ?2 AND state = 'open'
             ORDER BY asked_at_ms, id"
        );
        self.waits(sql, [kind.as_str(), subject])
    }

    /// Open waits whose time is over, and when the next one's is.
    pub fn expired_waits(&self, now: Millis) -> Result<(Vec<Wait>, Option<Millis>), Failure> {
        let sql = concat!(
            "SELECT ",
            wait_columns!(),
            " FROM waits INDEXED BY waits_expiring
             WHERE state = 'open' AND expires_at_ms IS NOT NULL AND expires_at_ms <= ?1 ORDER BY expires_at_ms"
        );
        let over = self.waits(sql, [now])?;
        let next = "SELECT min(expires_at_ms) FROM waits INDEXED BY waits_expiring
                    WHERE state = 'open' AND expires_at_ms IS NOT NULL AND expires_at_ms > ?1";
        Ok((over, self.connection.prepare_cached(next)?.query_row([now], |row| row.get(0))?))
    }

    fn waits<P: Params>(&self, sql: &str, params: P) -> Result<Vec<Wait>, Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map(params, rows::wait)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// One timer.
    pub fn timer(&self, id: &TimerId) -> Result<Option<Timer>, Failure> {
        let sql = "SELECT * FROM timers WHERE id = ?1";
        Ok(self.connection.prepare_cached(sql)?.query_row([id.as_str()], rows::timer).optional()?)
    }

    /// The timers that have not gone off, the next one first; with `all` the newest of the others too.
    pub fn timers(&self, all: bool, limit: u32) -> Result<Vec<Timer>, Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT * FROM timers WHERE ?1 OR state = 'open'
             ORDER BY state <> 'open', iif(state = 'open', due_at_ms, -due_at_ms), id LIMIT ?2",
        )?;
        let found = statement.query_map(params![all, limit], rows::timer)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Timers that are to go off, and when the next one is.
    pub fn due_timers(&self, now: Millis) -> Result<(Vec<Timer>, Option<Millis>), Failure> {
        let sql = "SELECT * FROM timers INDEXED BY timers_open WHERE state = 'open' AND due_at_ms <= ?1
                   ORDER BY due_at_ms";
        let mut statement = self.connection.prepare_cached(sql)?;
        let due = statement.query_map([now], rows::timer)?.collect::<Result<_, _>>()?;
        let next = "SELECT min(due_at_ms) FROM timers INDEXED BY timers_open WHERE state = 'open' AND due_at_ms > ?1";
        Ok((due, self.connection.prepare_cached(next)?.query_row([now], |row| row.get(0))?))
    }

    /// The event with this key, if it has arrived.
    pub fn wake(&self, key: &str) -> Result<Option<Wake>, Failure> {
        let sql = "SELECT key, data, by, at_ms FROM wakes WHERE key = ?1";
        let wake = |row: &rusqlite::Row<'_>| {
            Ok(Wake { key: row.get(0)?, data: rows::json(row, 1)?, by: row.get(2)?, at_ms: row.get(3)? })
        };
        Ok(self.connection.prepare_cached(sql)?.query_row([key], wake).optional()?)
    }
}

impl Tx<'_> {
    /// Writes a new wait; of a task with this number, or of a work item.
    pub fn insert_wait(&self, task_seq: Option<i64>, wait: &Wait) -> Result<(), Failure> {
        let (task, item) = match &wait.waiter {
            Waiter::Task(id) => (Some(id.as_str()), None),
            Waiter::Item(id) => (None, Some(id.as_str())),
        };
        self.connection
            .prepare_cached(
                "INSERT INTO waits (id, kind, task_seq, task_id, item_id, run_id, subject, body, asked_by,
                   asker_waits, state, answer, asked_at_ms, expires_at_ms, closed_at_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            )?
            .execute(params![
                wait.id.as_str(),
                wait.kind.as_str(),
                task_seq,
                task,
                item,
                wait.run_id.as_ref().map(RunId::as_str),
                wait.subject,
                wait.reason,
                wait.asked_by,
                wait.asker_waits,
                wait.state.as_str(),
                outcome(wait)?,
                wait.asked_at_ms,
                wait.expires_at_ms,
                wait.closed_at_ms,
            ])?;
        Ok(())
    }

    /// Writes where a wait stands, and what it was triggered with.
    pub fn update_wait(&self, wait: &Wait) -> Result<(), Failure> {
        self.connection
            .prepare_cached("UPDATE waits SET state = ?2, answer = ?3, closed_at_ms = ?4 WHERE id = ?1")?
            .execute(params![wait.id.as_str(), wait.state.as_str(), outcome(wait)?, wait.closed_at_ms])?;
        Ok(())
    }

    /// Writes a new timer.
    pub fn insert_timer(&self, timer: &Timer) -> Result<(), Failure> {
        self.connection
            .prepare_cached(
                "INSERT INTO timers (id, name, due_at_ms, state, created_by, task_id, created_at_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                timer.id.as_str(),
                timer.name,
                timer.due_at_ms,
                timer.state.as_str(),
                timer.created_by,
                timer.task_id.as_ref().map(|id| id.as_str()),
                timer.created_at_ms,
            ])?;
        Ok(())
    }

    /// Writes where a timer stands.
    pub fn update_timer(&self, timer: &Timer) -> Result<(), Failure> {
        self.connection
            .prepare_cached("UPDATE timers SET state = ?2, closed_at_ms = ?3 WHERE id = ?1")?
            .execute(params![timer.id.as_str(), timer.state.as_str(), timer.closed_at_ms])?;
        Ok(())
    }

    /// Keeps an event. False where one with this key had arrived before: that one stays.
    pub fn insert_wake(&self, wake: &Wake) -> Result<bool, Failure> {
        let written = self
            .connection
            .prepare_cached(
                "INSERT INTO wakes (key, data, by, at_ms) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            )?
            .execute(params![wake.key, to_json(&wake.data)?, wake.by, wake.at_ms])?;
        Ok(written == 1)
    }
}

fn outcome(wait: &Wait) -> rusqlite::Result<String> {
    match &wait.outcome {
        serde_json::Value::Null => Ok(String::new()),
        serde_json::Value::String(text) if wait.kind.needs_person() => Ok(text.clone()),
        value => to_json(value),
    }
}
