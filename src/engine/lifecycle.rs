//! The verbs that begin a task or let it go on. Each is one or several legal steps of the table in one
//! transaction. `ending` has those that end it, `moving` the moves of the board.

use serde_json::{Map, json};

use super::act::{Act, data, is_swept};
use crate::domain::moves;
use crate::domain::text::{self, TEXT_LIMIT};
use crate::domain::{
    Dispatch, EventKind, IdRef, Ledger, Refusal, Run, RunId, RunOutcome, Task, TaskStatus, WaitState, retry,
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

    pub(super) fn refuse_waiting(&self, task: &Task) -> Result<(), Failure> {
        match task.open_predecessors {
            0 => Ok(()),
            _ => Err(moves::waits_for(&self.tx.card(task)?).into()),
        }
    }

    pub(super) fn queue(&mut self, ledger: &mut Ledger) -> Result<(), Failure> {
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
    pub(super) fn begin_manual(&mut self, mut ledger: Ledger) -> Result<Task, Failure> {
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
        self.close_waits(task, WaitState::Superseded)?;
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
            // An answer or a decision goes on with the same attempt, everything else begins a new one.
            match kind {
                EventKind::Answered | EventKind::Allowed | EventKind::Triggered => t.run_clock(now),
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

    /// What the settling of a task causes: successors are freed, a workflow is advanced or swept. Where a part of that
    /// can't be done, because of bad data, the settling stands and so does the rest; the reconciler does it later.
    pub(super) fn after_settling(&mut self, task: &Task) -> Result<(), Failure> {
        match task.status {
            TaskStatus::Success => {
                for next in self.tx.needed_by(task.seq)? {
                    self.advance(task, |act| {
                        let ledger = act.open_seq(next)?;
                        act.freed(ledger, task, EventKind::PredecessorDone).map(|_| ())
                    })?;
                }
                Ok(())
            }
            TaskStatus::Failed | TaskStatus::Cancelled if !is_swept(task) => match &task.workflow_id {
                Some(workflow) => self.advance(task, |act| act.sweep(workflow, task, false).map(|_| ())),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn advance(
        &mut self,
        task: &Task,
        work: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self.attempt(work) {
            Err(failure) if failure.is_about_one_row() => {
                tracing::error!(seq = task.seq, %failure, "what the end of a task causes could not all be done");
                let why = data([("error", json!(failure.to_string()))]);
                self.note(EventKind::AdvanceFailed, Some(task), None, why)
            }
            done => done,
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
