//! The pen: one connection writes, and whoever holds its pen is the writer. A thread drains the queue into one
//! transaction (group commit), a savepoint for each command, and answers after the commit: what anybody was told
//! is on disk. Where the pen lies idle, work that waits for nobody is written by the thread that brings it.

use rusqlite::Connection;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};

use super::bell::Ringer;
use super::error::{Failure, StoreError};
use super::fault;
use super::open::{self, Durability, Options};
use super::turnstile::Turnstile;
use super::writer::{Tx, lock};

/// The most commands that one transaction takes.
const GROUP_LIMIT: usize = 256;

/// A command's work: in the transaction, or told why there is none.
pub(super) type Work = dyn FnOnce(Result<&Tx<'_>, StoreError>) -> Settled + Send;

/// What the writer does for one command: runs it inside the transaction, and later tells whether that was
/// committed. Where there is no transaction, it is told why, and tells that.
pub(super) struct Job {
    pub work: Box<Work>,
    pub manner: Manner,
}

/// How a job is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Synced, and everybody hears.
    Told,
    /// Synced, and everybody hears but this process's own dispatcher, whose work it is.
    Quiet,
    /// Not synced, and nobody hears.
    Relaxed,
}

/// The command ran; the callback hands the answer to whoever waits, once the commit's fate is known.
pub(super) struct Settled {
    keep: bool,
    /// What the database said, where that is why it is not kept.
    fault: Option<StoreError>,
    answer: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

/// The ways to have something written: hand it to the thread, or take the pen.
#[derive(Clone)]
pub(super) struct Writing {
    queue: Sender<Job>,
    pen: Arc<Pen>,
}

/// Whoever holds the writer writes.
struct Pen {
    writer: Mutex<Writer>,
    /// The jobs that the thread has not taken yet. Nobody else takes the pen while there are any, so that they are
    /// committed together.
    queued: AtomicUsize,
    /// What threads have brought that will write it themselves.
    brought: Mutex<Vec<Job>>,
}

/// Work as the writer takes it, which answers through `answer`.
pub(super) fn boxed<R: Send + 'static>(
    work: impl FnOnce(&Tx<'_>) -> Result<R, Failure> + Send + 'static,
    answer: impl FnOnce(Result<R, Failure>) + Send + 'static,
) -> Box<Work> {
    Box::new(move |tx: Result<&Tx<'_>, StoreError>| {
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
    })
}

impl Writing {
    /// Starts the thread, which ends when nobody can hand in anything any more.
    pub fn start(
        connection: Connection,
        turnstile: Turnstile,
        bell: Ringer,
        options: Options,
    ) -> std::io::Result<Self> {
        let writer = Writer { connection, turnstile, bell, options };
        let pen = Arc::new(Pen {
            writer: Mutex::new(writer),
            queued: AtomicUsize::new(0),
            brought: Mutex::default(),
        });
        let (queue, jobs) = channel();
        let held = pen.clone();
        std::thread::Builder::new().name("andon-writer".to_owned()).spawn(move || held.write_all(&jobs))?;
        Ok(Self { queue, pen })
    }

    /// Keeps a job until [`Writing::write_brought`]. True for the first one: whoever brings it sees to that call.
    pub fn bring(&self, job: Job) -> bool {
        let mut brought = lock(&self.pen.brought);
        brought.push(job);
        brought.len() == 1
    }

    /// Drops what was brought by somebody who ended before it was written, as a crash would.
    pub fn forget_brought(&self) {
        lock(&self.pen.brought).clear();
    }

    /// Writes what was brought in one transaction, here and now where the pen lies idle; else hands it in.
    pub fn write_brought(&self) {
        let mut group = std::mem::take(&mut *lock(&self.pen.brought));
        // What is more than a group is the thread's to divide.
        for job in group.drain(GROUP_LIMIT.min(group.len())..) {
            self.hand_in(job);
        }
        let written = match self.pen.idle() {
            Some(mut writer) => writer.commit(group, Ok(true)),
            None => return group.into_iter().for_each(|job| self.hand_in(job)),
        };
        written.answer();
    }

    /// Gives a job to the thread. One that it can't take any more is told so.
    pub fn hand_in(&self, job: Job) {
        self.pen.queued.fetch_add(1, Ordering::AcqRel);
        if let Err(refused) = self.queue.send(job) {
            let told = (refused.0.work)(Err(StoreError::Closed));
            (told.answer)(Err(StoreError::Closed));
        }
    }
}

impl Pen {
    /// The writer, with its turn among the processes, where nobody writes or waits to.
    fn idle(&self) -> Option<MutexGuard<'_, Writer>> {
        if self.queued.load(Ordering::Acquire) > 0 {
            return None;
        }
        self.writer.try_lock().ok().filter(|writer| writer.turnstile.try_pass())
    }

    /// The life of the writer's thread; it ends with the last [`Store`].
    fn write_all(&self, jobs: &Receiver<Job>) {
        let mut waiting: Option<Job> = None;
        loop {
            let first = match waiting.take() {
                Some(job) => job,
                None => match jobs.recv() {
                    Ok(job) => job,
                    Err(_) => return,
                },
            };
            let mut writer = lock(&self.writer);
            let relaxed = first.manner == Manner::Relaxed;
            let mut group = vec![first];
            while group.len() < GROUP_LIMIT {
                match jobs.try_recv() {
                    Ok(job) if (job.manner == Manner::Relaxed) == relaxed => group.push(job),
                    Ok(job) => {
                        waiting = Some(job);
                        break;
                    }
                    Err(_) => break,
                }
            }
            self.queued.fetch_sub(group.len(), Ordering::AcqRel);
            let turn = writer.turnstile.pass();
            let told = writer.commit(group, turn);
            drop(writer);
            told.answer();
        }
    }
}

/// A group whose fate is known, and who is to hear it. Answered when the pen has been laid down.
struct Told {
    settled: Vec<Settled>,
    fault: Option<StoreError>,
}

impl Told {
    fn answer(self) {
        for one in self.settled {
            (one.answer)(match &self.fault {
                None => Ok(()),
                Some(error) => Err(again(error)),
            });
        }
    }
}

struct Writer {
    connection: Connection,
    turnstile: Turnstile,
    bell: Ringer,
    options: Options,
}

impl Writer {
    /// Commits a group, which is of one manner where any of it is relaxed. `turn` is whether it has its turn among
    /// the processes, which ends here.
    fn commit(&mut self, group: Vec<Job>, turn: Result<bool, StoreError>) -> Told {
        let told = group.iter().any(|job| job.manner == Manner::Told);
        let relaxed = group.iter().all(|job| job.manner == Manner::Relaxed);
        let relax = relaxed && self.options.durability == Durability::Full;
        let mut settled = Vec::with_capacity(group.len());
        let mut group = group.into_iter();
        let outcome = self.in_turn(turn, &mut group, relax, &mut settled);
        let kept = settled.iter().any(|s| s.keep);
        if outcome.is_ok() && kept && !relaxed {
            self.bell.ring(told);
        }
        let fault = outcome.err();
        if let Some(error) = &fault {
            // Whoever was not even begun hears why, too.
            settled.extend(group.map(|job| (job.work)(Err(again(error)))));
        }
        Told { settled, fault }
    }

    fn in_turn(
        &mut self,
        turn: Result<bool, StoreError>,
        group: &mut std::vec::IntoIter<Job>,
        relax: bool,
        settled: &mut Vec<Settled>,
    ) -> Result<(), StoreError> {
        let has_turn = turn?;
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
