//! Telling clients what changed: each change of the board rings, and what it changed is told by its address. A
//! hint, as the bell is one; a client that wants to know reads again.

use rmcp::RoleServer;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, SubscriptionContext};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch::Receiver;

use super::resources::{board_uri, log_uri, task_uri};
use crate::domain::{Event, EventKind, IdRef};
use crate::engine::Engine;

/// The shortest time between two looks: a busy board tells a client twice a second, not a thousand times.
const PAUSE: Duration = Duration::from_millis(500);
/// How many events are read at a time.
const BATCH: usize = 500;

/// Watches the board for one connection.
pub(super) struct Watch {
    engine: Engine,
    subscribed: Arc<Mutex<BTreeSet<String>>>,
}

impl Watch {
    /// A watch that tells nobody yet.
    pub fn new(engine: Engine) -> Self {
        Self { engine, subscribed: Arc::default() }
    }

    /// Tells this client from now on, until it has gone.
    pub fn tell(&self, peer: Peer<RoleServer>) {
        let (engine, subscribed) = (self.engine.clone(), Arc::clone(&self.subscribed));
        tokio::spawn(async move {
            let mut news = News::from_now(engine).await;
            while let Some(changed) = news.next().await {
                let wanted: Vec<String> = set(&subscribed).intersection(&changed.uris).cloned().collect();
                for uri in wanted {
                    let update = ResourceUpdatedNotificationParam::new(uri);
                    if peer.notify_resource_updated(update).await.is_err() {
                        return;
                    }
                }
                if changed.list && peer.notify_resource_list_changed().await.is_err()
                    || peer.is_transport_closed()
                {
                    return;
                }
            }
        });
    }

    /// Tells of this address from now on.
    pub fn subscribe(&self, uri: String) {
        set(&self.subscribed).insert(uri);
    }

    /// No longer.
    pub fn unsubscribe(&self, uri: &str) {
        set(&self.subscribed).remove(uri);
    }

    /// Serves a subscription of the newer kind until its client ends it or has gone.
    pub async fn listen(
        &self,
        subscription: &SubscriptionContext,
        mut gone: Receiver<bool>,
    ) -> Result<(), ErrorData> {
        let accepted = subscription.accepted();
        let wanted: BTreeSet<String> = accepted.resource_subscriptions.iter().flatten().cloned().collect();
        let list = accepted.resources_list_changed == Some(true);
        let mut news = News::from_now(self.engine.clone()).await;
        loop {
            let changed = tokio::select! {
                changed = news.next() => changed,
                () = subscription.cancelled() => return Ok(()),
                _ = gone.wait_for(|gone| *gone) => return Ok(()),
            };
            let Some(changed) = changed else { return Ok(()) };
            let sink = subscription.sink();
            for uri in wanted.intersection(&changed.uris) {
                if sink.notify_resource_updated(uri.clone()).await.is_err() {
                    return Ok(());
                }
            }
            if list && changed.list && sink.notify_resource_list_changed().await.is_err() {
                return Ok(());
            }
        }
    }
}

fn set(subscribed: &Mutex<BTreeSet<String>>) -> MutexGuard<'_, BTreeSet<String>> {
    subscribed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What changed since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changed {
    uris: BTreeSet<String>,
    /// Whether there are other addresses than before.
    list: bool,
}

/// Changes, one look after the other.
struct News {
    engine: Engine,
    changes: Receiver<u64>,
    seen: i64,
}

impl News {
    async fn from_now(engine: Engine) -> Self {
        let changes = engine.changes();
        let reader = engine.clone();
        let seen = tokio::task::spawn_blocking(move || reader.last_seq()).await;
        Self { engine, changes, seen: seen.ok().and_then(Result::ok).unwrap_or(0) }
    }

    /// What changed next; `None` when nothing more can be heard.
    async fn next(&mut self) -> Option<Changed> {
        loop {
            self.changes.changed().await.ok()?;
            tokio::time::sleep(PAUSE).await;
            self.changes.mark_unchanged();
            let (engine, seen) = (self.engine.clone(), self.seen);
            // A read that fails now is made up for at the next change.
            let Ok(Ok((now, changed))) = tokio::task::spawn_blocking(move || since(&engine, seen)).await
            else {
                continue;
            };
            self.seen = now;
            if changed != Changed::default() {
                return Some(changed);
            }
        }
    }
}

/// What changed after event `seen`, and the last event that was read.
fn since(engine: &Engine, mut seen: i64) -> Result<(i64, Changed), crate::engine::EngineError> {
    let mut changed = Changed::default();
    loop {
        let events = engine.events(seen, None, BATCH)?;
        for event in &events {
            note(engine, event, &mut changed);
        }
        seen = events.last().map_or(seen, |event| event.seq);
        if events.len() < BATCH {
            return Ok((seen, changed));
        }
    }
}

fn note(engine: &Engine, event: &Event, changed: &mut Changed) {
    use EventKind::{Archived, BoardChanged, Created, Purged, Unarchived};
    changed.list |= matches!(event.kind, Created | Archived | Unarchived | Purged | BoardChanged);
    let Some(id) = &event.task_id else { return };
    if changed.uris.insert(task_uri(id.as_str())) {
        changed.uris.insert(log_uri(id.as_str()));
        // One that was removed for good is on no board any more.
        if let Ok(task) = engine.task(&IdRef::Full(id.0.clone())) {
            changed.uris.insert(board_uri(&task.board_id));
        }
    }
}
