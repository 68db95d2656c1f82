//! Follows a run's output while it is looked at: a thread that reads what was added, and ends when nobody looks.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

use super::event::{Event, LogChunk};
use crate::domain::RunId;

/// How often a log that is looked at is read. There is no notice for a growing file that works everywhere.
const READ_EVERY: Duration = Duration::from_millis(150);
/// At most so many bytes of a long log are shown, from its end.
const SHOWN: u64 = 4 * 1024 * 1024;
/// How much is handed on at once.
const PIECE: usize = 256 * 1024;

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
    let mut at = None;
    let mut told = false;
    while !ended.load(Ordering::Relaxed) {
        let chunk = match read(path, at) {
            Ok((chunk, next)) => {
                at = Some(next);
                chunk
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                LogChunk { first: true, ..LogChunk::default() }
            }
            Err(error) => {
                // The loop may have ended meanwhile.
                let _ = send.send(Event::Trouble(format!("the log can't be read: {error}")));
                return;
            }
        };
        let full = chunk.bytes.len() == PIECE;
        if (!told || !chunk.bytes.is_empty()) && send.send(Event::Log { run: run.clone(), chunk }).is_err() {
            return;
        }
        told = true;
        match (full, live) {
            (true, _) => {}
            (false, true) => std::thread::park_timeout(READ_EVERY),
            (false, false) => return,
        }
    }
}

/// Reads what was added after `at`; from the beginning, or near the end of a long log, where nothing was read yet
/// or the file was made anew.
fn read(path: &Path, at: Option<u64>) -> io::Result<(LogChunk, u64)> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let first = at.is_none_or(|at| at > length);
    let from = match at {
        Some(at) if !first => at,
        _ => length.saturating_sub(SHOWN),
    };
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(PIECE as u64).read_to_end(&mut bytes)?;
    let next = from + bytes.len() as u64;
    Ok((LogChunk { bytes, skipped: if first { from } else { 0 }, first }, next))
}
