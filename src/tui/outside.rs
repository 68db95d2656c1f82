//! The outside: effects are carried out on threads of their own, which answer with events. Commands keep their
//! order; reads keep theirs; neither waits for the other.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use tokio::sync::mpsc::UnboundedSender;

use super::drafts::{self, Drafts};
use super::event::{EditPlace, Effect, Event, Loading};
use super::follow::Follower;
use super::marks;
use super::opened::{HISTORY_PAGE, STEPS_SHOWN};
use crate::domain::{Actor, IdRef, Task, TaskId};
use crate::engine::{Command, Engine, EngineError};

/// What the quit dialogue needs of the dispatcher in this process.
pub trait DispatcherControl: Send + Sync {
    /// Claims nothing more; the runs that are going may finish.
    fn drain(&self);
    /// Claims nothing more and stops the runs, as SUSPENDED.
    fn stop(&self);
}

impl DispatcherControl for crate::engine::Dispatcher {
    fn drain(&self) {
        crate::engine::Dispatcher::drain(self);
    }

    fn stop(&self) {
        crate::engine::Dispatcher::stop(self);
    }
}

type Job = Box<dyn FnOnce(&Engine) -> Option<Event> + Send>;

/// Carries out effects.
pub struct Outside {
    engine: Engine,
    actor: Actor,
    dispatcher: Option<Arc<dyn DispatcherControl>>,
    send: UnboundedSender<Event>,
    commands: Sender<Job>,
    reads: Sender<Job>,
    drafts: Drafts,
    log: Option<Follower>,
}

impl Outside {
    /// Threads for an engine; their answers go to `send`.
    pub fn new(
        engine: Engine,
        actor: Actor,
        dispatcher: Option<Arc<dyn DispatcherControl>>,
        send: UnboundedSender<Event>,
    ) -> std::io::Result<Outside> {
        let commands = worker("andon-board-write", engine.clone(), send.clone())?;
        let reads = worker("andon-board-read", engine.clone(), send.clone())?;
        let drafts = Drafts::start(&engine, send.clone())?;
        Ok(Outside { engine, actor, dispatcher, send, commands, reads, drafts, log: None })
    }

    /// Carries out an effect, or hands it back where it is the loop's own.
    pub fn carry_out(&mut self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::Execute { request, command } => self.execute(request, *command),
            Effect::LoadBoard { board, closed } => {
                self.read(Loading::Board, move |engine| {
                    Ok(Event::Snapshot(Box::new(engine.board(&board, closed)?)))
                });
            }
            Effect::LoadView(task) => {
                self.read(Loading::Card, move |engine| {
                    let view = Box::new(engine.task_view(&full(&task))?);
                    let workflow = view.card.workflow.as_ref().filter(|brief| brief.total <= STEPS_SHOWN);
                    let steps = match workflow {
                        Some(brief) => engine.workflow(brief.id.as_str())?.steps,
                        None => Vec::new(),
                    };
                    Ok(Event::View { view, steps })
                });
            }
            Effect::LoadToEdit(task, place) => self.read_to_edit(task, place),
            Effect::LoadHistory { task, since } => self.read(Loading::Card, move |engine| {
                let events = engine.events(since, Some(&task), HISTORY_PAGE)?;
                Ok(Event::History { task, events })
            }),
            Effect::LoadWhy(task) => self.read(Loading::Card, move |engine| {
                let reasons = engine.why(&full(&task))?;
                Ok(Event::Why { task, reasons })
            }),
            Effect::FollowLog { run, live } => {
                self.log = None;
                let path = self.engine.log_path(&run);
                match Follower::start(run, path, live, self.send.clone()) {
                    Ok(follower) => self.log = Some(follower),
                    Err(error) => self.trouble(format!("the log can't be followed: {error}")),
                }
            }
            Effect::StopLog => self.log = None,
            Effect::KeepDraft(question, text) => self.drafts.keep(question, text),
            Effect::LoadSeen(board) => self.read(Loading::Card, move |engine| {
                Ok(Event::SeenBefore(marks::load(&drafts::folder(engine.path()), &board)))
            }),
            Effect::KeepSeen(board, mark) => self.drafts.keep_seen(board, mark),
            Effect::LoadAway { board, since } => {
                self.read(Loading::Card, move |engine| Ok(Event::Away(engine.away(&board, since)?)));
            }
            Effect::Delivered(id) => self.note_delivery(id),
            Effect::Drain => self.tell_dispatcher(|dispatcher| dispatcher.drain()),
            Effect::StopRuns => self.tell_dispatcher(|dispatcher| dispatcher.stop()),
            Effect::Editor { task, text } => self.edit(task, text),
            own => return Some(own),
        }
        None
    }

    fn execute(&self, request: u64, command: Command) {
        let actor = self.actor.clone();
        let job: Job = Box::new(move |engine| {
            let result = engine.execute(command, &actor).map(Box::new).map_err(|error| error.to_string());
            Some(Event::Executed { request, result })
        });
        // The worker ends only with this sender.
        let _ = self.commands.send(job);
    }

    fn read(&self, what: Loading, read: impl FnOnce(&Engine) -> Result<Event, EngineError> + Send + 'static) {
        let job: Job = Box::new(move |engine| {
            Some(read(engine).unwrap_or_else(|error| Event::LoadFailed { what, message: error.to_string() }))
        });
        // As above.
        let _ = self.reads.send(job);
    }

    /// Whether anybody saw it is worth knowing, not worth a word on the screen.
    fn note_delivery(&self, id: String) {
        let job: Job = Box::new(move |engine| {
            if let Err(error) = engine.delivered(&id, "board") {
                tracing::info!(%error, %id, "that it was seen is not noted");
            }
            None
        });
        // As above.
        let _ = self.commands.send(job);
    }

    fn read_to_edit(&self, task: TaskId, place: EditPlace) {
        self.read(Loading::Card, move |engine| {
            let task = Box::new(engine.task(&full(&task))?);
            Ok(Event::ToEdit { task, place })
        });
    }

    fn tell_dispatcher(&self, tell: impl FnOnce(&dyn DispatcherControl)) {
        match &self.dispatcher {
            Some(dispatcher) => tell(&**dispatcher),
            None => self.trouble("this process dispatches nothing".to_owned()),
        }
    }

    fn edit(&self, task: Box<Task>, text: String) {
        let send = self.send.clone();
        let editing = std::thread::Builder::new().name("andon-board-editor".to_owned()).spawn(move || {
            let text = super::editor::edit(&text);
            // Without a loop there is nobody to tell.
            let _ = send.send(Event::Edited { task, text });
        });
        if let Err(error) = editing {
            self.trouble(format!("the editor was not started: {error}"));
        }
    }

    fn trouble(&self, text: String) {
        // The loop outlives this value, except at the very end, when nobody looks.
        let _ = self.send.send(Event::Trouble(text));
    }
}

fn full(task: &TaskId) -> IdRef {
    IdRef::Full(task.0.clone())
}

/// A thread that does one job after the other. A job that panics says so and does not end the thread.
fn worker(name: &str, engine: Engine, send: UnboundedSender<Event>) -> std::io::Result<Sender<Job>> {
    let (give, take) = channel::<Job>();
    std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        for job in take {
            let answer = catch_unwind(AssertUnwindSafe(|| job(&engine))).unwrap_or_else(|panic| {
                Some(Event::Trouble(format!("that failed within the program: {}", words(&panic))))
            });
            if let Some(answer) = answer
                && send.send(answer).is_err()
            {
                return;
            }
        }
    })?;
    Ok(give)
}

fn words(panic: &Box<dyn Any + Send>) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "no words",
    }
}
