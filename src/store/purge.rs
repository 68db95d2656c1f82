//! Removal of what has ended long ago. A task goes with everything that hangs on it, a workflow with all its steps;
//! numbers are never given again, so the last event always stays.

use rusqlite::{OptionalExtension, named_params, params};
use serde_json::{Value, json};

use super::error::Failure;
use super::rows;
use super::writer::{Tx, View};
use crate::domain::time::Millis;
use crate::domain::{
    Approval, Event, Question, Refusal, Run, Task, Wait, Workflow, WorkflowDefinition, WorkflowId,
};

/// One thing that goes as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PurgeUnit {
    /// A task that is no step.
    Task(i64),
    /// A workflow with its steps.
    Workflow(WorkflowId),
}

/// Versions and last events of all rows of a unit: it changes with any of them.
pub type Fingerprint = Vec<(i64, i64)>;

/// How far the search for such things has come.
#[derive(Debug, Clone, Copy, Default)]
pub struct PurgeCursor {
    task: i64,
    workflow: i64,
}

/// All that is removed with a task.
#[derive(Debug, Clone)]
pub struct TaskRemains {
    /// The task.
    pub task: Task,
    /// Its runs.
    pub runs: Vec<Run>,
    /// Its questions.
    pub questions: Vec<Question>,
    /// What was asked to be allowed.
    pub approvals: Vec<Approval>,
    /// What else it waited for.
    pub waits: Vec<Wait>,
    /// Its events.
    pub events: Vec<Event>,
    /// The numbers of what it needed.
    pub needs: Vec<i64>,
    /// The numbers of what needed it.
    pub needed_by: Vec<i64>,
    /// What was known of its session.
    pub session: Value,
    /// Its artifacts.
    pub artifacts: Vec<Value>,
}

/// All that is removed with a unit.
#[derive(Debug, Clone)]
pub struct Remains {
    /// The unit.
    pub unit: PurgeUnit,
    /// The workflow, where it is one, with what it was made from and the events that are about it and no step.
    pub workflow: Option<(Workflow, WorkflowDefinition, Vec<Event>)>,
    /// The tasks.
    pub tasks: Vec<TaskRemains>,
}

/// How much was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// Tasks, steps included.
    pub tasks: usize,
    /// Workflows.
    pub workflows: usize,
    /// Runs.
    pub runs: usize,
    /// Events.
    pub events: usize,
}

impl Remains {
    /// What these are as rows.
    pub fn fingerprint(&self) -> Fingerprint {
        let last = |events: &[Event]| events.last().map_or(0, |event| event.seq);
        let workflow = self.workflow.iter().map(|(found, _, events)| (found.version, last(events)));
        let tasks = self.tasks.iter().map(|one| (one.task.version, last(&one.events)));
        workflow.chain(tasks).collect()
    }
}

/// Nothing that is open needs it, is a part of it, or carries it out. A step's neighbours go with it.
macro_rules! needed_by_nobody {
    () => {
        " NOT EXISTS (SELECT 1 FROM dependencies JOIN tasks AS next ON next.seq = dependencies.task_seq
             WHERE dependencies.on_seq = tasks.seq AND next.status NOT IN ('success','cancelled')
               AND (tasks.workflow_id IS NULL OR next.workflow_id IS NOT tasks.workflow_id))
           AND NOT EXISTS (SELECT 1 FROM tasks AS part
             WHERE part.parent_task_id = tasks.id AND part.status NOT IN ('success','cancelled'))
           AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_active
             WHERE runs.task_seq = tasks.seq AND runs.ended_at_ms IS NULL) "
    };
}

/// A task that is no step: closed, or failed and put away, since long.
const TASKS: &str = concat!(
    "SELECT seq FROM tasks
     WHERE seq > :after AND seq <= :upto AND workflow_id IS NULL AND (:board IS NULL OR board_id = :board)
       AND ((status IN ('success','cancelled') AND finished_at_ms <= :before)
         OR (status = 'failed' AND archived_at_ms <= :before))
       AND ",
    needed_by_nobody!(),
    " ORDER BY seq LIMIT :limit"
);

