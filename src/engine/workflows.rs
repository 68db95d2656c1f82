//! Workflows: created as a whole with all their step tasks, started, paused, resumed, cancelled, repaired
//! and run again. The engine only orders; it runs nothing.

use serde_json::{Map, json};
use std::collections::HashMap;

use super::act::{Act, data, is_swept};
use super::command::Outcome;
use crate::domain::definition::{self, Vocabulary};
use crate::domain::executor::Work;
use crate::domain::task::DEFAULT_MAX_RETRIES;
use crate::domain::{
    Dispatch, EventKind, Executor, IdRef, Ledger, Refusal, StepCounts, StepDefinition, Task, TaskStatus,
    Workflow, WorkflowDefinition, WorkflowId, WorkflowStatus, text,
};
use crate::store::Failure;

impl Act<'_, '_> {
    pub(super) fn create_workflow(
        &mut self,
        definition: WorkflowDefinition,
        board: Option<String>,
        cwd: Option<String>,
        start: bool,
    ) -> Result<Outcome, Failure> {
        self.check(&definition)?;
        let board = text::board(definition.board_or(board.as_deref().unwrap_or("")))?;
        let writer = self.writer()?;
        let id = self.make_workflow(&definition, &board, cwd.as_deref(), None, &HashMap::new(), &writer)?;
        match start {
            true => self.start_workflow(id.as_str()),
            false => Ok(Outcome::Workflow(Box::new(self.workflow(&id)?.clone()))),
        }
    }

    fn check(&self, definition: &WorkflowDefinition) -> Result<(), Failure> {
        let tools: Vec<&str> = match self.policy.tools.is_empty() {
            true => definition.steps.iter().map(|s| s.tool_name.as_str()).collect(),
            false => self.policy.tools.iter().map(String::as_str).collect(),
        };
        let agents = self.policy.agents.as_deref();
        let vocabulary = Vocabulary { tools: &tools, agents, check: &*self.policy.check };
        definition::recheck(definition, vocabulary).map_err(|faults| definition::refusal(&faults).into())
    }

    /// Writes a workflow with all its step tasks, PENDING. Steps in `kept` are taken over as done.
    fn make_workflow(
        &mut self,
        definition: &WorkflowDefinition,
        board: &str,
        cwd: Option<&str>,
        rerun_of: Option<WorkflowId>,
        kept: &HashMap<String, Task>,
        writer: &str,
    ) -> Result<WorkflowId, Failure> {
        self.tx.ensure_board(board, self.now)?;
        let workflow = Workflow {
            id: WorkflowId::from_random((self.random)()),
            name: definition.name.clone(),
            board_id: board.to_owned(),
            status: WorkflowStatus::Pending,
            started: false,
            paused: false,
            cancel_requested: false,
            counts: StepCounts::default(),
            version: 1,
            rerun_of,
            created_at_ms: self.now,
            updated_at_ms: self.now,
            started_at_ms: None,
            finished_at_ms: None,
        };
        let id = workflow.id.clone();
        self.tx.insert_workflow(&workflow, definition)?;
        let about = data([("name", json!(definition.name)), ("steps", json!(definition.steps.len()))]);
        self.note(EventKind::WorkflowCreated, None, Some(&id), about)?;
        let first = self.tx.next_task_seq()?;
        let seqs: HashMap<&str, i64> =
            definition.steps.iter().zip(first..).map(|(step, seq)| (step.id.as_str(), seq)).collect();
        for (step, seq) in definition.steps.iter().zip(first..) {
            let open = step.depends_on.iter().filter(|on| !kept.contains_key(*on)).count();
            let mut task =
                self.step_task(&id, step, board, cwd, seq, u32::try_from(open).unwrap_or(u32::MAX));
            task.written_by = writer.to_owned();
            self.refuse_denied(task.executor.as_ref(), writer)?;
            let mut ledger = Ledger::create(task, self.now);
            if let Some(done) = kept.get(&step.id) {
                self.take_over(&mut ledger, done)?;
            }
            self.insert_step(ledger)?;
        }
        for step in &definition.steps {
            for on in &step.depends_on {
                if let (Some(task), Some(on)) = (seqs.get(step.id.as_str()), seqs.get(on.as_str())) {
                    self.tx.add_dependency(*task, *on)?;
                }
            }
        }
        Ok(id)
    }

