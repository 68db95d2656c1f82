//! Ways to end a task: completing, failing, blocking, suspending, cancelling. Ending a live run is an intent
//! first: the task settles when its processes are proven dead.

use serde_json::{Map, json};

use super::act::{Act, data};
use super::command::Outcome;
use super::settle::End;
use crate::domain::text::{self, TEXT_LIMIT};
use crate::domain::{
    Actor, Dispatch, EventKind, IdRef, Intent, Ledger, Refusal, Run, RunOutcome, TaskStatus, WaitState,
};
use crate::store::Failure;

impl Act<'_, '_> {
    pub(super) fn complete(&mut self, which: &IdRef, result: Option<String>) -> Result<Outcome, Failure> {
        let mut ledger = self.open(which)?;
        let result = text::limited("result", result.as_deref().unwrap_or(""), TEXT_LIMIT)?;
        let task = ledger.task();
        let seq = task.seq;
        if let Some(run) = self.tx.active_run(seq)? {
            return self.close(ledger, run, Intent::Complete, result);
        }
        let manual = task.dispatch == Dispatch::Manual;
        match task.status {
            TaskStatus::Review => Err(Refusal::state(
                "in_review",
                format!("task #{seq} waits for a review: `andon approve {seq}` takes it, `andon reject {seq}` sends it back"),
            )
            .into()),
            // A manual card walks the legal steps.
            TaskStatus::Pending if manual => {
                self.refuse_waiting(task)?;
                self.queue(&mut ledger)?;
                self.walk_to_done(ledger, result)
            }
            TaskStatus::Queued | TaskStatus::Blocked | TaskStatus::Suspended if manual => {
                self.refuse_waiting(task)?;
                self.walk_to_done(ledger, result)
            }
            status => Err(Refusal::illegal_transition(seq, status, TaskStatus::Success).into()),
        }
    }

    fn walk_to_done(&mut self, mut ledger: Ledger, result: String) -> Result<Outcome, Failure> {
        let run = self.new_run(ledger.task(), None)?;
        self.step_running(&mut ledger, &run, EventKind::Taken)?;
        self.tx.insert_run(ledger.task().seq, &run)?;
        self.close_waits(ledger.task(), WaitState::Superseded)?;
        let task = self.settle(ledger, run, End::of(RunOutcome::Success, result))?;
        Ok(Outcome::Task(Box::new(task)))
    }

    pub(super) fn fail(&mut self, which: &IdRef, error: Option<String>) -> Result<Outcome, Failure> {
        let error = text::limited("error", error.as_deref().unwrap_or("marked as failed"), TEXT_LIMIT)?;
        self.end(which, Intent::Fail, error)
    }

    pub(super) fn block(&mut self, which: &IdRef, reason: &str) -> Result<Outcome, Failure> {
        if reason.trim().is_empty() {
            return Err(Refusal::invalid("reason", "say what blocks it; a reason can't be empty").into());
        }
        self.end(which, Intent::Block, text::limited("reason", reason.trim(), TEXT_LIMIT)?)
    }

    pub(super) fn suspend(&mut self, which: &IdRef) -> Result<Outcome, Failure> {
        self.end(which, Intent::Suspend, String::new())
    }

    /// Ends the run of a RUNNING task; refused for any other.
    fn end(&mut self, which: &IdRef, intent: Intent, text: String) -> Result<Outcome, Failure> {
        let ledger = self.open(which)?;
        let task = ledger.task();
        match self.tx.active_run(task.seq)? {
            Some(run) if task.status == TaskStatus::Running => self.close(ledger, run, intent, text),
            _ => Err(Refusal::illegal_transition(task.seq, task.status, intent.leads_to()).into()),
        }
    }

    pub(super) fn cancel(&mut self, which: &IdRef, reason: Option<String>) -> Result<Outcome, Failure> {
        let mut ledger = self.open(which)?;
        let reason = text::limited("reason", reason.as_deref().unwrap_or(""), TEXT_LIMIT)?;
        let task = ledger.task();
        if task.status.is_settled() {
            return Err(Refusal::illegal_transition(task.seq, task.status, TaskStatus::Cancelled).into());
        }
        if let Some(run) = self.tx.active_run(task.seq)? {
            return self.close(ledger, run, Intent::Cancel, reason);
        }
        self.cancel_open(&mut ledger, &reason, false)?;
        let task = self.save(ledger)?;
        self.after_settling(&task)?;
        Ok(Outcome::Task(Box::new(task)))
    }

    /// → CANCELLED of a task without a run; its question is withdrawn. `swept`: on behalf of another step.
    pub(super) fn cancel_open(
        &mut self,
        ledger: &mut Ledger,
        reason: &str,
        swept: bool,
    ) -> Result<(), Failure> {
        self.close_waits(ledger.task(), WaitState::Cancelled)?;
        ledger.step(TaskStatus::Cancelled, EventKind::Cancelled, Map::new(), self.now, |t| {
            t.error = reason.to_owned();
            if swept {
                t.metadata.insert("swept".to_owned(), json!(true));
            }
        })?;
        Ok(())
    }

    /// Ends an active run: at once where no process carries it out, else as an intent. The first intent wins,
    /// but cancel beats all.
    fn close(
        &mut self,
        ledger: Ledger,
        mut run: Run,
        intent: Intent,
        text: String,
    ) -> Result<Outcome, Failure> {
        if !run.is_dispatched() {
            let task = self.settle(ledger, run, End::of(intent.outcome(), text))?;
            return Ok(Outcome::Task(Box::new(task)));
        }
        if !intent.may_replace(run.closing_as) {
            let seq = ledger.task().seq;
            let already = run.closing_as.map_or("", Intent::as_str);
            return Err(Refusal::state(
                "closing",
                format!(
                    "task #{seq} is being stopped already ({already}) and settles when its processes are gone; \
                     `andon wait {seq}` waits for that, `andon cancel {seq}` has the last word"
                ),
            )
            .into());
        }
        run.closing_as = Some(intent);
        run.closing_text = text;
        run.closing_self = matches!(&self.actor, Actor::Agent { run: own, .. } if *own == run.id);
        self.tx.update_run(&run)?;
        let task = ledger.task().clone();
        self.note(
            EventKind::ClosingAs,
            Some(&task),
            None,
            data([("as", json!(intent)), ("run", json!(run.id))]),
        )?;
        Ok(Outcome::Accepted { task: Box::new(task), run: run.id })
    }
}
