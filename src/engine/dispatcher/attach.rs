//! Who dispatches: one process has the lock, the others stand by and take over when it goes.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::{Message, Shell};

/// How often an attached process tries to take over.
const TRY_EVERY: Duration = Duration::from_millis(250);

/// The place of the file that a dispatcher has locked. Whoever removes the file takes the lock away, and gives it to
/// whoever asks next.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    path: PathBuf,
    /// Device and number of the file; `None` where the system does not tell.
    file: Option<(u64, u64)>,
}

impl Place {
    fn of(file: &File, path: PathBuf) -> Place {
        Place { path, file: file.metadata().ok().map(|found| (found.dev(), found.ino())) }
    }

    /// Whether the locked file is where others look for it.
    pub(super) fn is_held(&self) -> bool {
        let now = || std::fs::metadata(&self.path).ok().map(|found| (found.dev(), found.ino()));
        self.file.is_none() || now() == self.file
    }
}

impl Shell {
    /// Waits for the lock, then dispatches until told to stop. Who was superseded stands by again.
    pub(super) fn attach(mut self, mut file: File) {
        while self.wait_for(&file) {
            self.place = Place::of(&file, self.engine.lock_path());
            self.serve();
            // The lock goes with the file in any case.
            if let Err(error) = file.unlock() {
                tracing::warn!(%error, "the dispatcher's lock was not let go");
            }
            if !std::mem::take(&mut self.superseded) || self.draining {
                return;
            }
            self.id = format!("d_{:016x}", self.engine.inner.core.random());
            // The lock that was lost was on a file that is not there any more.
            file = match self.engine.lock_file() {
                Ok(file) => file,
                Err(error) => return tracing::error!(%error, "nothing is dispatched here any more"),
            };
        }
    }

    /// False where it is told to stop before it has the lock.
    fn wait_for(&mut self, file: &File) -> bool {
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) if told => {
                    tracing::info!("the other one is gone; dispatching");
                    return true;
                }
                Ok(()) => return true,
                Err(TryLockError::WouldBlock) if told => {}
                Err(TryLockError::WouldBlock) => {
                    told = true;
                    tracing::info!(
                        "another andon dispatches this database; this one takes over when that one goes"
                    );
                }
                Err(TryLockError::Error(error)) => {
                    tracing::error!(%error, "can't lock the dispatcher's file; nothing is dispatched here");
                    return false;
                }
            }
            match self.receive.recv_timeout(TRY_EVERY) {
                Ok(Message::Drain | Message::Stop | Message::StopNow | Message::Die)
                | Err(RecvTimeoutError::Disconnected) => return false,
                _ => {}
            }
        }
    }

    fn serve(&mut self) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads_for(self.options.parallel))
            .thread_name("andon-run")
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => {
                let inner = self.engine.inner.clone();
                inner.slots.store(self.options.parallel, Ordering::Relaxed);
                inner.dispatching.store(1, Ordering::Relaxed);
                self.dispatch(&runtime);
                inner.dispatching.store(0, Ordering::Relaxed);
                runtime.shutdown_timeout(Duration::from_millis(200));
            }
            Err(error) => {
                tracing::error!(%error, "no runtime for the dispatcher; nothing is dispatched here")
            }
        }
    }
}

/// How many threads carry the runs. For few slots one: two would share each end and start between them, which costs a
/// change of thread each time, a tenth of the rate at which tiny commands are drained. From three slots on one thread
/// would have too much to do; more than two never helped. Whatever may take long (tools, waiting for another process to
/// write) has threads of its own.
fn threads_for(slots: u32) -> usize {
    if slots > 2 { 2 } else { 1 }
}
