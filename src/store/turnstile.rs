//! The turnstile: a file of its own that the writers of several processes pass one by one, since SQLite's own
//! waiting is unfair. Only a courtesy: whoever waited too long, behind a process that was stopped in it say,
//! goes on without, and SQLite's lock decides.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::StoreError;

/// How long a writer waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the thread stands that waits in line; a lock that is waited for can't be given up otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// It has nothing to do, and the file is not locked by it.
    No,
    /// It is to lock the file.
    Wanted,
    /// It has locked the file.
    Has,
    /// Nobody waits for it any more: it is to let go as soon as it has the lock.
    GivenUp,
    /// It is to end.
    Over,
}

/// One process's place in the line.
pub(super) struct Turnstile {
    path: PathBuf,
    file: Arc<File>,
    waiting: Arc<(Mutex<Waiting>, Condvar)>,
    has_thread: bool,
}

impl Turnstile {
    pub fn open(path: PathBuf) -> Result<Turnstile, StoreError> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        match file {
            Ok(file) => Ok(Turnstile {
                path,
                file: Arc::new(file),
                waiting: Arc::new((Mutex::new(Waiting::No), Condvar::new())),
                has_thread: false,
            }),
            Err(source) => Err(StoreError::File { path, source }),
        }
    }

    /// Takes the turn if nobody has it; does not wait.
    pub fn try_pass(&self) -> bool {
        *lock(&self.waiting.0) == Waiting::No && self.file.try_lock().is_ok()
    }

    /// Waits for the turn; false where it did not come in time.
    pub fn pass(&mut self) -> Result<bool, StoreError> {
        let before = *lock(&self.waiting.0);
        if before == Waiting::No {
            match self.file.try_lock() {
                Ok(()) => return Ok(true),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(self.fault(source)),
            }
        }
        if !self.has_thread {
            let (file, waiting) = (self.file.clone(), self.waiting.clone());
            std::thread::Builder::new()
                .name("andon-turn".to_owned())
                .spawn(move || wait_in_line(&file, &waiting))
                .map_err(|source| self.fault(source))?;
            self.has_thread = true;
        }
        Ok(self.wait())
    }

    fn wait(&self) -> bool {
        let (state, bell) = &*self.waiting;
        let mut state = lock(state);
        *state = Waiting::Wanted;
        bell.notify_all();
        let end = Instant::now() + PATIENCE;
        while *state == Waiting::Wanted {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                *state = Waiting::GivenUp;
                return false;
            };
            state = bell.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Lets the next one pass.
    pub fn leave(&self) -> Result<(), StoreError> {
        let mut state = lock(&self.waiting.0);
        if *state == Waiting::Has {
            *state = Waiting::No;
        }
        self.file.unlock().map_err(|source| self.fault(source))
    }

    fn fault(&self, source: std::io::Error) -> StoreError {
        StoreError::File { path: self.path.clone(), source }
    }
}

impl Drop for Turnstile {
    fn drop(&mut self) {
        *lock(&self.waiting.0) = Waiting::Over;
        self.waiting.1.notify_all();
    }
}

fn lock(mutex: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    // One word can't be left half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait_in_line(file: &File, (state, bell): &(Mutex<Waiting>, Condvar)) {
    let mut now = lock(state);
    loop {
        while matches!(*now, Waiting::No | Waiting::Has) {
            now = bell.wait(now).unwrap_or_else(PoisonError::into_inner);
        }
        if *now == Waiting::Over {
            return;
        }
        drop(now);
        let locked = file.lock();
        now = lock(state);
        // Where the lock can't be waited for at all, the writer goes on without.
        if *now == Waiting::Wanted {
            *now = Waiting::Has;
            bell.notify_all();
        } else if locked.is_ok() {
            // Given up or over. The lock goes with the file in any case.
            let _ = file.unlock();
            if *now == Waiting::GivenUp {
                *now = Waiting::No;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn at(folder: &Path) -> Turnstile {
        Turnstile::open(folder.join("turn")).unwrap()
    }

    #[test]
    fn who_waits_in_line_gets_the_turn_when_it_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let (mut one, mut two) = (at(folder.path()), at(folder.path()));
        for _ in 0..20 {
            assert!(one.pass().unwrap());
            std::thread::scope(|scope| {
                let waits = scope.spawn(|| two.pass().unwrap());
                one.leave().unwrap();
                assert!(waits.join().unwrap());
            });
            two.leave().unwrap();
        }
    }

    #[test]
    fn a_turn_that_does_not_come_is_done_without_and_taken_up_again_when_it_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let (mut stopped, mut other) = (at(folder.path()), at(folder.path()));
        assert!(stopped.pass().unwrap());
        let begun = Instant::now();
        assert!(!other.pass().unwrap(), "it goes on without");
        assert!(begun.elapsed() >= PATIENCE);
        other.leave().unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| other.pass().unwrap());
            stopped.leave().unwrap();
            assert!(waits.join().unwrap());
        });
        other.leave().unwrap();
        assert!(stopped.pass().unwrap(), "nothing stays locked");
    }
}
