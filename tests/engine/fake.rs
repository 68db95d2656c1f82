//! An engine on a file of its own, and an executor that the test plays: it starts nothing, and says what it is
//! told to say.

use andon::domain::{
    Actor, Executor, IdRef, ProcessIdentity, Program, Refusal, RunId, Task, TaskStatus, Work,
};
use andon::engine::{
    Command, DispatchOptions, Dispatcher, Ending, Engine, EngineError, Executors, LiveRun, NewTask, Outcome,
    Recovery, Report, Reporter, RunSpec,
};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a test waits for a condition before it fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct House {
    pub engine: Engine,
    pub folder: TempDir,
    pub who: Actor,
}

impl House {
    pub fn new() -> House {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("andon.db")).unwrap();
        House { engine, folder, who: Actor::operator("ann") }
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("andon.db")
    }

    pub fn run(&self, command: Command) -> Result<Outcome, Refusal> {
        self.run_as(command, &self.who)
    }

    pub fn run_as(&self, command: Command, who: &Actor) -> Result<Outcome, Refusal> {
        match self.engine.execute(command, who) {
            Ok(outcome) => Ok(outcome),
            Err(EngineError::Refused(refusal)) => Err(refusal),
            Err(EngineError::Store(error)) => panic!("{error}"),
        }
    }

    pub fn task(&self, command: Command) -> Task {
        self.run(command).unwrap().task().unwrap().clone()
    }

    /// A manual card.
    pub fn card(&self, title: &str) -> Task {
        self.task(Command::Create(Box::new(NewTask { title: title.into(), ..NewTask::default() })))
    }

    /// A card with something to run, queued.
    pub fn job(&self, title: &str) -> Task {
        self.task(Command::Create(Box::new(NewTask { start: true, ..runnable(title) })))
    }

    pub fn now(&self, task: &Task) -> Task {
        self.engine.task(&id(task)).unwrap()
    }

    /// Waits until the task has this status.
    pub fn until(&self, task: &Task, status: TaskStatus) -> Task {
        let mut found = self.now(task);
        self.wait(&format!("#{} is {status}", task.seq), || {
            found = self.now(task);
            found.status == status
        });
        found
    }

    /// Waits for a condition, woken by each change.
    pub fn wait(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            let seen = self.engine.last_seq().unwrap();
            if holds() {
                return;
            }
            assert!(Instant::now() < end, "waited in vain until {what}");
            self.engine.wait_for_change(seen, Duration::from_millis(50)).unwrap();
        }
    }

    pub fn dispatch(&self, player: &Player) -> Dispatcher {
        self.dispatch_with(player, DispatchOptions { grace_ms: 500, ..DispatchOptions::default() })
    }

    pub fn dispatch_with(&self, player: &Player, options: DispatchOptions) -> Dispatcher {
        Dispatcher::start(&self.engine, Arc::new(player.clone()), options).unwrap()
    }
}

pub fn id(task: &Task) -> IdRef {
    IdRef::Full(task.id.0.clone())
}

pub fn runnable(title: &str) -> NewTask {
    let executor = Executor::new(Work::Command { command: Program::Argv(vec!["true".into()]) });
    NewTask { title: title.into(), executor: Some(executor), ..NewTask::default() }
}

#[derive(Default)]
struct Stage {
    live: HashMap<RunId, (RunSpec, Reporter)>,
    started: Vec<RunSpec>,
    stopped: Vec<RunId>,
    recovered: Vec<RunId>,
}

/// The executor that the test plays.
#[derive(Clone, Default)]
pub struct Player {
    stage: Arc<(Mutex<Stage>, Condvar)>,
    /// Ends a run by itself when it is told to stop.
    pub obeys: bool,
}

impl Player {
    pub fn obedient() -> Player {
        Player { obeys: true, ..Player::default() }
    }

    fn wait<T>(&self, what: &str, mut find: impl FnMut(&mut Stage) -> Option<T>) -> T {
        let (stage, bell) = &*self.stage;
        let mut stage = stage.lock().unwrap();
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = find(&mut stage) {
                return found;
            }
            assert!(Instant::now() < end, "waited in vain until {what}");
            stage = bell.wait_timeout(stage, Duration::from_millis(100)).unwrap().0;
        }
    }

    /// Waits until this task's run is going.
    pub fn running(&self, task: &Task) -> RunSpec {
        self.wait(&format!("#{} runs", task.seq), |stage| {
            stage.live.values().find(|(spec, _)| spec.task == task.id).map(|(spec, _)| spec.clone())
        })
    }

    pub fn say(&self, spec: &RunSpec, report: Report) {
        let reporter =
            self.wait("the run is there", |stage| stage.live.get(&spec.run).map(|(_, r)| r.clone()));
        if matches!(report, Report::Ended(_)) {
            self.stage.0.lock().unwrap().live.remove(&spec.run);
        }
        reporter.report(report);
    }

    pub fn succeed(&self, task: &Task, result: &str) {
        let spec = self.running(task);
        self.say(&spec, Report::Ended(Ending::success(result)));
    }

    pub fn fail(&self, task: &Task, error: &str) {
        let spec = self.running(task);
        self.say(&spec, Report::Ended(Ending::failure(error)));
    }

    pub fn stopped(&self, spec: &RunSpec) {
        self.wait("the run is told to stop", |stage| stage.stopped.contains(&spec.run).then_some(()));
    }

    pub fn starts(&self) -> Vec<RunSpec> {
        self.stage.0.lock().unwrap().started.clone()
    }

    pub fn recovered(&self) -> Vec<RunId> {
        self.stage.0.lock().unwrap().recovered.clone()
    }
}

struct Playing {
    run: RunId,
    player: Player,
}

impl LiveRun for Playing {
    fn stop(&self, _grace_ms: u64) {
        let reporter = {
            let mut stage = self.player.stage.0.lock().unwrap();
            stage.stopped.push(self.run.clone());
            match self.player.obeys {
                true => stage.live.remove(&self.run).map(|(_, reporter)| reporter),
                false => None,
            }
        };
        self.player.stage.1.notify_all();
        if let Some(reporter) = reporter {
            reporter.report(Report::Ended(Ending::failure("killed by SIGTERM")));
        }
    }
}

impl Executors for Player {
    fn start(&self, spec: RunSpec, reporter: Reporter) -> Box<dyn LiveRun> {
        let run = spec.run.clone();
        let mut stage = self.stage.0.lock().unwrap();
        stage.started.push(spec.clone());
        stage.live.insert(run.clone(), (spec, reporter));
        self.stage.1.notify_all();
        Box::new(Playing { run, player: self.clone() })
    }

    fn recover(&self, run: &RunId, _process: Option<&ProcessIdentity>, _grace_ms: u64) -> Recovery {
        self.stage.0.lock().unwrap().recovered.push(run.clone());
        Recovery::Dead { killed: 1 }
    }

    fn tools(&self) -> Vec<String> {
        Vec::new()
    }

    fn agents(&self) -> Vec<(String, u32)> {
        vec![("claude".into(), 1)]
    }
}
