//! Waits for what comes by itself: the end of a task, an event from outside, a timer. Checking whether it has happened
//! and registering are one transaction; what is triggered can only be consumed, by the run that waits or the next one.

use serde_json::{Map, Value, json};

use super::act::{Act, data};
use super::command::{Outcome, WaitOn};
use super::core::Effect;
use super::handle::{Engine, EngineError};
use super::settle::End;
use crate::domain::id::IdKind;
use crate::domain::text::{TEXT_LIMIT, one_line, shortened};
use crate::domain::time::Millis;
use crate::domain::wait::check_key;
use crate::domain::{
    EventKind, IdRef, Ledger, Refusal, RunOutcome, Task, TaskStatus, Timer, TimerId, Wait, WaitId, WaitKind,
    WaitState, Waiter, Wake, graph, text,
};
use crate::store::Failure;

impl Engine {
    /// One wait of any kind, by its id.
    pub fn wait(&self, id: &WaitId) -> Result<Wait, EngineError> {
        self.inner.store.read(|view| {
            view.wait(id.as_str())?.ok_or_else(|| Refusal::not_found(IdKind::Wait.word(), id.as_str()).into())
        })
    }

    /// The timers that have not gone off, the next one first; with `all` the others too.
    pub fn timers(&self, all: bool) -> Result<Vec<Timer>, EngineError> {
        self.inner.store.read(|view| view.timers(all, 1_000))
    }

    /// The event with this key, if it has arrived.
    pub fn wake(&self, key: &str) -> Result<Option<Wake>, EngineError> {
        self.inner.store.read(|view| view.wake(key))
    }
}

/// What the events about a wait say.
fn about(wait: &Wait) -> Map<String, Value> {
    data([
        ("wait", json!(wait.id)),
        ("kind", json!(wait.kind)),
        ("subject", json!(wait.subject)),
        ("reason", json!(shortened(&wait.reason, 500))),
    ])
}

fn of_task(task: &Task) -> Value {
    json!({
        "task_id": task.id, "seq": task.seq, "status": task.status, "result": task.result, "error": task.error,
    })
}

fn of_timer(timer: &Timer) -> Value {
    json!({ "timer_id": timer.id, "name": timer.name, "due_at_ms": timer.due_at_ms, "state": timer.state })
}

fn of_wake(wake: &Wake) -> Value {
    json!({ "key": wake.key, "data": wake.data, "at_ms": wake.at_ms })
}

impl Act<'_, '_> {
    /// A run waits: what has happened already is handed over at once, else its task becomes BLOCKED as with a question.
    pub(super) fn wait_for(
        &mut self,
        which: &IdRef,
        on: &WaitOn,
        reason: &str,
        expires_at_ms: Option<Millis>,
        asker_waits: bool,
    ) -> Result<Wait, Failure> {
        if reason.trim().is_empty() {
            return Err(
                Refusal::invalid("reason", "say what this is waited for; a reason can't be empty").into()
            );
        }
        let reason = text::limited("reason", reason.trim(), TEXT_LIMIT)?;
        if expires_at_ms.is_some_and(|at| at <= self.now) {
            return Err(Refusal::invalid("expires_at_ms", "a wait can't end before it begins").into());
        }
        let mut ledger = self.open(which)?;
        let task = ledger.task().clone();
        let mut run = self.asking_run(&task)?;
        let (kind, subject) = self.subject(&task, on)?;
        let mut wait = Wait {
            id: WaitId::from_random((self.random)()),
            kind,
            waiter: Waiter::Task(task.id.clone()),
            run_id: Some(run.id.clone()),
            subject,
            reason,
            asked_by: self.actor.name().to_owned(),
            asker_waits,
            state: WaitState::Open,
            outcome: Value::Null,
            asked_at_ms: self.now,
            expires_at_ms,
            closed_at_ms: None,
        };
        if let Some(outcome) = self.happened(&wait)? {
            wait.state = WaitState::Consumed;
            wait.closed_at_ms = Some(self.now);
            wait.outcome = outcome;
            self.tx.insert_wait(Some(task.seq), &wait)?;
            self.tx.deliver_answer(wait.id.as_str(), &run.id)?;
            self.note(EventKind::Triggered, Some(&task), None, about(&wait))?;
            return Ok(wait);
        }
        self.close_waits(&task, WaitState::Superseded)?;
        run.parked = true;
        self.tx.update_run(&run)?;
        let said = shortened(&format!("waits for {}: {}", wait.label(), one_line(&wait.reason)), 500);
        let change = |t: &mut Task| {
            t.blocked_reason = said;
            t.current_run_id = Some(run.id.clone());
        };
        let now = self.now;
        match task.status {
            TaskStatus::Blocked => ledger.edit(EventKind::WaitBegun, about(&wait), now, change),
            _ => ledger.step(TaskStatus::Blocked, EventKind::WaitBegun, about(&wait), now, change)?,
        }
        self.tx.insert_wait(Some(task.seq), &wait)?;
        self.effects.extend(wait.expires_at_ms.map(Effect::WakeAt));
        self.save(ledger)?;
        Ok(wait)
    }