    fn insert_step(&mut self, ledger: Ledger) -> Result<(), Failure> {
        self.insert(ledger).map(|_| ())
    }

    fn step_task(
        &self,
        workflow: &WorkflowId,
        step: &StepDefinition,
        board: &str,
        cwd: Option<&str>,
        seq: i64,
        open_predecessors: u32,
    ) -> Task {
        let mut metadata = Map::new();
        metadata.insert("step_id".to_owned(), json!(step.id));
        let work = if step.agent.is_empty() {
            metadata.insert("tool_name".to_owned(), json!(step.tool_name));
            metadata.insert("tool_params".to_owned(), json!(step.tool_params));
            Work::Tool { name: step.tool_name.clone(), params: step.tool_params.clone() }
        } else {
            metadata.insert("agent".to_owned(), json!(step.agent));
            metadata.insert("goal".to_owned(), json!(step.goal));
            Work::Agent { name: step.agent.clone(), goal: step.goal.clone() }
        };
        let mut executor = Executor::new(work);
        executor.cwd = step.cwd.as_deref().or(cwd).map(str::to_owned);
        Task {
            seq,
            id: self.task_id(),
            workflow_id: Some(workflow.clone()),
            step_id: step.id.clone(),
            board_id: board.to_owned(),
            title: step.name.clone(),
            priority: step.priority,
            labels: step.labels.clone(),
            source: "workflow".to_owned(),
            created_by: self.actor.name().to_owned(),
            retry_max: step.retry_max,
            max_retries: DEFAULT_MAX_RETRIES.max(step.retry_max),
            dispatch: Dispatch::Auto,
            review_required: step.review_required.unwrap_or_else(|| self.policy.is_reviewed(Some(&executor))),
            executor: Some(executor),
            timeout_seconds: Some(step.timeout_seconds),
            metadata,
            open_predecessors,
            ..Task::default()
        }
    }

    /// A step that succeeded in the workflow before: the legal way to SUCCESS, without a run.
    fn take_over(&self, ledger: &mut Ledger, done: &Task) -> Result<(), Failure> {
        let now = self.now;
        let about = || data([("kept_from", json!(done.id))]);
        ledger.step(TaskStatus::Queued, EventKind::Queued, about(), now, |_| {})?;
        ledger.step(TaskStatus::Running, EventKind::Taken, about(), now, |_| {})?;
        ledger.step(TaskStatus::Review, EventKind::ReviewAsked, about(), now, |t| {
            t.result.clone_from(&done.result)
        })?;
        ledger.step(TaskStatus::Success, EventKind::Succeeded, about(), now, |_| {})?;
        Ok(())
    }

    pub(super) fn start_workflow(&mut self, name: &str) -> Result<Outcome, Failure> {
        let id = self.tx.resolve_workflow(name)?.id;
        self.check(&self.tx.definition(&id)?)?;
        let now = self.now;
        let workflow = self.workflow(&id)?;
        if workflow.started || workflow.status.is_closed() {
            let next = match workflow.status.is_closed() {
                true => format!("`andon workflow rerun {id}` makes a new one"),
                false => format!("`andon workflow status {id}` shows how it goes"),
            };
            let said = format!("workflow `{}` is {} already; {next}", workflow.name, workflow.status);
            return Err(Refusal::state("workflow_started", said).into());
        }
        workflow.started = true;
        workflow.started_at_ms = Some(now);
        self.queue_ready_steps(&id)?;
        Ok(Outcome::Workflow(Box::new(self.workflow(&id)?.clone())))
    }

