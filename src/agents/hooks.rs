//! Hooks: commands of the configuration that are run when something happens, with the event as JSON on standard
//! input. They are run by the process that dispatches, a few at a time, each with a time limit; one that fails is
//! logged and harms nothing. What happened before the start is not told: the place in the log is kept in memory.

use serde_json::{Value, json};
use std::ffi::OsString;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::domain::time::rfc3339;
use crate::domain::{DispatcherState, Event, EventKind, IdRef};
use crate::engine::{Engine, EngineError};
use crate::process::{Environment, Launch};

/// How many hooks run at a time; the next wait, and nothing is dropped.
const AT_A_TIME: usize = 4;
/// With so many that run or wait, the log is read no further for now.
const WAITING: usize = 1_000;
/// How many events are read at once.
const BATCH: usize = 500;
/// How long a hook that is stopped has to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// How long hooks may still run when the process ends.
const LAST_MOMENT: Duration = Duration::from_secs(3);
/// The log is looked at this often even when nobody rings.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Words for what a card needs a person for, and the events that they stand for. `review` is told only where the
/// work really waits, and `failed` only where no retry follows by itself.
pub const WORDS: &[(&str, &str)] = &[
    ("question", "asked"),
    ("approval", "approval_asked"),
    ("review", "review_asked"),
    ("failed", "failed"),
    ("done", "succeeded"),
    ("notice", "notified"),
];

/// A command that is run on some events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Kinds of events, or [`WORDS`].
    pub on: Vec<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Only events of these boards; empty = of all.
    pub boards: Vec<String>,
    /// Names of our own variables that it gets.
    pub env: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
}

impl Hook {
    /// The word by which it wants this event, if it does.
    fn wants<'h>(&'h self, told: &Told<'_>) -> Option<&'h str> {
        let kind = told.event.kind.as_str();
        let word = self.on.iter().find(|on| {
            let stands_for = WORDS.iter().find(|(word, _)| word == on);
            match stands_for {
                Some((_, event)) => *event == kind && !told.passes_at_once,
                None => *on == kind,
            }
        })?;
        let here =
            self.boards.is_empty() || told.board.as_ref().is_some_and(|board| self.boards.contains(board));
        here.then_some(word.as_str())
    }
}

/// Whether a hook may name this.
pub fn is_known(on: &str) -> bool {
    WORDS.iter().any(|(word, _)| *word == on) || EventKind::ALL.iter().any(|kind| kind.as_str() == on)
}

/// Hooks at work. They end with this value, after what has happened by then.
#[derive(Debug)]
pub struct Hooks {
    end: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Hooks {
    /// Begins to listen, from the newest event on. `None` where there is no hook.
    pub fn start(engine: &Engine, hooks: Vec<Hook>) -> Result<Option<Hooks>, EngineError> {
        if hooks.is_empty() {
            return Ok(None);
        }
        let seen = engine.last_seq()?;
        let (end, ended) = watch::channel(false);
        let worker = Worker { engine: engine.clone(), hooks: hooks.into(), seen, was_here: false, ended };
        let thread = std::thread::Builder::new().name("hooks".to_owned()).spawn(move || {
            match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime.block_on(worker.work()),
                Err(error) => tracing::warn!(%error, "no hook can be run"),
            }
        });
        match thread {
            Ok(thread) => Ok(Some(Hooks { end, thread: Some(thread) })),
            Err(error) => {
                tracing::warn!(%error, "no hook can be run");
                Ok(None)
            }
        }
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        // It has ended already where nobody listens.
        let _ = self.end.send(true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the hooks ended in a fault of andon");
        }
    }
}

/// An event, with what hooks choose by.
struct Told<'e> {
    event: &'e Event,
    /// The same transaction led on: a review that nobody has to make, a failure that is retried.
    passes_at_once: bool,
    board: Option<String>,
}

struct Worker {
    engine: Engine,
    hooks: Arc<[Hook]>,
    seen: i64,
    /// Whether this process dispatched when it was last looked.
    was_here: bool,
    ended: watch::Receiver<bool>,
}

