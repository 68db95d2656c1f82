//! The dispatcher: a thread that feeds the core and carries out its effects. One process has the lock and
//! dispatches; the others wait attached and take over. Correctness does not rest on the lock, the epochs do.

mod attach;
mod decide;
mod effects;
mod lease;
mod short;
mod watch;

use std::collections::{HashMap, HashSet};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use self::attach::Place;
use self::lease::Lease;
use self::short::ShortWay;
use self::watch::Reconciler;
pub use self::watch::WAL_LIMIT;
use super::core::{Effect, Input};
use super::executor::{Executors, LiveRun, Recovery, Report, Reporter};
use super::handle::{Engine, EngineError};
use crate::domain::time::Millis;
use crate::domain::{DispatcherState, RunId, WorkflowId};
use crate::store::StoreError;

/// The safety net: a look at least so often, whatever was heard.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How soon it is tried again when nothing could be written.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// How to dispatch.
#[derive(Debug, Clone)]
pub struct DispatchOptions {
    /// Runs at a time.
    pub parallel: u32,
    /// Leases are renewed so often.
    pub renew_ms: u64,
    /// How long a process has between TERM and KILL.
    pub grace_ms: u64,
    /// Only the steps of this workflow.
    pub only_workflow: Option<WorkflowId>,
    /// How often it looks for what can't be, and at the length of the write-ahead log.
    pub reconcile_ms: u64,
    /// A write-ahead log that is longer than this, in bytes, is warned of, and cut when nothing happens.
    pub wal_limit: u64,
}

impl Default for DispatchOptions {
    fn default() -> Self {
        DispatchOptions {
            parallel: 4,
            renew_ms: 10_000,
            grace_ms: 10_000,
            only_workflow: None,
            reconcile_ms: 3_000,
            wal_limit: WAL_LIMIT,
        }
    }
}

enum Message {
    Report { run: RunId, epoch: i64, report: Report },
    Recovered { run: RunId, recovery: Recovery },
    Effect(Effect),
    Look,
    Damaged,
    Drain,
    Stop,
    StopNow,
    Die,
}

/// A running dispatcher. Dropping it does not stop it.
pub struct Dispatcher {
    engine: Engine,
    send: Sender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
    live: Arc<Mutex<HashMap<RunId, Live>>>,
}

struct Live {
    run: Box<dyn LiveRun>,
    reporter: Reporter,
}

