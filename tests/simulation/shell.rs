//! Dispatchers, as the real one does its turns: what was told is decided in one transaction together with the next
//! claims; what could not be written is tried again; effects are carried out after the commit. They crash between
//! any two effects, and one that lost the lock lives on as a zombie.

use super::world::{SLOTS, World};
use andon::domain::RunId;
use andon::engine::{Effect, Ending, Input, Recovery, Report, Window};
use andon::store::{Failure, StoreError};

pub struct Shell {
    pub id: String,
    /// What its runs told and it has not decided yet.
    pub inbox: Vec<(RunId, i64, Report)>,
    /// What could not be written.
    again: Vec<Input>,
    /// Effects that were committed, but not carried out yet.
    pub pending: Vec<Effect>,
    /// It heard of a change by somebody else.
    pub asked: bool,
    missed_look: bool,
    failed: bool,
    draining: bool,
}

impl Shell {
    fn new(id: String) -> Shell {
        let begin = Input::Begin { dispatcher: id.clone(), pid: 1, slots: SLOTS, only: None };
        Shell {
            id,
            inbox: Vec::new(),
            again: vec![begin],
            pending: Vec::new(),
            asked: true,
            missed_look: false,
            failed: false,
            draining: false,
        }
    }

    /// Its beginning was written.
    pub fn has_begun(&self) -> bool {
        !self.again.iter().any(|input| matches!(input, Input::Begin { .. }))
    }

    fn is_idle(&self) -> bool {
        self.inbox.is_empty() && self.again.is_empty() && self.pending.is_empty()
    }
}

/// What goes wrong in a transaction, on purpose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// This input can't be written; the others can.
    One(usize),
    /// The database gives up at this input.
    Database(usize),
    /// The commit fails.
    Commit,
}

impl World {
    /// The dispatcher with this id, wherever it lives.
    pub fn shell_of(&mut self, id: &str) -> Option<&mut Shell> {
        self.holder.iter_mut().chain(&mut self.zombies).find(|shell| shell.id == id)
    }

    /// One of the dispatchers, mostly the one that has the lock, has a turn.
    pub fn dispatch(&mut self) {
        if !self.zombies.is_empty() && self.dice.one_in(4) {
            let at = self.dice.below(self.zombies.len());
            let mut zombie = self.zombies.swap_remove(at);
            self.turn(&mut zombie);
            self.zombies.push(zombie);
            return;
        }
        let mut shell = self.holder.take().unwrap_or_else(|| Shell::new(format!("d{}", self.dice.roll())));
        if self.faults && self.dice.one_in(60) {
            // It is told to stop, as by SIGTERM.
            shell.draining = true;
            shell.again.push(Input::Suspend { dispatcher: shell.id.clone() });
        }
        match self.dice.one_in(5) && shell.has_begun() {
            true => self.reconcile(&mut shell),
            false => self.turn(&mut shell),
        }
        let has_runs = self.processes.values().any(|p| p.holder == shell.id);
        if shell.draining && shell.is_idle() && !has_runs {
            let (id, now) = (shell.id.clone(), self.core.now());
            self.note(format!("{id} has ended"));
            self.store.write(move |tx| tx.change_dispatcher(&id, true, Some(now))).unwrap();
            return;
        }
        self.holder = Some(shell);
    }

    fn turn(&mut self, shell: &mut Shell) {
        let mut inputs = std::mem::take(&mut shell.again);
        for _ in 0..self.dice.below(4) {
            if !shell.inbox.is_empty() {
                let (run, epoch, report) = shell.inbox.swap_remove(self.dice.below(shell.inbox.len()));
                inputs.push(Input::Report { run, epoch, report });
            }
        }
        // The safety net of the real one looks every two seconds.
        let all =
            std::mem::take(&mut shell.asked) | std::mem::take(&mut shell.missed_look) | self.dice.one_in(4);
        if all || !inputs.is_empty() {
            self.commit(shell, inputs, all);
        }
    }

