//! The handle that faces hold: execute a command, read a snapshot, wait for a change.

use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::command::{Command, Outcome};
use super::core::{Core, Input, Paths, Policy};
use crate::domain::board::Predecessor;
use crate::domain::id::IdKind;
use crate::domain::time::Millis;
use crate::domain::why::{self, Reason, Surroundings};
use crate::domain::{
    Actor, Approval, BoardSnapshot, BoardSummary, Card, DispatcherState, Event, IdRef, Question, QuestionId,
    Refusal, Run, RunId, Task, TaskId, TaskStatus, Wait, Workflow, WorkflowStatus,
};
use crate::store::{Durability, Page, Store, StoreError, TaskFilter};

/// Why a command or a read gave nothing: refused, or the database can't be used.
pub type EngineError = crate::store::Failure;

/// A task with all that hangs on it.
#[derive(Debug, Clone)]
pub struct TaskView {
    /// The record.
    pub task: Task,
    /// The card, with the facts around it.
    pub card: Card,
    /// All runs, the first one first.
    pub runs: Vec<Run>,
    /// All questions, the first one first.
    pub questions: Vec<Question>,
    /// All calls that a person was asked to allow, the first one first.
    pub approvals: Vec<Approval>,
    /// All other waits, the first one first.
    pub waits: Vec<Wait>,
    /// What it needs: number, title, status (settled ones too).
    pub predecessors: Vec<Predecessor>,
    /// What needs it.
    pub successors: Vec<Predecessor>,
}

/// One step of a workflow.
#[derive(Debug, Clone, Serialize)]
pub struct StepView {
    /// Its id within the workflow.
    pub id: String,
    /// The title of its card.
    pub name: String,
    /// Its task.
    pub task_id: TaskId,
    /// Its task's number.
    pub seq: i64,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it needs.
    pub depends_on: Vec<String>,
    /// What came out.
    pub result: String,
    /// Why it failed or was cancelled.
    pub error: String,
    /// Retries made.
    pub retry_count: u32,
    /// When it began.
    pub started_at_ms: Option<Millis>,
    /// When it settled.
    pub finished_at_ms: Option<Millis>,
}

/// A workflow with its steps, in the order of the definition.
#[derive(Debug, Clone)]
pub struct WorkflowView {
    /// The workflow.
    pub workflow: Workflow,
    /// Its steps.
    pub steps: Vec<StepView>,
}

/// An open question with its task.
#[derive(Debug, Clone)]
pub struct OpenQuestion {
    /// The question.
    pub question: Question,
    /// The task's number.
    pub seq: i64,
    /// The task's title.
    pub title: String,
    /// The task's board.
    pub board_id: String,
    /// The clients that it was shown to, the first one first; empty where nobody has seen it.
    pub seen_by: Vec<String>,
}

/// How to open the engine.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What the engine may do by itself, and which names it knows.
    pub policy: Policy,
    /// What a commit promises.
    pub durability: Durability,
}

/// The handle. Cheap to clone; usable from any thread. Every call blocks until the answer is on disk (for a
/// command) or copied out (for a read), so a face calls it off its UI thread.
#[derive(Clone)]
pub struct Engine {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub store: Store,
    pub core: Core,
    /// Whether the dispatcher of this process has the lock: 0 no, 1 yes, 2 it is draining.
    pub dispatching: AtomicU8,
    pub slots: AtomicU32,
}

impl Engine {
    /// Opens the database at `path`, making it where there is none, and migrating it where it is older.
    pub fn open(path: &Path) -> Result<Engine, StoreError> {
        Engine::open_with(path, Options::default())
    }

    /// As [`Engine::open`], with options.
    pub fn open_with(path: &Path, options: Options) -> Result<Engine, StoreError> {
        let store = Store::open(path, crate::store::Options { durability: options.durability })?;
        let paths = Paths { database: store.path().to_owned(), logs: store.beside("-logs") };
        let core = Core::new(options.policy, paths);
        let inner = Inner { store, core, dispatching: AtomicU8::new(0), slots: AtomicU32::new(0) };
        Ok(Engine { inner: Arc::new(inner) })
    }

    /// Carries out one command. Once this returns `Ok`, what it says is on disk.
    pub fn execute(&self, command: Command, actor: &Actor) -> Result<Outcome, EngineError> {
        let core = self.inner.core.clone();
        let input = Input::Command { command, actor: actor.clone() };
        let handled = self.inner.store.write(move |tx| core.handle(tx, input))?;
        match handled.reply? {
            Some(outcome) => Ok(outcome),
            None => Err(StoreError::Row("the command gave no answer".to_owned()).into()),
        }
    }

