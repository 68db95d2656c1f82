//! What happened on a board after an event, counted from the log: no more is read than was written since.

use rusqlite::params;

use super::error::Failure;
use super::writer::View;
use crate::domain::Away;

impl View<'_> {
    /// What happened on a board after event `since`.
    pub fn away(&self, board: &str, since: i64) -> Result<Away, Failure> {
        let counts = "SELECT
             count(DISTINCT CASE WHEN e.kind = 'succeeded' THEN e.task_seq END),
             count(DISTINCT CASE WHEN e.kind = 'failed' AND t.status = 'failed' AND t.archived_at_ms IS NULL
                                 THEN e.task_seq END),
             count(CASE WHEN e.kind IN ('asked','approval_asked') THEN 1 END)
           FROM events e JOIN tasks t ON t.seq = e.task_seq
           WHERE e.seq > ?1 AND t.board_id = ?2
             AND e.kind IN ('succeeded','failed','asked','approval_asked')";
        let spent = "SELECT coalesce(sum(coalesce(json_extract(r.usage, '$.input_tokens'), 0)
                                       + coalesce(json_extract(r.usage, '$.output_tokens'), 0)), 0)
           FROM runs r JOIN tasks t ON t.seq = r.task_seq
           WHERE r.id IN (SELECT run_id FROM events WHERE seq > ?1 AND run_id IS NOT NULL)
             AND r.ended_at_ms IS NOT NULL AND r.usage IS NOT NULL AND t.board_id = ?2";
        let counted = self.connection.prepare_cached(counts)?.query_row(params![since, board], |row| {
            Ok(Away { finished: row.get(0)?, failed: row.get(1)?, asked: row.get(2)?, tokens: 0 })
        })?;
        let tokens: i64 =
            self.connection.prepare_cached(spent)?.query_row(params![since, board], |row| row.get(0))?;
        Ok(Away { tokens: u64::try_from(tokens).unwrap_or(0), ..counted })
    }
}