    fn commit(&mut self, shell: &mut Shell, inputs: Vec<Input>, all: bool) {
        self.note(format!("{} decides {inputs:?}, all: {all}", shell.id));
        let kept: Vec<Input> = inputs.iter().map(again).collect();
        let fault = self.fault(inputs.len());
        let alone = inputs.len() == 1 && !shell.failed;
        let look = Input::Look {
            dispatcher: shell.id.clone(),
            slots: if shell.draining { 0 } else { SLOTS },
            agents: Vec::new(),
            only: None,
            all,
            careful: self.dice.one_in(4),
        };
        let core = self.core.clone();
        let written = self.store.write_quietly(move |tx| {
            let (mut effects, mut failed) = (Vec::new(), Vec::new());
            for (at, input) in inputs.into_iter().enumerate() {
                let retry = again(&input);
                let decide = |tx: &_| {
                    let handled = core.handle(tx, input)?;
                    match fault {
                        Fault::One(n) if n == at => Err(StoreError::Row("on purpose".into()).into()),
                        Fault::Database(n) if n == at => Err(StoreError::Full("on purpose".into()).into()),
                        _ => Ok(handled),
                    }
                };
                let done = if alone { decide(tx) } else { tx.isolated(decide) };
                match done {
                    Ok(handled) => effects.extend(handled.effects),
                    Err(Failure::Refused(_)) if !alone => {}
                    Err(failure) if !alone && failure.is_about_one_row() => failed.push(retry),
                    Err(failure) => return Err(failure),
                }
            }
            effects.extend(core.handle(tx, look)?.effects);
            match fault {
                Fault::Commit => Err(StoreError::Full("on purpose".into()).into()),
                _ => Ok((effects, failed)),
            }
        });
        match written {
            Ok((effects, failed)) => {
                if effects.iter().any(|effect| matches!(effect, Effect::Start(_))) {
                    let used = self.store.read(|view| view.slots_used()).unwrap();
                    assert!(used <= SLOTS, "{used} runs with {SLOTS} slots\n{}", self.story());
                }
                shell.failed = false;
                shell.again.extend(failed);
                shell.pending.extend(effects);
            }
            Err(Failure::Refused(refusal)) => {
                assert!(alone, "a look was refused: {refusal}\n{}", self.story());
                self.note(format!("  refused: {refusal}"));
            }
            Err(Failure::Store(error)) if fault != Fault::Nothing => {
                self.note(format!("  failed: {error}"));
                shell.failed = true;
                shell.missed_look |= all;
                shell.again.extend(kept);
            }
            Err(Failure::Store(error)) => panic!("the store failed: {error}\n{}", self.story()),
        }
        for effect in &shell.pending {
            self.trace.push(format!("  {effect:?}").chars().take(120).collect());
        }
        if shell.pending.iter().any(|effect| matches!(effect, Effect::Superseded)) {
            shell.pending.retain(|effect| !matches!(effect, Effect::Superseded));
            shell.draining = true;
        }
    }

    fn reconcile(&mut self, shell: &mut Shell) {
        let input = Input::Reconcile {
            dispatcher: shell.id.clone(),
            vouched: self.vouched(shell),
            window: Window::whole(),
        };
        self.note(format!("{} looks for what can't be", shell.id));
        let core = self.core.clone();
        let handled = self.store.write_quietly(move |tx| core.handle(tx, input)).unwrap();
        shell.pending.extend(handled.effects);
    }

    /// The runs that a dispatcher knows.
    pub fn vouched(&self, shell: &Shell) -> Vec<RunId> {
        let in_hand = shell.pending.iter().filter_map(|effect| match effect {
            Effect::Start(spec) => Some(spec.run.clone()),
            Effect::Recover { run, .. } => Some(run.clone()),
            _ => None,
        });
        let live = self.processes.iter().filter(|(_, p)| p.holder == shell.id).map(|(run, _)| run.clone());
        let told = shell.inbox.iter().map(|(run, ..)| run.clone());
        let again = shell.again.iter().filter_map(|input| match input {
            Input::Report { run, .. } | Input::Recovered { run, .. } => Some(run.clone()),
            _ => None,
        });
        in_hand.chain(live).chain(told).chain(again).collect()
    }

    fn fault(&self, inputs: usize) -> Fault {
        match (self.fails(), self.dice.below(3)) {
            (false, _) => Fault::Nothing,
            (true, 0) if inputs > 0 => Fault::One(self.dice.below(inputs)),
            (true, 1) if inputs > 0 => Fault::Database(self.dice.below(inputs)),
            (true, _) => Fault::Commit,
        }
    }

