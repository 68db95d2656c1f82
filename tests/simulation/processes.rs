//! Fake processes. They outlive their dispatcher, as real ones do, and what they tell may come late, twice, or in
//! another order.

use super::world::World;
use andon::domain::approval::{ApprovalPolicy, Call, Scope};
use andon::domain::{Actor, IdRef, ProcessIdentity, Risk, RunId, RunOutcome, Task, Usage, WaitState};
use andon::engine::{Command, Ending, Report, RunSpec, WaitOn};
use serde_json::json;

pub struct Process {
    pub spec: RunSpec,
    pub holder: String,
    /// It was told to stop, and will end without saying how.
    pub stopping: bool,
    /// It asked and waits in place.
    asked: bool,
}

impl World {
    pub fn start(&mut self, spec: RunSpec, holder: String) {
        for other in self.processes.values() {
            assert_ne!(other.spec.task, spec.task, "task runs twice at a time\n{}", self.story());
        }
        let run = self.store.read(|view| view.run(&spec.run)).unwrap().unwrap();
        let lease = run.lease_until_ms.unwrap_or(i64::MAX);
        assert!(lease >= run.started_at_ms + 30_000, "a claim inherited a lease\n{}", self.story());
        assert!(spec.values.is_empty());
        let facts = json!({ "agent": "fake" }).as_object().unwrap().clone();
        self.check_leave(&spec);
        self.tell(&holder, &run.id, spec.epoch, Report::Facts(facts));
        let process = Process { spec, holder, stopping: false, asked: false };
        self.processes.insert(run.id, process);
    }

    /// What an agent wrote is started as often as a person allowed it, and no more.
    fn check_leave(&mut self, spec: &RunSpec) {
        let task = self.store.read(|view| view.task_by_id(&spec.task)).unwrap().unwrap();
        if task.written_by.is_empty() {
            return;
        }
        let hash = Call::of_task(&task, &spec.values, &ApprovalPolicy::default()).unwrap().hash();
        let approvals = self.store.read(|view| view.approvals_of(task.seq)).unwrap();
        let of_call = || approvals.iter().filter(|a| a.hash == hash);
        let always = of_call().any(|a| a.scope == Scope::Task && a.state == WaitState::Allowed);
        let once = of_call().filter(|a| a.state == WaitState::Consumed).count();
        let starts = self.starts.entry((task.id.clone(), hash)).or_insert(0);
        *starts += 1;
        let enough = always || *starts <= once;
        assert!(enough, "#{} was started without leave\n{}", task.seq, self.story());
    }

    /// Hands a report to the dispatcher that holds the run, now and then twice; nobody hears it where that is dead.
    fn tell(&mut self, holder: &str, run: &RunId, epoch: i64, report: Report) {
        let twice = self.faults && self.dice.one_in(8);
        if let Some(shell) = self.shell_of(holder) {
            for _ in 0..=usize::from(twice) {
                shell.inbox.push((run.clone(), epoch, report.clone()));
            }
        }
        self.old_reports.push((run.clone(), epoch, report));
    }

