//! The reconciler: looks for what the engine's own transactions can't leave behind, and sets it right. The look is a
//! cheap read, a window at a time; only when it finds something is there a transaction, in which it looks again.
//! Every repair is an act of its own, so that one that fails holds no other, and an event with its cause.

use serde_json::json;

use super::act::{Act, data};
use super::core::{Core, Effect, OnLost};
use crate::domain::{
    Actor, Dispatch, EventKind, Finding, FindingKind, Ledger, QuestionPurpose, Run, RunId, TaskStatus,
    WaitState, WorkflowId,
};
use crate::store::{Failure, Tx, View, Window};

/// What is wrong within a window, and the window after it. Runs that the dispatcher vouches for are well: it carries
/// them out, ends them, or has their end in hand.
pub fn look_for(
    view: &View<'_>,
    dispatcher: Option<&str>,
    vouched: &[RunId],
    now: i64,
    window: &Window,
) -> Result<(Vec<Finding>, Window), Failure> {
    let (mut found, next) = view.findings(dispatcher, now, window)?;
    found.retain(|one| {
        let known = one.run.as_ref().is_some_and(|run| vouched.contains(run));
        !(known && one.kind.needs_dispatcher())
    });
    Ok((found, next))
}

impl Core {
    /// Repairs what is wrong within a window.
    pub(super) fn reconcile(
        &self,
        tx: &Tx<'_>,
        dispatcher: &str,
        vouched: &[RunId],
        window: &Window,
    ) -> Result<Vec<Effect>, Failure> {
        let now = self.now();
        let random = || self.random();
        let mut effects = Vec::new();
        for finding in look_for(tx, Some(dispatcher), vouched, now, window)?.0 {
            let repaired = tx.isolated(|tx| {
                let mut act = Act::new(tx, now, Actor::Engine, self.policy(), &random);
                act.repair(&finding, vouched)?;
                act.finish()
            });
            let (kind, seq) = (finding.kind, finding.seq);
            match repaired {
                Ok(more) => {
                    let cause = kind.cause();
                    tracing::warn!(%kind, seq, workflow = ?finding.workflow, cause, "repaired");
                    effects.extend(more);
                }
                Err(failure) => tracing::error!(%kind, seq, %failure, "a repair failed"),
            }
        }
        Ok(effects)
    }
}

impl Act<'_, '_> {
    fn repair(&mut self, finding: &Finding, vouched: &[RunId]) -> Result<(), Failure> {
        if let (FindingKind::Workflow, Some(id)) = (finding.kind, &finding.workflow) {
            return self.repair_workflow_of(id, finding.kind);
        }
        let ledger = self.open_seq(finding.seq)?;
        let run = finding.run.as_ref().map(|id| self.tx.run(id)).transpose()?.flatten();
        match (finding.kind, run) {
            (kind @ (FindingKind::OrphanedRun | FindingKind::ForgottenRun), Some(run)) => {
                self.note_repair(&ledger, kind, Some(&run.id))?;
                self.effects.push(Effect::Recover { run: run.id, process: run.process });
                Ok(())
            }
            (FindingKind::StrayRun, Some(run)) => self.repair_stray_run(ledger, run, vouched),
            (FindingKind::NobodyRuns, _) => self.repair_nobody_runs(ledger),
            (FindingKind::Predecessors, _) => self.recount_predecessors(ledger).map(|_| ()),
            (FindingKind::HeldForNobody, _) => self.repair_held(ledger),
            (FindingKind::UnreadAnswer, _) => self.repair_unread_answer(ledger),
            (FindingKind::StrayQuestion, _) => self.repair_stray_question(&ledger),
            (kind @ FindingKind::VainWait, _) => {
                self.note_repair(&ledger, kind, None)?;
                self.repair_vain_wait(finding.seq)
            }
            // Its run has gone meanwhile.
            _ => Ok(()),
        }
    }

    fn note_repair(&self, ledger: &Ledger, kind: FindingKind, run: Option<&RunId>) -> Result<(), Failure> {
        self.note(EventKind::Repaired, Some(ledger.task()), None, about(kind, run))
    }

    fn repair_workflow_of(&mut self, id: &WorkflowId, kind: FindingKind) -> Result<(), Failure> {
        let changes = self.repair_workflow(id)?;
        if changes > 0 {
            let mut data = about(kind, None);
            data.insert("changes".to_owned(), json!(changes));
            self.note(EventKind::Repaired, None, Some(id), data)?;
        }
        Ok(())
    }

