//! What must always be true, whatever happened.

use super::world::World;
use andon::domain::{
    Dispatch, QuestionPurpose, Run, RunOutcome, Task, TaskStatus, WaitId, WaitState, event, graph, workflow,
};
use andon::engine::{Window, look_for};
use std::collections::HashMap;

impl World {
    pub fn check(&mut self) {
        let tasks = self.tasks();
        let story = |what: String, world: &World| -> ! { panic!("{what}\n{}", world.story()) };
        let runs: HashMap<i64, Vec<Run>> =
            tasks.iter().map(|t| (t.seq, self.store.read(|view| view.runs_of(t.seq)).unwrap())).collect();
        for task in &tasks {
            let active: Vec<&Run> = runs[&task.seq].iter().filter(|r| r.is_active()).collect();
            let working: Vec<&&Run> = active.iter().filter(|r| !r.parked).collect();
            let ok = match task.status {
                TaskStatus::Running => {
                    working.len() == 1
                        && working[0].epoch == task.epoch
                        && task.current_run_id.as_ref() == Some(&working[0].id)
                }
                TaskStatus::Blocked => working.is_empty() && active.len() <= 1,
                _ => active.is_empty(),
            };
            if !ok {
                story(format!("#{} is {} with active runs {active:?}", task.seq, task.status), self);
            }
            if let Some(known) = self.closed.get(&task.id)
                && *known != task.status
            {
                story(format!("#{} left {known} for {}", task.seq, task.status), self);
            }
            if task.status.is_closed() {
                self.closed.insert(task.id.clone(), task.status);
            }
            let epoch = self.epochs.entry(task.id.clone()).or_insert(0);
            if task.epoch < *epoch {
                story(format!("#{}'s epoch fell", task.seq), self);
            }
            *epoch = task.epoch;
            let counted = self.store.read(|view| view.count_open_predecessors(task.seq)).unwrap();
            // What is closed waits for nothing, and what it needed may have been removed.
            if counted != task.open_predecessors && !task.status.is_closed() {
                story(
                    format!(
                        "#{} counts {} open predecessors, there are {counted}",
                        task.seq, task.open_predecessors
                    ),
                    self,
                );
            }
            if task.status == TaskStatus::Running && counted > 0 {
                story(format!("#{} runs before its predecessors", task.seq), self);
            }
            if task.retry_count > task.max_retries {
                story(format!("#{} was retried too often", task.seq), self);
            }
            self.check_question(task, &runs[&task.seq]);
            self.check_wakes(task, &tasks);
        }
        let seqs: Vec<i64> = tasks.iter().map(|t| t.seq).collect();
        let needs = |n: i64| self.store.read(|view| view.needs(n)).unwrap();
        if !graph::cycles(&seqs, needs).is_empty() {
            story("the dependencies have a cycle".into(), self);
        }
        for id in &self.workflows.clone() {
            let (found, counted) =
                self.store.read(|view| Ok((view.workflow(id)?.unwrap(), view.count_steps(id)?))).unwrap();
            if found.counts != counted {
                story(
                    format!("workflow {} counts {:?}, there are {counted:?}", found.name, found.counts),
                    self,
                );
            }
            let follows = workflow::status(found.started, found.paused, found.cancel_requested, &counted);
            if found.status != follows && !found.status.is_closed() {
                story(format!("workflow {} is {} and should be {follows}", found.name, found.status), self);
            }
        }
        self.check_nothing_to_repair();
    }

    /// What the engine does by itself never leaves anything for the reconciler.
    fn check_nothing_to_repair(&self) {
        // Without a dispatcher that has begun, runs are orphans until the next one begins.
        let Some(shell) = self.holder.as_ref().filter(|shell| shell.has_begun()) else { return };
        // One that lost the lock before its beginning was written may write that late, and is the last one then.
        if self.store.read(|view| view.is_last_dispatcher(&shell.id)).unwrap() != Some(true) {
            return;
        }
        let vouched = self.vouched(shell);
        let (now, window) = (self.core.now(), Window::whole());
        let (found, _) =
            self.store.read(|view| look_for(view, Some(&shell.id), &vouched, now, &window)).unwrap();
        assert!(found.is_empty(), "the reconciler would repair {found:?}\n{}", self.story());
    }

