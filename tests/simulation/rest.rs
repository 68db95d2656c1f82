//! The end of a story: people stop, processes end, nothing fails any more, and everything must come to rest.

use super::world::World;
use andon::domain::{Dispatch, IdRef, RunId, Task, TaskStatus};
use andon::engine::{Command, Ending, Report};

impl World {
    pub fn settle(&mut self) {
        self.faults = false;
        // Whoever lost the lock has gone at last; nobody else knows the runs that it may have claimed since.
        self.zombies.clear();
        for round in 0..2_000 {
            self.tick(1_000);
            self.dispatch();
            while self.holder.as_ref().is_some_and(|shell| !shell.pending.is_empty()) {
                self.carry_out();
            }
            self.end_processes();
            self.answer();
            self.decide();
            for id in self.workflows.clone() {
                let found = self.store.read(|view| view.workflow(&id)).unwrap().unwrap();
                if found.paused && !found.status.is_closed() {
                    self.command(Command::ResumeWorkflow { workflow: id.0 });
                }
            }
            let mut moving = false;
            for task in self.tasks() {
                let id = IdRef::Seq(task.seq);
                let manual_run = task.dispatch == Dispatch::Manual;
                moving |= matches!(
                    task.status,
                    TaskStatus::Running | TaskStatus::Blocked | TaskStatus::Review | TaskStatus::Suspended
                ) || (task.status == TaskStatus::Queued && !manual_run && !self.is_stuck(&task));
                match task.status {
                    TaskStatus::Review => drop(self.command(Command::Approve { task: id })),
                    TaskStatus::Blocked => {
                        let asks = self.store.read(|view| {
                            Ok(view.open_question(task.seq)?.is_some()
                                || view.open_approval(task.seq)?.is_some())
                        });
                        // What it waits for may come by itself, for a while.
                        let waits = self.store.read(|view| view.open_wait(task.seq)).unwrap().is_some();
                        if !asks.unwrap() && (!waits || self.dice.one_in(8)) {
                            self.command(Command::Unblock { task: id });
                        }
                    }
                    TaskStatus::Suspended => drop(self.command(Command::Resume { task: id })),
                    TaskStatus::Running | TaskStatus::Queued if manual_run || self.is_taken(&task) => {
                        self.command(Command::Complete { task: id, result: None });
                    }
                    _ => {}
                }
            }
            self.check();
            if !moving {
                return;
            }
            assert!(
                round < 1_999,
                "it does not come to rest: {:#?}\n{}",
                self.tasks()
                    .iter()
                    .filter(|t| !t.status.is_settled() && t.status != TaskStatus::Pending)
                    .map(|t| (t, self.runs(t.seq)))
                    .collect::<Vec<_>>(),
                self.story()
            );
        }
    }

    fn end_processes(&mut self) {
        let mut runs: Vec<RunId> = self.processes.keys().cloned().collect();
        runs.sort();
        for run in runs {
            // Those of a dispatcher that died run on until they are recovered.
            let holder = self.processes[&run].holder.clone();
            if self.shell_of(&holder).is_none() {
                continue;
            }
            let process = self.processes.remove(&run).unwrap();
            let end =
                if process.stopping { Ending::failure("killed") } else { Ending::success("in the end") };
            if let Some(shell) = self.shell_of(&holder) {
                shell.inbox.push((run, process.spec.epoch, Report::Ended(end)));
            }
        }
    }

    /// A person has it in hand.
    fn is_taken(&self, task: &Task) -> bool {
        let run = self.store.read(|view| view.active_run(task.seq)).unwrap();
        run.is_some_and(|r| !r.is_dispatched())
    }

    /// Waits for something that has failed or was cancelled, or that nobody started: a lamp says so.
    fn is_stuck(&self, task: &Task) -> bool {
        task.open_predecessors > 0
    }
}
