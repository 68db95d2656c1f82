//! What a dispatcher does when it looks: it begins, finds orphans, stops what is to be stopped, lets go what is
//! due, and claims what is ready while it has slots.

use serde_json::{Map, json};
use std::collections::BTreeMap;

use super::act::{Act, data};
use super::approvals::Gate;
use super::core::{Effect, Paths};
use super::executor::{GivenAnswer, RunSpec};
use super::settle::End;
use crate::domain::template::{self, Part, Reference};
use crate::domain::time::SECOND_MS;
use crate::domain::{EventKind, Intent, Ledger, Run, RunOutcome, Task, TaskStatus, WorkflowId};
use crate::store::Failure;

/// So many tasks are put aside in one look; the rest is for the next one.
const ASIDE_AT_ONCE: u32 = 100;

/// What became of a task at the head of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claimed {
    /// It has a run, and a slot.
    Started,
    /// It waits for approval, or failed: it is out of the queue and holds no slot.
    PutAside,
    /// Not even that could be written.
    Stuck,
}

impl Act<'_, '_> {
    /// A dispatcher has the lock. All active runs of others are orphans; clocks of queued tasks start now.
    pub(super) fn begin(
        &mut self,
        dispatcher: &str,
        pid: u32,
        slots: u32,
        only: Option<&WorkflowId>,
    ) -> Result<(), Failure> {
        let last_seen = self.tx.dispatcher_last_seen()?;
        if self.tx.dispatcher()?.is_some() {
            self.effects.push(Effect::Check);
        }
        self.tx.begin_dispatcher(dispatcher, pid, slots, self.now)?;
        for run in self.tx.orphaned_runs(dispatcher)? {
            self.effects.push(Effect::Recover { run: run.id, process: run.process });
        }
        // The clocks of what waits stood still while nobody dispatched.
        let now = self.now;
        for task in self.tx.waiting_with_deadline()? {
            if only.is_some() && task.workflow_id.as_ref() != only {
                continue;
            }
            let mut ledger = Ledger::open(task);
            ledger.edit(EventKind::Edited, Map::new(), now, |t| {
                let whole = t.timeout_seconds.map_or(i64::MAX, |seconds| i64::from(seconds) * SECOND_MS);
                t.park_clock(last_seen);
                t.time_left_ms = t.time_left_ms.map(|left| left.min(whole));
                t.run_clock(now);
            });
            self.each(ledger.task().seq, |act| act.save(ledger).map(|_| ()))?;
        }
        Ok(())
    }

    /// Stops what is to be stopped, ends what is out of time, lets go what is due, and says when to look again.
    pub(super) fn look(&mut self, dispatcher: &str, only: Option<&WorkflowId>) -> Result<(), Failure> {
        let (over, next_deadline) = self.tx.overdue(self.now)?;
        for task in over {
            if only.is_none() || task.workflow_id.as_ref() == only {
                self.each(task.seq, |act| act.out_of_time(task))?;
            }
        }
        for (run, by_itself) in self.tx.closing_runs(dispatcher)? {
            self.effects.push(Effect::Stop { run, by_itself });
        }
        let (due, next_due) = self.tx.due(self.now)?;
        for task in due {
            let mut ledger = Ledger::open(task);
            ledger.edit(EventKind::Due, Map::new(), self.now, |t| t.not_before_ms = None);
            self.each(ledger.task().seq, |act| act.save(ledger).map(|_| ()))?;
        }
        self.look_at_waits()?;
        if let Some(at) = [next_deadline, next_due].into_iter().flatten().min() {
            self.effects.push(Effect::WakeAt(at));
        }
        Ok(())
    }

    /// Another dispatcher has begun since this one: what is to be stopped here is stopped, and no more is done.
    pub(super) fn stand_down(&mut self, dispatcher: &str) -> Result<(), Failure> {
        for (run, by_itself) in self.tx.closing_runs(dispatcher)? {
            self.effects.push(Effect::Stop { run, by_itself });
        }
        self.effects.push(Effect::Superseded);
        Ok(())
    }