impl Worker {
    async fn work(mut self) {
        let mut changes = self.engine.changes();
        let (halt, halted) = watch::channel(false);
        let slots = Slots { free: Arc::new(Semaphore::new(AT_A_TIME)), halted };
        let mut running = JoinSet::new();
        loop {
            let last = *self.ended.borrow();
            changes.mark_unchanged();
            if let Err(error) = self.hand_out(last, &slots, &mut running) {
                tracing::warn!(%error, "hooks could not read what happened; they look again");
            }
            if last {
                break;
            }
            tokio::select! {
                // The sender goes with the process only.
                _ = self.ended.changed() => {}
                heard = changes.changed() => if heard.is_err() { break },
                Some(_) = running.join_next() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
        if tokio::time::timeout(LAST_MOMENT, all(&mut running)).await.is_err() {
            tracing::warn!(
                hooks = running.len(),
                "hooks that still run or wait are stopped, since andon ends"
            );
            // Who still listens is stopped with a grace of its own; nobody may listen any more.
            let _ = halt.send(true);
            let _ = tokio::time::timeout(GRACE * 3, all(&mut running)).await;
        }
    }

    /// Hands out all events since the last time.
    fn hand_out(&mut self, last: bool, slots: &Slots, running: &mut JoinSet<()>) -> Result<(), EngineError> {
        match self.engine.dispatcher_state() {
            DispatcherState::Here | DispatcherState::Draining => self.was_here = true,
            // Its hooks are run there.
            DispatcherState::Elsewhere => {
                self.was_here = false;
                self.seen = self.engine.last_seq()?;
                return Ok(());
            }
            // Not yet, or, where it is about to end, no longer: then what it did last is still told.
            DispatcherState::Nobody if last && self.was_here => {}
            DispatcherState::Nobody => return Ok(()),
        }
        while running.len() < WAITING {
            let events = self.engine.events(self.seen, None, BATCH)?;
            // What comes right after an event says what became of it, so the end of a full batch waits.
            let whole = if events.len() == BATCH { BATCH / 2 } else { events.len() };
            for (at, event) in events[..whole].iter().enumerate() {
                let passes_at_once = leads_on(event, &events[at + 1..]);
                let told = Told { event, passes_at_once, board: self.board_of(event) };
                for hook in self.hooks.iter() {
                    let Some(word) = hook.wants(&told) else { continue };
                    let launch = self.launch(hook, &told, self.text(&told, word));
                    let name = hook.command.first().cloned().unwrap_or_default();
                    running.spawn(slots.clone().run(launch, hook.timeout, name));
                }
                self.seen = event.seq;
            }
            if events.len() < BATCH {
                break;
            }
        }
        Ok(())
    }

    fn board_of(&self, event: &Event) -> Option<String> {
        if let Some(task) = &event.task_id {
            return self.engine.task(&IdRef::Full(task.0.clone())).ok().map(|task| task.board_id);
        }
        if let Some(board) = event.data.get("board").and_then(Value::as_str) {
            return Some(board.to_owned());
        }
        let workflow = event.workflow_id.as_ref()?;
        self.engine.workflow(workflow.as_str()).ok().map(|view| view.workflow.board_id)
    }

    /// What a hook reads: the event, with its card where it has one.
    fn text(&self, told: &Told<'_>, word: &str) -> Vec<u8> {
        let mut text = json!(told.event);
        text["on"] = json!(word);
        text["at"] = json!(rfc3339(told.event.at_ms));
        text["board_id"] = json!(told.board);
        if let Some(task) = &told.event.task_id
            && let Ok(task) = self.engine.task(&IdRef::Full(task.0.clone()))
        {
            text["task"] = Value::Object(task.record());
        }
        let mut text = text.to_string().into_bytes();
        text.push(b'\n');
        text
    }

    fn launch(&self, hook: &Hook, told: &Told<'_>, text: Vec<u8>) -> Launch {
        let mut environment = Environment::allowed();
        for name in &hook.env {
            environment.pass(name);
        }
        environment.set("ANDON_EVENT", told.event.kind.as_str()).set_os("ANDON_DB", self.engine.path());
        let mut launch = Launch::new(hook.command.iter().map(OsString::from), environment);
        launch.stdin = Some(text);
        launch.leftover_grace = GRACE;
        launch
    }
}

/// Whether what comes right after an event, in the same transaction, takes it further.
fn leads_on(event: &Event, next: &[Event]) -> bool {
    let further = match event.kind {
        EventKind::ReviewAsked => EventKind::Succeeded,
        EventKind::Failed => EventKind::Retried,
        _ => return false,
    };
    next.iter()
        .take_while(|next| next.at_ms == event.at_ms)
        .find(|next| next.task_id == event.task_id)
        .is_some_and(|next| next.kind == further)
}

async fn all(running: &mut JoinSet<()>) {
    while running.join_next().await.is_some() {}
}

/// Where hooks run.
#[derive(Clone)]
struct Slots {
    free: Arc<Semaphore>,
    /// Turns true when andon ends and waits no longer.
    halted: watch::Receiver<bool>,
}

impl Slots {
    /// Runs a hook to its end, or until its time is over or andon ends.
    async fn run(self, launch: Launch, timeout: Duration, name: String) {
        let Slots { free, mut halted } = self;
        let _slot = tokio::select! {
            slot = free.acquire() => slot,
            () = halt(&mut halted) => return,
        };
        let child = match launch.spawn() {
            Ok(child) => child,
            Err(error) => {
                tracing::warn!(hook = name, %error, "a hook could not be started");
                return;
            }
        };
        let stopper = child.stopper();
        let finish = child.finish(|_, _| {});
        tokio::pin!(finish);
        let by_itself = tokio::select! {
            finished = &mut finish => Some(finished),
            () = tokio::time::sleep(timeout) => None,
            () = halt(&mut halted) => None,
        };
        let finished = match by_itself {
            Some(finished) => finished,
            None => {
                stopper.stop(GRACE);
                finish.await
            }
        };
        let exit = finished.exit;
        if finished.stopped {
            tracing::warn!(hook = name, seconds = timeout.as_secs(), "a hook took too long and was stopped");
        } else if exit.code != Some(0) {
            let (code, said) = (exit.code, exit.stderr_last_line);
            tracing::warn!(hook = name, code, signal = exit.signal, said, "a hook failed");
        }
    }
}

async fn halt(halted: &mut watch::Receiver<bool>) {
    // Whoever could say it being gone means the same.
    let _ = halted.wait_for(|halted| *halted).await;
}