    /// What exactly is waited for. What can never happen is refused.
    fn subject(&self, task: &Task, on: &WaitOn) -> Result<(WaitKind, String), Failure> {
        match on {
            WaitOn::TaskResult(on) => {
                let on = self.tx.resolve(on)?;
                if let Some(path) = graph::path_to(on.seq, task.seq, |n| self.needs_and_awaits(n))? {
                    let path: Vec<String> =
                        std::iter::once(task.seq).chain(path).map(|n| format!("#{n}")).collect();
                    return Err(Refusal::state(
                        "cycle",
                        format!(
                            "task #{} can't wait for the end of #{}: that one waits for it in turn ({}), and none of \
                             them could ever go on",
                            task.seq,
                            on.seq,
                            path.join(" → ")
                        ),
                    )
                    .into());
                }
                Ok((WaitKind::TaskResult, on.id.0))
            }
            WaitOn::Event(key) => Ok((WaitKind::Event, check_key(key)?)),
            WaitOn::Timer(id) => match self.find_timer(id)? {
                timer if timer.state == WaitState::Cancelled => Err(Refusal::state(
                    "timer_cancelled",
                    format!("timer {} was cancelled and never goes off; create another", timer.id),
                )
                .into()),
                timer => Ok((WaitKind::Timer, timer.id.0)),
            },
        }
    }

    /// The numbers of what a task needs, and of the task whose end it waits for.
    pub(super) fn needs_and_awaits(&self, seq: i64) -> Result<Vec<i64>, Failure> {
        let mut needs = self.tx.needs(seq)?;
        if let Some(wait) = self.tx.open_wait(seq)?.filter(|wait| wait.kind == WaitKind::TaskResult) {
            needs.extend(self.tx.task_by_id(&wait.subject.as_str().into())?.map(|task| task.seq));
        }
        Ok(needs)
    }

    /// With what a wait is triggered, where that has happened already; or can never happen, which is told too.
    fn happened(&self, wait: &Wait) -> Result<Option<Value>, Failure> {
        let gone = || Some(json!({ "status": "gone", "subject": wait.subject }));
        Ok(match wait.kind {
            WaitKind::TaskResult => match self.tx.task_by_id(&wait.subject.as_str().into())? {
                Some(task) => task.status.is_settled().then(|| of_task(&task)),
                None => gone(),
            },
            WaitKind::Timer => match self.tx.timer(&wait.subject.as_str().into())? {
                Some(timer) => {
                    let over = timer.state != WaitState::Open || timer.due_at_ms <= self.now;
                    over.then(|| of_timer(&timer))
                }
                None => gone(),
            },
            WaitKind::Event => self.tx.wake(&wait.subject)?.as_ref().map(of_wake),
            WaitKind::Question | WaitKind::Approval | WaitKind::System | WaitKind::Message => None,
        })
    }

    /// Triggers every open wait for this.
    fn trigger_all(&mut self, kind: WaitKind, subject: &str, outcome: &Value) -> Result<usize, Failure> {
        let waits = self.tx.waits_for(kind, subject)?;
        let count = waits.len();
        for wait in waits {
            self.trigger(wait, outcome.clone())?;
        }
        Ok(count)
    }

    /// A task has ended: whoever waited for that goes on.
    pub(super) fn trigger_ends_of(&mut self, task: &Task) -> Result<(), Failure> {
        self.trigger_all(WaitKind::TaskResult, task.id.as_str(), &of_task(task)).map(|_| ())
    }

