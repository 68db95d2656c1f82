//! Whether the process that asked waits for the answer, the decision or the event. One that waits goes on in the same
//! run; one that ends leaves it to the task's next run. A caller may change its mind in between, and nothing that came
//! is lost by it.

use super::act::Act;
use crate::domain::id::IdKind;
use crate::domain::{Actor, EventKind, Refusal, Wait, WaitId, WaitKind, WaitState, Waiter};
use crate::store::Failure;

impl Act<'_, '_> {
    /// Whoever asked begins to wait in its run, or no longer waits. Gives the wait as it is now: over, where what was
    /// waited for came first.
    pub(super) fn attend(&mut self, id: &WaitId, waits: bool) -> Result<Wait, Failure> {
        let found = self.tx.wait(id.as_str())?;
        let mut wait = found.ok_or_else(|| Refusal::not_found(IdKind::Wait.word(), id.as_str()))?;
        let own = match &self.actor {
            Actor::Agent { run, .. } => wait.run_id.as_ref() == Some(run),
            Actor::Guest { .. } => false,
            Actor::Operator { .. } | Actor::Engine => true,
        };
        if !own {
            return Err(Refusal::not_allowed(format!(
                "{id} was asked by another run, which alone may wait for it; ask for something of your own"
            ))
            .into());
        }
        let Waiter::Task(task) = &wait.waiter else { return Ok(wait) };
        let ledger = self.open_id(task)?;
        let asker = self.tx.active_run(ledger.task().seq)?;
        let lives =
            asker.is_some_and(|run| Some(&run.id) == wait.run_id.as_ref() && run.closing_as.is_none());
        match wait.state {
            WaitState::Open if lives => {
                self.tx.set_asker_waits(wait.id.as_str(), waits)?;
                wait.asker_waits = waits;
            }
            // It came while nobody waited, and the run that asked is still there to read it.
            WaitState::Answered | WaitState::Triggered if lives && waits => {
                let kind = match wait.kind {
                    WaitKind::Question => EventKind::Answered,
                    _ => EventKind::Triggered,
                };
                self.go_on(ledger, wait.id.as_str(), true, kind)?;
                wait.state = WaitState::Consumed;
                self.tx.update_wait(&wait)?;
            }
            _ => {}
        }
        Ok(wait)
    }
}
