//! The store as others see it: commands are written in transactions, looks are read in snapshots. How writing is
//! done is in `pen.rs`.

use rusqlite::Connection;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bell::Bell;
use super::error::{Failure, StoreError};
use super::open::{self, Options, beside};
use super::pen::{Job, Manner, Writing, boxed};
use super::turnstile::Turnstile;

/// One database file. Cheap to clone; usable from any thread.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    /// Which file was opened, by the numbers of the system; `None` where it does not tell.
    file: Option<(u64, u64)>,
    options: Options,
    /// The connection made by opening, until the first write takes it.
    first: Mutex<Option<Connection>>,
    writing: Mutex<Option<Writing>>,
    readers: Mutex<Vec<Connection>>,
    bell: Bell,
}

/// Reads inside a transaction or on a read-only connection. Methods are spread over this folder's files.
pub struct View<'c> {
    pub(super) connection: &'c Connection,
}

/// A write transaction. All reads of [`View`] see what was written before in it.
pub struct Tx<'c> {
    view: View<'c>,
}

impl<'c> std::ops::Deref for Tx<'c> {
    type Target = View<'c>;

    fn deref(&self) -> &View<'c> {
        &self.view
    }
}

impl<'c> Tx<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Tx { view: View { connection } }
    }

    /// Runs `work` in a savepoint of its own: what it wrote is undone when it fails, and the rest stands.
    pub fn isolated<R>(&self, work: impl FnOnce(&Tx<'c>) -> Result<R, Failure>) -> Result<R, Failure> {
        if self.connection.is_autocommit() {
            // Outside a transaction the savepoint would commit by itself.
            return Err(StoreError::Closed.into());
        }
        self.connection.prepare_cached("SAVEPOINT item")?.execute([])?;
        let done = work(self);
        if done.is_err() {
            // After some faults (a full disk) SQLite has rolled back everything; the writer sees to that.
            if self.connection.is_autocommit() {
                return done;
            }
            self.connection.prepare_cached("ROLLBACK TO item")?.execute([])?;
        }
        self.connection.prepare_cached("RELEASE item")?.execute([])?;
        done
    }
}

impl Store {
    /// Opens the database at `path`, making and migrating it as needed.
    pub fn open(path: &Path, options: Options) -> Result<Store, StoreError> {
        let path =
            std::path::absolute(path).map_err(|source| StoreError::File { path: path.to_owned(), source })?;
        let connection = open::open(&path, options)?;
        let file = open::file_number(&path);
        let bell = Bell::new(&path);
        Ok(Store {
            inner: Arc::new(Inner {
                path,
                file,
                options,
                first: Mutex::new(Some(connection)),
                writing: Mutex::new(None),
                readers: Mutex::new(Vec::new()),
                bell,
            }),
        })
    }

    /// The database file, absolute.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Whether the file that was opened is still the one at its path. Where it was removed or replaced, what is
    /// written goes where nobody will find it. The file is only looked at, never opened.
    pub fn is_in_place(&self) -> bool {
        self.inner.file.is_none() || open::file_number(&self.inner.path) == self.inner.file
    }

    /// The path of a companion file or folder, such as `-logs`.
    pub fn beside(&self, suffix: &str) -> PathBuf {
        beside(&self.inner.path, suffix)
    }

    /// The bell that rings after each commit of any process.
    pub fn bell(&self) -> &Bell {
        &self.inner.bell
    }

