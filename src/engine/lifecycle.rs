//! The verbs that change a status. Each is one or several legal steps of the table in one transaction. Ending
//! a live run is an intent first: the task settles when its processes are proven dead.

use serde_json::{Map, json};

use super::act::{Act, data, is_swept};
use super::command::Outcome;
use super::settle::End;
use crate::domain::moves::{self, Verb};
use crate::domain::text::{self, TEXT_LIMIT};
use crate::domain::{
    Actor, Dispatch, EventKind, IdRef, Intent, Ledger, Refusal, Run, RunId, RunOutcome, Task, TaskStatus,
    WaitState, retry,
};
use crate::store::Failure;

impl Act<'_, '_> {
    /// The verb `start`: what has an executor is queued for the dispatcher, what is manual is taken.
    pub(super) fn start(&mut self, which: &IdRef) -> Result<Task, Failure> {
        let mut ledger = self.open(which)?;
        let task = ledger.task();
        match (task.status, task.dispatch) {
            (TaskStatus::Queued, Dispatch::Auto) => Err(Refusal::state(
                "already_queued",
                format!(
                    "task #{} is queued already; `andon why {}` says what it waits for",
                    task.seq, task.seq
                ),
            )
            .into()),
            (TaskStatus::Pending, dispatch) => {
                self.refuse_waiting(task)?;
                self.queue(&mut ledger)?;
                match dispatch {
                    Dispatch::Auto => self.save(ledger),
                    Dispatch::Manual => self.begin_manual(ledger),
                }
            }
            (TaskStatus::Queued, Dispatch::Manual) => {
                self.refuse_waiting(task)?;
                self.begin_manual(ledger)
            }
            (status, _) => {
                let to = TaskStatus::Queued;
                Err(Refusal::wrong_verb(task.seq, "start", TaskStatus::Pending, status, to).into())
            }
        }
    }

    /// As `start`, for a task made in this act: it may wait for its predecessors in the queue.
    pub(super) fn start_new(&mut self, task: Task) -> Result<Task, Failure> {
        let waits = task.open_predecessors > 0;
        let dispatch = task.dispatch;
        let mut ledger = Ledger::open(task);
        self.queue(&mut ledger)?;
        match dispatch {
            Dispatch::Manual if !waits => self.begin_manual(ledger),
            _ => self.save(ledger),
        }
    }

    /// The tool `task start`: queued and claimed for the caller in one transaction.
    pub(super) fn take(&mut self, which: &IdRef) -> Result<Task, Failure> {
        let mut ledger = self.open(which)?;
        let task = ledger.task();
        if !matches!(task.status, TaskStatus::Pending | TaskStatus::Queued) {
            let (wanted, to) = (TaskStatus::Pending, TaskStatus::Queued);
            return Err(Refusal::wrong_verb(task.seq, "start", wanted, task.status, to).into());
        }
        self.refuse_waiting(task)?;
        if task.held {
            return Err(Refusal::state(
                "workflow_paused",
                format!(
                    "task #{} belongs to a paused workflow; `andon workflow resume {}` lets it go on",
                    task.seq,
                    task.workflow_id.as_ref().map_or("ID", |id| id.as_str())
                ),
            )
            .into());
        }
        if task.status == TaskStatus::Pending {
            self.queue(&mut ledger)?;
        }
        self.begin_manual(ledger)
    }

    fn refuse_waiting(&self, task: &Task) -> Result<(), Failure> {
        match task.open_predecessors {
            0 => Ok(()),
            _ => Err(moves::waits_for(&self.tx.card(task)?).into()),
        }
    }

    fn queue(&mut self, ledger: &mut Ledger) -> Result<(), Failure> {
        if let Some(id) = ledger.task().workflow_id.clone() {
            let workflow = self.workflow(&id)?;
            if !workflow.started {
                let name = workflow.name.clone();
                return Err(Refusal::state(
                    "workflow_not_started",
                    format!("that is a step of `{name}`, which was not started; `andon workflow start {id}` does it"),
                )
                .into());
            }
        }
        self.queue_step(ledger)
    }

    /// PENDING → QUEUED.
    pub(super) fn queue_step(&mut self, ledger: &mut Ledger) -> Result<(), Failure> {
        let now = self.now;
        Ok(ledger.step(TaskStatus::Queued, EventKind::Queued, Map::new(), now, |t| t.start_clock(now))?)
    }

