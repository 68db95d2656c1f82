//! Ctrl-c, SIGTERM and the terminal's hanging up as a count: the first asks, the second insists.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often somebody asked the program to end.
#[derive(Clone)]
pub struct Signals {
    asked: Arc<(Mutex<Asked>, Condvar)>,
}

#[derive(Default)]
struct Asked {
    /// By ctrl-c or SIGTERM.
    times: u32,
    /// The terminal hung up. It tells so several times over, by the shell and by the kernel: only people insist.
    hung_up: bool,
}

impl Asked {
    fn count(&self) -> u32 {
        self.times.max(u32::from(self.hung_up))
    }
}

/// Takes SIGINT, SIGTERM and SIGHUP from here on, before this returns. Under `nohup` a hangup stays ignored.
pub fn watch() -> io::Result<Signals> {
    let signals = Signals { asked: Arc::default() };
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
                    _ = interrupt.recv() => told.note(|asked| asked.times += 1),
                    _ = terminate.recv() => told.note(|asked| asked.times += 1),
                    () = next(&mut hangup) => told.note(|asked| asked.hung_up = true),
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
        self.asked().count()
    }

    /// How often by a person, so far.
    pub fn insisted(&self) -> u32 {
        self.asked().times
    }

    /// Waits until it was more often than `seen`, at most for `timeout`; gives the count.
    pub fn wait(&self, seen: u32, timeout: Duration) -> u32 {
        let (asked, _) = self
            .asked
            .1
            .wait_timeout_while(self.asked(), timeout, |asked| asked.count() <= seen)
            .unwrap_or_else(PoisonError::into_inner);
        asked.count()
    }

    fn note(&self, what: impl FnOnce(&mut Asked)) {
        what(&mut self.asked());
        self.asked.1.notify_all();
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
