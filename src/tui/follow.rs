//! Follows a run's output while it is looked at: a thread that reads what was added, and ends when nobody looks.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

use super::event::{Event, LogChunk};
use crate::domain::RunId;
use crate::process::log::Follow;

/// How often a log that is looked at is read. There is no notice for a growing file that works everywhere.
const READ_EVERY: Duration = Duration::from_millis(150);
/// At most so many bytes of a long log are shown, from its end.
const SHOWN: u64 = 4 * 1024 * 1024;

/// A log that is followed. Dropping it ends that.
pub struct Follower {
    ended: Arc<AtomicBool>,
    thread: Thread,
}

impl Follower {
    /// Follows the log; once only where no more may come.
    pub fn start(
        run: RunId,
        path: PathBuf,
        live: bool,
        send: UnboundedSender<Event>,
    ) -> io::Result<Follower> {
        let ended = Arc::new(AtomicBool::new(false));
        let stop = ended.clone();
        let thread = std::thread::Builder::new()
            .name("andon-board-log".to_owned())
            .spawn(move || follow(&run, path, live, &stop, &send))?;
        Ok(Follower { ended, thread: thread.thread().clone() })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

fn follow(run: &RunId, path: PathBuf, live: bool, ended: &AtomicBool, send: &UnboundedSender<Event>) {
    let trouble = |error: io::Error| {
        // The loop may have ended meanwhile.
        let _ = send
            .send(Event::Trouble(format!("the log can't be read: {error}; open the card again to retry")));
    };
    let mut log = match Follow::from_end(path, SHOWN) {
        Ok(log) => log,
        Err(error) => return trouble(error),
    };
    let skipped = log.offset() - log.dropped();
    let mut first = true;
    while !ended.load(Ordering::Relaxed) {
        let bytes = match log.next() {
            Ok(bytes) => bytes,
            Err(error) => return trouble(error),
        };
        let read_on = !bytes.is_empty();
        if first || read_on {
            let chunk = LogChunk { bytes, skipped, dropped: log.dropped(), first };
            if send.send(Event::Log { run: run.clone(), chunk }).is_err() {
                return;
            }
        }
        first = false;
        match (read_on, live) {
            (true, _) => {}
            (false, true) => std::thread::park_timeout(READ_EVERY),
            (false, false) => return,
        }
    }
}
