//! The core with a clock that the test moves: claims, reports and looks, one by one.

use andon::domain::{Actor, IdRef, Refusal, Run, Task};
use andon::engine::clock::{Clock, SystemRandomness};
use andon::engine::{
    Command, Core, Effect, Ending, Input, NewTask, Outcome, Paths, Policy, Report, RunSpec, Window,
};
use andon::store::{Durability, Failure, Options, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;

pub const HOUR: i64 = 3_600_000;

struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub struct Clockwork {
    pub store: Store,
    core: Core,
    hands: Arc<Hands>,
    dispatcher: String,
    _folder: TempDir,
}

impl Clockwork {
    /// With a dispatcher that has begun.
    pub fn new() -> Clockwork {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("andon.db");
        let store = Store::open(&database, Options { durability: Durability::Normal }).unwrap();
        let hands = Arc::new(Hands(AtomicI64::new(1_800_000_000_000)));
        let paths = Paths { database, logs: folder.path().join("logs") };
        let core = Core::with(Policy::default(), paths, hands.clone(), Arc::new(SystemRandomness::default()));
        let mut made = Clockwork { store, core, hands, dispatcher: String::new(), _folder: folder };
        made.begin("d_1");
        made
    }

    pub fn pass(&self, ms: i64) {
        self.hands.0.fetch_add(ms, Ordering::Relaxed);
    }

    pub fn time(&self) -> i64 {
        self.core.now()
    }

    pub fn handle(&self, input: Input) -> Result<(Option<Outcome>, Vec<Effect>), Refusal> {
        let core = self.core.clone();
        match self.store.write(move |tx| core.handle(tx, input)) {
            Ok(handled) => Ok((handled.reply?, handled.effects)),
            Err(Failure::Refused(refusal)) => Err(refusal),
            Err(Failure::Store(error)) => panic!("{error}"),
        }
    }

    /// A dispatcher takes over; what it is to do.
    pub fn begin(&mut self, id: &str) -> Vec<Effect> {
        self.dispatcher = id.to_owned();
        let begin = Input::Begin { dispatcher: id.into(), pid: 1, slots: 2, only: None };
        self.handle(begin).unwrap().1
    }

    pub fn run(&self, command: Command) -> Result<Option<Outcome>, Refusal> {
        self.handle(Input::Command { command, actor: Actor::operator("ann") }).map(|(outcome, _)| outcome)
    }

    pub fn run_in(&self, spec: &RunSpec, command: Command) -> Result<Option<Outcome>, Refusal> {
        let actor = Actor::Agent { run: spec.run.clone(), task: spec.task.clone(), name: "claude".into() };
        self.handle(Input::Command { command, actor }).map(|(outcome, _)| outcome)
    }

    pub fn add(&self, new: NewTask) -> Task {
        let made = self.run(Command::Create(Box::new(new))).unwrap().unwrap();
        made.task().unwrap().clone()
    }

    /// A look at everything, at the repair of what can't be, and at what is ready.
    pub fn look(&self, vouched: &[&RunSpec]) -> Vec<Effect> {
        let reconcile = Input::Reconcile {
            dispatcher: self.dispatcher.clone(),
            vouched: vouched.iter().map(|spec| spec.run.clone()).collect(),
            window: Window::whole(),
        };
        let mut effects = self.handle(reconcile).unwrap().1;
        let look = Input::Look {
            dispatcher: self.dispatcher.clone(),
            slots: 2,
            agents: Vec::new(),
            only: None,
            all: true,
            careful: false,
        };
        effects.extend(self.handle(look).unwrap().1);
        effects.retain(|effect| !matches!(effect, Effect::WakeAt(_)));
        effects
    }

    /// Claims the one task that is ready.
    pub fn claim(&self, vouched: &[&RunSpec]) -> RunSpec {
        let mut started = self.look(vouched).into_iter().filter_map(|effect| match effect {
            Effect::Start(spec) => Some(*spec),
            _ => None,
        });
        let spec = started.next().expect("something is ready");
        assert!(started.next().is_none(), "only one is");
        spec
    }

    pub fn report(&self, spec: &RunSpec, report: Report) {
        self.handle(Input::Report { run: spec.run.clone(), epoch: spec.epoch, report }).unwrap();
    }

    pub fn ends(&self, spec: &RunSpec, ending: Ending) {
        self.report(spec, Report::Ended(ending));
    }

    pub fn now(&self, task: &Task) -> Task {
        self.store.read(|view| view.resolve(&IdRef::Seq(task.seq))).unwrap()
    }

    /// Changes the file behind the engine's back, as damage does.
    pub fn damage(&self, sql: &str) {
        rusqlite::Connection::open(self.store.path()).unwrap().execute_batch(sql).unwrap();
    }

    pub fn runs(&self, task: &Task) -> Vec<Run> {
        self.store.read(|view| view.runs_of(task.seq)).unwrap()
    }
}
