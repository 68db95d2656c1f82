//! The end of a run: how it ended, what the task becomes, what that frees. One transaction.

use serde_json::{Map, json};

use super::act::{Act, data};
use super::core::OnLost;
use super::executor::{Ending, Recovery, Report};
use crate::domain::text::{TEXT_LIMIT, shortened};
use crate::domain::wait::LOST_OPTIONS;
use crate::domain::{
    EventKind, IdRef, Intent, Ledger, QuestionPurpose, Refusal, Run, RunId, RunOutcome, Task, TaskStatus,
    Wait, WaitKind, WaitState, retry,
};
use crate::store::Failure;

/// How a run ends.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub outcome: RunOutcome,
    /// The result, the error or the reason.
    pub text: String,
    pub exit_code: Option<i32>,
    pub exit_signal: Option<i32>,
    /// A person moved it to REVIEW, where it stays.
    pub stays_in_review: bool,
    /// A failure that is not retried by itself: it would end in the same way.
    pub for_good: bool,
}

impl End {
    pub fn of(outcome: RunOutcome, text: impl Into<String>) -> Self {
        End {
            outcome,
            text: text.into(),
            exit_code: None,
            exit_signal: None,
            stays_in_review: false,
            for_good: false,
        }
    }

    pub fn for_good(outcome: RunOutcome, text: impl Into<String>) -> Self {
        End { for_good: true, ..End::of(outcome, text) }
    }
}

impl Act<'_, '_> {
    /// A run tells something. Only the run with the current epoch is heard; from any other it is kept as an
    /// event.
    pub(super) fn report(&mut self, id: &RunId, epoch: i64, report: Report) -> Result<(), Failure> {
        self.run = Some(id.clone());
        let Some(mut run) = self.tx.run(id)? else {
            return Err(Refusal::not_found("run", id.as_str()).into());
        };
        let ledger = self.open_id(&run.task_id)?;
        if !run.is_active() || run.epoch != epoch {
            let data = data([("said", json!(shortened(&format!("{report:?}"), 500)))]);
            return self.note(EventKind::LateResult, Some(ledger.task()), None, data);
        }
        match report {
            Report::Started(process) => {
                run.process = Some(process);
                self.tx.update_run(&run)
            }
            Report::Used(usage) => {
                run.usage = Some(usage);
                self.tx.update_run(&run)
            }
            Report::Facts(facts) => {
                let text = serde_json::to_string(&facts).unwrap_or_default();
                self.tx.note_session(&run.session_id, &run.task_id, &text, self.now)?;
                self.note(EventKind::Reported, Some(ledger.task()), None, facts)
            }
            Report::Asked { question, options } => {
                let task = IdRef::Full(run.task_id.0.clone());
                match self.ask(&task, &question, &options, false, None) {
                    // Whoever asked ends now and waits for an answer that can't come: its end has to say why.
                    Err(Failure::Refused(refusal)) => {
                        run.note = format!("its question was not taken: {refusal}");
                        self.tx.update_run(&run)
                    }
                    asked => asked.map(|_| ()),
                }
            }
            Report::Ended(ending) => self.ended(ledger, run, ending),
        }
    }

    /// The executor says that the run is over.
    fn ended(&mut self, ledger: Ledger, run: Run, ending: Ending) -> Result<(), Failure> {
        if !ending.survivors.is_empty() {
            return self.uncertain(ledger, run, &ending.survivors);
        }
        let (code, signal) = (ending.exit_code, ending.exit_signal);
        let mut end = match run.closing_as {
            Some(intent) => End::of(intent.outcome(), run.closing_text.clone()),
            None => match ending.outcome {
                RunOutcome::Success => End::of(RunOutcome::Success, ending.result),
                RunOutcome::Parked if run.note.is_empty() => End::of(RunOutcome::Parked, String::new()),
                RunOutcome::Parked => End::of(RunOutcome::Failed, run.note.clone()),
                _ => End::of(RunOutcome::Failed, ending.error),
            },
        };
        // A run that asked and ended is parked, however it ended, as long as nobody wanted something else.
        if run.parked && run.closing_as.is_none() && ledger.task().status == TaskStatus::Blocked {
            end.outcome = RunOutcome::Parked;
        }
        end.exit_code = code;
        end.exit_signal = signal;
        end.text = shortened(&end.text, TEXT_LIMIT);
        self.settle(ledger, run, end).map(|_| ())
    }

