//! Ctrl-c and SIGTERM as a count: the first asks, the second insists.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How often somebody asked the program to end.
#[derive(Clone)]
pub struct Signals {
    asked: Arc<(Mutex<u32>, Condvar)>,
}

/// Takes SIGINT and SIGTERM from here on, before this returns.
pub fn watch() -> io::Result<Signals> {
    let signals = Signals { asked: Arc::new((Mutex::new(0), Condvar::new())) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let guard = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    drop(guard);
    let told = signals.clone();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => told.add(),
                    _ = terminate.recv() => told.add(),
                }
            }
        });
    })?;
    Ok(signals)
}

impl Signals {
    /// How often, so far.
    pub fn count(&self) -> u32 {
        *self.asked.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it was more often than `seen`, at most for `timeout`; gives the count.
    pub fn wait(&self, seen: u32, timeout: Duration) -> u32 {
        let (count, bell) = &*self.asked;
        let count = count.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, _) = bell
            .wait_timeout_while(count, timeout, |count| *count <= seen)
            .unwrap_or_else(PoisonError::into_inner);
        *count
    }

    fn add(&self) {
        let (count, bell) = &*self.asked;
        *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        bell.notify_all();
    }
}
