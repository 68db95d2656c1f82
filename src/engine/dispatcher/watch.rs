//! What the dispatcher watches over beside the work: rows that can't be, the length of the write-ahead log, and the
//! soundness of the database after an unclean end.

use std::time::{Duration, Instant};

use super::{Message, Shell, lock};
use crate::domain::RunId;
use crate::engine::core::Input;
use crate::engine::reconcile::look_for;
use crate::store::Window;

/// A write-ahead log that is longer, in bytes, is not cut any more by the usual checkpoints: somebody reads for long.
pub const WAL_LIMIT: u64 = 64 * 1024 * 1024;
/// How long nothing may have happened before the write-ahead log is cut.
const IDLE: Duration = Duration::from_secs(1);

/// How far the look for what can't be has come.
#[derive(Default)]
pub(super) struct Reconciler {
    pub(super) looked: Option<Instant>,
    window: Window,
    /// How often something was found in this window in a row.
    found: u32,
    /// The write-ahead log was warned of.
    warned: bool,
}

impl Shell {
    /// Checks the database beside the work: on a thread and a connection of its own.
    pub(super) fn check(&self) {
        let (engine, send) = (self.engine.clone(), self.send.clone());
        let started = std::thread::Builder::new().name("andon-check".to_owned()).spawn(move || {
            let problems = match engine.inner.store.quick_check() {
                Ok(problems) => problems,
                Err(error) => return tracing::warn!(%error, "the database could not be checked"),
            };
            if problems.is_empty() {
                return tracing::info!("the dispatcher before ended without a word; the database is sound");
            }
            let database = engine.path().display();
            tracing::error!(%database, ?problems, "the database is damaged; nothing is started any more. End andon, put a backup in the database's place (`andon backup` makes them), and start it again");
            // Where the dispatcher has ended, the next one checks again.
            let _ = send.send(Message::Damaged);
            let core = engine.inner.core.clone();
            let told = engine.inner.store.write(move |tx| core.handle(tx, Input::Damaged { problems }));
            if let Err(error) = told {
                tracing::error!(%error, "the damage could not be noted in the database itself");
            }
        });
        if let Err(error) = started {
            tracing::warn!(%error, "no thread to check the database after an unclean end");
        }
    }

    /// From time to time: looks for what can't be and has it repaired, and at the write-ahead log.
    pub(super) fn reconcile(&mut self) {
        let every = Duration::from_millis(self.options.reconcile_ms);
        if self.stopping.is_some() || self.reconciler.looked.is_some_and(|at| at.elapsed() < every) {
            return;
        }
        self.reconciler.looked = Some(Instant::now());
        self.watch_wal();
        self.watch_file();
        let vouched = self.vouched();
        let window = self.reconciler.window.clone();
        let now = self.engine.now();
        let looked =
            self.engine.inner.store.read(|view| look_for(view, Some(&self.id), &vouched, now, &window));
        let (found, next) = match looked {
            Ok(looked) => looked,
            Err(error) => return tracing::warn!(%error, "the reconciler could not look"),
        };
        // What can't be repaired must not keep it from the next window.
        if found.is_empty() || self.reconciler.found > 2 {
            self.reconciler.found = 0;
            self.reconciler.window = next;
        } else {
            self.reconciler.found += 1;
        }
        if found.is_empty() {
            return;
        }
        let core = self.engine.inner.core.clone();
        let input = Input::Reconcile { dispatcher: self.id.clone(), vouched, window };
        match self.engine.inner.store.write_quietly(move |tx| core.handle(tx, input)) {
            Ok(handled) => {
                for effect in handled.effects {
                    self.carry_out(effect);
                }
                self.commit(Vec::new(), true);
            }
            Err(error) => tracing::error!(%error, "what the reconciler found could not be repaired"),
        }
    }

    /// The runs that it knows: live ones, those that are being proven dead, and those whose end is to be written.
    fn vouched(&self) -> Vec<RunId> {
        let mut known: Vec<RunId> = lock(&self.live).keys().cloned().collect();
        known.extend(self.recovering.iter().cloned());
        known.extend(self.again.iter().filter_map(|input| match input {
            Input::Report { run, .. } | Input::Recovered { run, .. } => Some(run.clone()),
            _ => None,
        }));
        known
    }

    /// A database that was removed or replaced under us: what is written now is found by nobody.
    fn watch_file(&mut self) {
        if self.halted || self.engine.inner.store.is_in_place() {
            return;
        }
        let database = self.engine.path().display();
        tracing::error!(%database, "the database was removed or replaced while andon was at work; nothing is started any more. End andon, put the file back, start it again");
        self.halt();
    }

    fn watch_wal(&mut self) {
        let store = &self.engine.inner.store;
        let bytes = store.wal_bytes();
        if bytes <= self.options.wal_limit {
            self.reconciler.warned = false;
            return;
        }
        if !self.reconciler.warned {
            self.reconciler.warned = true;
            tracing::warn!(
                bytes,
                "the write-ahead log has grown long; something reads the database for long"
            );
        }
        if self.busy.elapsed() < IDLE {
            return;
        }
        match store.truncate_wal() {
            Ok(true) => tracing::info!("the write-ahead log was cut"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "the write-ahead log could not be cut"),
        }
    }
}
