//! The writer: one thread owns the write connection. It drains its queue into one transaction (group commit),
//! a savepoint for each command, and answers after the commit: what anybody was told is on disk.

use rusqlite::Connection;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bell::Bell;
use super::error::{Failure, StoreError};
use super::fault;
use super::open::{self, Durability, Options, beside};
use super::turnstile::Turnstile;

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

/// A command's work: in the transaction, or told why there is none.
type Work = dyn FnOnce(Result<&Tx<'_>, StoreError>) -> Settled + Send;

/// What the writer does for one command: runs it inside the transaction, and later tells whether that was
/// committed. Where there is no transaction, it is told why, and tells that.
struct Job {
    work: Box<Work>,
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
    /// What the database said, where that is why it is not kept.
    fault: Option<StoreError>,
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
        let answer = self.enqueue(manner, work)?.recv().map_err(|_| StoreError::Closed)?;
        answer.map_err(|failure| failure.at(&self.inner.path))
    }

    /// As [`Store::write_quietly`], without waiting: `then` is told on the writer's own thread, once the commit's
    /// fate is known. It must not block, and not write by waiting for the writer.
    pub fn write_then<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<R, Failure> + Send + 'static,
        then: impl FnOnce(Result<R, Failure>) + Send + 'static,
    ) {
        let then = Arc::new(Mutex::new(Some(then)));
        let told = then.clone();
        let answer = move |result| {
            if let Some(then) = lock(&told).take() {
                // A fault in what comes after must not end the writer.
                if std::panic::catch_unwind(AssertUnwindSafe(|| then(result))).is_err() {
                    tracing::error!("what was to follow a commit ended in a fault of the program");
                }
            }
        };
        if let Err(error) = self.hand_in(Manner::Quiet, work, answer)
            && let Some(then) = lock(&then).take()
        {
            then(Err(error.into()));
        }
    }

    /// Hands `work` to the writer; the answer comes through the channel.
    fn enqueue<R: Send + 'static>(
        &self,
        manner: Manner,
        work: impl FnOnce(&Tx<'_>) -> Result<R, Failure> + Send + 'static,
    ) -> Result<Receiver<Result<R, Failure>>, StoreError> {
        let (answer, answered) = sync_channel::<Result<R, Failure>>(1);
        self.hand_in(manner, work, move |told| {
            // Whoever asked has gone; what was committed stays committed.
            let _ = answer.send(told);
        })?;
        Ok(answered)
    }

    fn hand_in<R: Send + 'static>(
        &self,
        manner: Manner,
        work: impl FnOnce(&Tx<'_>) -> Result<R, Failure> + Send + 'static,
        answer: impl FnOnce(Result<R, Failure>) + Send + 'static,
    ) -> Result<(), StoreError> {
        let work = Box::new(move |tx: Result<&Tx<'_>, StoreError>| {
            let done = match tx {
                // A fault in one command must not end the writer of all, nor the commands beside it.
                Ok(tx) => std::panic::catch_unwind(AssertUnwindSafe(|| work(tx))).unwrap_or_else(|_| {
                    let said = "this command ended in a fault of the program; nothing of it was kept";
                    Err(StoreError::Row(said.to_owned()).into())
                }),
                Err(error) => Err(error.into()),
            };
            Settled {
                keep: done.is_ok(),
                fault: match &done {
                    Err(Failure::Store(error)) => Some(again(error)),
                    _ => None,
                },
                answer: Box::new(move |committed| {
                    let told = match (done, committed) {
                        (Ok(value), Ok(())) => Ok(value),
                        (Ok(_), Err(error)) => Err(Failure::Store(error)),
                        (Err(failure), _) => Err(failure),
                    };
                    answer(told);
                }),
            }
        });
        self.queue()?.send(Job { work, manner }).map_err(|_| StoreError::Closed)
    }

    fn queue(&self) -> Result<Sender<Job>, StoreError> {
        let mut queue = lock(&self.inner.queue);
        if let Some(sender) = &*queue {
            return Ok(sender.clone());
        }
        let connection = lock(&self.inner.first).take().ok_or(StoreError::Closed)?;
        let turnstile = Turnstile::open(beside(&self.inner.path, "-turn"))?;
        let (sender, jobs) = channel();
        let writer = Writer {
            connection,
            turnstile,
            jobs,
            bell: self.inner.bell.ringer(),
            options: self.inner.options,
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

struct Writer {
    connection: Connection,
    turnstile: Turnstile,
    jobs: Receiver<Job>,
    bell: super::bell::Ringer,
    options: Options,
}

impl Writer {
    fn run(mut self) {
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

    fn commit(&mut self, group: Vec<Job>, relaxed: bool) {
        let told = group.iter().any(|job| job.manner == Manner::Told);
        let relax = relaxed && self.options.durability == Durability::Full;
        let mut settled = Vec::with_capacity(group.len());
        let mut group = group.into_iter();
        let outcome = self.in_turn(&mut group, relax, &mut settled);
        let kept = settled.iter().any(|s| s.keep);
        if outcome.is_ok() && kept && !relaxed {
            self.bell.ring(told);
        }
        let fault = outcome.err();
        if let Some(error) = &fault {
            // Whoever was not even begun hears why, too.
            settled.extend(group.map(|job| (job.work)(Err(again(error)))));
        }
        for one in settled {
            (one.answer)(match &fault {
                None => Ok(()),
                Some(error) => Err(again(error)),
            });
        }
    }

    fn in_turn(
        &mut self,
        group: &mut std::vec::IntoIter<Job>,
        relax: bool,
        settled: &mut Vec<Settled>,
    ) -> Result<(), StoreError> {
        let has_turn = self.turnstile.pass()?;
        let outcome = self.transaction(group, relax, settled);
        if has_turn && let Err(error) = self.turnstile.leave() {
            // What was committed is committed; the next transaction will say it again if it stays so.
            tracing::warn!(%error, "the turn was not let go");
        }
        outcome
    }

    fn transaction(
        &self,
        group: &mut std::vec::IntoIter<Job>,
        relax: bool,
        settled: &mut Vec<Settled>,
    ) -> Result<(), StoreError> {
        if relax {
            open::set_synchronous(&self.connection, Durability::Normal)?;
        }
        let done = self.inside(group, settled);
        if done.is_err() && !self.connection.is_autocommit() {
            // Before the pragma, which changes nothing inside a transaction. Where SQLite can't even roll back,
            // the first error is the one to tell.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        if relax {
            open::set_synchronous(&self.connection, self.options.durability)?;
        }
        done
    }

    fn inside(
        &self,
        group: &mut std::vec::IntoIter<Job>,
        settled: &mut Vec<Settled>,
    ) -> Result<(), StoreError> {
        let alone = group.len() == 1;
        fault::point("store.begin");
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let tx = Tx::new(&self.connection);
        for job in group {
            if !alone {
                self.connection.prepare_cached("SAVEPOINT job")?.execute([])?;
            }
            let mut done = (job.work)(Ok(&tx));
            let (keep, fault) = (done.keep, done.fault.take());
            settled.push(done);
            if self.connection.is_autocommit() {
                // SQLite has rolled back by itself: what came before is gone, and nothing more may be written,
                // for outside a transaction each statement would commit itself.
                return Err(fault.unwrap_or_else(|| StoreError::Row("the transaction ended early".into())));
            }
            match (keep, alone) {
                (false, true) => {
                    self.connection.execute_batch("ROLLBACK")?;
                    return Ok(());
                }
                (false, false) => {
                    self.connection.prepare_cached("ROLLBACK TO job")?.execute([])?;
                }
                (true, _) => {}
            }
            if !alone {
                self.connection.prepare_cached("RELEASE job")?.execute([])?;
            }
        }
        fault::point("store.commit");
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        fault::point("store.committed");
        Ok(())
    }
}

/// The same error for each member of a group.
fn again(error: &StoreError) -> StoreError {
    match error {
        StoreError::Sql(rusqlite::Error::SqliteFailure(code, text)) => {
            StoreError::Sql(rusqlite::Error::SqliteFailure(*code, text.clone()))
        }
        other => StoreError::Row(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
