//! The writer: one thread owns the write connection. It drains its queue into one transaction (group commit),
//! a savepoint for each command, and answers after the commit: what anybody was told is on disk.

use rusqlite::Connection;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bell::Bell;
use super::error::{Failure, StoreError};
use super::open::{self, Durability, Options, beside};

/// The most commands that one transaction takes.
const GROUP_LIMIT: usize = 256;

/// One database file. Cheap to clone; usable from any thread.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    options: Options,
    /// The connection made by opening, until the writer thread takes it.
    first: Mutex<Option<Connection>>,
    queue: Mutex<Option<Sender<Job>>>,
    readers: Mutex<Vec<Connection>>,
    bell: Bell,
}

/// What the writer does for one command: runs it inside the transaction, and later tells whether that was
/// committed.
struct Job {
    work: Box<dyn FnOnce(&Tx<'_>) -> Settled + Send>,
    manner: Manner,
}

/// How a job is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Synced, and everybody hears.
    Told,
    /// Synced, and everybody hears but this process's own dispatcher, whose work it is.
    Quiet,
    /// Not synced, and nobody hears.
    Relaxed,
}

/// The command ran; the callback hands the answer to whoever waits, once the commit's fate is known.
struct Settled {
    keep: bool,
    answer: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
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
    fn new(connection: &'c Connection) -> Self {
        Tx { view: View { connection } }
    }

    /// Runs `work` in a savepoint of its own: what it wrote is undone when it fails, and the rest stands.
    pub fn isolated<R>(&self, work: impl FnOnce(&Tx<'c>) -> Result<R, Failure>) -> Result<R, Failure> {
        self.connection.execute_batch("SAVEPOINT item")?;
        let done = work(self);
        if done.is_err() {
            self.connection.execute_batch("ROLLBACK TO item")?;
        }
        self.connection.execute_batch("RELEASE item")?;
        done
    }
}

impl Store {
    /// Opens the database at `path`, making and migrating it as needed.
    pub fn open(path: &Path, options: Options) -> Result<Store, StoreError> {
        let path =
            std::path::absolute(path).map_err(|source| StoreError::File { path: path.to_owned(), source })?;
        let connection = open::open(&path, options)?;
        let bell = Bell::new(&path);
        Ok(Store {
            inner: Arc::new(Inner {
                path,
                options,
                first: Mutex::new(Some(connection)),
                queue: Mutex::new(None),
                readers: Mutex::new(Vec::new()),
                bell,
            }),
        })
    }

    /// The database file, absolute.
    pub fn path(&self) -> &Path {
        &self.inner.path
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
        let (answer, answered) = sync_channel::<Result<R, Failure>>(1);
        let work = Box::new(move |tx: &Tx<'_>| {
            let done = work(tx);
            Settled {
                keep: done.is_ok(),
                answer: Box::new(move |committed| {
                    let told = match (done, committed) {
                        (Ok(value), Ok(())) => Ok(value),
                        (Ok(_), Err(error)) => Err(Failure::Store(error)),
                        (Err(failure), _) => Err(failure),
                    };
                    // Whoever asked has gone; what was committed stays committed.
                    let _ = answer.send(told);
                }),
            }
        });
        self.queue()?.send(Job { work, manner }).map_err(|_| StoreError::Closed)?;
        let answer = answered.recv().map_err(|_| StoreError::Closed)?;
        answer.map_err(|failure| failure.at(&self.inner.path))
    }

