//! Whether the process that asked waits for the answer. One that waits goes on in the same run; one that ends
//! leaves the answer to the task's next run. A caller may change its mind in between, and no answer is lost by it.

use super::act::Act;
use super::command::QuestionRef;
use crate::domain::{Actor, EventKind, Question, QuestionId, Refusal, WaitState};
use crate::store::Failure;

impl Act<'_, '_> {
    /// Whoever asked begins to wait for the answer in its run, or no longer waits. Gives the question as it is
    /// now: with the answer, where that was there first.
    pub(super) fn attend(&mut self, id: &QuestionId, waits: bool) -> Result<Question, Failure> {
        let mut question = self.find_question(&QuestionRef::Id(id.clone()))?;
        let own = match &self.actor {
            Actor::Agent { run, .. } => question.run_id.as_ref() == Some(run),
            Actor::Guest { .. } => false,
            Actor::Operator { .. } | Actor::Engine => true,
        };
        if !own {
            return Err(Refusal::not_allowed(format!(
                "question {id} was asked by another run, which alone may wait for its answer; ask a question of your own"
            ))
            .into());
        }
        let mut ledger = self.open_id(&question.task_id)?;
        let asker = self.tx.active_run(ledger.task().seq)?;
        let asker = asker.filter(|run| Some(&run.id) == question.run_id.as_ref() && run.closing_as.is_none());
        match (question.state, asker) {
            (WaitState::Open, Some(_)) => self.tx.set_asker_waits(question.id.as_str(), waits)?,
            // It was answered while nobody waited, and the run that asked is still there to read it.
            (WaitState::Answered, Some(run)) if waits => {
                question.state = WaitState::Consumed;
                self.tx.update_question(&question)?;
                self.tx.deliver_answer(&question.id, &run.id)?;
                self.unpark(&mut ledger, run, EventKind::Answered)?;
                self.save(ledger)?;
            }
            _ => {}
        }
        Ok(question)
    }
}
