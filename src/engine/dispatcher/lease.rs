//! The leases of live runs, renewed on a thread of its own, whatever the dispatcher is busy with.

use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Live, lock};
use crate::domain::RunId;
use crate::domain::time::Millis;
use crate::engine::handle::Engine;

/// Renews the leases of all live runs, on a thread of its own, whatever the dispatcher is busy with.
pub(super) struct Lease {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Lease {
    pub fn start(engine: &Engine, id: &str, live: &Arc<Mutex<HashMap<RunId, Live>>>, renew_ms: u64) -> Lease {
        let (end, ended) = channel::<()>();
        let (engine, id, live) = (engine.clone(), id.to_owned(), live.clone());
        let thread = std::thread::Builder::new().name("andon-lease".to_owned()).spawn(move || {
            let every = Duration::from_millis(renew_ms.max(10));
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                renew(&engine, &id, &live);
            }
        });
        if let Err(error) = &thread {
            tracing::error!(%error, "no thread to renew leases");
        }
        Lease { end: Some(end), thread: thread.ok() }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the lease thread ended in a fault of the program");
        }
    }
}

fn renew(engine: &Engine, id: &str, live: &Mutex<HashMap<RunId, Live>>) {
    let runs: Vec<(RunId, Millis)> =
        lock(live).iter().map(|(run, l)| (run.clone(), l.reporter.active_at_ms())).collect();
    let now = engine.now();
    // Nothing to vouch for, and no clock that must know when this dispatcher was last alive.
    let idle = runs.is_empty()
        && engine.inner.store.read(|view| Ok(view.overdue(now)?.1.is_none())).unwrap_or(false);
    if idle {
        return;
    }
    let until = engine.now() + engine.inner.core.policy().lease_ms;
    let id = id.to_owned();
    let renewed = engine.inner.store.write_relaxed(move |tx| {
        for (run, active) in runs {
            tx.renew_lease(&run, &id, until, active)?;
        }
        tx.see_dispatcher(&id, now)?;
        Ok(())
    });
    if let Err(error) = renewed {
        tracing::warn!(%error, "leases were not renewed");
    }
}
