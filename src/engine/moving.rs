//! A move of a card to a column: whatever the domain says that this means is carried out by its own verb.

use serde_json::json;

use super::act::{Act, data};
use super::command::Outcome;
use super::settle::End;
use crate::domain::moves::{self, Verb};
use crate::domain::text::{self, TEXT_LIMIT};
use crate::domain::{EventKind, IdRef, Ledger, Refusal, RunOutcome, Task, TaskStatus, WaitState};
use crate::store::Failure;

impl Act<'_, '_> {
    /// Carries out whatever a move to that column means.
    pub(super) fn move_to(
        &mut self,
        which: &IdRef,
        to: TaskStatus,
        text: Option<String>,
    ) -> Result<Outcome, Failure> {
        let task = self.tx.resolve(which)?;
        let found = moves::to(&self.tx.card(&task)?, to)?;
        let which = &IdRef::Seq(task.seq);
        let done = |task: Task| Ok(Outcome::Task(Box::new(task)));
        match found.verb {
            Verb::Queue => {
                let mut ledger = Ledger::open(task);
                self.queue(&mut ledger)?;
                done(self.save(ledger)?)
            }
            Verb::RunNext => match task.status {
                TaskStatus::Blocked => done(self.unblock(which, true)?),
                TaskStatus::Suspended => done(self.resume(which, true)?),
                _ => {
                    let mut ledger = Ledger::open(task);
                    ledger.edit(EventKind::Edited, data([("run_next", json!(true))]), self.now, |t| {
                        t.run_next = true;
                        t.not_before_ms = None;
                    });
                    done(self.save(ledger)?)
                }
            },
            Verb::Take => {
                self.close_waits(&task, WaitState::Superseded)?;
                done(self.begin_manual(Ledger::open(task))?)
            }
            Verb::Retry => done(self.retry(which)?),
            Verb::Rerun => {
                let workflow = task.workflow_id.map(|id| id.0).unwrap_or_default();
                self.rerun_workflow(&workflow, true)
            }
            Verb::Unblock => done(self.unblock(which, false)?),
            Verb::Resume => done(self.resume(which, false)?),
            Verb::Approve => done(self.approve(which)?),
            Verb::Reject => done(self.reject(which, text)?),
            Verb::Finish => {
                let Some(run) = self.tx.active_run(task.seq)? else {
                    return Err(Refusal::illegal_transition(task.seq, task.status, to).into());
                };
                let result = text::limited("result", text.as_deref().unwrap_or(""), TEXT_LIMIT)?;
                let end = End { stays_in_review: true, ..End::of(RunOutcome::Success, result) };
                done(self.settle(Ledger::open(task), run, end)?)
            }
            Verb::Block => self.block(which, text.as_deref().unwrap_or_default()),
            Verb::Fail => self.fail(which, text),
            Verb::Suspend => self.suspend(which),
            Verb::Cancel => self.cancel(which, text),
        }
    }
}