    /// Queues every PENDING step without open predecessors; how many that were.
    fn queue_ready_steps(&mut self, id: &WorkflowId) -> Result<u32, Failure> {
        let mut queued = 0;
        for seq in self.tx.unclaimed_steps(id)? {
            let mut ledger = self.open_seq(seq)?;
            if ledger.task().status == TaskStatus::Pending && ledger.task().open_predecessors == 0 {
                self.queue_step(&mut ledger)?;
                self.save(ledger)?;
                queued += 1;
            }
        }
        Ok(queued)
    }

    /// An idempotent repair: counters, ready steps, and the sweep after a failure are set right where they are
    /// not. Reports 0 changes on a healthy workflow.
    pub(super) fn advance_workflow(&mut self, name: &str) -> Result<Outcome, Failure> {
        let id = self.tx.resolve_workflow(name)?.id;
        let changes = self.repair_workflow(&id)?;
        Ok(Outcome::Advanced { workflow: Box::new(self.workflow(&id)?.clone()), changes })
    }

    pub(super) fn repair_workflow(&mut self, id: &WorkflowId) -> Result<u32, Failure> {
        let mut changes = 0;
        let counted = self.tx.count_steps(id)?;
        let workflow = self.workflow(id)?;
        if workflow.counts != counted {
            workflow.counts = counted;
            changes += 1;
        }
        let (started, closed) = (workflow.started, workflow.status.is_closed());
        if started && !closed {
            let mut ended_badly = None;
            for task in self.tx.steps(id)? {
                changes += u32::from(self.recount_predecessors(Ledger::open(task.clone()))?);
                let ended = matches!(task.status, TaskStatus::Failed | TaskStatus::Cancelled);
                if ended && !is_swept(&task) {
                    ended_badly = Some(task);
                }
            }
            match ended_badly {
                // A step that ran once and was queued anew by a person may go on.
                Some(cause) => changes += self.sweep(id, &cause, true)?,
                None => changes += self.queue_ready_steps(id)?,
            }
        }
        let workflow = self.workflow(id)?;
        let follows = crate::domain::workflow::status(
            workflow.started,
            workflow.paused,
            workflow.cancel_requested,
            &workflow.counts,
        );
        if follows != workflow.status && !workflow.status.is_closed() {
            changes += 1;
        }
        Ok(changes)
    }

    /// A step failed for good or was cancelled: what nobody has claimed is cancelled with the reason.
    /// With `never_ran` only what never ran. Answers how many that were.
    pub(super) fn sweep(&mut self, id: &WorkflowId, cause: &Task, never_ran: bool) -> Result<u32, Failure> {
        let how = match cause.status {
            TaskStatus::Failed => "failed",
            _ => "was cancelled",
        };
        let reason = format!("cancelled since `{}` (#{}) {how}", text::one_line(&cause.title), cause.seq);
        let mut swept = 0;
        for seq in self.tx.unclaimed_steps(id)? {
            let mut ledger = self.open_seq(seq)?;
            if !never_ran || ledger.task().epoch == 0 {
                self.cancel_open(&mut ledger, &reason, true)?;
                self.save(ledger)?;
                swept += 1;
            }
        }
        Ok(swept)
    }

    pub(super) fn pause_workflow(&mut self, name: &str) -> Result<Outcome, Failure> {
        let id = self.open_workflow(name, "paused")?;
        let workflow = self.workflow(&id)?;
        if !workflow.started || workflow.paused {
            let (state, next) = match workflow.paused {
                true => ("is paused already", "`andon workflow resume` lets it go on"),
                false => ("was not started, so nothing of it runs", "`andon workflow start` does it"),
            };
            let said = format!("workflow `{}` {state}; {next}", workflow.name);
            return Err(Refusal::state("not_running", said).into());
        }
        workflow.paused = true;
        self.hold(&id, true)
    }

    pub(super) fn resume_workflow(&mut self, name: &str) -> Result<Outcome, Failure> {
        let id = self.open_workflow(name, "resumed")?;
        let workflow = self.workflow(&id)?;
        if !workflow.paused {
            let said = format!(
                "workflow `{}` is not paused but {}; `andon workflow status {id}` shows what its steps wait for",
                workflow.name, workflow.status
            );
            return Err(Refusal::state("not_paused", said).into());
        }
        workflow.paused = false;
        self.hold(&id, false)
    }