    /// The board as it is now; with `closed`, the closed cards too (newest 500).
    pub fn board(&self, board: &str, closed: bool) -> Result<BoardSnapshot, EngineError> {
        let dispatcher = self.dispatcher_state();
        let here = self.inner.slots.load(Ordering::Relaxed);
        self.inner.store.read(|view| {
            Ok(BoardSnapshot {
                board_id: board.to_owned(),
                seq: view.last_event()?,
                at_ms: self.inner.core.now(),
                cards: view.cards(board, closed)?,
                closed: view.count_closed(board)?,
                dispatcher,
                slots_used: view.slots_used()?,
                halted: dispatcher != DispatcherState::Nobody && view.dispatcher_is_halted()?,
                slots_total: match dispatcher {
                    DispatcherState::Nobody => 0,
                    DispatcherState::Here | DispatcherState::Draining => here,
                    DispatcherState::Elsewhere => view.dispatcher()?.map_or(0, |(_, slots, _)| slots),
                },
                boards: view.boards()?,
            })
        })
    }

    /// All boards.
    pub fn boards(&self) -> Result<Vec<BoardSummary>, EngineError> {
        self.inner.store.read(|view| view.boards())
    }

    /// One task.
    pub fn task(&self, task: &IdRef) -> Result<Task, EngineError> {
        self.inner.store.read(|view| view.resolve(task))
    }

    /// The run of a task that has not ended.
    pub fn active_run(&self, task: &Task) -> Result<Option<Run>, EngineError> {
        self.inner.store.read(|view| view.active_run(task.seq))
    }

    /// One task with all that hangs on it.
    pub fn task_view(&self, task: &IdRef) -> Result<TaskView, EngineError> {
        self.inner.store.read(|view| {
            let task = view.resolve(task)?;
            Ok(TaskView {
                card: view.card(&task)?,
                runs: view.runs_of(task.seq)?,
                questions: view.questions_of(task.seq)?,
                approvals: view.approvals_of(task.seq)?,
                waits: view.waits_of(task.seq)?,
                predecessors: view.predecessors(task.seq)?,
                successors: view.successors(task.seq)?,
                task,
            })
        })
    }

    /// Why a task does not move.
    pub fn why(&self, task: &IdRef) -> Result<Vec<Reason>, EngineError> {
        let dispatcher = self.dispatcher_state();
        let here = self.inner.slots.load(Ordering::Relaxed);
        let now = self.inner.core.now();
        self.inner.store.read(|view| {
            let task = view.resolve(task)?;
            let card = view.card(&task)?;
            let known = &self.inner.core.policy().agents;
            let around = Surroundings {
                dispatcher,
                halted: view.dispatcher_is_halted()?,
                slots_used: view.slots_used()?,
                slots_total: match dispatcher {
                    DispatcherState::Elsewhere => view.dispatcher()?.map_or(0, |(_, slots, _)| slots),
                    _ => here,
                },
                ahead: match task.status {
                    TaskStatus::Queued => Some(view.ready_before(&task, 1_000)?),
                    _ => None,
                },
                agent_known: match (&card.agent, known) {
                    (Some(agent), Some(known)) => Some(known.contains(agent)),
                    _ => None,
                },
            };
            Ok(why::why(&card, &around, now))
        })
    }

    /// A page of tasks: priority, then number.
    pub fn list(&self, filter: &TaskFilter) -> Result<Page<Task>, EngineError> {
        self.inner.store.read(|view| view.tasks(filter))
    }

    /// The open questions, oldest first; of one board, or of all.
    pub fn questions(&self, board: Option<&str>) -> Result<Vec<OpenQuestion>, EngineError> {
        self.inner.store.read(|view| {
            let mut open = Vec::new();
            for (question, seq, title, board_id) in view.open_questions(board)? {
                let seen_by = view.deliveries(question.id.as_str())?;
                open.push(OpenQuestion { question, seq, title, board_id, seen_by });
            }
            Ok(open)
        })
    }

    /// Notes that a client (`board`, `attach`, `http`, `mcp`, with more words where it helps) has shown a question or an
    /// approval to a person. Noting it again does nothing. Once this returns `Ok`, it survives a restart.
    pub fn delivered(&self, id: &str, client: &str) -> Result<(), EngineError> {
        let client = crate::domain::text::word("client", client)?;
        let known = self.inner.store.read(|view| {
            if view.wait(id)?.is_none() {
                return Err(Refusal::not_found(IdKind::Question.word(), id).into());
            }
            Ok(view.deliveries(id)?.contains(&client))
        })?;
        if known {
            return Ok(());
        }
        let (id, now) = (id.to_owned(), self.inner.core.now());
        self.inner.store.write_quietly(move |tx| tx.note_delivery(&id, &client, now))
    }

