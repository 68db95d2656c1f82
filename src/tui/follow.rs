//! Follows a run's output while it is looked at: a thread that reads what was added, and ends when nobody looks.

use std::io;
use std::path::{Path, PathBuf};
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
    /// Follows the file; once only where no more may come.
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
            .spawn(move || follow(&run, &path, live, &stop, &send))?;
        Ok(Follower { ended, thread: thread.thread().clone() })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

fn follow(run: &RunId, path: &Path, live: bool, ended: &AtomicBool, send: &UnboundedSender<Event>) {
    // The loop may have ended meanwhile; then there is nobody to tell.
    if let Err(error) = hand_on(run, path, live, ended, send) {
        let _ = send.send(Event::Trouble(format!("the log can't be read: {error}")));
    }
}

/// Hands on the end of the log and then what it gains, until nobody looks or no more can come.
fn hand_on(
    run: &RunId,
    path: &Path,
    live: bool,
    ended: &AtomicBool,
    send: &UnboundedSender<Event>,
) -> io::Result<()> {
    let (mut log, skipped) = Follow::from_end(path.to_owned(), SHOWN)?;
    let mut first = true;
    while !ended.load(Ordering::Relaxed) {
        let bytes = log.next()?;
        let dry = bytes.is_empty();
        if first || !dry {
            let chunk = LogChunk { bytes, skipped, first };
            if send.send(Event::Log { run: run.clone(), chunk }).is_err() {
                return Ok(());
            }
            first = false;
        }
        match (dry, live) {
            (false, _) => {}
            (true, true) => std::thread::park_timeout(READ_EVERY),
            (true, false) => return Ok(()),
        }
    }
    Ok(())
}