    /// One process does something.
    pub fn process(&mut self) {
        let mut runs: Vec<RunId> = self.processes.keys().cloned().collect();
        runs.sort();
        let Some(run) = self.dice.pick(&runs).cloned() else { return };
        let process = &self.processes[&run];
        let (epoch, seq, holder) = (process.spec.epoch, process.spec.seq, process.holder.clone());
        let actor = Actor::Agent { run: run.clone(), task: process.spec.task.clone(), name: "fake".into() };
        let (stopping, asked) = (process.stopping, process.asked);
        let options = if self.dice.one_in(2) { vec!["a".into(), "b".into()] } else { Vec::new() };
        let last = match self.dice.below(18) {
            _ if stopping => Report::Ended(Ending::failure("killed by SIGTERM")),
            0 if !asked => {
                self.processes.get_mut(&run).unwrap().asked = true;
                let waits = self.dice.one_in(2);
                let expires_at_ms = self.dice.one_in(4).then(|| self.core.now() + 30_000);
                let command = Command::Ask {
                    task: IdRef::Seq(seq),
                    question: "which?".into(),
                    options,
                    waits,
                    expires_at_ms,
                };
                self.command_as(command, actor);
                return;
            }
            1 => {
                let command = match self.dice.below(3) {
                    0 => Command::Complete { task: IdRef::Seq(seq), result: Some("by itself".into()) },
                    1 => Command::Fail { task: IdRef::Seq(seq), error: Some("by itself".into()) },
                    _ => Command::Block { task: IdRef::Seq(seq), reason: "by itself".into() },
                };
                self.command_as(command, actor);
                return;
            }
            // As a step that asks: its question is told, and it ends.
            2 => {
                let question = Report::Asked { question: "and now?".into(), options };
                self.tell(&holder, &run, epoch, question);
                Report::Ended(Ending { outcome: RunOutcome::Parked, ..Ending::success("") })
            }
            3 => {
                let identity = ProcessIdentity { boot_id: "b".into(), pid: 4711, start_ticks: 1, pgid: 4711 };
                return self.tell(&holder, &run, epoch, Report::Started(identity));
            }
            8..=11 => {
                let params = json!({ "command": format!("x{}", self.dice.below(3)) });
                let call = Call::of_tool("exec", Risk::Exec, params.as_object().unwrap(), "/");
                let permit = Command::Permit { task: Some(IdRef::Seq(seq)), call: Box::new(call) };
                self.command_as(permit, actor);
                return;
            }
            12..=16 => {
                let on = match self.dice.below(3) {
                    0 => match self.any_task() {
                        Some(task) => WaitOn::TaskResult(IdRef::Seq(task.seq)),
                        None => return,
                    },
                    1 => WaitOn::Event(self.key()),
                    _ => match self.dice.pick(&self.timers) {
                        Some(timer) => WaitOn::Timer(timer.0.clone()),
                        None => return,
                    },
                };
                let expires_at_ms = self.dice.one_in(3).then(|| self.core.now() + 30_000);
                let (task, reason, waits) = (IdRef::Seq(seq), "it needs that".into(), self.dice.one_in(2));
                self.command_as(Command::WaitFor { task, on, reason, expires_at_ms, waits }, actor);
                return;
            }
            4 => return self.tell(&holder, &run, epoch, Report::Used(Usage::default())),
            5 => Report::Ended(Ending::failure("exit 1: no")),
            6 if self.dice.one_in(5) => {
                // Some of it can't be proven dead.
                Report::Ended(Ending { survivors: vec![4243], ..Ending::failure("it left something") })
            }
            6 | 7 => Report::Ended(Ending::success("yes")),
            _ => return,
        };
        self.processes.remove(&run);
        self.tell(&holder, &run, epoch, last);
    }

    /// Something that was told long ago comes again, from a run that is over.
    pub fn say_again(&mut self) {
        let Some((run, epoch, report)) = self.dice.pick(&self.old_reports).cloned() else { return };
        let over = self.store.read(|view| view.run(&run)).unwrap().is_some_and(|r| !r.is_active());
        if !over {
            return;
        }
        let before = self.task_of(&run);
        self.note(format!("late: {report:?}"));
        let core = self.core.clone();
        let late = andon::engine::Input::Report { run: run.clone(), epoch, report };
        self.store.write(move |tx| core.handle(tx, late)).unwrap();
        assert_eq!(before, self.task_of(&run), "a late report changed a task\n{}", self.story());
    }

    fn task_of(&self, run: &RunId) -> Option<Task> {
        self.store
            .read(|view| {
                let Some(run) = view.run(run)? else { return Ok(None) };
                view.task_by_id(&run.task_id)
            })
            .unwrap()
    }
}