    /// Ends a run and gives the task the status that goes with it.
    pub(super) fn settle(&mut self, mut ledger: Ledger, mut run: Run, end: End) -> Result<Task, Failure> {
        run.ended_at_ms = Some(self.now);
        run.lease_until_ms = None;
        run.parked = false;
        run.outcome = Some(end.outcome);
        run.exit_code = end.exit_code;
        run.exit_signal = end.exit_signal;
        if end.outcome != RunOutcome::Success {
            run.note = shortened(&end.text, 2_000);
        }
        self.tx.update_run(&run)?;
        if end.outcome == RunOutcome::Parked {
            return self.park(ledger, &run);
        }
        let asked = ledger.task().status == TaskStatus::Blocked;
        if asked && end.outcome != RunOutcome::Cancelled {
            let state = match end.outcome {
                RunOutcome::Deadline => WaitState::Expired,
                _ => WaitState::Superseded,
            };
            self.close_waits(ledger.task(), state)?;
            ledger.step(TaskStatus::Running, EventKind::Unblocked, Map::new(), self.now, |_| {})?;
        }
        let about = data([("run", json!(run.id)), ("outcome", json!(end.outcome))]);
        let now = self.now;
        match end.outcome {
            RunOutcome::Success => {
                ledger
                    .step(TaskStatus::Review, EventKind::ReviewAsked, about, now, |t| t.result = end.text)?;
                if !ledger.task().review_required && !end.stays_in_review {
                    ledger.step(TaskStatus::Success, EventKind::Succeeded, Map::new(), now, |_| {})?;
                }
            }
            RunOutcome::Failed | RunOutcome::Deadline | RunOutcome::Lost => {
                let error = match end.outcome {
                    RunOutcome::Deadline if end.text.is_empty() => out_of_time(ledger.task(), &run),
                    _ => end.text,
                };
                ledger.step(TaskStatus::Failed, EventKind::Failed, about, now, |t| t.error = error)?;
                if !end.for_good {
                    self.retry_by_itself(&mut ledger)?;
                }
            }
            RunOutcome::Cancelled => {
                self.close_waits(ledger.task(), WaitState::Cancelled)?;
                ledger
                    .step(TaskStatus::Cancelled, EventKind::Cancelled, about, now, |t| t.error = end.text)?;
            }
            RunOutcome::Suspended => {
                ledger.step(TaskStatus::Suspended, EventKind::Suspended, about, now, |_| {})?;
            }
            RunOutcome::Blocked => {
                ledger.step(TaskStatus::Blocked, EventKind::Blocked, about, now, |t| {
                    t.blocked_reason = end.text
                })?;
            }
            RunOutcome::Parked => {}
        }
        let task = self.save(ledger)?;
        self.after_settling(&task)?;
        Ok(task)
    }

    /// A run that asked has ended: the task waits, or its answer is there already and queues it.
    fn park(&mut self, mut ledger: Ledger, run: &Run) -> Result<Task, Failure> {
        if ledger.task().status == TaskStatus::Running {
            ledger.step(TaskStatus::Blocked, EventKind::Blocked, Map::new(), self.now, |_| {})?;
        }
        match self.tx.triggered_wait(ledger.task().seq)? {
            Some(wait) => return self.hand_over(ledger, wait),
            None if self.tx.was_decided_unheard(ledger.task().seq, &run.id)? => {
                self.requeue(&mut ledger, EventKind::Allowed, false)?;
            }
            None => {
                let data = data([("run", json!(run.id)), ("outcome", json!(RunOutcome::Parked))]);
                ledger.edit(EventKind::Blocked, data, self.now, |t| {
                    t.current_run_id = None;
                    if t.blocked_reason.is_empty() {
                        t.blocked_reason = "it ended while it waited for an answer".to_owned();
                    }
                });
            }
        }
        self.save(ledger)
    }

