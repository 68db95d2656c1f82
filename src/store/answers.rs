//! Answers that are kept under a key of their caller, so that a request that is sent twice is done once.

use rusqlite::{OptionalExtension, params};

use super::error::Failure;
use super::writer::{Tx, View};
use crate::domain::time::Millis;

/// What was answered under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// What the request was.
    pub fingerprint: String,
    /// The id of what it was about.
    pub about: String,
    /// Status and body of the answer; `None` where the program ended before it was kept.
    pub answer: Option<(u16, String)>,
}

impl View<'_> {
    /// What was answered under a key.
    pub fn kept_answer(&self, key: &str) -> Result<Option<KeptAnswer>, Failure> {
        let sql = "SELECT fingerprint, about, status, body FROM answers WHERE key = ?1";
        let found = self.connection.prepare_cached(sql)?.query_row([key], |row| {
            let status: Option<u16> = row.get(2)?;
            let body: Option<String> = row.get(3)?;
            Ok(KeptAnswer { fingerprint: row.get(0)?, about: row.get(1)?, answer: status.zip(body) })
        });
        Ok(found.optional()?)
    }
}

impl Tx<'_> {
    /// Notes that a request was carried out under a key.
    pub fn keep_key(&self, key: &str, fingerprint: &str, about: &str, now: Millis) -> Result<(), Failure> {
        let sql = "INSERT INTO answers (key, fingerprint, about, at_ms) VALUES (?1, ?2, ?3, ?4)";
        self.connection.prepare_cached(sql)?.execute(params![key, fingerprint, about, now])?;
        Ok(())
    }

    /// Keeps the answer under a key that is there.
    pub fn keep_answer(&self, key: &str, status: u16, body: &str) -> Result<(), Failure> {
        let sql = "UPDATE answers SET status = ?2, body = ?3 WHERE key = ?1";
        self.connection.prepare_cached(sql)?.execute(params![key, status, body])?;
        Ok(())
    }

    /// Forgets the keys from before then.
    pub fn forget_keys(&self, before: Millis) -> Result<(), Failure> {
        self.connection.prepare_cached("DELETE FROM answers WHERE at_ms < ?1")?.execute([before])?;
        Ok(())
    }
}