    /// → RUNNING by hand: a run without process, lease or slot, which belongs to the caller.
    fn begin_manual(&mut self, mut ledger: Ledger) -> Result<Task, Failure> {
        let run = self.new_run(ledger.task(), None)?;
        self.step_running(&mut ledger, &run, EventKind::Taken)?;
        let task = self.save(ledger)?;
        self.tx.insert_run(task.seq, &run)?;
        Ok(task)
    }

    pub(super) fn step_running(
        &mut self,
        ledger: &mut Ledger,
        run: &Run,
        kind: EventKind,
    ) -> Result<(), Failure> {
        let data = data([("run", json!(run.id)), ("number", json!(run.number)), ("owner", json!(run.owner))]);
        let manual = run.holder.is_none();
        Ok(ledger.step(TaskStatus::Running, kind, data, self.now, |t| {
            t.epoch = run.epoch;
            t.current_run_id = Some(run.id.clone());
            t.session_id.clone_from(&run.session_id);
            if manual {
                t.deadline_ms = None;
                t.time_left_ms = None;
            }
        })?)
    }

    /// The next run of a task: the epoch only grows; after a parked run the attempt is the same.
    pub(super) fn new_run(&self, task: &Task, holder: Option<&str>) -> Result<Run, Failure> {
        let last = match task.epoch {
            0 => None,
            _ => self.tx.last_run(task.seq)?,
        };
        let attempt =
            last.as_ref().map_or(1, |r| r.attempt + u32::from(r.outcome != Some(RunOutcome::Parked)));
        Ok(Run {
            id: RunId::from_random((self.random)()),
            task_id: task.id.clone(),
            number: last.map_or(1, |r| r.number + 1),
            epoch: task.epoch + 1,
            attempt,
            owner: match holder {
                Some(_) => task.executor.as_ref().map_or("andon".to_owned(), |e| match e.lane() {
                    "" => "andon".to_owned(),
                    agent => agent.to_owned(),
                }),
                None => self.actor.name().to_owned(),
            },
            holder: holder.map(str::to_owned),
            session_id: format!("task:{}", task.id),
            lease_until_ms: holder.map(|_| self.now + self.policy.lease_ms),
            started_at_ms: self.now,
            ended_at_ms: None,
            deadline_ms: task.deadline_ms.filter(|_| holder.is_some()),
            process: None,
            closing_as: None,
            closing_text: String::new(),
            closing_self: false,
            outcome: None,
            exit_code: None,
            exit_signal: None,
            note: String::new(),
            parked: false,
            usage: None,
        })
    }

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
        self.close_question(ledger.task(), WaitState::Superseded)?;
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
        self.close_question(ledger.task(), WaitState::Cancelled)?;
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

    /// FAILED → QUEUED within the budget; a step of a closed workflow is refused.
    pub(super) fn retry(&mut self, which: &IdRef) -> Result<Task, Failure> {
        let mut ledger = self.open(which)?;
        let task = ledger.task();
        refuse_unless(task, "retry", TaskStatus::Failed, TaskStatus::Queued)?;
        if let Some(id) = task.workflow_id.clone() {
            let seq = task.seq;
            let workflow = self.workflow(&id)?;
            if workflow.status.is_closed() || workflow.counts.swept > 0 || workflow.counts.cancelled > 0 {
                return Err(Refusal::state(
                    "workflow_closed",
                    format!(
                        "task #{seq} is a step of workflow `{}`, which has ended; `andon workflow rerun {id} \
                         --from-failed` makes a new one that keeps what succeeded",
                        workflow.name
                    ),
                )
                .with_detail(json!({ "workflow_id": id }))
                .into());
            }
        }
        retry::may_retry(ledger.task())?;
        self.step_retry(&mut ledger, 0, "asked for")?;
        self.save(ledger)
    }

    /// FAILED → QUEUED, counted.
    pub(super) fn step_retry(
        &mut self,
        ledger: &mut Ledger,
        wait_ms: i64,
        cause: &str,
    ) -> Result<(), Failure> {
        let now = self.now;
        let data = data([("cause", json!(cause)), ("wait_ms", json!(wait_ms))]);
        Ok(ledger.step(TaskStatus::Queued, EventKind::Retried, data, now, |t| {
            t.retry_count += 1;
            t.not_before_ms = (wait_ms > 0).then_some(now + wait_ms);
            t.start_clock(now);
        })?)
    }