    /// One effect of one dispatcher, in any order.
    pub fn carry_out(&mut self) {
        let with_work: Vec<String> = self
            .holder
            .iter()
            .chain(&self.zombies)
            .filter(|shell| !shell.pending.is_empty())
            .map(|shell| shell.id.clone())
            .collect();
        let Some(id) = self.dice.pick(&with_work).cloned() else { return };
        let at = self.dice.roll() as usize;
        let Some(shell) = self.shell_of(&id) else { return };
        let at = at % shell.pending.len();
        let effect = shell.pending.swap_remove(at);
        match effect {
            // As the real one, it looks for its lock just before it starts anything.
            Effect::Start(_) if self.is_zombie(&id) => {
                self.shell_of(&id).into_iter().for_each(|s| s.draining = true)
            }
            Effect::Start(spec) => self.start(*spec, id),
            Effect::Stop { run, .. } => {
                // Each dispatcher knows its own runs only.
                if let Some(process) = self.processes.get_mut(&run).filter(|p| p.holder == id) {
                    process.stopping = true;
                }
            }
            Effect::Recover { run, .. } => self.recover(run, &id),
            Effect::WakeAt(_) | Effect::Check | Effect::Superseded => {}
        }
    }

    fn is_zombie(&self, id: &str) -> bool {
        self.zombies.iter().any(|shell| shell.id == id)
    }

    fn recover(&mut self, run: RunId, by: &str) {
        let killed = self.processes.remove(&run);
        // A zombie sees its process die, and tells of it as of any other end.
        if let Some(process) = &killed {
            let (epoch, holder) = (process.spec.epoch, process.holder.clone());
            if let Some(zombie) = self.shell_of(&holder) {
                let end = Report::Ended(Ending::failure("killed by SIGKILL"));
                zombie.inbox.push((run.clone(), epoch, end));
            }
        }
        let recovery = if self.faults && self.dice.one_in(10) {
            // It can't be proven: the fake process is gone all the same, or the model would need one.
            Recovery::Uncertain { pids: vec![4242] }
        } else {
            Recovery::Dead { killed: u32::from(killed.is_some()) }
        };
        if let Some(shell) = self.shell_of(by) {
            shell.again.push(Input::Recovered { run, recovery });
        }
    }

    /// The lease thread of the dispatcher: it vouches for its runs, and changes nothing else.
    pub fn renew(&mut self) {
        let Some(shell) = &self.holder else { return };
        let (id, now) = (shell.id.clone(), self.core.now());
        let mut runs: Vec<RunId> =
            self.processes.iter().filter(|(_, p)| p.holder == id).map(|(run, _)| run.clone()).collect();
        runs.sort();
        let before = self.tasks();
        self.store
            .write_relaxed(move |tx| {
                for run in runs {
                    tx.renew_lease(&run, &id, now + 30_000, now)?;
                }
                tx.see_dispatcher(&id, now)
            })
            .unwrap();
        assert_eq!(before, self.tasks(), "a renewed lease changed a task\n{}", self.story());
    }

    /// A dispatcher dies with all that it had not done, or loses the lock and lives on.
    pub fn lose_a_dispatcher(&mut self) {
        match self.dice.below(4) {
            0 if self.zombies.len() < 2 => {
                if let Some(shell) = self.holder.take() {
                    self.note(format!("{} LOST THE LOCK", shell.id));
                    self.zombies.push(shell);
                }
            }
            1 if !self.zombies.is_empty() => {
                let dead = self.zombies.swap_remove(self.dice.below(self.zombies.len()));
                self.note(format!("ZOMBIE {} DIED", dead.id));
            }
            _ => {
                if let Some(dead) = self.holder.take() {
                    self.note(format!("{} CRASHED", dead.id));
                }
            }
        }
    }
}

/// An input, once more.
fn again(input: &Input) -> Input {
    match input {
        Input::Report { run, epoch, report } => {
            Input::Report { run: run.clone(), epoch: *epoch, report: report.clone() }
        }
        Input::Recovered { run, recovery } => {
            Input::Recovered { run: run.clone(), recovery: recovery.clone() }
        }
        Input::Begin { dispatcher, pid, slots, only } => {
            Input::Begin { dispatcher: dispatcher.clone(), pid: *pid, slots: *slots, only: only.clone() }
        }
        Input::Suspend { dispatcher } => Input::Suspend { dispatcher: dispatcher.clone() },
        Input::Command { .. } | Input::Look { .. } | Input::Reconcile { .. } | Input::Damaged { .. } => {
            panic!("a dispatcher does not repeat these")
        }
    }
}