    /// open → triggered → consumed, where the waiter can go on at once; else it stays triggered until it can.
    pub(super) fn trigger(&mut self, mut wait: Wait, outcome: Value) -> Result<(), Failure> {
        wait.outcome = outcome;
        wait.closed_at_ms = Some(self.now);
        wait.state = WaitState::Triggered;
        let Waiter::Task(id) = &wait.waiter else { return self.tx.update_wait(&wait) };
        let ledger = self.open_id(id)?;
        if ledger.task().status != TaskStatus::Blocked {
            wait.state = WaitState::Superseded;
            return self.tx.update_wait(&wait);
        }
        self.tx.update_wait(&wait)?;
        self.note(EventKind::Triggered, Some(ledger.task()), None, about(&wait))?;
        if self.go_on(ledger, wait.id.as_str(), wait.asker_waits, EventKind::Triggered)? {
            wait.state = WaitState::Consumed;
            self.tx.update_wait(&wait)?;
        }
        Ok(())
    }

    /// The task goes on with what it waited for: the process that waits in its run, or a new run from the queue. False
    /// where its process is about to end: the end hands it over.
    pub(super) fn go_on(
        &mut self,
        mut ledger: Ledger,
        wait: &str,
        asker_waits: bool,
        kind: EventKind,
    ) -> Result<bool, Failure> {
        match self.tx.active_run(ledger.task().seq)? {
            Some(run) if run.is_dispatched() && !asker_waits => return Ok(false),
            Some(run) => {
                self.tx.deliver_answer(wait, &run.id)?;
                self.unpark(&mut ledger, run, kind)?;
            }
            None => self.requeue(&mut ledger, kind, false)?,
        }
        self.save(ledger)?;
        Ok(true)
    }

    /// Closes the open wait of a task for what comes by itself.
    pub(super) fn close_wait(&mut self, task: &Task, state: WaitState) -> Result<(), Failure> {
        let Some(mut wait) = self.tx.open_wait(task.seq)?.filter(|wait| !wait.kind.needs_person()) else {
            return Ok(());
        };
        wait.state = state;
        wait.closed_at_ms = Some(self.now);
        self.tx.update_wait(&wait)?;
        let mut said = about(&wait);
        said.insert("state".to_owned(), json!(state));
        self.note(EventKind::WaitClosed, Some(task), None, said)
    }

    /// A wait for what has happened already, or never can: its task goes on with what became of that.
    pub(super) fn repair_vain_wait(&mut self, seq: i64) -> Result<(), Failure> {
        let Some(wait) = self.tx.open_wait(seq)? else { return Ok(()) };
        match self.happened(&wait)? {
            Some(outcome) => self.trigger(wait, outcome),
            None => Ok(()),
        }
    }

    /// Timers go off, and waits whose time is over end.
    pub(super) fn look_at_waits(&mut self) -> Result<(), Failure> {
        let (due, next_timer) = self.tx.due_timers(self.now)?;
        for mut timer in due {
            timer.state = WaitState::Triggered;
            self.end_timer(timer)?;
        }
        let (over, next_expiry) = self.tx.expired_waits(self.now)?;
        for wait in over {
            self.expire(wait)?;
        }
        self.effects.extend([next_timer, next_expiry].into_iter().flatten().map(Effect::WakeAt));
        Ok(())
    }