    /// BLOCKED → QUEUED; a process that lives on and waits goes on in its run.
    pub(super) fn unblock(&mut self, which: &IdRef, run_next: bool) -> Result<Task, Failure> {
        let mut ledger = self.open(which)?;
        let task = ledger.task();
        refuse_unless(task, "unblock", TaskStatus::Blocked, TaskStatus::Queued)?;
        self.close_question(task, WaitState::Superseded)?;
        if let Some(run) = self.tx.active_run(task.seq)? {
            self.unpark(&mut ledger, run, EventKind::Unblocked)?;
            return self.save(ledger);
        }
        self.requeue(&mut ledger, EventKind::Unblocked, run_next)?;
        self.save(ledger)
    }

    /// BLOCKED → RUNNING in the run that waited.
    pub(super) fn unpark(
        &mut self,
        ledger: &mut Ledger,
        mut run: Run,
        kind: EventKind,
    ) -> Result<(), Failure> {
        run.parked = false;
        self.tx.update_run(&run)?;
        let (now, dispatched) = (self.now, run.is_dispatched());
        let data = data([("run", json!(run.id))]);
        Ok(ledger.step(TaskStatus::Running, kind, data, now, |t| {
            t.current_run_id = Some(run.id.clone());
            if dispatched {
                t.run_clock(now);
            }
        })?)
    }

    /// → QUEUED, from BLOCKED, SUSPENDED or REVIEW.
    pub(super) fn requeue(
        &mut self,
        ledger: &mut Ledger,
        kind: EventKind,
        run_next: bool,
    ) -> Result<(), Failure> {
        let now = self.now;
        Ok(ledger.step(TaskStatus::Queued, kind, Map::new(), now, |t| {
            t.run_next = run_next;
            // An answer goes on with the same attempt, everything else begins a new one.
            match kind {
                EventKind::Answered => t.run_clock(now),
                _ => t.start_clock(now),
            }
        })?)
    }

    pub(super) fn resume(&mut self, which: &IdRef, run_next: bool) -> Result<Task, Failure> {
        let mut ledger = self.open(which)?;
        let task = ledger.task();
        refuse_unless(task, "resume", TaskStatus::Suspended, TaskStatus::Queued)?;
        self.requeue(&mut ledger, EventKind::Resumed, run_next)?;
        self.save(ledger)
    }

    pub(super) fn approve(&mut self, which: &IdRef) -> Result<Task, Failure> {
        self.only_operator("approving work")?;
        let mut ledger = self.open(which)?;
        let task = ledger.task();
        refuse_unless(task, "approve", TaskStatus::Review, TaskStatus::Success)?;
        ledger.step(
            TaskStatus::Success,
            EventKind::Succeeded,
            data([("approved", json!(true))]),
            self.now,
            |_| {},
        )?;
        let task = self.save(ledger)?;
        self.after_settling(&task)?;
        Ok(task)
    }

    pub(super) fn reject(&mut self, which: &IdRef, feedback: Option<String>) -> Result<Task, Failure> {
        self.only_operator("rejecting work")?;
        let mut ledger = self.open(which)?;
        let task = ledger.task();
        refuse_unless(task, "reject", TaskStatus::Review, TaskStatus::Queued)?;
        let feedback = text::limited("feedback", feedback.as_deref().unwrap_or("").trim(), TEXT_LIMIT)?;
        let now = self.now;
        let data = data([("feedback", json!(feedback))]);
        ledger.step(TaskStatus::Queued, EventKind::Rejected, data, now, |t| {
            t.review_summary.clone_from(&feedback);
            t.metadata.insert("feedback".to_owned(), json!(feedback));
            t.start_clock(now);
        })?;
        self.save(ledger)
    }

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
                self.close_question(&task, WaitState::Superseded)?;
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

    /// What the settling of a task causes: successors are freed, a workflow is advanced or swept.
    pub(super) fn after_settling(&mut self, task: &Task) -> Result<(), Failure> {
        match task.status {
            TaskStatus::Success => {
                for next in self.tx.needed_by(task.seq)? {
                    let ledger = self.open_seq(next)?;
                    self.freed(ledger, task, EventKind::PredecessorDone)?;
                }
                Ok(())
            }
            TaskStatus::Failed | TaskStatus::Cancelled if !is_swept(task) => match &task.workflow_id {
                Some(workflow) => self.sweep(workflow, task, false).map(|_| ()),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// A verb that takes a task out of one status is refused for any other.
fn refuse_unless(task: &Task, verb: &str, wanted: TaskStatus, to: TaskStatus) -> Result<(), Refusal> {
    match task.status == wanted {
        true => Ok(()),
        false => Err(Refusal::wrong_verb(task.seq, verb, wanted, task.status, to)),
    }
}
