//! Runs, their leases, and the dispatchers that hold them.

use rusqlite::{OptionalExtension, named_params, params};

use super::error::Failure;
use super::rows::{self, run_columns, to_json};
use super::writer::{Tx, View};
use crate::domain::time::Millis;
use crate::domain::{Intent, Run, RunId, TaskId};

/// An answer that waits for the next run of its task.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// Which question or wait.
    pub id: String,
    /// What was asked.
    pub question: String,
    /// What was answered.
    pub answer: String,
}

impl View<'_> {
    /// One run.
    pub fn run(&self, id: &RunId) -> Result<Option<Run>, Failure> {
        let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = ?1");
        Ok(self.connection.prepare_cached(sql)?.query_row([id.as_str()], rows::run).optional()?)
    }

    /// The run of a task that has not ended.
    pub fn active_run(&self, task_seq: i64) -> Result<Option<Run>, Failure> {
        let sql =
            concat!("SELECT ", run_columns!(), " FROM runs WHERE task_seq = ?1 AND ended_at_ms IS NULL");
        Ok(self.connection.prepare_cached(sql)?.query_row([task_seq], rows::run).optional()?)
    }

    /// The last run of a task.
    pub fn last_run(&self, task_seq: i64) -> Result<Option<Run>, Failure> {
        let sql =
            concat!("SELECT ", run_columns!(), " FROM runs WHERE task_seq = ?1 ORDER BY number DESC LIMIT 1");
        Ok(self.connection.prepare_cached(sql)?.query_row([task_seq], rows::run).optional()?)
    }

    /// All runs of a task, the first one first.
    pub fn runs_of(&self, task_seq: i64) -> Result<Vec<Run>, Failure> {
        let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE task_seq = ?1 ORDER BY number");
        self.runs(sql, [task_seq])
    }

    /// The active runs of dispatchers other than `dispatcher`: where that one has the lock, theirs are orphans.
    pub fn orphaned_runs(&self, dispatcher: &str) -> Result<Vec<Run>, Failure> {
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs INDEXED BY runs_held
             WHERE ended_at_ms IS NULL AND holder IS NOT NULL AND holder <> ?1"
        );
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(rows::readable(statement.query([dispatcher])?, usize::MAX, rows::run, |_| true)?)
    }

    /// The active runs that a dispatcher holds.
    pub fn held_runs(&self, dispatcher: &str) -> Result<Vec<Run>, Failure> {
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs INDEXED BY runs_held
             WHERE ended_at_ms IS NULL AND holder IS NOT NULL AND holder = ?1"
        );
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(rows::readable(statement.query([dispatcher])?, usize::MAX, rows::run, |_| true)?)
    }

    /// The runs of a dispatcher that are to be ended, and whether they asked for it themselves.
    pub fn closing_runs(&self, dispatcher: &str) -> Result<Vec<(RunId, bool)>, Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, closing_self FROM runs INDEXED BY runs_closing
             WHERE ended_at_ms IS NULL AND closing_as IS NOT NULL AND holder = ?1",
        )?;
        let found = statement.query_map([dispatcher], |row| Ok((RunId(row.get(0)?), row.get(1)?)))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// How many slots are in use: active runs of any dispatcher that are not parked.
    pub fn slots_used(&self) -> Result<u32, Failure> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT count(*) FROM runs INDEXED BY runs_held
                 WHERE ended_at_ms IS NULL AND holder IS NOT NULL AND parked = 0",
            )?
            .query_row([], |row| row.get(0))?)
    }

    /// How many runs of each lane are active and not parked.
    pub fn slots_by_lane(&self) -> Result<Vec<(String, u32)>, Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT tasks.lane, count(*) FROM runs INDEXED BY runs_held JOIN tasks ON tasks.seq = runs.task_seq
             WHERE ended_at_ms IS NULL AND holder IS NOT NULL AND parked = 0 GROUP BY tasks.lane",
        )?;
        let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The dispatcher that is at work: its slots, and whether it is draining.
    pub fn dispatcher(&self) -> Result<Option<(String, u32, bool)>, Failure> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT id, slots, draining FROM dispatchers WHERE ended_at_ms IS NULL
                 ORDER BY started_at_ms DESC, id LIMIT 1",
            )?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?)
    }

    /// Whether the dispatcher that is at work starts nothing, since the database is damaged.
    pub fn dispatcher_is_halted(&self) -> Result<bool, Failure> {
        let last = self
            .connection
            .prepare_cached(
                "SELECT draining FROM dispatchers WHERE ended_at_ms IS NULL
                 ORDER BY started_at_ms DESC, id LIMIT 1",
            )?
            .query_row([], |row| row.get::<_, i64>(0))
            .optional()?;
        Ok(last == Some(2))
    }

    /// Whether this dispatcher is the last one that began; `None` where its beginning was not written.
    pub fn is_last_dispatcher(&self, id: &str) -> Result<Option<bool>, Failure> {
        Ok(self
            .connection
            .prepare_cached("SELECT ended_at_ms IS NULL FROM dispatchers WHERE id = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()?)
    }

    /// The process of the dispatcher that is at work, or that ended without a word.
    pub fn dispatcher_pid(&self) -> Result<Option<u32>, Failure> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT pid FROM dispatchers WHERE ended_at_ms IS NULL ORDER BY started_at_ms DESC, id LIMIT 1",
            )?
            .query_row([], |row| row.get(0))
            .optional()?)
    }

    /// When the last dispatcher was last seen alive; 0 where there never was one.
    pub fn dispatcher_last_seen(&self) -> Result<Millis, Failure> {
        Ok(self
            .connection
            .prepare_cached("SELECT coalesce(max(coalesce(ended_at_ms, seen_at_ms)), 0) FROM dispatchers")?
            .query_row([], |row| row.get(0))?)
    }

    fn runs<P: rusqlite::Params>(&self, sql: &str, params: P) -> Result<Vec<Run>, Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map(params, rows::run)?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}