/// A workflow that is closed since long, with all its steps.
const WORKFLOWS: &str = concat!(
    "SELECT rowid, id FROM workflows
     WHERE rowid > :after AND (:id IS NULL OR id = :id) AND (:board IS NULL OR board_id = :board)
       AND status IN ('success','failed','cancelled') AND finished_at_ms <= :before
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.workflow_id = workflows.id AND NOT
         (tasks.status IN ('success','failed','cancelled') AND tasks.finished_at_ms <= :before AND ",
    needed_by_nobody!(),
    "))
     ORDER BY rowid LIMIT :limit"
);

impl View<'_> {
    /// What ended before `before` and can go, at most about `limit` units; of one board where named. Moves the cursor
    /// on; nothing more is there when nothing is given.
    pub fn purgeable(
        &self,
        before: Millis,
        board: Option<&str>,
        cursor: &mut PurgeCursor,
        limit: u32,
    ) -> Result<Vec<PurgeUnit>, Failure> {
        let mut units = Vec::new();
        let mut statement = self.connection.prepare_cached(TASKS)?;
        let mut rows = statement.query(named_params! {
            ":after": cursor.task, ":upto": i64::MAX, ":board": board, ":before": before, ":limit": limit,
        })?;
        while let Some(row) = rows.next()? {
            cursor.task = row.get(0)?;
            units.push(PurgeUnit::Task(cursor.task));
        }
        if !units.is_empty() {
            return Ok(units);
        }
        cursor.task = i64::MAX;
        let mut statement = self.connection.prepare_cached(WORKFLOWS)?;
        let mut rows = statement.query(named_params! {
            ":after": cursor.workflow, ":id": None::<&str>, ":board": board, ":before": before,
            ":limit": limit.div_ceil(20),
        })?;
        while let Some(row) = rows.next()? {
            cursor.workflow = row.get(0)?;
            units.push(PurgeUnit::Workflow(WorkflowId(row.get(1)?)));
        }
        Ok(units)
    }

    /// Whether this unit may still go.
    pub fn is_purgeable(&self, unit: &PurgeUnit, before: Millis) -> Result<bool, Failure> {
        let nowhere = None::<&str>;
        let found = match unit {
            PurgeUnit::Task(seq) => self.connection.prepare_cached(TASKS)?.exists(named_params! {
                ":after": seq - 1, ":upto": seq, ":board": nowhere, ":before": before, ":limit": 1,
            })?,
            PurgeUnit::Workflow(id) => self.connection.prepare_cached(WORKFLOWS)?.exists(named_params! {
                ":after": 0, ":id": id.as_str(), ":board": nowhere, ":before": before, ":limit": 1,
            })?,
        };
        Ok(found)
    }

    /// All that would be removed with a unit.
    pub fn remains(&self, unit: &PurgeUnit) -> Result<Remains, Failure> {
        let (workflow, tasks) = match unit {
            PurgeUnit::Task(seq) => (None, vec![self.existing(*seq)?]),
            PurgeUnit::Workflow(id) => {
                let missing = || Refusal::not_found("workflow", id.as_str());
                let found = self.workflow(id)?.ok_or_else(missing)?;
                let events = self.events_of_workflow(id)?;
                (Some((found, self.definition(id)?, events)), self.steps(id)?)
            }
        };
        let tasks = tasks.into_iter().map(|task| self.remains_of_task(task)).collect::<Result<_, _>>()?;
        Ok(Remains { unit: unit.clone(), workflow, tasks })
    }

    /// The fingerprint that [`Remains`] of a unit would have now, and the numbers of its tasks.
    pub fn fingerprint(&self, unit: &PurgeUnit) -> Result<(Fingerprint, Vec<i64>), Failure> {
        let mut marks = Vec::new();
        let (seq, workflow) = match unit {
            PurgeUnit::Task(seq) => (Some(*seq), None),
            PurgeUnit::Workflow(id) => (None, Some(id.as_str())),
        };
        let of_workflow = "SELECT version, coalesce((SELECT max(seq) FROM events
               WHERE events.workflow_id = workflows.id AND task_seq IS NULL), 0)
             FROM workflows WHERE id = ?1";
        if let Some(id) = workflow {
            let mut statement = self.connection.prepare_cached(of_workflow)?;
            marks.extend(statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?);
        }
        let of_tasks = match unit {
            PurgeUnit::Task(_) => {
                "SELECT version, coalesce((SELECT max(seq) FROM events WHERE task_seq = tasks.seq), 0), seq
                 FROM tasks WHERE seq = ?1 AND ?2 IS NULL"
            }
            PurgeUnit::Workflow(_) => {
                "SELECT version, coalesce((SELECT max(seq) FROM events WHERE task_seq = tasks.seq), 0), seq
                 FROM tasks WHERE workflow_id = ?2 AND ?1 IS NULL ORDER BY seq"
            }
        };
        let mut statement = self.connection.prepare_cached(of_tasks)?;
        let mut rows = statement.query(params![seq, workflow])?;
        let mut seqs = Vec::new();
        while let Some(row) = rows.next()? {
            marks.push((row.get(0)?, row.get(1)?));
            seqs.push(row.get(2)?);
        }
        Ok((marks, seqs))
    }

    fn existing(&self, seq: i64) -> Result<Task, Failure> {
        Ok(self.task(seq)?.ok_or_else(|| Refusal::not_found("task", &format!("#{seq}")))?)
    }

    fn remains_of_task(&self, task: Task) -> Result<TaskRemains, Failure> {
        let session = self
            .connection
            .prepare_cached(
                "SELECT facts FROM sessions WHERE task_seq = ?1 ORDER BY created_at_ms DESC LIMIT 1",
            )?
            .query_row([task.seq], |row| rows::json(row, 0))
            .optional()?;
        let mut statement = self.connection.prepare_cached(
            "SELECT kind, reference, detail, created_at_ms FROM artifacts WHERE task_seq = ?1 ORDER BY id",
        )?;
        let artifacts = statement.query_map([task.seq], |row| {
            let (kind, reference): (String, String) = (row.get(0)?, row.get(1)?);
            let (detail, at): (Value, Millis) = (rows::json(row, 2)?, row.get(3)?);
            Ok(json!({ "kind": kind, "reference": reference, "detail": detail, "created_at_ms": at }))
        })?;
        Ok(TaskRemains {
            runs: self.runs_of(task.seq)?,
            questions: self.questions_of(task.seq)?,
            approvals: self.approvals_of(task.seq)?,
            waits: self.waits_of(task.seq)?,
            events: self.events(0, Some(&task.id), usize::MAX)?,
            needs: self.needs(task.seq)?,
            needed_by: self.needed_by(task.seq)?,
            session: session.unwrap_or(Value::Null),
            artifacts: artifacts.collect::<Result<_, _>>()?,
            task,
        })
    }

    fn events_of_workflow(&self, id: &WorkflowId) -> Result<Vec<Event>, Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq, at_ms, kind, actor, task_id, workflow_id, run_id, data, patch, task_seq
             FROM events WHERE workflow_id = ?1 AND task_seq IS NULL ORDER BY seq",
        )?;
        let found = statement.query_map([id.as_str()], rows::event)?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}

