//! The life of one process that we started: its output is read, a stop is obeyed, its exit is awaited, and its
//! tree is proven dead. All of that happens in [`Child::finish`], in one task, without a thread of its own.

use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::Notify;

use super::identity::Identity;
use super::log::Writer;
use super::output::{Output, Stream};
use super::stop::{Hunt, Proof, Step};
use super::subreaper::Registration;
use super::tree::Scope;

/// The most that is read at once.
const CHUNK: usize = 64 * 1024;
/// What is read at first: most commands say little, and a large buffer costs each of them.
const FIRST_CHUNK: usize = 4 * 1024;

/// How a process ended by itself, and what is remembered of its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The first 4,000 characters of stdout, without line ends at the end.
    pub stdout_head: String,
    /// The last 4,000 characters of stdout, without line ends at the end.
    pub stdout_tail: String,
    /// The last line of stderr that is not blank.
    pub stderr_last_line: String,
    /// How many bytes it and its descendants printed.
    pub bytes: u64,
    /// Why the log is not complete, where it is not.
    pub log_error: Option<String>,
}

/// How it ended, and what could be proven about everyone that it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its own end.
    pub exit: Exit,
    /// The end of its tree.
    pub proof: Proof,
    /// Whether a stop was asked for before it had ended by itself.
    pub stopped: bool,
}

/// Asks a process to stop, from anywhere, before it was started even. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Stopper(Arc<StopRequest>);

#[derive(Debug, Default)]
struct StopRequest {
    grace: Mutex<Option<Duration>>,
    news: Notify,
}

impl Stopper {
    /// One that has not been used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop: SIGTERM to the tree now, SIGKILL after `grace`. Returns at once. Asking again changes
    /// nothing, unless the grace is shorter than the one before.
    pub fn stop(&self, grace: Duration) {
        let mut wanted = self.0.grace.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted.is_none_or(|before| grace < before) {
            *wanted = Some(grace);
            self.0.news.notify_one();
        }
    }

    /// Whether the two stop the same process.
    pub fn is(&self, other: &Stopper) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The grace, where a stop was asked for.
    pub fn requested(&self) -> Option<Duration> {
        *self.0.grace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends when a stop was asked for, or its grace was shortened, since the last time that it ended.
    async fn news(&self) {
        self.0.news.notified().await;
    }
}

/// A process that was started. It has to be [finished](Child::finish); dropped before, it runs on unattended.
#[derive(Debug)]
pub struct Child {
    process: tokio::process::Child,
    identity: Identity,
    /// `None` once it has been reaped.
    registration: Option<Registration>,
    stopper: Stopper,
    tag: Option<String>,
    stdin: Option<Vec<u8>>,
    drain: Duration,
    leftover_grace: Duration,
    pipes: Pipes,
}

/// The pipes of a process, what is remembered of them, and where they are written.
#[derive(Debug)]
struct Pipes {
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    out: Vec<u8>,
    err: Vec<u8>,
    output: Output,
    log: Option<Writer>,
    log_error: Option<String>,
}

impl Child {
    #[expect(clippy::too_many_arguments, reason = "the one caller hands over what it has taken apart")]
    pub(super) fn new(
        mut process: tokio::process::Child,
        identity: Identity,
        registration: Registration,
        stopper: Stopper,
        tag: Option<String>,
        log: Option<Writer>,
        stdin: Option<Vec<u8>>,
        drain: Duration,
        leftover_grace: Duration,
    ) -> Self {
        let pipes = Pipes {
            stdout: process.stdout.take(),
            stderr: process.stderr.take(),
            out: Vec::new(),
            err: Vec::new(),
            output: Output::default(),
            log,
            log_error: None,
        };
        Self {
            process,
            identity,
            registration: Some(registration),
            stopper,
            tag,
            stdin,
            drain,
            leftover_grace,
            pipes,
        }
    }

