//! What is done after a commit: runs are started, stopped, and recovered, each keyed by its run, so that doing it twice
//! does no harm.

use std::time::{Duration, Instant};

use super::{Message, Shell, lock};
use crate::domain::RunId;
use crate::engine::core::Effect;
use crate::engine::executor::RunSpec;
use crate::store::fault;

impl Shell {
    pub(super) fn stop_due(&mut self) {
        let now = Instant::now();
        let due: Vec<RunId> =
            self.stop_later.iter().filter(|(_, at)| **at <= now).map(|(run, _)| run.clone()).collect();
        for run in due {
            self.stop_later.remove(&run);
            self.stop_run(&run);
        }
    }

    fn stop_run(&self, run: &RunId) {
        if let Some(live) = lock(&self.live).get(run) {
            live.run.stop(self.options.grace_ms);
        }
    }

    /// Carries out one effect of what was committed.
    pub(super) fn carry_out(&mut self, effect: Effect) {
        let (before, after) = match &effect {
            Effect::Start(_) => ("effect.start", "effect.started"),
            Effect::Stop { .. } => ("effect.stop", "effect.stopped"),
            Effect::Recover { .. } => ("effect.recover", "effect.recovering"),
            Effect::WakeAt(_) => ("effect.wake", "effect.waking"),
            Effect::Superseded => ("effect.superseded", "effect.superseded"),
            Effect::Check => ("effect.check", "effect.checking"),
        };
        fault::point(before);
        self.do_it(effect);
        fault::point(after);
    }

    fn do_it(&mut self, effect: Effect) {
        match effect {
            Effect::Start(spec) => self.start_run(*spec),
            Effect::Stop { run, by_itself: true } => {
                let at = Instant::now() + Duration::from_millis(self.options.grace_ms);
                self.stop_later.entry(run).or_insert(at);
            }
            Effect::Stop { run, by_itself: false } => {
                self.stop_later.remove(&run);
                self.stop_run(&run);
            }
            Effect::Recover { run, process } => {
                if !self.recovering.insert(run.clone()) {
                    return;
                }
                let (executors, send) = (self.executors.clone(), self.send.clone());
                let grace = self.options.grace_ms;
                tokio::task::spawn_blocking(move || {
                    let recovery = executors.recover(&run, process.as_ref(), grace);
                    fault::point("effect.recovered");
                    // Where the dispatcher has ended, the next one finds the run again.
                    let _ = send.send(Message::Recovered { run, recovery });
                });
            }
            Effect::Superseded => self.stand_down(),
            Effect::Check => self.check(),
            Effect::WakeAt(at) => self.wake_at = Some(self.wake_at.map_or(at, |known| known.min(at))),
        }
    }

    fn start_run(&mut self, spec: RunSpec) {
        if let Some(short) = &self.short {
            short.start(spec);
        }
    }
}