impl Dispatcher {
    /// Starts the thread. It takes the lock as soon as that is free; until then this process is attached.
    pub fn start(
        engine: &Engine,
        executors: Arc<dyn Executors>,
        options: DispatchOptions,
    ) -> Result<Dispatcher, EngineError> {
        let lock = engine.lock_file()?;
        let logs = engine.inner.store.beside("-logs");
        if !logs.is_dir() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&logs)
                .map_err(|source| StoreError::File { path: logs.clone(), source })?;
        }
        let (send, receive) = channel();
        let live: Arc<Mutex<HashMap<RunId, Live>>> = Arc::default();
        let id = format!("d_{:016x}", engine.inner.core.random());
        let shell = Shell {
            engine: engine.clone(),
            executors,
            options,
            id,
            send: send.clone(),
            receive,
            live: live.clone(),
            draining: false,
            stopping: None,
            wake_at: None,
            looked: Instant::now(),
            stop_later: HashMap::new(),
            recovering: HashSet::new(),
            again: Vec::new(),
            reconciler: Reconciler::default(),
            busy: Instant::now(),
            careful: None,
            failed_at: None,
            missed_look: false,
            superseded: false,
            halted: false,
            place: Place::default(),
            short: None,
        };
        let thread = std::thread::Builder::new()
            .name("andon-dispatcher".to_owned())
            .spawn(move || shell.attach(lock))
            .map_err(|source| StoreError::File { path: engine.path().to_owned(), source })?;
        Ok(Dispatcher { engine: engine.clone(), send, thread: Mutex::new(Some(thread)), live })
    }

    /// Whether it dispatches, waits attached, or drains.
    pub fn state(&self) -> DispatcherState {
        self.engine.dispatcher_state()
    }

    /// How many runs are going here.
    pub fn live_runs(&self) -> usize {
        lock(&self.live).len()
    }

    /// Claims nothing more, and ends when the last run has.
    pub fn drain(&self) {
        self.tell(Message::Drain);
    }

    /// Claims nothing more, stops all runs as SUSPENDED, and ends.
    pub fn stop(&self) {
        self.tell(Message::Stop);
    }

    /// As [`Dispatcher::stop`], without grace.
    pub fn stop_now(&self) {
        self.tell(Message::StopNow);
    }

    /// Ends at once and says nothing to anybody, as a crash would: for tests of what comes after.
    pub fn die(&self) {
        self.tell(Message::Die);
        self.join();
    }

    fn tell(&self, message: Message) {
        // A dispatcher that has ended needs no telling.
        let _ = self.send.send(message);
    }

    /// Waits until it has ended.
    pub fn join(&self) {
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the dispatcher ended in a fault of the program");
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        lock(&self.thread).as_ref().is_none_or(JoinHandle::is_finished)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is guarded here is never left half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Shell {
    engine: Engine,
    executors: Arc<dyn Executors>,
    options: DispatchOptions,
    id: String,
    send: Sender<Message>,
    receive: Receiver<Message>,
    live: Arc<Mutex<HashMap<RunId, Live>>>,
    draining: bool,
    stopping: Option<Instant>,
    wake_at: Option<Millis>,
    /// When it last looked for everything.
    looked: Instant,
    /// Runs that asked to be ended, and are given time to end by themselves.
    stop_later: HashMap<RunId, Instant>,
    recovering: HashSet<RunId>,
    /// Reports that could not be written, to be tried again.
    again: Vec<Input>,
    reconciler: Reconciler,
    /// When it last heard or did something.
    busy: Instant,
    /// Since when claims are made one by one, since one has failed.
    careful: Option<Instant>,
    /// When nothing could be written, the last time it was tried.
    failed_at: Option<Instant>,
    /// A look for everything could not be written.
    missed_look: bool,
    /// Another dispatcher has begun since.
    superseded: bool,
    /// The database is damaged: nothing is started any more.
    halted: bool,
    /// Where its lock is.
    place: Place,
    /// Starts runs, and settles them in the usual case; there while it dispatches.
    short: Option<Arc<ShortWay>>,
}

impl Shell {
    fn dispatch(&mut self, runtime: &tokio::runtime::Runtime) {
        let _context = runtime.enter();
        self.listen(runtime);
        // A dispatcher of this process that died may have left something; whoever recovers its runs knows better.
        self.engine.inner.store.forget_brought();
        self.short = Some(Arc::new(ShortWay {
            engine: self.engine.clone(),
            executors: self.executors.clone(),
            dispatcher: self.id.clone(),
            slots: self.options.parallel,
            only: self.options.only_workflow.clone(),
            live: self.live.clone(),
            send: Mutex::new(self.send.clone()),
            runtime: runtime.handle().clone(),
            place: self.place.clone(),
            open: AtomicBool::new(false),
        }));
        let lease = Lease::start(&self.engine, &self.id, &self.live, self.options.renew_ms);
        let begin = Input::Begin {
            dispatcher: self.id.clone(),
            pid: std::process::id(),
            slots: self.options.parallel,
            only: self.options.only_workflow.clone(),
        };
        self.commit(vec![begin], true);
        self.engine.inner.store.bell().nudge();
        self.reconcile();
        while !self.is_over() {
            let first = self.receive.recv_timeout(self.patience());
            let mut messages: Vec<Message> = first.into_iter().collect();
            messages.extend(self.receive.try_iter().take(1_000));
            if messages.iter().any(|message| matches!(message, Message::Die)) {
                self.close_short_way();
                return;
            }
            if !messages.is_empty() {
                self.busy = Instant::now();
            }
            self.turn(messages);
            self.reconcile();
        }
        self.close_short_way();
        drop(lease);
        if self.halted {
            // Its end stays unrecorded, so that whoever comes next checks the database again.
            return;
        }
        let id = self.id.clone();
        let now = self.engine.now();
        let ended = self.engine.inner.store.write(move |tx| tx.change_dispatcher(&id, true, Some(now)));
        if let Err(error) = ended {
            tracing::warn!(%error, "the end of the dispatcher was not recorded");
        }
    }

    /// Turns changes by anybody into a look.
    fn listen(&self, runtime: &tokio::runtime::Runtime) {
        let mut changes = self.engine.inner.store.bell().listen_to_others();
        let send = self.send.clone();
        runtime.spawn(async move {
            while changes.changed().await.is_ok() {
                if send.send(Message::Look).is_err() {
                    return;
                }
            }
        });
    }

    fn is_over(&self) -> bool {
        let quiet = lock(&self.live).is_empty() && self.recovering.is_empty() && self.again.is_empty();
        match self.stopping {
            // What does not end by then is found by the next dispatcher.
            Some(since) => quiet || since.elapsed() > Duration::from_millis(self.options.grace_ms + 10_000),
            None => (self.draining || self.superseded) && quiet,
        }
    }

    fn patience(&self) -> Duration {
        let mut patience = LOOK_EVERY.saturating_sub(self.looked.elapsed());
        if let Some(looked) = self.reconciler.looked {
            let every = Duration::from_millis(self.options.reconcile_ms);
            patience = patience.min(every.saturating_sub(looked.elapsed()));
        }
        if let Some(at) = self.wake_at {
            patience =
                patience.min(Duration::from_millis(u64::try_from(at - self.engine.now()).unwrap_or(0)));
        }
        patience = patience.max(self.pause());
        if let Some(at) = self.stop_later.values().min() {
            patience = patience.min(at.saturating_duration_since(Instant::now()));
        }
        if !self.again.is_empty() || self.missed_look {
            patience = patience.min(TRY_AGAIN_AFTER);
        }
        if self.stopping.is_some() {
            patience = patience.min(Duration::from_millis(100));
        }
        patience
    }

    /// How long nothing is tried any more, since nothing could be written just now.
    fn pause(&self) -> Duration {
        self.failed_at.map_or(Duration::ZERO, |at| TRY_AGAIN_AFTER.saturating_sub(at.elapsed()))
    }

    /// One turn: what was told is decided in one transaction together with the next claims.
    fn turn(&mut self, messages: Vec<Message>) {
        let mut inputs = std::mem::take(&mut self.again);
        let timed = self.wake_at.is_some_and(|at| at <= self.engine.now());
        let mut asked = timed || self.looked.elapsed() >= LOOK_EVERY;
        for message in messages {
            match message {
                Message::Report { run, epoch, report } => {
                    if matches!(report, Report::Ended(_)) {
                        self.stop_later.remove(&run);
                        lock(&self.live).remove(&run);
                    }
                    inputs.push(Input::Report { run, epoch, report });
                }
                Message::Recovered { run, recovery } => {
                    self.recovering.remove(&run);
                    inputs.push(Input::Recovered { run, recovery });
                }
                Message::Effect(effect) => self.carry_out(effect),
                Message::Look => asked = true,
                Message::Die => {}
                Message::Damaged => self.halt(),
                Message::Drain => {
                    self.drain();
                    asked = true;
                }
                Message::Stop | Message::StopNow => {
                    if matches!(message, Message::StopNow) {
                        self.options.grace_ms = 0;
                    }
                    self.drain();
                    self.stopping.get_or_insert_with(Instant::now);
                    inputs.push(Input::Suspend { dispatcher: self.id.clone() });
                }
            }
        }
        if !self.place.is_held() {
            self.stand_down();
        }
        self.stop_due();
        asked |= std::mem::take(&mut self.missed_look);
        if asked {
            self.looked = Instant::now();
        }
        if !self.pause().is_zero() {
            self.again = inputs;
            self.missed_look = asked;
        } else if asked || !inputs.is_empty() {
            self.commit(inputs, asked);
        }
        self.open_short_way();
    }

    /// The short way is open while all is as usual.
    fn open_short_way(&self) {
        if let Some(short) = &self.short {
            let unusual = self.draining
                || self.superseded
                || self.halted
                || self.careful.is_some()
                || self.failed_at.is_some()
                || !self.again.is_empty();
            short.open.store(!unusual, Ordering::Release);
        }
    }

    /// From here on every report goes through this thread, or nowhere once it has ended.
    fn close_short_way(&self) {
        if let Some(short) = &self.short {
            short.open.store(false, Ordering::Release);
        }
    }

    fn drain(&mut self) {
        if !self.draining {
            self.draining = true;
            // What is on the short way already is decided before the write below comes back.
            self.open_short_way();
            self.engine.inner.dispatching.store(2, Ordering::Relaxed);
            let id = self.id.clone();
            let told = self.engine.inner.store.write(move |tx| tx.change_dispatcher(&id, true, None));
            if let Err(error) = told {
                tracing::warn!(%error, "draining was not recorded");
            }
        }
    }

    /// What is written into a damaged database may be lost, or damage more: what runs may end, and nothing is
    /// started. It keeps its place, since another dispatcher would only go on where this one stopped.
    fn halt(&mut self) {
        self.halted = true;
        self.open_short_way();
        let id = self.id.clone();
        let told = self.engine.inner.store.write(move |tx| tx.halt_dispatcher(&id));
        if let Err(error) = told {
            tracing::warn!(%error, "that nothing is started any more was not recorded");
        }
    }

    /// Another dispatcher has begun or may begin, and recovers what runs here: that is waited for, and nothing more is
    /// started.
    fn stand_down(&mut self) {
        if !self.superseded {
            self.superseded = true;
            self.engine.inner.dispatching.store(2, Ordering::Relaxed);
            tracing::error!(
                "another dispatcher has taken over, or may: the file of this one's lock was removed; standing by"
            );
        }
    }
}