    /// Which process it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A way to stop it from elsewhere.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Waits until it has ended and everyone that it started is gone, and reads its output meanwhile; `heard` is
    /// told of every piece. Whoever holds the pipes open after the exit delays this by the drain time and the
    /// graces at most.
    pub async fn finish(mut self, mut heard: impl FnMut(Stream, &[u8])) -> Finished {
        self.feed();
        let mut end = End { status: None, hunt: None, next: Instant::now(), proof: None, stopped: false };

        // Until it has exited; a stop may begin meanwhile.
        while end.status.is_none() && end.proof.is_none() {
            tokio::select! {
                () = self.pipes.read(&mut heard) => {}
                status = self.process.wait() => end.status = Some(status.ok()),
                () = self.stopper.news() => self.begin_stop(&mut end),
                () = pause(end.next), if end.hunt.is_some() => end.step(),
            }
        }
        if end.status.is_some() {
            self.registration = None;
        }
        // Until its pipes are closed, or the drain time is over, or a stop begins.
        let until = Instant::now() + self.drain;
        while !self.pipes.are_closed() && Instant::now() < until && end.hunt.is_none() && end.proof.is_none()
        {
            tokio::select! {
                () = self.pipes.read(&mut heard) => {}
                () = self.stopper.news() => self.begin_stop(&mut end),
                () = pause(until) => {}
            }
        }
        // Until everyone that it left behind is gone.
        if end.proof.is_none() && end.hunt.is_none() {
            if self.scope().is_quiet() {
                end.proof = Some(Proof::Dead { killed: 0 });
            } else {
                end.hunt = Some(Hunt::new(self.scope(), Instant::now(), self.leftover_grace));
                end.step();
            }
        }
        while end.proof.is_none() {
            tokio::select! {
                () = self.pipes.read(&mut heard), if !self.pipes.are_closed() => {}
                () = self.stopper.news() => self.begin_stop(&mut end),
                () = pause(end.next) => end.step(),
            }
        }
        // What they said last.
        let until = Instant::now() + self.drain;
        while !self.pipes.are_closed() && Instant::now() < until {
            tokio::select! {
                () = self.pipes.read(&mut heard) => {}
                () = pause(until) => {}
            }
        }
        // A tree that is dead has a leader that can be reaped without waiting.
        if end.status.is_none() && matches!(end.proof, Some(Proof::Dead { .. })) {
            end.status = Some(self.process.wait().await.ok());
        }
        let proof = end.proof.unwrap_or(Proof::Uncertain { pids: vec![self.identity.pid] });
        let exit = self.pipes.into_exit(end.status.flatten());
        Finished { exit, proof, stopped: end.stopped }
    }

    fn scope(&self) -> Scope {
        Scope { leader: Some(self.identity.clone()), tag: self.tag.clone(), held: true }
    }

    fn begin_stop(&self, end: &mut End) {
        let Some(grace) = self.stopper.requested() else { return };
        end.stopped |= end.status.is_none();
        let now = Instant::now();
        match &mut end.hunt {
            Some(hunt) => hunt.hasten(now, grace),
            None => end.hunt = Some(Hunt::new(self.scope(), now, grace)),
        }
        end.step();
    }

    /// Writes its standard input from a task of its own, which ends with the pipe.
    fn feed(&mut self) {
        if let (Some(bytes), Some(mut pipe)) = (self.stdin.take(), self.process.stdin.take()) {
            tokio::spawn(async move {
                // A program need not read what it is given; then the pipe breaks, and that is all right.
                let _ = pipe.write_all(&bytes).await;
            });
        }
    }
}

/// What is known of the end so far.
struct End {
    /// `Some(None)`: it was reaped by somebody else, so nobody knows.
    status: Option<Option<ExitStatus>>,
    hunt: Option<Hunt>,
    next: Instant,
    proof: Option<Proof>,
    stopped: bool,
}

impl End {
    fn step(&mut self) {
        let Some(hunt) = &mut self.hunt else { return };
        let now = Instant::now();
        match hunt.step(now) {
            Step::Pause(pause) => self.next = now + pause,
            Step::Over(proof) => self.proof = Some(proof),
        }
    }
}

impl Pipes {
    fn are_closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// Reads one piece of whichever pipe has one; never returns once both are closed. Nothing is lost when this
    /// is dropped before it is done.
    async fn read(&mut self, heard: &mut impl FnMut(Stream, &[u8])) {
        let stream = tokio::select! {
            open = fill(&mut self.stdout, &mut self.out) => {
                if !open { self.stdout = None; }
                Stream::Stdout
            }
            open = fill(&mut self.stderr, &mut self.err) => {
                if !open { self.stderr = None; }
                Stream::Stderr
            }
        };
        let bytes = match stream {
            Stream::Stdout => &mut self.out,
            Stream::Stderr => &mut self.err,
        };
        if bytes.is_empty() {
            return;
        }
        self.output.add(stream, bytes);
        if let Some(log) = &mut self.log {
            // Reading goes on whatever becomes of the log: a process must not hang on our full disk.
            self.log_error = match log.write(bytes) {
                Ok(()) => self.log_error.take(),
                Err(error) => Some(error.to_string()),
            };
        }
        heard(stream, bytes);
        bytes.clear();
    }

    fn into_exit(self, status: Option<ExitStatus>) -> Exit {
        use std::os::unix::process::ExitStatusExt;
        Exit {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            stdout_head: self.output.stdout_head(),
            stdout_tail: self.output.stdout_tail(),
            stderr_last_line: self.output.stderr_last_line(),
            bytes: self.output.bytes,
            log_error: self.log_error,
        }
    }
}

/// Reads a piece; false at the end of the pipe. Waits for ever on a pipe that is closed.
async fn fill(pipe: &mut Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) -> bool {
    match pipe {
        None => std::future::pending().await,
        Some(pipe) => {
            let full = bytes.capacity() > 0;
            bytes.reserve(if full { CHUNK } else { FIRST_CHUNK });
            matches!(pipe.read_buf(bytes).await, Ok(length) if length > 0)
        }
    }
}

async fn pause(until: Instant) {
    tokio::time::sleep_until(until.into()).await;
}
