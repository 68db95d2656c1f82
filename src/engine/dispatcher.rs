//! The dispatcher: a thread that feeds the core and carries out its effects. One process has the lock and
//! dispatches; the others wait attached and take over. Correctness does not rest on the lock, the epochs do.

mod watch;

use std::collections::{HashMap, HashSet};
use std::fs::{DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use self::watch::Reconciler;
pub use self::watch::WAL_LIMIT;
use super::core::{Effect, Input};
use super::executor::{Executors, LiveRun, Recovery, Report, Reporter, RunSpec};
use super::handle::{Engine, EngineError};
use crate::domain::time::Millis;
use crate::domain::{DispatcherState, RunId, WorkflowId};
use crate::store::{Failure, StoreError, fault};

/// How often an attached process tries to take over.
const TRY_EVERY: Duration = Duration::from_millis(250);
/// The safety net: a look at least so often, whatever was heard.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How soon it is tried again when nothing could be written.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// How long claims are made one by one after one has failed.
const CAREFUL: Duration = Duration::from_secs(30);

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
    Look,
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
        };
        let thread = std::thread::Builder::new()
            .name("andon-dispatcher".to_owned())
            .spawn(move || shell.attach(&lock))
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
}

impl Shell {
    /// Waits for the lock, then dispatches until told to stop.
    fn attach(mut self, file: &File) {
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if told => {}
                Err(TryLockError::WouldBlock) => {
                    told = true;
                    tracing::info!(
                        "another andon dispatches this database; this one takes over when that one goes"
                    );
                }
                Err(TryLockError::Error(error)) => {
                    tracing::error!(%error, "can't lock the dispatcher's file; nothing is dispatched here");
                    return;
                }
            }
            match self.receive.recv_timeout(TRY_EVERY) {
                Ok(Message::Drain | Message::Stop | Message::StopNow)
                | Err(RecvTimeoutError::Disconnected) => return,
                _ => {}
            }
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("andon-run")
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => {
                let inner = self.engine.inner.clone();
                inner.slots.store(self.options.parallel, Ordering::Relaxed);
                inner.dispatching.store(1, Ordering::Relaxed);
                if told {
                    tracing::info!("the other one is gone; dispatching");
                }
                self.dispatch(&runtime);
                inner.dispatching.store(0, Ordering::Relaxed);
                runtime.shutdown_timeout(Duration::from_millis(200));
            }
            Err(error) => {
                tracing::error!(%error, "no runtime for the dispatcher; nothing is dispatched here")
            }
        }
        // The lock goes with the file in any case.
        if let Err(error) = file.unlock() {
            tracing::warn!(%error, "the dispatcher's lock was not let go");
        }
    }

    fn dispatch(&mut self, runtime: &tokio::runtime::Runtime) {
        let _context = runtime.enter();
        self.listen(runtime);
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
                return;
            }
            if !messages.is_empty() {
                self.busy = Instant::now();
            }
            self.turn(messages);
            self.reconcile();
        }
        drop(lease);
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
            None => self.draining && quiet,
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
                Message::Look => asked = true,
                Message::Die => {}
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
    }

    fn drain(&mut self) {
        if !self.draining {
            self.draining = true;
            self.engine.inner.dispatching.store(2, Ordering::Relaxed);
            let id = self.id.clone();
            let told = self.engine.inner.store.write(move |tx| tx.change_dispatcher(&id, true, None));
            if let Err(error) = told {
                tracing::warn!(%error, "draining was not recorded");
            }
        }
    }

    fn stop_due(&mut self) {
        let now = Instant::now();
        let due: Vec<RunId> =
            self.stop_later.iter().filter(|(_, at)| **at <= now).map(|(run, _)| run.clone()).collect();
        for run in due {
            self.stop_later.remove(&run);
            self.stop_run(&run);
        }
    }

    fn stop_run(&self, run: &RunId) {
        if let Some(live) = lock(&self.live).get(run) {
            live.run.stop(self.options.grace_ms);
        }
    }

    /// Decides all inputs and claims, commits, and carries out the effects. With `all` it also looks for what
    /// others have changed and what time has brought.
    fn commit(&mut self, inputs: Vec<Input>, all: bool) {
        let kept: Vec<Input> = inputs.iter().filter_map(again).collect();
        self.careful = self.careful.filter(|since| since.elapsed() < CAREFUL);
        let look = Input::Look {
            dispatcher: self.id.clone(),
            slots: if self.draining { 0 } else { self.options.parallel },
            agents: self.executors.agents(),
            only: self.options.only_workflow.clone(),
            all,
            careful: self.careful.is_some(),
        };
        match self.decide(inputs, Some(look)).map_err(|undecided| *undecided) {
            Ok(effects) => {
                if all {
                    self.wake_at = None;
                }
                for effect in effects {
                    self.carry_out(effect);
                }
            }
            Err(Undecided { failure, looking: true }) if self.careful.is_none() => {
                tracing::error!(%failure, "a claim failed; claiming one by one for a while");
                self.careful = Some(Instant::now());
                self.commit(kept, all);
            }
            Err(Undecided { failure, looking: true }) => {
                tracing::error!(%failure, "the dispatcher can't look for work; trying again");
                self.record(kept);
            }
            Err(Undecided { failure: Failure::Refused(refusal), .. }) => {
                tracing::warn!(%refusal, "what a run told was refused");
            }
            Err(Undecided { failure: Failure::Store(error), .. }) => {
                tracing::error!(%error, "the dispatcher can't write; trying again");
                self.again.extend(kept);
                self.missed_look |= all;
                // Whatever is due stays due: without a pause it would be tried again at once, for ever.
                self.failed_at = Some(Instant::now());
            }
        }
    }

    /// Writes what runs told, without looking for work.
    fn record(&mut self, inputs: Vec<Input>) {
        if inputs.is_empty() {
            return;
        }
        let kept: Vec<Input> = inputs.iter().filter_map(again).collect();
        match self.decide(inputs, None).map_err(|undecided| *undecided) {
            Ok(effects) => effects.into_iter().for_each(|effect| self.carry_out(effect)),
            Err(Undecided { failure, .. }) => {
                tracing::error!(%failure, "what runs told could not be written; trying again");
                self.again.extend(kept);
            }
        }
    }

    /// Decides all inputs and then looks, in one transaction. Inputs that can't be written are kept to be tried again.
    fn decide(&mut self, inputs: Vec<Input>, look: Option<Input>) -> Result<Vec<Effect>, Box<Undecided>> {
        let core = self.engine.inner.core.clone();
        let looking = Arc::new(AtomicBool::new(false));
        let begun = looking.clone();
        // What failed alone is tried again by itself, so that the look beside it is kept.
        let alone = inputs.len() == 1 && self.failed_at.is_none();
        let written = self.engine.inner.store.write_quietly(move |tx| {
            let mut effects = Vec::new();
            let mut failed = Vec::new();
            for input in inputs {
                let retry = again(&input);
                // One row with bad data must not hold all the others.
                let done = match alone {
                    true => core.handle(tx, input),
                    false => tx.isolated(|tx| core.handle(tx, input)),
                };
                match done {
                    Ok(handled) => effects.extend(handled.effects),
                    Err(Failure::Refused(refusal)) if !alone => {
                        tracing::warn!(%refusal, "what a run told was refused");
                    }
                    Err(Failure::Store(error)) if !alone && error.is_damage() => {
                        tracing::error!(%error, "what a run told could not be written; trying again");
                        failed.extend(retry);
                    }
                    // The database itself: nothing of this transaction will be kept.
                    Err(failure) => return Err(failure),
                }
            }
            if let Some(look) = look {
                begun.store(true, Ordering::Relaxed);
                effects.extend(core.handle(tx, look)?.effects);
                begun.store(false, Ordering::Relaxed);
            }
            Ok((effects, failed))
        });
        match written {
            Ok((effects, failed)) => {
                self.failed_at = None;
                self.again.extend(failed);
                Ok(effects)
            }
            Err(failure) => Err(Box::new(Undecided { failure, looking: looking.load(Ordering::Relaxed) })),
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        let (before, after) = match &effect {
            Effect::Start(_) => ("effect.start", "effect.started"),
            Effect::Stop { .. } => ("effect.stop", "effect.stopped"),
            Effect::Recover { .. } => ("effect.recover", "effect.recovering"),
            Effect::WakeAt(_) => ("effect.wake", "effect.waking"),
            Effect::Check => ("effect.check", "effect.checking"),
        };
        fault::point(before);
        self.do_it(effect);
        fault::point(after);
    }

    fn do_it(&mut self, effect: Effect) {
        match effect {
            Effect::Start(spec) => self.start_run(*spec),
            Effect::Stop { run, by_itself: true } => {
                let at = Instant::now() + Duration::from_millis(self.options.grace_ms);
                self.stop_later.entry(run).or_insert(at);
            }
            Effect::Stop { run, by_itself: false } => {
                self.stop_later.remove(&run);
                self.stop_run(&run);
            }
            Effect::Recover { run, process } => {
                if !self.recovering.insert(run.clone()) {
                    return;
                }
                let (executors, send) = (self.executors.clone(), self.send.clone());
                let grace = self.options.grace_ms;
                tokio::task::spawn_blocking(move || {
                    let recovery = executors.recover(&run, process.as_ref(), grace);
                    fault::point("effect.recovered");
                    // Where the dispatcher has ended, the next one finds the run again.
                    let _ = send.send(Message::Recovered { run, recovery });
                });
            }
            Effect::Check => self.check(),
            Effect::WakeAt(at) => self.wake_at = Some(self.wake_at.map_or(at, |known| known.min(at))),
        }
    }

    fn start_run(&mut self, spec: RunSpec) {
        let run = spec.run.clone();
        let send = Mutex::new(self.send.clone());
        let tell = move |run: RunId, epoch: i64, report: Report| {
            // Where the dispatcher has ended, the next one finds the run again.
            let _ = lock(&send).send(Message::Report { run, epoch, report });
        };
        let reporter = Reporter::new(run.clone(), spec.epoch, Arc::new(tell));
        let started = self.executors.start(spec, reporter.clone());
        lock(&self.live).insert(run, Live { run: started, reporter });
    }
}