    /// One question by its id, open or not.
    pub fn question(&self, id: &QuestionId) -> Result<Question, EngineError> {
        self.inner.store.read(|view| {
            view.question(id)?.ok_or_else(|| Refusal::not_found(IdKind::Question.word(), id.as_str()).into())
        })
    }

    /// Events after `since`, at most `limit`, oldest first; of one task where named.
    pub fn events(&self, since: i64, task: Option<&TaskId>, limit: usize) -> Result<Vec<Event>, EngineError> {
        self.inner.store.read(|view| view.events(since, task, limit))
    }

    /// The last event's number.
    pub fn last_seq(&self) -> Result<i64, EngineError> {
        self.inner.store.read(|view| view.last_event())
    }

    /// One workflow by id, unique prefix or unique name.
    pub fn workflow(&self, name: &str) -> Result<WorkflowView, EngineError> {
        self.inner.store.read(|view| {
            let workflow = view.resolve_workflow(name)?;
            let definition = view.definition(&workflow.id)?;
            let steps = view.steps(&workflow.id)?.into_iter().zip(definition.steps);
            let steps = steps
                .map(|(task, step)| StepView {
                    id: task.step_id,
                    name: task.title,
                    task_id: task.id,
                    seq: task.seq,
                    status: task.status,
                    depends_on: step.depends_on,
                    result: task.result,
                    error: task.error,
                    retry_count: task.retry_count,
                    started_at_ms: task.started_at_ms,
                    finished_at_ms: task.finished_at_ms,
                })
                .collect();
            Ok(WorkflowView { workflow, steps })
        })
    }

    /// All workflows, newest first; with one status where named.
    pub fn workflows(&self, status: Option<WorkflowStatus>) -> Result<Vec<Workflow>, EngineError> {
        self.inner.store.read(|view| view.workflows(status))
    }

    /// Where a run's raw output is. The file is there from the first byte on, not before.
    pub fn log_path(&self, run: &RunId) -> PathBuf {
        self.inner.core.log_path(run)
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        self.inner.store.path()
    }

    /// The time that the engine goes by.
    pub fn now(&self) -> Millis {
        self.inner.core.now()
    }

    /// Whether some process dispatches now.
    pub fn has_dispatcher(&self) -> bool {
        self.dispatcher_state() != DispatcherState::Nobody
    }

    /// Who dispatches, as seen from here.
    pub fn dispatcher_state(&self) -> DispatcherState {
        match self.inner.dispatching.load(Ordering::Relaxed) {
            1 => DispatcherState::Here,
            2 => DispatcherState::Draining,
            _ if self.lock_is_held() => DispatcherState::Elsewhere,
            _ => DispatcherState::Nobody,
        }
    }

    fn lock_is_held(&self) -> bool {
        // Where the file is not there or can't be opened, nobody has locked it. The lock is let go at once.
        match File::open(self.lock_path()) {
            Ok(file) => matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)),
            Err(_) => false,
        }
    }

    pub(super) fn lock_path(&self) -> PathBuf {
        self.inner.store.beside("-dispatch")
    }

    /// The file whose lock makes a process the dispatcher. Never the database's own.
    pub(super) fn lock_file(&self) -> Result<File, StoreError> {
        let path = self.lock_path();
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        file.map_err(|source| StoreError::File { path, source })
    }

    /// Blocks until anything was committed after event `seen`, by any process, or the time is over. True when
    /// there is something new.
    pub fn wait_for_change(&self, seen: i64, timeout: Duration) -> Result<bool, EngineError> {
        let end = Instant::now() + timeout;
        let mut changes = self.changes();
        loop {
            changes.mark_unchanged();
            if self.last_seq()? > seen {
                return Ok(true);
            }
            let Some(left) = end.checked_duration_since(Instant::now()) else { return Ok(false) };
            if !wait_on(&mut changes, left) {
                return Ok(self.last_seq()? > seen);
            }
        }
    }

    /// Hears of every change, by any process: the number grows. A hint; read `events` for the truth.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.inner.store.bell().listen()
    }
}

/// Blocks until the watch changes or the time is over; usable with and without a runtime.
fn wait_on(changes: &mut tokio::sync::watch::Receiver<u64>, left: Duration) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    match runtime {
        Ok(runtime) => runtime.block_on(async {
            tokio::time::timeout(left, changes.changed()).await.is_ok_and(|heard| heard.is_ok())
        }),
        Err(_) => {
            std::thread::sleep(left.min(Duration::from_millis(50)));
            true
        }
    }
}
