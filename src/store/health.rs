//! The state of the file itself: whether it is sound, how long its write-ahead log has grown, and a copy of it. Each
//! call has a connection of its own and may take long; none of them runs on the way of a command.

use rusqlite::{Connection, OpenFlags};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{Failure, StoreError};
use super::open::{self, SCHEMA_VERSION, beside};
use super::writer::Store;
use crate::domain::Refusal;

/// The most problems that a check names.
const PROBLEMS: usize = 20;

/// What a backup is.
#[derive(Debug, Clone)]
pub struct Backup {
    /// Where it is, absolute.
    pub path: PathBuf,
    /// How long it is.
    pub bytes: u64,
    /// The last event in it.
    pub last_event: i64,
}

impl Store {
    /// Looks at every page (`PRAGMA quick_check`): what is damaged, or nothing. Takes about 1.5 s for a million tasks.
    pub fn quick_check(&self) -> Result<Vec<String>, StoreError> {
        let connection = open::reader(self.path())?;
        Ok(quick_check(&connection))
    }

    /// Looks for rows that point at rows which are not there (`PRAGMA foreign_key_check`).
    pub fn foreign_key_check(&self) -> Result<Vec<String>, StoreError> {
        let connection = open::reader(self.path())?;
        let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
        let found = statement.query_map([], |row| {
            let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(format!("a row of {table} points at a row of {parent} that is not there"))
        })?;
        Ok(found.take(PROBLEMS).collect::<Result<_, _>>()?)
    }

    /// The schema of the file, and the one that this program knows.
    pub fn schema(&self) -> Result<(i64, i64), StoreError> {
        let connection = open::reader(self.path())?;
        Ok((open::user_version(&connection)?, SCHEMA_VERSION))
    }

    /// How long the write-ahead log is, in bytes. It is only looked at, never opened: that is SQLite's alone.
    pub fn wal_bytes(&self) -> u64 {
        std::fs::metadata(beside(self.path(), "-wal")).map_or(0, |found| found.len())
    }

    /// Copies the write-ahead log into the database and cuts it. False where somebody reads or writes just now: it
    /// waits for nobody.
    pub fn truncate_wal(&self) -> Result<bool, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(self.path(), flags)?;
        connection.busy_timeout(Duration::ZERO)?;
        let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        match busy {
            Ok(busy) => Ok(!busy),
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(false),
            Err(error) => Err(StoreError::from(error).at(self.path())),
        }
    }

    /// Copies the database as it is at one moment to a new file that only its owner may read, while everybody works
    /// on. Once this returns, the copy is on disk, whole and checked; when it returns an error, there is none.
    pub fn backup(&self, to: &Path) -> Result<Backup, Failure> {
        let fault = |source| StoreError::File { path: to.to_owned(), source };
        let to = std::path::absolute(to).map_err(fault)?;
        self.refuse_target(&to)?;
        let partial = beside(&to, &format!(".partial-{}", std::process::id()));
        let copied = self.copy_to(&partial).and_then(|last_event| {
            let bytes = std::fs::metadata(&partial).map_err(fault)?.len();
            publish(&partial, &to)?;
            Ok(Backup { path: to.clone(), bytes, last_event })
        });
        // On success it is there under its own name; what can't be removed is in nobody's way.
        let _ = std::fs::remove_file(&partial);
        copied
    }

    fn refuse_target(&self, to: &Path) -> Result<(), Failure> {
        let Ok(there) = std::fs::symlink_metadata(to) else { return Ok(()) };
        let same = |file: &Path| {
            std::fs::metadata(file).is_ok_and(|ours| {
                std::fs::metadata(to)
                    .is_ok_and(|target| (target.dev(), target.ino()) == (ours.dev(), ours.ino()))
            })
        };
        if same(self.path()) {
            let said = "that is the database itself; name another file for its copy";
            return Err(Refusal::invalid("file", said).into());
        }
        let what = if there.is_dir() {
            "is a folder; name a file in it"
        } else {
            "exists already and is not overwritten; name a new file"
        };
        Err(Refusal::state("file_exists", format!("{} {what}", to.display())).into())
    }

    fn copy_to(&self, partial: &Path) -> Result<i64, Failure> {
        let fault = |source| StoreError::File { path: partial.to_owned(), source };
        let file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(partial).map_err(fault)?;
        let connection = open::reader(self.path())?;
        let name = partial.to_str().ok_or_else(|| {
            Refusal::invalid("file", "the name of a backup is plain text; name another file")
        })?;
        connection.execute("VACUUM INTO ?1", [name]).map_err(|error| StoreError::from(error).at(partial))?;
        file.sync_all().map_err(fault)?;
        drop(file);
        let copy = open::reader(partial)?;
        let problems = quick_check(&copy);
        match problems.first() {
            None => Ok(copy.query_row("SELECT coalesce(max(seq), 0) FROM events", [], |row| row.get(0))?),
            Some(detail) => {
                Err(StoreError::Corrupt { path: self.path().to_owned(), detail: detail.clone() }.into())
            }
        }
    }
}

/// Gives the finished copy its name, never in place of a file that came there meanwhile.
fn publish(partial: &Path, to: &Path) -> Result<(), Failure> {
    let fault = |source| StoreError::File { path: to.to_owned(), source };
    match std::fs::hard_link(partial, to) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let said = format!("{} exists already and is not overwritten; name a new file", to.display());
            return Err(Refusal::state("file_exists", said).into());
        }
        // A file system without hard links.
        Err(_) => std::fs::rename(partial, to).map_err(fault)?,
    }
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(fault)?;
    Ok(())
}

fn quick_check(connection: &Connection) -> Vec<String> {
    let found = connection.prepare("PRAGMA quick_check(20)").and_then(|mut statement| {
        statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()
    });
    match found {
        Ok(lines) if lines == ["ok"] => Vec::new(),
        Ok(lines) => lines,
        // Too damaged to be looked at.
        Err(error) => vec![error.to_string()],
    }
}