impl Tx<'_> {
    /// Removes a task with all that hangs on it; its events only up to the last one of all.
    pub fn purge_task(&self, seq: i64, removed: &mut Removed) -> Result<(), Failure> {
        let delete = |sql: &str| self.connection.prepare_cached(sql)?.execute([seq]);
        delete("DELETE FROM dependencies WHERE task_seq = ?1")?;
        delete("DELETE FROM dependencies WHERE on_seq = ?1")?;
        delete("DELETE FROM deliveries WHERE wait_id IN (SELECT id FROM waits WHERE task_seq = ?1)")?;
        delete("DELETE FROM waits WHERE task_seq = ?1")?;
        delete("DELETE FROM artifacts WHERE task_seq = ?1")?;
        delete("DELETE FROM sessions WHERE task_seq = ?1")?;
        removed.runs += delete("DELETE FROM runs WHERE task_seq = ?1")?;
        removed.events +=
            delete("DELETE FROM events WHERE task_seq = ?1 AND seq < (SELECT max(seq) FROM events)")?;
        removed.tasks += delete("DELETE FROM tasks WHERE seq = ?1")?;
        Ok(())
    }

    /// Removes a workflow whose steps were removed, with the events that are about it alone.
    pub fn purge_workflow(&self, id: &WorkflowId, removed: &mut Removed) -> Result<(), Failure> {
        removed.events += self
            .connection
            .prepare_cached(
                "DELETE FROM events WHERE workflow_id = ?1 AND task_seq IS NULL
                   AND seq < (SELECT max(seq) FROM events)",
            )?
            .execute(params![id.as_str()])?;
        self.connection
            .prepare_cached("DELETE FROM definitions WHERE workflow_id = ?1")?
            .execute([id.as_str()])?;
        removed.workflows +=
            self.connection.prepare_cached("DELETE FROM workflows WHERE id = ?1")?.execute([id.as_str()])?;
        Ok(())
    }
}
