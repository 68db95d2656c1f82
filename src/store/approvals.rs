//! Calls that wait for a person's decision, and what was decided.

use rusqlite::{OptionalExtension, Params, params};

use super::error::Failure;
use super::rows::{self, ApprovalDetail, approval_columns, to_json};
use super::writer::{Tx, View};
use crate::domain::{Approval, ApprovalId, RunId};

impl View<'_> {
    /// One approval.
    pub fn approval(&self, id: &ApprovalId) -> Result<Option<Approval>, Failure> {
        let sql = concat!("SELECT ", approval_columns!(), " FROM waits WHERE id = ?1 AND kind = 'approval'");
        Ok(self.connection.prepare_cached(sql)?.query_row([id.as_str()], rows::approval).optional()?)
    }

    /// The full ids that start like this.
    pub fn approvals_with_prefix(&self, prefix: &str) -> Result<Vec<String>, Failure> {
        self.ids_with_prefix(
            "SELECT id FROM waits WHERE id >= ?1 AND id < ?2 AND kind = 'approval' ORDER BY id LIMIT 6",
            prefix,
        )
    }

    /// The open approval of a task.
    pub fn open_approval(&self, task_seq: i64) -> Result<Option<Approval>, Failure> {
        let sql = concat!(
            "SELECT ",
            approval_columns!(),
            " FROM waits INDEXED BY waits_open
             WHERE task_seq = ?1 AND kind = 'approval' AND state = 'open'"
        );
        Ok(self.connection.prepare_cached(sql)?.query_row([task_seq], rows::approval).optional()?)
    }

    /// What allows this call of a task: what was allowed once and not used comes first.
    pub fn allowance(&self, task_seq: i64, hash: &str) -> Result<Option<Approval>, Failure> {
        let sql = concat!(
            "SELECT ",
            approval_columns!(),
            " FROM waits INDEXED BY waits_of_task
             WHERE task_seq = ?1 AND kind = 'approval' AND state = 'allowed' AND subject = ?2
             ORDER BY json_extract(detail, '$.scope') = 'task', asked_at_ms LIMIT 1"
        );
        Ok(self
            .connection
            .prepare_cached(sql)?
            .query_row(params![task_seq, hash], rows::approval)
            .optional()?)
    }

    /// All approvals of a task, the first one first.
    pub fn approvals_of(&self, task_seq: i64) -> Result<Vec<Approval>, Failure> {
        let sql = concat!(
            "SELECT ",
            approval_columns!(),
            " FROM waits INDEXED BY waits_of_task WHERE task_seq = ?1 AND kind = 'approval' ORDER BY asked_at_ms, id"
        );
        self.approvals(sql, [task_seq])
    }

    /// Decisions on calls of a task, and on the same call of any other, the newest first.
    pub fn decided_approvals(&self, task_seq: i64, hash: &str, limit: u32) -> Result<Vec<Approval>, Failure> {
        let sql = concat!(
            "SELECT ",
            approval_columns!(),
            " FROM waits WHERE kind = 'approval' AND state IN ('allowed','denied','consumed')
               AND (task_seq = ?1 OR subject = ?2)
             ORDER BY closed_at_ms DESC, id LIMIT ?3"
        );
        self.approvals(sql, params![task_seq, hash, limit])
    }

    /// Open approvals with number, title and board of their tasks, oldest first.
    pub fn open_approvals(
        &self,
        board: Option<&str>,
    ) -> Result<Vec<(Approval, i64, String, String)>, Failure> {
        let sql = concat!(
            "SELECT ",
            approval_columns!(),
            ", tasks.seq, tasks.title, tasks.board_id
             FROM waits INDEXED BY waits_open JOIN tasks ON tasks.seq = waits.task_seq
             WHERE kind = 'approval' AND state = 'open' AND task_seq IS NOT NULL
               AND (?1 IS NULL OR tasks.board_id = ?1) AND tasks.archived_at_ms IS NULL
             ORDER BY waits.asked_at_ms, waits.id"
        );
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement
            .query_map([board], |row| Ok((rows::approval(row)?, row.get(11)?, row.get(12)?, row.get(13)?)))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    fn approvals<P: Params>(&self, sql: &str, params: P) -> Result<Vec<Approval>, Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map(params, rows::approval)?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}

impl View<'_> {
    /// Whether a call of this run was decided about after the run was told to end over it.
    pub fn was_decided_unheard(&self, task_seq: i64, run: &RunId) -> Result<bool, Failure> {
        let sql = "SELECT EXISTS (SELECT 1 FROM waits INDEXED BY waits_of_task
                   WHERE task_seq = ?1 AND kind = 'approval' AND run_id = ?2 AND asker_waits = 0
                     AND state IN ('allowed','denied'))";
        Ok(self
            .connection
            .prepare_cached(sql)?
            .query_row(params![task_seq, run.as_str()], |row| row.get(0))?)
    }
}

impl Tx<'_> {
    /// Writes a new approval.
    pub fn insert_approval(
        &self,
        task_seq: i64,
        approval: &Approval,
        asker_waits: bool,
    ) -> Result<(), Failure> {
        self.connection
            .prepare_cached(
                "INSERT INTO waits (id, kind, task_seq, task_id, run_id, subject, body, detail, asked_by,
                   asker_waits, state, asked_at_ms)
                 VALUES (?1, 'approval', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?
            .execute(params![
                approval.id.as_str(),
                task_seq,
                approval.task_id.as_str(),
                approval.run_id.as_ref().map(RunId::as_str),
                approval.hash,
                to_json(&approval.call)?,
                to_json(&detail(approval))?,
                approval.asked_by,
                asker_waits,
                approval.state.as_str(),
                approval.asked_at_ms,
            ])?;
        Ok(())
    }

    /// Writes where an approval stands, and what was decided.
    pub fn update_approval(&self, approval: &Approval) -> Result<(), Failure> {
        self.connection
            .prepare_cached(
                "UPDATE waits SET state = ?2, answer = ?3, detail = ?4, closed_at_ms = ?5 WHERE id = ?1",
            )?
            .execute(params![
                approval.id.as_str(),
                approval.state.as_str(),
                approval.reason,
                to_json(&detail(approval))?,
                approval.decided_at_ms,
            ])?;
        Ok(())
    }
}

fn detail(approval: &Approval) -> ApprovalDetail {
    ApprovalDetail {
        tool: approval.tool.clone(),
        risk: approval.risk,
        scope: approval.scope,
        decided_by: approval.decided_by.clone(),
    }
}