    /// Does something to one of many tasks. One with bad data must not hold all the others: nothing of it is left,
    /// and it is told of.
    fn each(&mut self, seq: i64, work: impl FnOnce(&mut Self) -> Result<(), Failure>) -> Result<(), Failure> {
        match self.attempt(work) {
            Err(failure) if failure.is_about_one_row() => {
                tracing::warn!(seq, %failure, "a task is passed over");
                Ok(())
            }
            done => done,
        }
    }

    /// Claims what is ready, never more than there are free slots: at each turn the best head of all lanes that
    /// have room.
    pub(super) fn claim(
        &mut self,
        dispatcher: &str,
        slots: u32,
        agents: &[(String, u32)],
        only: Option<&WorkflowId>,
        paths: &Paths,
        careful: bool,
    ) -> Result<(), Failure> {
        if slots == 0 {
            return Ok(());
        }
        let mut free = slots.saturating_sub(self.tx.slots_used()?);
        if free == 0 {
            return Ok(());
        }
        let mut room: BTreeMap<String, u32> = BTreeMap::new();
        let lanes = self.tx.ready_lanes()?;
        if lanes.iter().any(|lane| !lane.is_empty()) {
            let used: BTreeMap<String, u32> = self.tx.slots_by_lane()?.into_iter().collect();
            for (agent, limit) in agents {
                room.insert(agent.clone(), limit.saturating_sub(used.get(agent).copied().unwrap_or(0)));
            }
        }
        let mut passed: Vec<i64> = Vec::new();
        let mut aside = 0;
        let mut heads: Vec<(String, Task)> = Vec::new();
        for lane in lanes {
            // An agent that is not configured has no limit: its run fails with a clear word.
            if room.get(&lane).is_none_or(|r| *r > 0)
                && let Some(task) = self.head(&lane, only, &passed)?
            {
                heads.push((lane, task));
            }
        }
        while free > 0 && !heads.is_empty() {
            let best = heads
                .iter()
                .enumerate()
                .min_by_key(|(_, (_, t))| (!t.run_next, t.priority, t.queued_at_ms, t.seq))
                .map_or(0, |(at, _)| at);
            let (lane, task) = heads.swap_remove(best);
            let seq = task.seq;
            let claimed = match careful {
                false => self.claim_one(dispatcher, task, paths)?,
                true => self.claim_carefully(dispatcher, task, paths)?,
            };
            let taken = claimed == Claimed::Started;
            match claimed {
                Claimed::Started => {}
                Claimed::PutAside => aside += 1,
                // It stays at the head, and those behind it pass.
                Claimed::Stuck => passed.push(seq),
            }
            if aside >= ASIDE_AT_ONCE {
                self.effects.push(Effect::WakeAt(self.now));
                return Ok(());
            }
            free -= u32::from(taken);
            let more = room.get_mut(&lane).is_none_or(|r| {
                *r = r.saturating_sub(u32::from(taken));
                *r > 0
            });
            if free > 0
                && more
                && let Some(next) = self.head(&lane, only, &passed)?
            {
                heads.push((lane, next));
            }
        }
        Ok(())
    }

    /// As `claim_one`, but a task that can't be handed out fails with the reason, and holds no other.
    fn claim_carefully(&mut self, dispatcher: &str, task: Task, paths: &Paths) -> Result<Claimed, Failure> {
        let seq = task.seq;
        let failure = match self.attempt(|act| act.claim_one(dispatcher, task.clone(), paths)) {
            Ok(claimed) => return Ok(claimed),
            Err(failure) if failure.is_about_one_row() => failure,
            Err(failure) => return Err(failure),
        };
        tracing::error!(seq, %failure, "a task can't be handed out");
        let error = format!("it can't be handed out: {failure}");
        let put_aside = self.attempt(|act| {
            let run = act.new_run(&task, None)?;
            let mut ledger = Ledger::open(task);
            act.step_running(&mut ledger, &run, EventKind::Claimed)?;
            act.tx.insert_run(seq, &run)?;
            act.settle(ledger, run, End::of(RunOutcome::Failed, error)).map(|_| ())
        });
        Ok(if put_aside.is_ok() { Claimed::PutAside } else { Claimed::Stuck })
    }

    fn head(&self, lane: &str, only: Option<&WorkflowId>, passed: &[i64]) -> Result<Option<Task>, Failure> {
        match only {
            None => self.tx.next_ready(lane, passed),
            Some(workflow) => self.tx.next_ready_of(lane, workflow, passed),
        }
    }

