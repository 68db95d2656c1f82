//! From what was told to what is on disk: inputs are decided in one transaction together with the next claims. What
//! can't be written is kept and tried again, and one row with bad data holds nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Shell;
use crate::engine::core::{Effect, Input};
use crate::store::Failure;

/// How long claims are made one by one after one has failed.
const CAREFUL: Duration = Duration::from_secs(30);

impl Shell {
    /// Decides all inputs and claims, commits, and carries out the effects. With `all` it also looks for what
    /// others have changed and what time has brought.
    pub(super) fn commit(&mut self, inputs: Vec<Input>, all: bool) {
        let kept: Vec<Input> = inputs.iter().filter_map(again).collect();
        self.careful = self.careful.filter(|since| since.elapsed() < CAREFUL);
        let look = Input::Look {
            dispatcher: self.id.clone(),
            slots: if self.draining || self.superseded || self.halted { 0 } else { self.options.parallel },
            agents: self.executors.agents(),
            only: self.options.only_workflow.clone(),
            all,
            careful: self.careful.is_some(),
        };
        match self.decide(inputs, Some(look)).map_err(|undecided| *undecided) {
            Ok(effects) => {
                self.failed_at = None;
                if all {
                    self.wake_at = None;
                }
                for effect in effects {
                    self.carry_out(effect);
                }
            }
            Err(Undecided { failure, looking: true }) if failure.is_about_one_row() => {
                if self.careful.is_none() {
                    tracing::error!(%failure, "a claim failed; claiming one by one for a while");
                    self.careful = Some(Instant::now());
                    return self.commit(kept, all);
                }
                tracing::error!(%failure, "the dispatcher can't look for work; trying again");
                self.record(kept);
                self.try_later(Vec::new(), all);
            }
            Err(Undecided { failure: Failure::Refused(refusal), .. }) => {
                tracing::warn!(%refusal, "what a run told was refused");
                self.missed_look |= all;
            }
            Err(Undecided { failure: Failure::Store(error), .. }) => {
                tracing::error!(%error, "the dispatcher can't write; trying again");
                self.try_later(kept, all);
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
                self.try_later(kept, false);
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
                    Err(failure) if !alone && failure.is_about_one_row() => {
                        tracing::error!(%failure, "what a run told could not be written; trying again");
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
                self.again.extend(failed);
                Ok(effects)
            }
            Err(failure) => Err(Box::new(Undecided { failure, looking: looking.load(Ordering::Relaxed) })),
        }
    }

    /// Whatever is due stays due: without a pause it would be tried again at once, for ever.
    fn try_later(&mut self, kept: Vec<Input>, all: bool) {
        self.again.extend(kept);
        self.missed_look |= all;
        self.failed_at = Some(Instant::now());
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
