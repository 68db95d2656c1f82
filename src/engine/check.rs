//! Checks: what must pass after the work and before a person is asked. A check that fails sends the task back to
//! its executor with the output, as a reviewer would, as long as retries are left.

use super::act::Act;
use super::executor::Checked;
use super::settle::End;
use crate::domain::{Intent, Ledger, Run, RunOutcome, Task, retry};
use crate::store::Failure;

impl Act<'_, '_> {
    /// What the success of a run is worth, given its check.
    pub(super) fn after_check(&self, task: &Task, run: &Run, end: End, check: Option<Checked>) -> End {
        match check {
            Some(Checked::Passed(summary)) => End { summary, ..end },
            Some(Checked::Failed { error, output }) => {
                let feedback = match output.trim_end() {
                    "" => error.clone(),
                    output => format!("{error}\n\n{output}"),
                };
                End { feedback: Some(feedback.clone()), ..End::of(RunOutcome::Failed, feedback) }
            }
            Some(Checked::Broken(error)) => End::of(RunOutcome::Failed, error),
            // A run that calls itself done is not asked about before its check; a person may pass that over.
            None if run.closing_self && run.closing_as == Some(Intent::Complete) => {
                match self.policy.check_of(task) {
                    None => end,
                    Some(check) => {
                        let error = format!(
                            "it completed its task and did not end, so its check `{}` could not be run; end by \
                             yourself once you are done",
                            check.label()
                        );
                        End { feedback: Some(error.clone()), ..End::of(RunOutcome::Failed, error) }
                    }
                }
            }
            None => end,
        }
    }

    /// FAILED → QUEUED with feedback for the next run, where a retry is left and its workflow goes on.
    pub(super) fn send_back(&mut self, ledger: &mut Ledger) -> Result<(), Failure> {
        if retry::may_retry(ledger.task()).is_err() || self.workflow_is_ending(ledger.task())? {
            return Ok(());
        }
        let wait = retry::backoff(ledger.task().retry_count + 1, (self.random)());
        self.step_retry(ledger, wait, "its check failed")
    }
}
