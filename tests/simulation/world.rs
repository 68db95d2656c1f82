//! The world: a database, a clock, dispatchers, processes, and one step of what may happen in it.

use super::dice::{Dice, FakeClock};
use super::processes::Process;
use super::shell::Shell;
use andon::domain::{Actor, Run, RunId, Task, TaskId, TaskStatus, TimerId, WaitId, WaitState, WorkflowId};
use andon::engine::{Command, Core, Input, OnLost, Outcome, Paths, Policy, Report};
use andon::store::{Durability, Failure, Options, Store, StoreError, TaskFilter};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// How many runs a dispatcher may have at a time.
pub const SLOTS: u32 = 3;

pub struct World {
    pub store: Store,
    pub core: Core,
    pub clock: Arc<FakeClock>,
    pub dice: Arc<Dice>,
    /// The dispatcher that has the lock.
    pub holder: Option<Shell>,
    /// Dispatchers that lost the lock and live on, as after somebody removed its file.
    pub zombies: Vec<Shell>,
    pub processes: HashMap<RunId, Process>,
    /// Reports of earlier runs, to be said again.
    pub old_reports: Vec<(RunId, i64, Report)>,
    pub closed: HashMap<TaskId, TaskStatus>,
    pub epochs: HashMap<TaskId, i64>,
    pub timers: Vec<TimerId>,
    /// Where each wait stood when it was last looked at.
    pub waits: HashMap<WaitId, WaitState>,
    /// How often each call of an agent's card was started.
    pub starts: HashMap<(TaskId, String), usize>,
    pub workflows: Vec<WorkflowId>,
    /// In the end nothing fails any more, so that everything can come to rest.
    pub faults: bool,
    pub trace: Vec<String>,
}

impl World {
    pub fn new(seed: u64, folder: &std::path::Path, on_lost: OnLost) -> World {
        let dice = Arc::new(Dice(AtomicU64::new(seed)));
        let clock = Arc::new(FakeClock(AtomicI64::new(1_800_000_000_000)));
        let path = folder.join(format!("sim-{seed}.db"));
        let store = Store::open(&path, Options { durability: Durability::Normal }).unwrap();
        let policy = Policy { on_lost, ..Policy::default() };
        let paths = Paths { database: path, logs: folder.to_owned() };
        let core = Core::with(policy, paths, clock.clone(), dice.clone());
        World {
            store,
            core,
            clock,
            dice,
            holder: None,
            zombies: Vec::new(),
            processes: HashMap::new(),
            old_reports: Vec::new(),
            closed: HashMap::new(),
            epochs: HashMap::new(),
            timers: Vec::new(),
            waits: HashMap::new(),
            starts: HashMap::new(),
            workflows: Vec::new(),
            faults: true,
            trace: Vec::new(),
        }
    }

    /// A commit fails now and then: the disk was full, the database held.
    pub fn fails(&self) -> bool {
        self.faults && self.dice.one_in(40)
    }

    pub fn note(&mut self, what: String) {
        self.trace.push(what.chars().take(300).collect());
    }

    /// Somebody commands; what a command causes is found by a dispatcher's look.
    pub fn command_as(&mut self, command: Command, actor: Actor) -> Option<Outcome> {
        self.note(format!("{}: {command:?}", actor.name()));
        let before = self.store.read(|view| view.last_event()).unwrap();
        let (core, fails) = (self.core.clone(), self.fails());
        let handled = self.store.write(move |tx| {
            let handled = core.handle(tx, Input::Command { command, actor })?;
            match fails {
                true => Err(StoreError::Full("on purpose".into()).into()),
                false => Ok(handled),
            }
        });
        let told = match handled {
            Ok(handled) => {
                self.ring();
                handled.reply
            }
            Err(Failure::Refused(refusal)) => Err(refusal),
            Err(Failure::Store(StoreError::Full(_))) if fails => {
                let after = self.store.read(|view| view.last_event()).unwrap();
                assert_eq!(before, after, "a failed commit wrote something\n{}", self.story());
                self.note("  its commit failed".into());
                return None;
            }
            Err(Failure::Store(error)) => panic!("the store failed: {error}\n{}", self.story()),
        };
        match told {
            Ok(outcome) => outcome,
            Err(refusal) => {
                self.note(format!("  refused: {refusal}"));
                None
            }
        }
    }

    pub fn command(&mut self, command: Command) -> Option<Outcome> {
        self.command_as(command, Actor::operator("sim"))
    }

    /// The bell rings for every dispatcher, and is not always heard.
    fn ring(&mut self) {
        let heard = !self.dice.one_in(4);
        for shell in self.holder.iter_mut().chain(&mut self.zombies) {
            shell.asked |= heard;
        }
    }

    pub fn tasks(&self) -> Vec<Task> {
        let filter = TaskFilter { all: true, ..TaskFilter::default() };
        self.store.read(|view| view.tasks(&filter)).unwrap().items
    }

    pub fn runs(&self, seq: i64) -> Vec<Run> {
        self.store.read(|view| view.runs_of(seq)).unwrap()
    }

    pub fn any_task(&self) -> Option<Task> {
        let tasks = self.tasks();
        let open: Vec<Task> = tasks.iter().filter(|t| !t.status.is_closed()).cloned().collect();
        if self.dice.one_in(4) { self.dice.pick(&tasks).cloned() } else { self.dice.pick(&open).cloned() }
    }

    pub fn story(&self) -> String {
        self.trace.iter().rev().take(60).rev().cloned().collect::<Vec<_>>().join("\n")
    }

    pub fn tick(&self, ms: i64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    pub fn step(&mut self) {
        match self.dice.below(100) {
            0..=27 => self.person(),
            28..=57 => self.dispatch(),
            58..=73 => self.carry_out(),
            74..=88 => self.process(),
            89..=91 => self.say_again(),
            92 | 93 => self.renew(),
            94 | 95 => self.lose_a_dispatcher(),
            96 => self.tick(self.dice.below(120_000) as i64),
            97 => self.tick(-(self.dice.below(30_000) as i64)),
            // A laptop sleeps: hours pass, beyond every lease and every deadline.
            98 if self.dice.one_in(4) => self.tick(8 * 3_600_000),
            _ => self.tick(1_000),
        }
        self.tick(1 + self.dice.below(50) as i64);
    }
}
