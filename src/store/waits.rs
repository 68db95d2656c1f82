//! Questions and their answers, and to whom they were shown.

use rusqlite::{OptionalExtension, params};

use super::error::Failure;
use super::rows::{self, question_columns, to_json};
use super::runs::Delivery;
use super::writer::{Tx, View};
use crate::domain::time::Millis;
use crate::domain::{Question, QuestionId, RunId};

impl View<'_> {
    /// One question.
    pub fn question(&self, id: &QuestionId) -> Result<Option<Question>, Failure> {
        let sql = concat!("SELECT ", question_columns!(), " FROM waits WHERE id = ?1 AND kind = 'question'");
        Ok(self.connection.prepare_cached(sql)?.query_row([id.as_str()], rows::question).optional()?)
    }

    /// The full ids that start like this.
    pub fn questions_with_prefix(&self, prefix: &str) -> Result<Vec<String>, Failure> {
        self.ids_with_prefix("SELECT id FROM waits WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 6", prefix)
    }

    /// The open question of a task.
    pub fn open_question(&self, task_seq: i64) -> Result<Option<Question>, Failure> {
        let sql = concat!(
            "SELECT ",
            question_columns!(),
            " FROM waits INDEXED BY waits_open
             WHERE task_seq = ?1 AND kind = 'question' AND state = 'open'"
        );
        Ok(self.connection.prepare_cached(sql)?.query_row([task_seq], rows::question).optional()?)
    }

    /// Whether whoever asked lives on and waits for the answer.
    pub fn asker_waits(&self, id: &str) -> Result<bool, Failure> {
        let sql = "SELECT asker_waits FROM waits WHERE id = ?1";
        Ok(self
            .connection
            .prepare_cached(sql)?
            .query_row([id], |row| row.get(0))
            .optional()?
            .unwrap_or(false))
    }

    /// All questions of a task, the first one first.
    pub fn questions_of(&self, task_seq: i64) -> Result<Vec<Question>, Failure> {
        let sql = concat!(
            "SELECT ",
            question_columns!(),
            " FROM waits WHERE task_seq = ?1 AND kind = 'question' ORDER BY asked_at_ms, id"
        );
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map([task_seq], rows::question)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Open questions with number, title and board of their tasks, oldest first.
    pub fn open_questions(
        &self,
        board: Option<&str>,
    ) -> Result<Vec<(Question, i64, String, String)>, Failure> {
        let sql = concat!(
            "SELECT ",
            question_columns!(),
            ", tasks.seq, tasks.title, tasks.board_id
             FROM waits INDEXED BY waits_open JOIN tasks ON tasks.seq = waits.task_seq
             WHERE kind = 'question' AND state = 'open' AND task_seq IS NOT NULL AND (?1 IS NULL OR tasks.board_id = ?1)
               AND tasks.archived_at_ms IS NULL
             ORDER BY waits.asked_at_ms, waits.id"
        );
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement
            .query_map([board], |row| Ok((rows::question(row)?, row.get(12)?, row.get(13)?, row.get(14)?)))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The answer that the next run of a task is to get.
    pub fn undelivered_answer(&self, task_seq: i64) -> Result<Option<Delivery>, Failure> {
        let sql = "SELECT id, body, answer FROM waits INDEXED BY waits_undelivered
                   WHERE task_seq = ?1 AND state = 'consumed' AND delivered_to IS NULL AND kind <> 'approval'
                   ORDER BY closed_at_ms DESC LIMIT 1";
        Ok(self
            .connection
            .prepare_cached(sql)?
            .query_row([task_seq], |row| {
                Ok(Delivery { id: row.get(0)?, question: row.get(1)?, answer: row.get(2)? })
            })
            .optional()?)
    }
}

impl View<'_> {
    /// To which clients a question or an approval was shown, the first one first.
    pub fn deliveries(&self, id: &str) -> Result<Vec<String>, Failure> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT client FROM deliveries WHERE wait_id = ?1 ORDER BY at_ms, client")?;
        let found = statement.query_map([id], |row| row.get(0))?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}

impl Tx<'_> {
    /// Notes that a question or an approval was shown to a client.
    pub fn note_delivery(&self, id: &str, client: &str, now: Millis) -> Result<(), Failure> {
        self.connection
            .prepare_cached(
                "INSERT INTO deliveries (wait_id, client, at_ms) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            )?
            .execute(params![id, client, now])?;
        Ok(())
    }

    /// Writes a new question.
    pub fn insert_question(
        &self,
        task_seq: i64,
        question: &Question,
        asker_waits: bool,
    ) -> Result<(), Failure> {
        self.connection
            .prepare_cached(
                "INSERT INTO waits (id, kind, purpose, task_seq, task_id, run_id, body, options, asked_by,
                   asker_waits, state, asked_at_ms, expires_at_ms)
                 VALUES (?1, 'question', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                question.id.as_str(),
                question.purpose.as_str(),
                task_seq,
                question.task_id.as_str(),
                question.run_id.as_ref().map(RunId::as_str),
                question.text,
                to_json(&question.options)?,
                question.asked_by,
                asker_waits,
                question.state.as_str(),
                question.asked_at_ms,
                question.expires_at_ms,
            ])?;
        Ok(())
    }

    /// Writes where a question stands, and its answer.
    pub fn update_question(&self, question: &Question) -> Result<(), Failure> {
        self.connection
            .prepare_cached("UPDATE waits SET state = ?2, answer = ?3, closed_at_ms = ?4 WHERE id = ?1")?
            .execute(params![
                question.id.as_str(),
                question.state.as_str(),
                question.answer,
                question.closed_at_ms
            ])?;
        Ok(())
    }

    /// Notes whether whoever asked lives on and waits for the answer.
    pub fn set_asker_waits(&self, id: &str, waits: bool) -> Result<(), Failure> {
        self.connection
            .prepare_cached("UPDATE waits SET asker_waits = ?2 WHERE id = ?1")?
            .execute(params![id, waits])?;
        Ok(())
    }

    /// Notes which run was given an answer: each is given once.
    pub fn deliver_answer(&self, wait: &str, run: &RunId) -> Result<(), Failure> {
        self.connection
            .prepare_cached("UPDATE waits SET delivered_to = ?2 WHERE id = ?1")?
            .execute([wait, run.as_str()])?;
        Ok(())
    }
}