    fn claim_one(&mut self, dispatcher: &str, task: Task, paths: &Paths) -> Result<Claimed, Failure> {
        match self.gate(&task)? {
            Gate::Open => {}
            Gate::Ask(call) => {
                self.park_for_approval(task, &call)?;
                return Ok(Claimed::PutAside);
            }
            Gate::Shut(error) => {
                let end = End::for_good(RunOutcome::Failed, error);
                self.fail_unstarted(Ledger::open(task), EventKind::Claimed, end)?;
                return Ok(Claimed::PutAside);
            }
        }
        let run = self.new_run(&task, Some(dispatcher))?;
        let mut ledger = Ledger::open(task);
        self.run = Some(run.id.clone());
        self.step_running(&mut ledger, &run, EventKind::Claimed)?;
        let task = self.save(ledger)?;
        self.tx.insert_run(task.seq, &run)?;
        let spec = self.spec(&task, &run, paths)?;
        self.run = None;
        self.effects.push(Effect::Start(Box::new(spec)));
        Ok(Claimed::Started)
    }

    fn spec(&self, task: &Task, run: &Run, paths: &Paths) -> Result<RunSpec, Failure> {
        let executor = task.executor.clone().ok_or_else(|| {
            crate::domain::Refusal::state(
                "no_executor",
                format!(
                    "task #{} has nothing to run; `andon edit {}` gives it a command",
                    task.seq, task.seq
                ),
            )
        })?;
        // The first run of a task has asked nothing yet.
        let undelivered = if run.number > 1 { self.tx.undelivered_answer(task.seq)? } else { None };
        let answer = match undelivered {
            None => None,
            Some(found) => {
                self.tx.deliver_answer(found.id.as_str(), &run.id)?;
                Some(GivenAnswer { question: found.question, answer: found.answer })
            }
        };
        let values = match &task.workflow_id {
            Some(workflow) => self.values(workflow, &executor)?,
            None => BTreeMap::new(),
        };
        let feedback = task.metadata.get("feedback").and_then(|f| f.as_str()).filter(|f| !f.is_empty());
        Ok(RunSpec {
            run: run.id.clone(),
            task: task.id.clone(),
            seq: task.seq,
            epoch: run.epoch,
            number: run.number,
            attempt: run.attempt,
            session: run.session_id.clone(),
            board: task.board_id.clone(),
            title: task.title.clone(),
            description: task.description.clone(),
            executor,
            values,
            answer,
            feedback: feedback.map(str::to_owned),
            log: paths.logs.join(run.id.as_str()),
            database: paths.database.clone(),
        })
    }

    /// The texts of the predecessors that the executor refers to.
    pub(super) fn values(
        &self,
        workflow: &WorkflowId,
        executor: &crate::domain::Executor,
    ) -> Result<BTreeMap<Reference, String>, Failure> {
        let text = serde_json::to_string(executor).unwrap_or_default();
        let mut values = BTreeMap::new();
        for reference in template::references(&text).0 {
            if values.contains_key(&reference) {
                continue;
            }
            let step = self.tx.step(workflow, &reference.step)?;
            let value = step.map(|s| match reference.part {
                Part::Result => s.result,
                Part::Error => s.error,
            });
            values.insert(reference, value.unwrap_or_default());
        }
        Ok(values)
    }

    /// The dispatcher stops: whatever it runs is to be ended as SUSPENDED. A parked run is stopped as it is.
    pub(super) fn suspend_all(&mut self, dispatcher: &str) -> Result<(), Failure> {
        for mut run in self.tx.held_runs(dispatcher)? {
            let task = self.open_id(&run.task_id)?.task().clone();
            if task.status == TaskStatus::Running && Intent::Suspend.may_replace(run.closing_as) {
                run.closing_as = Some(Intent::Suspend);
                run.closing_text = "the program stopped".to_owned();
                self.tx.update_run(&run)?;
                let data = data([("as", json!(Intent::Suspend)), ("run", json!(run.id))]);
                self.note(EventKind::ClosingAs, Some(&task), None, data)?;
            }
            self.effects.push(Effect::Stop { run: run.id, by_itself: false });
        }
        Ok(())
    }
}