    /// Runs `work` in a transaction. Once this returns `Ok`, what it wrote is on disk (with durability full);
    /// when it returns an error, nothing of it was kept.
    pub fn write<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<R, Failure> + Send + 'static,
    ) -> Result<R, Failure> {
        self.submit(Manner::Told, work)
    }

    /// As [`Store::write`], for this process's dispatcher, which needs no telling of its own work.
    pub fn write_quietly<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<R, Failure> + Send + 'static,
    ) -> Result<R, Failure> {
        self.submit(Manner::Quiet, work)
    }

    /// As [`Store::write`], but a power cut may take it back: for lease renewals, which are worth no sync.
    pub fn write_relaxed<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<R, Failure> + Send + 'static,
    ) -> Result<R, Failure> {
        self.submit(Manner::Relaxed, work)
    }

    fn submit<R: Send + 'static>(
        &self,
        manner: Manner,
        work: impl FnOnce(&Tx<'_>) -> Result<R, Failure> + Send + 'static,
    ) -> Result<R, Failure> {
        let answer = self.enqueue(manner, work)?.recv().map_err(|_| StoreError::Closed)?;
        answer.map_err(|failure| failure.at(&self.inner.path))
    }

    /// As [`Store::write_quietly`], for a thread that goes on until it calls [`Store::write_brought`], and may wait for a
    /// commit then and no longer. True where nothing else was brought before: whoever is told that sees to the call.
    /// `then` is told once the commit's fate is known, by the thread that wrote it. It must not block, and not wait
    /// for anything that is to be written.
    pub fn bring<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<R, Failure> + Send + 'static,
        then: impl FnOnce(Result<R, Failure>) + Send + 'static,
    ) -> bool {
        let then = move |result| {
            // A fault in what comes after must not end the writer.
            if std::panic::catch_unwind(AssertUnwindSafe(|| then(result))).is_err() {
                tracing::error!("what was to follow a commit ended in a fault of the program");
            }
        };
        match self.writing() {
            Ok(writing) => writing.bring(Job { work: boxed(work, then), manner: Manner::Quiet }),
            Err(error) => {
                then(Err(error.into()));
                false
            }
        }
    }

    /// Drops what was brought by a thread that ended before [`Store::write_brought`]: nothing of it happened, and nobody
    /// is told.
    pub fn forget_brought(&self) {
        if let Ok(writing) = self.writing() {
            writing.forget_brought();
        }
    }

    /// Writes all that was brought, in one transaction: here where nobody else is writing, else by the writer's
    /// thread.
    pub fn write_brought(&self) {
        if let Ok(writing) = self.writing() {
            writing.write_brought();
        }
    }

    /// Hands `work` to the writer; the answer comes through the channel.
    fn enqueue<R: Send + 'static>(
        &self,
        manner: Manner,
        work: impl FnOnce(&Tx<'_>) -> Result<R, Failure> + Send + 'static,
    ) -> Result<Receiver<Result<R, Failure>>, StoreError> {
        let (answer, answered) = sync_channel::<Result<R, Failure>>(1);
        let work = boxed(work, move |told| {
            // Whoever asked has gone; what was committed stays committed.
            let _ = answer.send(told);
        });
        self.writing()?.hand_in(Job { work, manner });
        Ok(answered)
    }

    fn writing(&self) -> Result<Writing, StoreError> {
        let mut writing = lock(&self.inner.writing);
        if let Some(writing) = &*writing {
            return Ok(writing.clone());
        }
        let connection = lock(&self.inner.first).take().ok_or(StoreError::Closed)?;
        let turnstile = Turnstile::open(beside(&self.inner.path, "-turn"))?;
        let started = Writing::start(connection, turnstile, self.inner.bell.ringer(), self.inner.options)
            .map_err(|source| StoreError::File { path: self.inner.path.clone(), source })?;
        Ok(writing.insert(started).clone())
    }

    /// Runs `look` on a read-only connection, in one snapshot. It copies out what it needs; nothing stays open.
    pub fn read<R>(&self, look: impl FnOnce(&View<'_>) -> Result<R, Failure>) -> Result<R, Failure> {
        let pooled = lock(&self.inner.readers).pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => open::reader(&self.inner.path)?,
        };
        let seen = (|| {
            connection.execute_batch("BEGIN")?;
            let seen = look(&View { connection: &connection });
            connection.execute_batch("COMMIT")?;
            seen
        })();
        if connection.is_autocommit() {
            lock(&self.inner.readers).push(connection);
        }
        seen.map_err(|failure| failure.at(&self.inner.path))
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is guarded here can be left half changed by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
