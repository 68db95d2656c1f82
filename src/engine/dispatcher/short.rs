//! The short way: in the usual case the end of a run is decided together with the next claim by the thread of runs
//! itself, with all that ended in the same moment, and the next runs are started from there. It saves the changes of
//! thread between the end of one command and the start of the next. Whatever is not usual goes the long way, through
//! the dispatcher's thread.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use super::attach::Place;
use super::{Live, Message, lock};
use crate::domain::{RunId, WorkflowId};
use crate::engine::core::{Effect, Input};
use crate::engine::executor::{Executors, Report, Reporter, RunSpec};
use crate::engine::handle::Engine;
use crate::store::fault;

/// Starts runs, and hears their reports.
pub(super) struct ShortWay {
    pub engine: Engine,
    pub executors: Arc<dyn Executors>,
    pub dispatcher: String,
    pub slots: u32,
    pub only: Option<WorkflowId>,
    pub live: Arc<Mutex<HashMap<RunId, Live>>>,
    pub send: Mutex<Sender<Message>>,
    pub runtime: tokio::runtime::Handle,
    pub place: Place,
    /// Whether things are as usual: nothing failed, nothing is draining, this dispatcher is the last that began.
    pub open: AtomicBool,
}

impl ShortWay {
    /// Starts a run. Its reports come back here.
    /// Not where the lock was taken away since the claim: then the next dispatcher recovers the run, and would find it
    /// dead because it was not started yet.
    pub(super) fn start(self: &Arc<Self>, spec: RunSpec) {
        if !self.place.is_held() {
            return self.pass_on(Message::Effect(Effect::Superseded));
        }
        let run = spec.run.clone();
        let way = self.clone();
        // Whoever has said anything before goes the long way to its end: nothing overtakes what was said earlier.
        let spoke = AtomicBool::new(false);
        let tell = move |run: RunId, epoch: i64, report: Report| {
            let first = !spoke.swap(true, Ordering::AcqRel);
            way.told(run, epoch, report, first);
        };
        let reporter = Reporter::new(run.clone(), spec.epoch, Arc::new(tell));
        let _context = self.runtime.enter();
        // Held until the run is known as live: its end may be told before `start` returns.
        let mut live = lock(&self.live);
        let started = self.executors.start(spec, reporter.clone());
        live.insert(run, Live { run: started, reporter });
    }

    fn told(self: &Arc<Self>, run: RunId, epoch: i64, report: Report, first: bool) {
        // One that ends while it is being started is passed on: the way below needs to know all that live.
        let usual = || self.open.load(Ordering::Acquire) && self.live.try_lock().is_ok();
        match first && matches!(report, Report::Ended(_)) && usual() {
            true => self.settle(run, epoch, report),
            false => self.pass_on(Message::Report { run, epoch, report }),
        }
    }

    /// Decides the end of a run and the next claims. What fails is told to the dispatcher's thread, which tries
    /// again.
    fn settle(self: &Arc<Self>, run: RunId, epoch: i64, report: Report) {
        let (way, after) = (self.clone(), self.clone());
        let input = Input::Report { run: run.clone(), epoch, report: report.clone() };
        let work = move |tx: &crate::store::Tx<'_>| {
            let core = &way.engine.inner.core;
            let mut effects = core.handle(tx, input)?.effects;
            effects.extend(core.handle(tx, way.look())?.effects);
            Ok(effects)
        };
        let first = self.engine.inner.store.bring(work, move |written| match written {
            Ok(effects) => {
                lock(&after.live).remove(&run);
                for effect in effects {
                    after.carry_out(effect);
                }
            }
            Err(_) => after.pass_on(Message::Report { run, epoch, report }),
        });
        if first {
            let store = self.engine.inner.store.clone();
            self.runtime.spawn(async move {
                // Once around: whatever else has ended by now goes into the same transaction.
                tokio::task::yield_now().await;
                store.write_brought();
            });
        }
    }

    /// Only for what can be claimed; nothing, where things stopped being usual meanwhile.
    fn look(&self) -> Input {
        Input::Look {
            dispatcher: self.dispatcher.clone(),
            slots: if self.open.load(Ordering::Acquire) && self.place.is_held() { self.slots } else { 0 },
            agents: self.executors.agents(),
            only: self.only.clone(),
            all: false,
            careful: false,
        }
    }

    fn carry_out(self: &Arc<Self>, effect: Effect) {
        match effect {
            Effect::Start(spec) => {
                fault::point("effect.start");
                self.start(*spec);
                fault::point("effect.started");
            }
            other => self.pass_on(Message::Effect(other)),
        }
    }

    fn pass_on(&self, message: Message) {
        // Where the dispatcher has ended, the next one finds the run again.
        let _ = lock(&self.send).send(message);
    }
}