    /// What was waited for is consumed: the task is queued with it.
    pub(super) fn hand_over(&mut self, mut ledger: Ledger, mut wait: Wait) -> Result<Task, Failure> {
        wait.state = WaitState::Consumed;
        self.tx.update_wait(&wait)?;
        let kind = if wait.kind == WaitKind::Question { EventKind::Answered } else { EventKind::Triggered };
        self.requeue(&mut ledger, kind, false)?;
        self.save(ledger)
    }

    /// FAILED → QUEUED within the automatic budget, unless its workflow is ending.
    pub(super) fn retry_by_itself(&mut self, ledger: &mut Ledger) -> Result<(), Failure> {
        if !retry::retries_by_itself(ledger.task()) || self.workflow_is_ending(ledger.task())? {
            return Ok(());
        }
        let wait = retry::backoff(ledger.task().retry_count + 1, (self.random)());
        self.step_retry(ledger, wait, "automatic")
    }

    /// Whether a task is a step of a workflow that is cancelled, or whose other steps were.
    fn workflow_is_ending(&mut self, task: &Task) -> Result<bool, Failure> {
        let Some(id) = task.workflow_id.clone() else { return Ok(false) };
        let workflow = self.workflow(&id)?;
        Ok(workflow.cancel_requested || workflow.counts.swept + workflow.counts.cancelled > 0)
    }

    /// A holder died; what was left of its run is settled.
    pub(super) fn recovered(&mut self, id: &RunId, recovery: Recovery) -> Result<(), Failure> {
        self.run = Some(id.clone());
        let Some(run) = self.tx.run(id)? else { return Ok(()) };
        if !run.is_active() {
            return Ok(());
        }
        let ledger = self.open_id(&run.task_id)?;
        let killed = match recovery {
            Recovery::Dead { killed } => killed,
            Recovery::Uncertain { pids } => return self.uncertain(ledger, run, &pids),
        };
        let about = data([("run", json!(run.id)), ("killed", json!(killed)), ("holder", json!(run.holder))]);
        self.note(EventKind::Lost, Some(ledger.task()), None, about)?;
        if let Some(intent) = run.closing_as {
            let end = End::of(intent.outcome(), run.closing_text.clone());
            return self.settle(ledger, run, end).map(|_| ());
        }
        if ledger.task().status == TaskStatus::Blocked {
            return self.settle(ledger, run, End::of(RunOutcome::Parked, String::new())).map(|_| ());
        }
        let task = ledger.task().clone();
        let budget = retry::retries_by_itself(&task)
            || (self.policy.on_lost == OnLost::Retry && retry::may_retry(&task).is_ok());
        let retries = budget && !self.workflow_is_ending(&task)?;
        let said = "the worker died while this ran";
        if retries {
            let mut ledger = self.close_as_lost(ledger, run, said)?;
            let now = self.now;
            ledger.step(TaskStatus::Failed, EventKind::Failed, Map::new(), now, |t| {
                t.error = said.to_owned()
            })?;
            self.step_retry(&mut ledger, 0, "its worker died")?;
            return self.save(ledger).map(|_| ());
        }
        match self.policy.on_lost {
            OnLost::Fail | OnLost::Retry => {
                self.settle(ledger, run, End::of(RunOutcome::Lost, said)).map(|_| ())
            }
            OnLost::Ask => {
                let ledger = self.close_as_lost(ledger, run, said)?;
                self.ask_what_now(ledger, QuestionPurpose::Lost, "The worker died while this ran. What now?")
            }
        }
    }

    pub(super) fn close_as_lost(
        &mut self,
        ledger: Ledger,
        mut run: Run,
        note: &str,
    ) -> Result<Ledger, Failure> {
        run.ended_at_ms = Some(self.now);
        run.lease_until_ms = None;
        run.parked = false;
        run.outcome = Some(RunOutcome::Lost);
        run.note = note.to_owned();
        self.tx.update_run(&run)?;
        Ok(ledger)
    }

    /// Processes that can't be proven dead: never run twice, a person decides (invariant 9).
    fn uncertain(&mut self, ledger: Ledger, run: Run, pids: &[i32]) -> Result<(), Failure> {
        let list: Vec<String> = pids.iter().map(i32::to_string).collect();
        let said = format!("processes of this run can't be proven dead: {}", list.join(", "));
        let ledger = self.close_as_lost(ledger, run, &said)?;
        let text = format!("Its processes {} may still run. End them, then: what now?", list.join(", "));
        self.ask_what_now(ledger, QuestionPurpose::Orphan, &text)
    }

