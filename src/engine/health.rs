//! What the handle tells about the state of things beside the work: rows that can't be, the file itself, who
//! dispatches. Reads only, but for the copy and the log of the database.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::handle::{Engine, EngineError};
use super::reconcile::look_for;
use crate::domain::{DispatcherState, Finding, RunId, TaskStatus};
use crate::store::{Backup, StoreError, Window};

/// The slots of whoever dispatches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// In use.
    pub used: u32,
    /// All; 0 where nobody dispatches.
    pub total: u32,
}

impl Engine {
    /// The slots of whoever dispatches.
    pub fn slots(&self) -> Result<Slots, EngineError> {
        let state = self.dispatcher_state();
        let here = self.inner.slots.load(Ordering::Relaxed);
        self.inner.store.read(|view| {
            let total = match state {
                DispatcherState::Nobody => 0,
                DispatcherState::Here | DispatcherState::Draining => here,
                DispatcherState::Elsewhere => view.dispatcher()?.map_or(0, |(_, slots, _)| slots),
            };
            Ok(Slots { used: view.slots_used()?, total })
        })
    }

    /// How many tasks stand where, without those that were put away. Looks at each of them.
    pub fn tasks_by_status(&self) -> Result<Vec<(TaskStatus, i64)>, EngineError> {
        self.inner.store.read(|view| view.count_by_status())
    }

    /// Everything that the reconciler would repair, as seen from a process that carries out nothing: the runs of a
    /// dispatcher at work are well as long as it renews their leases.
    pub fn findings(&self) -> Result<Vec<Finding>, EngineError> {
        let somebody = self.dispatcher_state() != DispatcherState::Nobody;
        let now = self.now();
        self.inner.store.read(|view| {
            let dispatcher = view.dispatcher()?.filter(|_| somebody).map(|(id, ..)| id);
            Ok(look_for(view, dispatcher.as_deref(), &[], now, &Window::whole())?.0)
        })
    }

    /// The process that dispatches. Where nobody does: one that did and ended without a word.
    pub fn dispatcher_pid(&self) -> Result<Option<u32>, EngineError> {
        self.inner.store.read(|view| view.dispatcher_pid())
    }

    /// Of these runs those that are known, and whether each has not ended.
    pub fn known_runs(&self, runs: Vec<RunId>) -> Result<Vec<(RunId, bool)>, EngineError> {
        self.inner.store.read(|view| {
            let mut known = Vec::new();
            for id in runs {
                if let Some(run) = view.run(&id)? {
                    known.push((id, run.is_active()));
                }
            }
            Ok(known)
        })
    }

    /// The folder of the logs of all runs. It is made with the first dispatcher.
    pub fn logs(&self) -> PathBuf {
        self.inner.store.beside("-logs")
    }

    /// What is damaged in the file, or nothing; looks at every page.
    pub fn quick_check(&self) -> Result<Vec<String>, StoreError> {
        self.inner.store.quick_check()
    }

    /// Rows that point at rows which are not there.
    pub fn foreign_key_check(&self) -> Result<Vec<String>, StoreError> {
        self.inner.store.foreign_key_check()
    }

    /// The schema of the file, and the one that this program knows.
    pub fn schema(&self) -> Result<(i64, i64), StoreError> {
        self.inner.store.schema()
    }

    /// How long the write-ahead log is, in bytes.
    pub fn wal_bytes(&self) -> u64 {
        self.inner.store.wal_bytes()
    }

    /// Cuts the write-ahead log; false where somebody reads or writes just now.
    pub fn truncate_wal(&self) -> Result<bool, StoreError> {
        self.inner.store.truncate_wal()
    }

    /// Sockets of the bell whose processes are gone.
    pub fn leftover_bells(&self) -> std::io::Result<Vec<PathBuf>> {
        self.inner.store.bell().leftovers()
    }

    /// Copies the database to a new file while everybody works on; see [`crate::store::Store::backup`].
    pub fn backup(&self, to: &Path) -> Result<Backup, EngineError> {
        self.inner.store.backup(to)
    }
}