    fn check_question(&mut self, task: &Task, runs: &[Run]) {
        let questions = self.store.read(|view| view.questions_of(task.seq)).unwrap();
        let approvals = self.store.read(|view| view.approvals_of(task.seq)).unwrap();
        let open = questions.iter().filter(|q| q.state == WaitState::Open).count()
            + approvals.iter().filter(|a| a.state == WaitState::Open).count();
        let waits = self.store.read(|view| view.waits_of(task.seq)).unwrap();
        let open = open + waits.iter().filter(|w| w.state == WaitState::Open).count();
        let states = questions.iter().map(|q| (WaitId(q.id.0.clone()), q.state));
        let states = states.chain(approvals.iter().map(|a| (WaitId(a.id.0.clone()), a.state)));
        let states: Vec<_> = states.chain(waits.iter().map(|w| (w.id.clone(), w.state))).collect();
        let unread =
            states.iter().filter(|(_, s)| matches!(s, WaitState::Answered | WaitState::Triggered)).count();
        assert!(unread <= 1, "two outcomes that nobody has read\n{}", self.story());
        for (id, state) in states {
            let before = self.waits.insert(id.clone(), state).unwrap_or_default();
            assert!(may_follow(before, state), "wait {id} went from {before} to {state}\n{}", self.story());
        }
        assert!(open <= 1, "it waits for two things\n{}", self.story());
        assert!(
            open == 0 || task.status == TaskStatus::Blocked,
            "#{} asks while {}\n{}",
            task.seq,
            task.status,
            self.story()
        );
        let lost = runs.iter().filter(|r| r.outcome == Some(RunOutcome::Lost)).count();
        let leave = questions.iter().filter(|q| q.purpose != QuestionPurpose::Clarify).count()
            + task.retry_count as usize;
        let again = runs.windows(2).filter(|two| two[0].outcome == Some(RunOutcome::Lost)).count();
        assert!(again <= leave, "#{} ran again without leave\n{}", task.seq, self.story());
        let asked = questions.iter().filter(|q| q.purpose != QuestionPurpose::Clarify).count();
        assert!(asked <= lost, "a question about a lost run that was not lost\n{}", self.story());
    }

    /// Whatever is neither closed nor manual has something that wakes it, or is lit.
    fn check_wakes(&self, task: &Task, tasks: &[Task]) {
        if task.dispatch == Dispatch::Manual || task.status != TaskStatus::Pending {
            return;
        }
        let Some(id) = &task.workflow_id else { return };
        let found = self.store.read(|view| view.workflow(id)).unwrap().unwrap();
        if found.started && !found.status.is_closed() {
            let waits = task.open_predecessors > 0;
            let ended_badly = tasks.iter().any(|t| {
                t.workflow_id.as_ref() == Some(id)
                    && matches!(t.status, TaskStatus::Failed | TaskStatus::Cancelled)
            });
            assert!(waits && !ended_badly, "step #{} is forgotten\n{}", task.seq, self.story());
        }
    }

    /// The events of each task give its row.
    pub fn check_replay(&self) {
        for task in self.tasks() {
            let events = self.store.read(|view| view.events(0, Some(&task.id), usize::MAX)).unwrap();
            let replayed = event::replay(events.iter().map(|e| &e.patch)).unwrap();
            assert_eq!(replayed, task, "the events of #{} do not give its row\n{}", task.seq, self.story());
        }
    }
}

/// The one life of every wait: what is triggered can only be consumed, unless its task is cancelled.
fn may_follow(before: WaitState, now: WaitState) -> bool {
    use WaitState::{Allowed, Answered, Cancelled, Consumed, Open, Triggered};
    match before {
        Open => true,
        Answered | Triggered => [before, Consumed, Cancelled].contains(&now),
        Allowed => [before, Consumed].contains(&now),
        _ => now == before,
    }
}
