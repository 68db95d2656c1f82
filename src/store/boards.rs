//! Boards.

use rusqlite::params;

use super::error::Failure;
use super::writer::{Tx, View};
use crate::domain::BoardSummary;
use crate::domain::time::Millis;

impl View<'_> {
    /// Whether a board is known.
    pub fn has_board(&self, id: &str) -> Result<bool, Failure> {
        let sql = "SELECT EXISTS (SELECT 1 FROM boards WHERE id = ?1)";
        Ok(self.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?)
    }

    /// The names of all boards.
    pub fn board_ids(&self) -> Result<Vec<String>, Failure> {
        let mut statement = self.connection.prepare_cached("SELECT id FROM boards ORDER BY id")?;
        let found = statement.query_map([], |row| row.get(0))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// All boards with their counts, by name.
    pub fn boards(&self) -> Result<Vec<BoardSummary>, Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT boards.id, count(seq), count(*) FILTER (WHERE status = 'running'),
               count(*) FILTER (WHERE status IN ('review','failed') OR (status = 'blocked'
                 AND NOT EXISTS (SELECT 1 FROM waits INDEXED BY waits_open WHERE task_seq = tasks.seq
                   AND state = 'open' AND kind NOT IN ('question','approval'))))
             FROM boards LEFT JOIN tasks INDEXED BY tasks_open ON tasks.board_id = boards.id
               AND status NOT IN ('success','cancelled') AND archived_at_ms IS NULL
             GROUP BY boards.id ORDER BY boards.id",
        )?;
        let found = statement.query_map([], |row| {
            Ok(BoardSummary { id: row.get(0)?, open: row.get(1)?, running: row.get(2)?, lamps: row.get(3)? })
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}

impl Tx<'_> {
    /// Makes a board where there is none of that name; true where it was made.
    pub fn ensure_board(&self, id: &str, now: Millis) -> Result<bool, Failure> {
        let sql = "INSERT INTO boards (id, created_at_ms) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        Ok(self.connection.prepare_cached(sql)?.execute(params![id, now])? == 1)
    }
}
