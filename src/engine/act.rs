//! One act of the engine: a transaction with the time, who acts, and what is to be done after the commit. All
//! changes of tasks and workflows are written here, so that a step's settling, the unlocked successors and the
//! workflow's status are one transaction (invariant 5).

use serde_json::{Map, Value, json};
use std::collections::HashMap;

use super::core::{Effect, Policy};
use crate::domain::ledger::Draft;
use crate::domain::time::Millis;
use crate::domain::{
    Actor, Event, EventKind, IdRef, Ledger, Refusal, RunId, Task, TaskId, TaskStatus, Workflow, WorkflowId,
    WorkflowStatus, workflow,
};
use crate::store::{Failure, Tx};

/// The state of one act.
pub(super) struct Act<'a, 'c> {
    pub tx: &'a Tx<'c>,
    pub now: Millis,
    pub actor: Actor,
    pub policy: &'a Policy,
    pub random: &'a dyn Fn() -> u64,
    pub effects: Vec<Effect>,
    /// The run that the events of this act come from.
    pub run: Option<RunId>,
    workflows: HashMap<WorkflowId, Touched>,
}

/// A workflow whose steps moved in this act.
#[derive(Clone)]
struct Touched {
    workflow: Workflow,
    changed: bool,
}

/// Data of an event from pairs.
pub(super) fn data<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl<'a, 'c> Act<'a, 'c> {
    pub fn new(
        tx: &'a Tx<'c>,
        now: Millis,
        actor: Actor,
        policy: &'a Policy,
        random: &'a dyn Fn() -> u64,
    ) -> Self {
        let run = match &actor {
            Actor::Agent { run, .. } => Some(run.clone()),
            _ => None,
        };
        Act { tx, now, actor, policy, random, effects: Vec::new(), run, workflows: HashMap::new() }
    }

    /// Opens a task for change.
    pub fn open(&self, reference: &IdRef) -> Result<Ledger, Failure> {
        Ok(Ledger::open(self.tx.resolve(reference)?))
    }

    /// Opens the task with this number.
    pub fn open_seq(&self, seq: i64) -> Result<Ledger, Failure> {
        let task = self.tx.task(seq)?.ok_or_else(|| Refusal::not_found("task", &format!("#{seq}")))?;
        Ok(Ledger::open(task))
    }

    /// Opens the task with this id.
    pub fn open_id(&self, id: &TaskId) -> Result<Ledger, Failure> {
        let task = self.tx.task_by_id(id)?.ok_or_else(|| Refusal::not_found("task", id.as_str()))?;
        Ok(Ledger::open(task))
    }

    /// Writes a new task with its events.
    pub fn insert(&mut self, ledger: Ledger) -> Result<Task, Failure> {
        let (task, drafts) = ledger.close();
        self.tx.insert_task(&task)?;
        if let Some(id) = &task.workflow_id {
            self.touch(id)?.workflow.counts.add(TaskStatus::Pending, false);
        }
        self.log(&task, drafts)?;
        Ok(task)
    }

    /// Writes a changed task with its events, and moves its workflow's counts.
    pub fn save(&mut self, ledger: Ledger) -> Result<Task, Failure> {
        if !ledger.is_dirty() {
            return Ok(ledger.task().clone());
        }
        let loaded = ledger.loaded_version();
        let (task, drafts) = ledger.close();
        let changed = drafts.iter().flat_map(|draft| draft.patch.keys());
        self.tx.update_task(&task, loaded, changed)?;
        for at in [task.deadline_ms, task.not_before_ms].into_iter().flatten() {
            self.effects.push(Effect::WakeAt(at));
        }
        let settled = task.status.is_settled() && drafts.iter().any(|draft| draft.moved.is_some());
        self.log(&task, drafts)?;
        if settled {
            self.trigger_ends_of(&task)?;
        }
        Ok(task)
    }

    fn log(&mut self, task: &Task, drafts: Vec<Draft>) -> Result<(), Failure> {
        let swept = is_swept(task);
        for draft in drafts {
            if let (Some((from, to)), Some(id)) = (draft.moved, &task.workflow_id) {
                self.touch(id)?.workflow.counts.shift(from, to, swept && to == TaskStatus::Cancelled);
            }
            self.tx.append_event(&Event {
                seq: 0,
                at_ms: self.now,
                kind: draft.kind,
                actor: self.actor.name().to_owned(),
                task_id: Some(task.id.clone()),
                task_seq: Some(task.seq),
                workflow_id: task.workflow_id.clone(),
                run_id: self.run.clone(),
                data: draft.data,
                patch: draft.patch,
            })?;
        }
        Ok(())
    }

    /// Appends an event that changes no task.
    pub fn note(
        &self,
        kind: EventKind,
        task: Option<&Task>,
        workflow: Option<&WorkflowId>,
        data: Map<String, Value>,
    ) -> Result<(), Failure> {
        self.tx.append_event(&Event {
            seq: 0,
            at_ms: self.now,
            kind,
            actor: self.actor.name().to_owned(),
            task_id: task.map(|t| t.id.clone()),
            task_seq: task.map(|t| t.seq),
            workflow_id: workflow.or(task.and_then(|t| t.workflow_id.as_ref())).cloned(),
            run_id: self.run.clone(),
            data,
            patch: Map::new(),
        })
    }

    /// Runs `work` so that nothing of it is left when it fails, and the rest of the act stands.
    pub fn attempt<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R, Failure>) -> Result<R, Failure> {
        let tx = self.tx;
        let (workflows, effects, run) = (self.workflows.clone(), self.effects.len(), self.run.clone());
        let done = tx.isolated(|_| work(self));
        if done.is_err() {
            self.workflows = workflows;
            self.effects.truncate(effects);
            self.run = run;
        }
        done
    }

    /// A workflow as it stands within this act.
    pub fn workflow(&mut self, id: &WorkflowId) -> Result<&mut Workflow, Failure> {
        Ok(&mut self.touch(id)?.workflow)
    }

    fn touch(&mut self, id: &WorkflowId) -> Result<&mut Touched, Failure> {
        if !self.workflows.contains_key(id) {
            let found = self.tx.workflow(id)?.ok_or_else(|| Refusal::not_found("workflow", id.as_str()))?;
            self.workflows.insert(id.clone(), Touched { workflow: found, changed: false });
        }
        match self.workflows.get_mut(id) {
            Some(touched) => {
                touched.changed = true;
                Ok(touched)
            }
            None => Err(Refusal::not_found("workflow", id.as_str()).into()),
        }
    }

    /// Ends the act: every workflow that was touched gets the status that follows from its steps.
    pub fn finish(mut self) -> Result<Vec<Effect>, Failure> {
        let touched = std::mem::take(&mut self.workflows);
        for (_, Touched { workflow, changed }) in touched {
            if changed {
                self.write_workflow(workflow)?;
            }
        }
        Ok(self.effects)
    }

    fn write_workflow(&self, mut workflow: Workflow) -> Result<(), Failure> {
        let next =
            workflow::status(workflow.started, workflow.paused, workflow.cancel_requested, &workflow.counts);
        let before = workflow.status;
        if next != before {
            if !before.allows(next) && !via_running(before, next) {
                // A closed workflow stays as it ended, whatever its last runs still do.
                self.tx.update_workflow(&workflow)?;
                return Ok(());
            }
            workflow.status = next;
            workflow.finished_at_ms = next.is_closed().then_some(self.now);
        }
        workflow.version += 1;
        workflow.updated_at_ms = self.now;
        self.tx.update_workflow(&workflow)?;
        if next != before {
            let data = data([("from", json!(before)), ("to", json!(next))]);
            self.note(EventKind::WorkflowChanged, None, Some(&workflow.id), data)?;
        }
        Ok(())
    }

    /// A fresh id of a task.
    pub fn task_id(&self) -> TaskId {
        TaskId::from_random((self.random)())
    }

    /// Refuses what is the operator's to anybody else.
    pub fn only_operator(&self, what: &str) -> Result<(), Failure> {
        if self.actor.is_operator() {
            return Ok(());
        }
        Err(Refusal::not_allowed(format!(
            "{what} is for the person at the board, and this was called from inside a run; ask them, or call it from \
             a terminal of your own"
        ))
        .into())
    }
}

/// PENDING may go on to anything that RUNNING may, within one act.
fn via_running(from: WorkflowStatus, to: WorkflowStatus) -> bool {
    from == WorkflowStatus::Pending && WorkflowStatus::Running.allows(to)
}

/// Whether a task was cancelled on behalf of another.
pub(super) fn is_swept(task: &Task) -> bool {
    task.metadata.get("swept").is_some_and(|v| v == &Value::Bool(true))
}