    /// Nobody answered, or nothing came, in the time that the asker gave it. A process that waits is told; the next run
    /// of one that has ended is told of a wait, but with nobody to answer its question a task fails.
    fn expire(&mut self, mut wait: Wait) -> Result<(), Failure> {
        let Waiter::Task(id) = &wait.waiter else {
            wait.state = WaitState::Expired;
            wait.closed_at_ms = Some(self.now);
            return self.tx.update_wait(&wait);
        };
        let mut ledger = self.open_id(id)?;
        let run = self.tx.active_run(ledger.task().seq)?;
        if run.as_ref().is_some_and(|run| run.is_dispatched() && !wait.asker_waits) {
            // Its process is about to end.
            return Ok(());
        }
        wait.state = WaitState::Expired;
        wait.closed_at_ms = Some(self.now);
        let is_question = wait.kind == WaitKind::Question;
        if !is_question {
            wait.outcome = json!({ "status": "expired", "subject": wait.subject });
        }
        self.tx.update_wait(&wait)?;
        let mut said = about(&wait);
        said.insert("state".to_owned(), json!(wait.state));
        self.note(EventKind::WaitClosed, Some(ledger.task()), None, said)?;
        match run {
            Some(run) => {
                self.unpark(&mut ledger, run, EventKind::WaitClosed)?;
                self.save(ledger).map(|_| ())
            }
            None if is_question => {
                let question = shortened(&one_line(&wait.reason), 200);
                let error = format!("nobody answered in the time that its question was given: {question}");
                let end = End::of(RunOutcome::Failed, error);
                self.fail_unstarted(ledger, EventKind::WaitClosed, end).map(|_| ())
            }
            None => {
                // Handed to the next run as any outcome is.
                wait.state = WaitState::Consumed;
                self.tx.update_wait(&wait)?;
                self.requeue(&mut ledger, EventKind::Triggered, false)?;
                self.save(ledger).map(|_| ())
            }
        }
    }

    /// An event arrives. The first of each key counts; it is kept, and wakes whoever waits for it now or later.
    pub(super) fn wake(&mut self, key: &str, value: Value) -> Result<Outcome, Failure> {
        let wake =
            Wake { key: check_key(key)?, data: value, by: self.actor.name().to_owned(), at_ms: self.now };
        text::limited("data", &wake.data.to_string(), TEXT_LIMIT)?;
        if !self.tx.insert_wake(&wake)? {
            let first = self.tx.wake(&wake.key)?.unwrap_or(wake);
            return Ok(Outcome::Woken { wake: Box::new(first), first: false, woken: 0 });
        }
        let said = data([("key", json!(wake.key)), ("data", wake.data.clone())]);
        self.note(EventKind::Woken, None, None, said)?;
        let woken = self.trigger_all(WaitKind::Event, &wake.key, &of_wake(&wake))?;
        Ok(Outcome::Woken { wake: Box::new(wake), first: true, woken })
    }

    pub(super) fn create_timer(&mut self, name: &str, due_at_ms: Millis) -> Result<Timer, Failure> {
        let task_id = match &self.actor {
            crate::domain::Actor::Agent { task, .. } => Some(task.clone()),
            _ => None,
        };
        let timer = Timer {
            id: TimerId::from_random((self.random)()),
            name: text::limited("name", name.trim(), text::TITLE_LIMIT)?,
            due_at_ms,
            state: WaitState::Open,
            created_by: self.actor.name().to_owned(),
            task_id,
            created_at_ms: self.now,
            closed_at_ms: None,
        };
        self.tx.insert_timer(&timer)?;
        self.note(EventKind::TimerChanged, None, None, data([("timer", of_timer(&timer))]))?;
        self.effects.push(Effect::WakeAt(due_at_ms));
        Ok(timer)
    }

    pub(super) fn cancel_timer(&mut self, id: &str) -> Result<Timer, Failure> {
        let mut timer = self.find_timer(id)?;
        if timer.state != WaitState::Open {
            let said = format!("timer {} is {} already; there is nothing to cancel", timer.id, timer.state);
            return Err(Refusal::state("timer_over", said).into());
        }
        timer.state = WaitState::Cancelled;
        self.end_timer(timer)
    }

    /// A timer went off or was cancelled; whoever waits for it goes on, and is told which.
    fn end_timer(&mut self, mut timer: Timer) -> Result<Timer, Failure> {
        timer.closed_at_ms = Some(self.now);
        self.tx.update_timer(&timer)?;
        let told = of_timer(&timer);
        self.note(EventKind::TimerChanged, None, None, data([("timer", told.clone())]))?;
        self.trigger_all(WaitKind::Timer, timer.id.as_str(), &told)?;
        Ok(timer)
    }

    fn find_timer(&self, id: &str) -> Result<Timer, Failure> {
        let missing = || Refusal::not_found(IdKind::Timer.word(), id);
        match IdRef::parse(id, IdKind::Timer)? {
            IdRef::Full(id) => self.tx.timer(&TimerId(id))?.ok_or_else(|| missing().into()),
            _ => Err(missing().into()),
        }
    }
}
