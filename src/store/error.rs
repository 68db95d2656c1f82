//! Why the database can't be used, in words that say what to do.

use std::path::PathBuf;
use thiserror::Error;

use crate::domain::Refusal;

/// Why the database can't be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file or folder can't be opened or made.
    #[error(
        "can't use {path}: {source}; check that the folder exists and that you may write to it, or name another file with --db"
    )]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The folder of a file that is to be made does not exist. It is not made here: a mistyped path would become
    /// an empty board.
    #[error("there is no folder {0}; make it first, or name another file with --db")]
    NoFolder(PathBuf),
    /// The database is read-only.
    #[error("{0} can't be written: it is read-only; change its permissions, or name another file with --db")]
    ReadOnly(PathBuf),
    /// The disk is full.
    #[error(
        "{0} can't be written: the disk is full; nothing of this command was kept, free some space and try again"
    )]
    Full(PathBuf),
    /// The system can't read or write it.
    #[error(
        "{path} can't be read or written ({detail}); nothing of this command was kept: check the disk, its quota and the limits of this process (ulimit -f), then try again"
    )]
    Disk {
        /// Which file.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
    },
    /// It is on a network file system.
    #[error(
        "{path} is on a network file system ({kind}), where SQLite's locks can't be trusted; name a local file with --db"
    )]
    Network {
        /// Which file.
        path: PathBuf,
        /// Which file system.
        kind: String,
    },
    /// A newer program made it.
    #[error(
        "{path} was made by a newer andon (schema {found}, this program knows {known}); update andon, or name another file with --db"
    )]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// It is damaged, or no database at all.
    #[error(
        "{path} is damaged or is not a database ({detail}); it was left as it is: restore a backup to that place, or name another file with --db"
    )]
    Corrupt {
        /// Which file.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
    },
    /// One row has bad data; the others are whole.
    #[error(
        "{path}: {detail}; it was left as it is and the rest can be used: restore a backup, or mend that field"
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Which row and field, and what is wrong with it.
        detail: String,
    },
    /// It belongs to another program.
    #[error("{0} is a database of another program; name another file with --db")]
    Foreign(PathBuf),
    /// Somebody else held it for too long.
    #[error("{0} was held by another process for too long; nothing of this command was kept, try again")]
    Busy(PathBuf),
    /// A row changed underneath, or can't be read.
    #[error("{0}")]
    Row(String),
    /// The writer thread ended.
    #[error("the database was closed; start again")]
    Closed,
    /// Anything else that SQLite says.
    #[error("the database says: {0}")]
    Sql(#[source] rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        StoreError::Sql(error)
    }
}

impl StoreError {
    /// Whether it concerns one row only, so that the rest of a batch can go on.
    pub fn is_damage(&self) -> bool {
        match self {
            StoreError::Damaged { .. } | StoreError::Row(_) => true,
            StoreError::Sql(error) => super::rows::is_damaged(error),
            _ => false,
        }
    }

    /// Gives the plain words to what SQLite reports about `path`.
    pub(super) fn at(self, path: &std::path::Path) -> StoreError {
        let StoreError::Sql(error) = self else { return self };
        let path = path.to_owned();
        if super::rows::is_damaged(&error) {
            let detail = match &error {
                rusqlite::Error::FromSqlConversionFailure(_, _, inner) => inner.to_string(),
                other => other.to_string(),
            };
            return StoreError::Damaged { path, detail };
        }
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => StoreError::Full(path),
            Some(rusqlite::ErrorCode::SystemIoFailure) => {
                StoreError::Disk { path, detail: error.to_string() }
            }
            Some(rusqlite::ErrorCode::ReadOnly) => StoreError::ReadOnly(path),
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
                StoreError::Busy(path)
            }
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                StoreError::Corrupt { path, detail: error.to_string() }
            }
            Some(rusqlite::ErrorCode::CannotOpen) => {
                StoreError::File { path, source: std::io::Error::other(error.to_string()) }
            }
            _ => StoreError::Sql(error),
        }
    }
}

/// Why a transaction did nothing: it was refused, or the store failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// Refused; nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The database can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Failure::Store(StoreError::Sql(error))
    }
}

impl Failure {
    /// Whether it comes from what one row holds, so that others can go on; not from the file, the disk or a lock.
    pub fn is_about_one_row(&self) -> bool {
        match self {
            Failure::Refused(_) | Failure::Store(StoreError::Row(_)) => true,
            Failure::Store(StoreError::Sql(error)) => {
                matches!(
                    error,
                    rusqlite::Error::FromSqlConversionFailure(..)
                        | rusqlite::Error::InvalidColumnType(..)
                        | rusqlite::Error::IntegralValueOutOfRange(..)
                ) || error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
            }
            Failure::Store(_) => false,
        }
    }

    pub(super) fn at(self, path: &std::path::Path) -> Failure {
        match self {
            Failure::Store(error) => Failure::Store(error.at(path)),
            refused => refused,
        }
    }
}