    fn hold(&mut self, id: &WorkflowId, held: bool) -> Result<Outcome, Failure> {
        let now = self.now;
        for seq in self.tx.unclaimed_steps(id)? {
            let mut ledger = self.open_seq(seq)?;
            ledger.edit(EventKind::Held, data([("held", json!(held))]), now, |t| {
                t.held = held;
                match held {
                    true => t.park_clock(now),
                    false => t.run_clock(now),
                }
            });
            self.save(ledger)?;
        }
        Ok(Outcome::Workflow(Box::new(self.workflow(id)?.clone())))
    }

    pub(super) fn cancel_workflow(&mut self, name: &str) -> Result<Outcome, Failure> {
        let id = self.open_workflow(name, "cancelled")?;
        self.workflow(&id)?.cancel_requested = true;
        let reason = "its workflow was cancelled".to_owned();
        let seqs: Vec<i64> = self.tx.steps(&id)?.iter().map(|task| task.seq).collect();
        for seq in seqs {
            // Opened anew each: cancelling one may have swept others.
            let mut ledger = self.open_seq(seq)?;
            if ledger.task().status.is_settled() {
                continue;
            }
            match self.tx.active_run(seq)? {
                None => {
                    self.cancel_open(&mut ledger, &reason, true)?;
                    self.save(ledger)?;
                }
                // One that is being cancelled already stays so.
                Some(run) if run.closing_as == Some(crate::domain::Intent::Cancel) => {}
                Some(_) => {
                    self.cancel(&IdRef::Seq(seq), Some(reason.clone()))?;
                }
            }
        }
        Ok(Outcome::Workflow(Box::new(self.workflow(&id)?.clone())))
    }

    fn open_workflow(&mut self, name: &str, what: &str) -> Result<WorkflowId, Failure> {
        let workflow = self.tx.resolve_workflow(name)?;
        if workflow.status.is_closed() {
            return Err(Refusal::state(
                "workflow_closed",
                format!(
                    "workflow `{}` is {} and can't be {what}; `andon workflow rerun {}` makes a new one",
                    workflow.name, workflow.status, workflow.id
                ),
            )
            .into());
        }
        Ok(workflow.id)
    }

    /// A new workflow from a closed one.
    pub(super) fn rerun_workflow(&mut self, name: &str, from_failed: bool) -> Result<Outcome, Failure> {
        let old = self.tx.resolve_workflow(name)?;
        if !old.status.is_closed() {
            return Err(Refusal::state(
                "workflow_open",
                format!(
                    "workflow `{}` is {} and goes on, and only one that has ended is run again; \
                     `andon workflow cancel {}` ends it",
                    old.name, old.status, old.id
                ),
            )
            .into());
        }
        let definition = self.tx.definition(&old.id)?;
        self.check(&definition)?;
        let steps = self.tx.steps(&old.id)?;
        // Running it again does not turn an agent's words into a person's.
        let writer = match steps.iter().find(|s| !s.written_by.is_empty()) {
            Some(step) => step.written_by.clone(),
            None => self.writer()?,
        };
        let cwd = steps.iter().find_map(|s| s.executor.as_ref().and_then(|e| e.cwd.clone()));
        let kept: HashMap<String, Task> = match from_failed {
            true => steps
                .into_iter()
                .filter(|s| s.status == TaskStatus::Success)
                .map(|s| (s.step_id.clone(), s))
                .collect(),
            false => HashMap::new(),
        };
        if from_failed && kept.len() == definition.steps.len() {
            return Err(Refusal::state(
                "nothing_failed",
                format!("every step of `{}` succeeded; leave out --from-failed to run all again", old.name),
            )
            .into());
        }
        let id =
            self.make_workflow(&definition, &old.board_id, cwd.as_deref(), Some(old.id), &kept, &writer)?;
        self.start_workflow(id.as_str())
    }
}
