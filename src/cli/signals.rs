//! Ctrl-c, SIGTERM and the terminal's hanging up as a count: the first asks, the second insists.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often somebody asked the program to end.
#[derive(Clone)]
pub struct Signals {
    asked: Arc<(Mutex<u32>, Condvar)>,
}

/// Takes SIGINT, SIGTERM and SIGHUP from here on, before this returns. Under `nohup` a hangup stays ignored.
pub fn watch() -> io::Result<Signals> {
    let signals = Signals { asked: Arc::new((Mutex::new(0), Condvar::new())) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let guard = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = match hangup_is_ignored() {
        true => None,
        false => Some(signal(SignalKind::hangup())?),
    };
    drop(guard);
    let told = signals.clone();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => told.add(),
                    _ = terminate.recv() => told.add(),
                    () = next(&mut hangup) => told.add(),
                }
            }
        });
    })?;
    Ok(signals)
}

/// The next of these signals; never, where they are not watched.
async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether whoever started us wants hangups ignored (proc_pid_status(5), `SigIgn`).
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (SignalKind::hangup().as_raw_value() - 1)) != 0
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