    fn queue(&self) -> Result<Sender<Job>, StoreError> {
        let mut queue = lock(&self.inner.queue);
        if let Some(sender) = &*queue {
            return Ok(sender.clone());
        }
        let connection = lock(&self.inner.first).take().ok_or(StoreError::Closed)?;
        let turnstile = turnstile(&beside(&self.inner.path, "-turn"))?;
        let (sender, jobs) = channel();
        let writer = Writer {
            connection,
            turnstile,
            jobs,
            bell: self.inner.bell.ringer(),
            options: self.inner.options,
            path: self.inner.path.clone(),
        };
        std::thread::Builder::new()
            .name("andon-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|source| StoreError::File { path: self.inner.path.clone(), source })?;
        *queue = Some(sender.clone());
        Ok(sender)
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is guarded here can be left half changed by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The turnstile is a file of its own: writers of several processes pass it one by one, since SQLite's own
/// waiting is unfair.
fn turnstile(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|source| StoreError::File { path: path.to_owned(), source })
}

struct Writer {
    connection: Connection,
    turnstile: File,
    jobs: Receiver<Job>,
    bell: super::bell::Ringer,
    options: Options,
    path: PathBuf,
}

impl Writer {
    fn run(self) {
        let mut waiting: Option<Job> = None;
        loop {
            let first = match waiting.take() {
                Some(job) => job,
                None => match self.jobs.recv() {
                    Ok(job) => job,
                    Err(_) => return,
                },
            };
            let relaxed = first.manner == Manner::Relaxed;
            let mut group = vec![first];
            while group.len() < GROUP_LIMIT {
                match self.jobs.try_recv() {
                    Ok(job) if (job.manner == Manner::Relaxed) == relaxed => group.push(job),
                    Ok(job) => {
                        waiting = Some(job);
                        break;
                    }
                    Err(_) => break,
                }
            }
            self.commit(group, relaxed);
        }
    }

    fn commit(&self, group: Vec<Job>, relaxed: bool) {
        let told = group.iter().any(|job| job.manner == Manner::Told);
        let relax = relaxed && self.options.durability == Durability::Full;
        let mut settled = Vec::with_capacity(group.len());
        let outcome = self.transaction(group, relax, &mut settled);
        if outcome.is_err() && !self.connection.is_autocommit() {
            // After a failed commit SQLite may have rolled back by itself; an error here says just that.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        let kept = settled.iter().any(|s| s.keep);
        if outcome.is_ok() && kept && !relaxed {
            self.bell.ring(told);
        }
        let fault = outcome.err();
        for one in settled {
            (one.answer)(match &fault {
                None => Ok(()),
                Some(error) => Err(again(error, &self.path)),
            });
        }
    }

    fn transaction(
        &self,
        group: Vec<Job>,
        relax: bool,
        settled: &mut Vec<Settled>,
    ) -> Result<(), StoreError> {
        self.turnstile
            .lock()
            .map_err(|source| StoreError::File { path: beside(&self.path, "-turn"), source })?;
        let outcome = (|| {
            if relax {
                open::set_synchronous(&self.connection, Durability::Normal)?;
            }
            let done = self.inside(group, settled);
            if relax {
                open::set_synchronous(&self.connection, self.options.durability)?;
            }
            done
        })();
        let unlocked = self.turnstile.unlock();
        outcome?;
        unlocked.map_err(|source| StoreError::File { path: beside(&self.path, "-turn"), source })
    }

    fn inside(&self, group: Vec<Job>, settled: &mut Vec<Settled>) -> Result<(), StoreError> {
        let alone = group.len() == 1;
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let tx = Tx::new(&self.connection);
        for job in group {
            if !alone {
                self.connection.prepare_cached("SAVEPOINT job")?.execute([])?;
            }
            // A fault in one command must not end the writer of all; its asker hears that the answer is lost.
            let done = std::panic::catch_unwind(AssertUnwindSafe(|| (job.work)(&tx))).map_err(|_| {
                StoreError::Row("a command ended in a fault of the program; nothing was kept".into())
            })?;
            let keep = done.keep;
            settled.push(done);
            if !keep && alone {
                self.connection.execute_batch("ROLLBACK")?;
                return Ok(());
            }
            if !alone {
                if !keep {
                    self.connection.prepare_cached("ROLLBACK TO job")?.execute([])?;
                }
                self.connection.prepare_cached("RELEASE job")?.execute([])?;
            }
        }
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

/// The same error for each member of a group.
fn again(error: &StoreError, path: &Path) -> StoreError {
    match error {
        StoreError::Sql(rusqlite::Error::SqliteFailure(code, text)) => {
            StoreError::Sql(rusqlite::Error::SqliteFailure(*code, text.clone())).at(path)
        }
        other => StoreError::Row(other.to_string()),
    }
}
