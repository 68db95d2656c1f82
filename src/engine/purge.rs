//! Retention: what has ended long ago is removed for good, after whoever asks has kept a copy of it. One command
//! removes a batch as a whole or not at all; a batch that changed since it was copied is refused.

use serde_json::json;

use super::act::{Act, data};
use super::command::Outcome;
use super::handle::{Engine, EngineError};
use crate::domain::time::Millis;
use crate::domain::{EventKind, Refusal};
use crate::store::{Failure, Fingerprint, PurgeCursor, PurgeUnit, Remains, Removed};

/// One thing that is to be removed as a whole, as it was when it was copied.
#[derive(Debug, Clone)]
pub struct Doomed {
    /// What.
    pub unit: PurgeUnit,
    /// [`Remains::fingerprint`] of the copy.
    pub fingerprint: Fingerprint,
}

impl Engine {
    /// What ended before `before` and may go, at most about `limit` units; of one board where named. Never what
    /// something open needs, never a step without its whole workflow. Moves the cursor on.
    pub fn purgeable(
        &self,
        before: Millis,
        board: Option<&str>,
        cursor: &mut PurgeCursor,
        limit: u32,
    ) -> Result<Vec<PurgeUnit>, EngineError> {
        self.inner.store.read(|view| view.purgeable(before, board, cursor, limit))
    }

    /// All that is removed with a unit.
    pub fn remains(&self, unit: &PurgeUnit) -> Result<Remains, EngineError> {
        self.inner.store.read(|view| view.remains(unit))
    }
}

impl Act<'_, '_> {
    /// Removes all of a batch. The event of that is written first: the last event is never removed.
    pub(super) fn purge(&mut self, before: Millis, batch: &[Doomed]) -> Result<Outcome, Failure> {
        self.only_operator("removing what has ended")?;
        let mut tasks = Vec::new();
        let mut workflows = Vec::new();
        for doomed in batch {
            tasks.extend(self.unchanged(before, doomed)?);
            if let PurgeUnit::Workflow(id) = &doomed.unit {
                workflows.push(id);
            }
        }
        let about = data([
            ("before_ms", json!(before)),
            ("tasks", json!(tasks.len())),
            ("workflows", json!(workflows.len())),
        ]);
        self.note(EventKind::Purged, None, None, about)?;
        let mut removed = Removed::default();
        for seq in tasks {
            self.tx.purge_task(seq, &mut removed)?;
        }
        for id in workflows {
            self.tx.purge_workflow(id, &mut removed)?;
        }
        Ok(Outcome::Purged(removed))
    }

    /// The numbers of its tasks, where it is as it was copied and may still go.
    fn unchanged(&self, before: Millis, doomed: &Doomed) -> Result<Vec<i64>, Failure> {
        let (fingerprint, seqs) = self.tx.fingerprint(&doomed.unit)?;
        if fingerprint == doomed.fingerprint && self.tx.is_purgeable(&doomed.unit, before)? {
            return Ok(seqs);
        }
        let what = match &doomed.unit {
            PurgeUnit::Task(seq) => format!("task #{seq}"),
            PurgeUnit::Workflow(id) => format!("workflow {id}"),
        };
        let said =
            format!("{what} changed while it was copied; nothing of this batch was removed, try again");
        Err(Refusal::state("changed", said).into())
    }
}