/// Why nothing was written, and whether that was in looking for work.
struct Undecided {
    failure: Failure,
    looking: bool,
}

/// An input that must not get lost when it can't be written.
fn again(input: &Input) -> Option<Input> {
    match input {
        Input::Report { run, epoch, report } => {
            Some(Input::Report { run: run.clone(), epoch: *epoch, report: report.clone() })
        }
        Input::Recovered { run, recovery } => {
            Some(Input::Recovered { run: run.clone(), recovery: recovery.clone() })
        }
        Input::Begin { dispatcher, pid, slots, only } => Some(Input::Begin {
            dispatcher: dispatcher.clone(),
            pid: *pid,
            slots: *slots,
            only: only.clone(),
        }),
        Input::Suspend { dispatcher } => Some(Input::Suspend { dispatcher: dispatcher.clone() }),
        Input::Command { .. } | Input::Look { .. } | Input::Reconcile { .. } | Input::Damaged { .. } => None,
    }
}

/// Renews the leases of all live runs, on a thread of its own, whatever the dispatcher is busy with.
struct Lease {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Lease {
    fn start(engine: &Engine, id: &str, live: &Arc<Mutex<HashMap<RunId, Live>>>, renew_ms: u64) -> Lease {
        let (end, ended) = channel::<()>();
        let (engine, id, live) = (engine.clone(), id.to_owned(), live.clone());
        let thread = std::thread::Builder::new().name("andon-lease".to_owned()).spawn(move || {
            let every = Duration::from_millis(renew_ms.max(10));
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                renew(&engine, &id, &live);
            }
        });
        if let Err(error) = &thread {
            tracing::error!(%error, "no thread to renew leases");
        }
        Lease { end: Some(end), thread: thread.ok() }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the lease thread ended in a fault of the program");
        }
    }
}

fn renew(engine: &Engine, id: &str, live: &Mutex<HashMap<RunId, Live>>) {
    let runs: Vec<(RunId, Millis)> =
        lock(live).iter().map(|(run, l)| (run.clone(), l.reporter.active_at_ms())).collect();
    let now = engine.now();
    // Nothing to vouch for, and no clock that must know when this dispatcher was last alive.
    let idle = runs.is_empty()
        && engine.inner.store.read(|view| Ok(view.overdue(now)?.1.is_none())).unwrap_or(false);
    if idle {
        return;
    }
    let until = engine.now() + engine.inner.core.policy().lease_ms;
    let id = id.to_owned();
    let renewed = engine.inner.store.write_relaxed(move |tx| {
        for (run, active) in runs {
            tx.renew_lease(&run, &id, until, active)?;
        }
        tx.see_dispatcher(&id, now)?;
        Ok(())
    });
    if let Err(error) = renewed {
        tracing::warn!(%error, "leases were not renewed");
    }
}