    pub(super) fn ask_what_now(
        &mut self,
        mut ledger: Ledger,
        purpose: QuestionPurpose,
        text: &str,
    ) -> Result<(), Failure> {
        self.close_waits(ledger.task(), WaitState::Superseded)?;
        let options: Vec<String> = LOST_OPTIONS.map(str::to_owned).to_vec();
        let question = self.new_question(ledger.task(), purpose, text, &options, None);
        let data = data([("question", json!(question.id))]);
        let now = self.now;
        if ledger.task().status == TaskStatus::Running {
            ledger.step(TaskStatus::Blocked, EventKind::Asked, data, now, |t| {
                t.blocked_reason = text.to_owned()
            })?;
        } else {
            ledger.edit(EventKind::Asked, data, now, |t| {
                t.blocked_reason = text.to_owned();
                t.current_run_id = None;
            });
        }
        self.tx.insert_question(ledger.task().seq, &question, false)?;
        self.save(ledger).map(|_| ())
    }

    /// Time is up for a task: its live run is to be ended, or it fails where it waits.
    pub(super) fn out_of_time(&mut self, task: Task) -> Result<(), Failure> {
        let run = self.tx.active_run(task.seq)?;
        let mut ledger = Ledger::open(task);
        let now = self.now;
        match (ledger.task().status, run) {
            (status @ (TaskStatus::Running | TaskStatus::Blocked), Some(mut run)) if run.is_dispatched() => {
                if Intent::Deadline.may_replace(run.closing_as) {
                    run.closing_as = Some(Intent::Deadline);
                    if status == TaskStatus::Blocked {
                        run.closing_text = over_while_asking(ledger.task());
                    }
                    self.tx.update_run(&run)?;
                    let data = data([("as", json!(Intent::Deadline)), ("run", json!(run.id))]);
                    self.note(EventKind::ClosingAs, Some(ledger.task()), None, data)?;
                }
                ledger.edit(EventKind::Edited, Map::new(), now, |t| t.deadline_ms = None);
                self.save(ledger).map(|_| ())
            }
            // It waits for approval, and nothing of it was started.
            (TaskStatus::Blocked, None) if self.tx.open_approval(ledger.task().seq)?.is_some() => {
                self.close_waits(ledger.task(), WaitState::Expired)?;
                let error = over_while_asking(ledger.task());
                let end = End::of(RunOutcome::Deadline, error);
                self.fail_unstarted(ledger, EventKind::Claimed, end).map(|_| ())
            }
            // A run with outcome `deadline` and no process.
            (TaskStatus::Queued, None) => {
                let run = self.new_run(ledger.task(), None)?;
                let queued = ledger.task().queued_at_ms;
                self.step_running(&mut ledger, &run, EventKind::Claimed)?;
                self.tx.insert_run(ledger.task().seq, &run)?;
                let mut run = run;
                run.started_at_ms = queued.unwrap_or(now);
                self.settle(ledger, run, End::of(RunOutcome::Deadline, String::new())).map(|_| ())
            }
            _ => {
                ledger.edit(EventKind::Edited, Map::new(), now, |t| t.deadline_ms = None);
                self.save(ledger).map(|_| ())
            }
        }
    }
}

fn over_while_asking(task: &Task) -> String {
    format!("its {} s were over while it waited for approval", task.timeout_seconds.unwrap_or(0))
}

/// The error of a timeout, with how much of the time was spent in the queue.
fn out_of_time(task: &Task, run: &Run) -> String {
    let limit = task.timeout_seconds.unwrap_or(0);
    let queued_ms = task.queued_at_ms.map_or(0, |queued| (run.started_at_ms - queued).max(0));
    match (run.holder.is_some(), queued_ms / 1_000) {
        (false, _) => format!("its {limit} s were over before a slot was free; it never ran"),
        (true, 0) => format!("its {limit} s were over"),
        (true, queued) => format!("its {limit} s were over; it had waited {queued} s of them in the queue"),
    }
}