impl Tx<'_> {
    /// Writes a new run.
    pub fn insert_run(&self, task_seq: i64, run: &Run) -> Result<(), Failure> {
        self.connection
            .prepare_cached(
                "INSERT INTO runs (id, task_seq, task_id, number, epoch, attempt, owner, holder, session_id,
                   lease_until_ms, started_at_ms, ended_at_ms, deadline_ms, outcome, note)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            )?
            .execute(params![
                run.id.as_str(),
                task_seq,
                run.task_id.as_str(),
                run.number,
                run.epoch,
                run.attempt,
                run.owner,
                run.holder,
                run.session_id,
                run.lease_until_ms,
                run.started_at_ms,
                run.ended_at_ms,
                run.deadline_ms,
                run.outcome.map(|o| o.as_str()),
                run.note,
            ])?;
        Ok(())
    }

    /// Writes what may change of a run that has not ended, or ends it.
    pub fn update_run(&self, run: &Run) -> Result<(), Failure> {
        let process = run.process.as_ref().map(to_json).transpose()?;
        let usage = run.usage.as_ref().map(to_json).transpose()?;
        self.connection
            .prepare_cached(
                "UPDATE runs SET lease_until_ms = :lease_until_ms, ended_at_ms = :ended_at_ms,
                   deadline_ms = :deadline_ms, process = :process, closing_as = :closing_as,
                   closing_text = :closing_text, closing_self = :closing_self, outcome = :outcome, exit_code = :exit_code,
                   exit_signal = :exit_signal, note = :note, parked = :parked, usage = :usage
                 WHERE id = :id",
            )?
            .execute(named_params! {
                ":id": run.id.as_str(), ":lease_until_ms": run.lease_until_ms, ":ended_at_ms": run.ended_at_ms,
                ":deadline_ms": run.deadline_ms, ":process": process,
                ":closing_as": run.closing_as.map(Intent::as_str), ":closing_text": run.closing_text, ":closing_self": run.closing_self,
                ":outcome": run.outcome.map(|o| o.as_str()), ":exit_code": run.exit_code,
                ":exit_signal": run.exit_signal, ":note": run.note, ":parked": run.parked, ":usage": usage,
            })?;
        Ok(())
    }

    /// Renews the lease of an active run and notes its last sign of life. Writes no event.
    pub fn renew_lease(
        &self,
        run: &RunId,
        holder: &str,
        until: Millis,
        active_at: Millis,
    ) -> Result<bool, Failure> {
        let sql = "UPDATE runs SET lease_until_ms = ?3, active_at_ms = max(coalesce(active_at_ms, 0), ?4)
                   WHERE id = ?1 AND holder = ?2 AND ended_at_ms IS NULL";
        Ok(self.connection.prepare_cached(sql)?.execute(params![run.as_str(), holder, until, active_at])?
            == 1)
    }

    /// Notes that a dispatcher begins; every earlier one has ended.
    pub fn begin_dispatcher(&self, id: &str, pid: u32, slots: u32, now: Millis) -> Result<(), Failure> {
        self.connection
            .prepare_cached("UPDATE dispatchers SET ended_at_ms = seen_at_ms WHERE ended_at_ms IS NULL")?
            .execute([])?;
        self.connection
            .prepare_cached(
                "INSERT INTO dispatchers (id, pid, slots, started_at_ms, seen_at_ms) VALUES (?1, ?2, ?3, ?4, ?4)",
            )?
            .execute(params![id, pid, slots, now])?;
        Ok(())
    }

    /// Notes that a dispatcher lives. Writes no event.
    pub fn see_dispatcher(&self, id: &str, now: Millis) -> Result<(), Failure> {
        self.connection
            .prepare_cached("UPDATE dispatchers SET seen_at_ms = ?2 WHERE id = ?1")?
            .execute(params![id, now])?;
        Ok(())
    }

    /// Notes that a dispatcher claims nothing more, or has ended.
    pub fn change_dispatcher(
        &self,
        id: &str,
        draining: bool,
        ended_at: Option<Millis>,
    ) -> Result<(), Failure> {
        self.connection
            .prepare_cached("UPDATE dispatchers SET draining = ?2, ended_at_ms = coalesce(?3, ended_at_ms), seen_at_ms = coalesce(?3, seen_at_ms) WHERE id = ?1")?
            .execute(params![id, draining, ended_at])?;
        Ok(())
    }

    /// Records that a dispatcher starts nothing any more, since the database is damaged.
    pub fn halt_dispatcher(&self, id: &str) -> Result<(), Failure> {
        self.connection.prepare_cached("UPDATE dispatchers SET draining = 2 WHERE id = ?1")?.execute([id])?;
        Ok(())
    }

    /// Notes facts about a session, over those that were known.
    pub fn note_session(&self, id: &str, task: &TaskId, facts: &str, now: Millis) -> Result<(), Failure> {
        self.connection
            .prepare_cached(
                "INSERT INTO sessions (id, task_seq, facts, created_at_ms, updated_at_ms)
                 VALUES (?1, (SELECT seq FROM tasks WHERE id = ?2), ?3, ?4, ?4)
                 ON CONFLICT (id) DO UPDATE SET facts = json_patch(facts, excluded.facts), updated_at_ms = ?4",
            )?
            .execute(params![id, task.as_str(), facts, now])?;
        Ok(())
    }
}