    /// The truth is the run: a task that can still become RUNNING is shown as running in it. Where the task has moved
    /// on, the run is ended and its processes are stopped.
    fn repair_stray_run(&mut self, mut ledger: Ledger, run: Run, vouched: &[RunId]) -> Result<(), Failure> {
        let task = ledger.task();
        let newest = run.epoch >= task.epoch;
        let status = task.status;
        let now = self.now;
        let adopt = |task: &mut crate::domain::Task| {
            task.epoch = run.epoch;
            task.current_run_id = Some(run.id.clone());
            task.session_id.clone_from(&run.session_id);
        };
        let said = about(FindingKind::StrayRun, Some(&run.id));
        match status {
            TaskStatus::Running if newest => ledger.edit(EventKind::Repaired, said, now, adopt),
            TaskStatus::Pending | TaskStatus::Queued | TaskStatus::Suspended if newest => {
                if status == TaskStatus::Pending {
                    self.queue_step(&mut ledger)?;
                }
                ledger.step(TaskStatus::Running, EventKind::Repaired, said, now, adopt)?;
            }
            _ => {
                self.note_repair(&ledger, FindingKind::StrayRun, Some(&run.id))?;
                if run.is_dispatched() {
                    self.effects.push(match vouched.contains(&run.id) {
                        true => Effect::Stop { run: run.id.clone(), by_itself: false },
                        false => Effect::Recover { run: run.id.clone(), process: run.process.clone() },
                    });
                }
                ledger = self.close_as_lost(ledger, run, FindingKind::StrayRun.cause())?;
            }
        }
        self.save(ledger).map(|_| ())
    }

    /// Whatever ran is lost. What is left of it is stopped; a person decides, unless the policy says otherwise.
    fn repair_nobody_runs(&mut self, mut ledger: Ledger) -> Result<(), Failure> {
        let kind = FindingKind::NobodyRuns;
        self.note_repair(&ledger, kind, None)?;
        let last = self.tx.last_run(ledger.task().seq)?;
        if let Some(run) = last.filter(Run::is_dispatched) {
            self.effects.push(Effect::Recover { run: run.id, process: run.process });
        }
        if self.policy.on_lost == OnLost::Ask || ledger.task().dispatch == Dispatch::Manual {
            let text = "It was shown as running, and nothing ran it any more. What now?";
            return self.ask_what_now(ledger, QuestionPurpose::Lost, text);
        }
        let error = "nothing ran it any more";
        ledger.step(TaskStatus::Failed, EventKind::Failed, about(kind, None), self.now, |t| {
            t.error = error.to_owned()
        })?;
        self.retry_by_itself(&mut ledger)?;
        let task = self.save(ledger)?;
        self.after_settling(&task)
    }

    /// Sets the counter of open predecessors to their count; a step that waits for none is queued. True where it
    /// was wrong.
    pub(super) fn recount_predecessors(&mut self, mut ledger: Ledger) -> Result<bool, Failure> {
        let (seq, was) = (ledger.task().seq, ledger.task().open_predecessors);
        let open = self.tx.count_open_predecessors(seq)?;
        if open == was {
            return Ok(false);
        }
        let mut said = about(FindingKind::Predecessors, None);
        said.extend(data([("was", json!(was)), ("is", json!(open))]));
        let now = self.now;
        ledger.edit(EventKind::Repaired, said, now, |t| {
            t.open_predecessors = open;
            match t.status {
                TaskStatus::Queued if open == 0 => t.run_clock(now),
                TaskStatus::Queued => t.park_clock(now),
                _ => {}
            }
        });
        self.queue_if_ready(&mut ledger)?;
        self.save(ledger)?;
        Ok(true)
    }

    fn repair_held(&mut self, mut ledger: Ledger) -> Result<(), Failure> {
        let now = self.now;
        ledger.edit(EventKind::Repaired, about(FindingKind::HeldForNobody, None), now, |t| {
            t.held = false;
            t.run_clock(now);
        });
        self.save(ledger).map(|_| ())
    }

    fn repair_unread_answer(&mut self, ledger: Ledger) -> Result<(), Failure> {
        self.note_repair(&ledger, FindingKind::UnreadAnswer, None)?;
        match self.tx.triggered_wait(ledger.task().seq)? {
            Some(wait) => self.hand_over(ledger, wait).map(|_| ()),
            None => Ok(()),
        }
    }

    fn repair_stray_question(&mut self, ledger: &Ledger) -> Result<(), Failure> {
        self.note_repair(ledger, FindingKind::StrayQuestion, None)?;
        let task = ledger.task();
        let state = match task.status {
            TaskStatus::Cancelled => WaitState::Cancelled,
            _ => WaitState::Superseded,
        };
        self.close_approval(task, state)?;
        self.close_wait(task, state)?;
        let Some(mut question) = self.tx.open_question(task.seq)? else { return Ok(()) };
        question.state = state;
        question.closed_at_ms = Some(self.now);
        self.tx.update_question(&question)?;
        let said = data([("question", json!(question.id)), ("state", json!(question.state))]);
        self.note(EventKind::QuestionClosed, Some(task), None, said)
    }
}

/// What the event of a repair says.
fn about(kind: FindingKind, run: Option<&RunId>) -> serde_json::Map<String, serde_json::Value> {
    let mut said = data([("finding", json!(kind)), ("cause", json!(kind.cause()))]);
    if let Some(run) = run {
        said.insert("run".to_owned(), json!(run));
    }
    said
}
