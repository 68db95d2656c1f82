//! Workflows. The definition lies in a table of its own, since no step's settling touches it.

use rusqlite::{OptionalExtension, params};

use super::error::Failure;
use super::rows::{self, to_json, workflow_columns};
use super::writer::{Tx, View};
use crate::domain::board::WorkflowBrief;
use crate::domain::id::IdKind;
use crate::domain::{IdRef, Refusal, StepCounts, Workflow, WorkflowDefinition, WorkflowId, WorkflowStatus};

impl View<'_> {
    /// One workflow.
    pub fn workflow(&self, id: &WorkflowId) -> Result<Option<Workflow>, Failure> {
        let sql = concat!("SELECT ", workflow_columns!(), " FROM workflows WHERE id = ?1");
        Ok(self.connection.prepare_cached(sql)?.query_row([id.as_str()], rows::workflow).optional()?)
    }

    /// The workflow that an id, a unique prefix of one, or a unique name means.
    pub fn resolve_workflow(&self, name: &str) -> Result<Workflow, Failure> {
        let missing = || Failure::from(Refusal::not_found("workflow", name));
        let mut statement = self
            .connection
            .prepare_cached("SELECT id FROM workflows WHERE name = ?1 ORDER BY created_at_ms DESC LIMIT 6")?;
        let named: Vec<String> = statement.query_map([name], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let ids = match named.as_slice() {
            [_, ..] => named,
            [] => match IdRef::parse(name, IdKind::Workflow) {
                Ok(IdRef::Full(id)) => vec![id],
                Ok(IdRef::Prefix(prefix)) => self.ids_with_prefix(
                    "SELECT id FROM workflows WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 6",
                    &prefix,
                )?,
                Ok(IdRef::Seq(_)) => Vec::new(),
                Err(refusal) => return Err(refusal.into()),
            },
        };
        match ids.as_slice() {
            [] => Err(missing()),
            [one] => self.workflow(&WorkflowId(one.clone()))?.ok_or_else(missing),
            many => Err(Refusal::ambiguous("workflow", name, many).into()),
        }
    }

    /// What a workflow was made from.
    pub fn definition(&self, id: &WorkflowId) -> Result<WorkflowDefinition, Failure> {
        let sql = "SELECT definition FROM definitions WHERE workflow_id = ?1";
        let found = self.connection.prepare_cached(sql)?.query_row([id.as_str()], |row| rows::json(row, 0));
        found.optional()?.ok_or_else(|| Refusal::not_found("workflow", id.as_str()).into())
    }

    /// All workflows, newest first; with one status where named.
    pub fn workflows(&self, status: Option<WorkflowStatus>) -> Result<Vec<Workflow>, Failure> {
        let sql = concat!(
            "SELECT ",
            workflow_columns!(),
            " FROM workflows WHERE (?1 IS NULL OR status = ?1)
             ORDER BY created_at_ms DESC, id"
        );
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map([status.map(WorkflowStatus::as_str)], rows::workflow)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// A workflow in a few words.
    pub fn workflow_brief(&self, id: &WorkflowId) -> Result<Option<WorkflowBrief>, Failure> {
        let sql = "SELECT id, name, status, counts FROM workflows WHERE id = ?1";
        Ok(self
            .connection
            .prepare_cached(sql)?
            .query_row([id.as_str()], |row| {
                let counts: StepCounts = rows::json(row, 3)?;
                Ok(WorkflowBrief {
                    id: WorkflowId(row.get(0)?),
                    name: row.get(1)?,
                    status: rows::word(row, 2, WorkflowStatus::parse)?,
                    done: counts.success,
                    total: counts.total(),
                })
            })
            .optional()?)
    }

    /// The step counts of a workflow, counted from its tasks.
    pub fn count_steps(&self, id: &WorkflowId) -> Result<StepCounts, Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT status, coalesce(json_extract(metadata, '$.swept'), 0) FROM tasks WHERE workflow_id = ?1",
        )?;
        let found = statement.query_map([id.as_str()], |row| {
            Ok((rows::word(row, 0, crate::domain::TaskStatus::parse)?, row.get::<_, bool>(1)?))
        })?;
        let mut counts = StepCounts::default();
        for step in found {
            let (status, swept) = step?;
            counts.add(status, swept);
        }
        Ok(counts)
    }
}

impl Tx<'_> {
    /// Writes a new workflow.
    pub fn insert_workflow(
        &self,
        workflow: &Workflow,
        definition: &WorkflowDefinition,
    ) -> Result<(), Failure> {
        self.connection
            .prepare_cached(
                "INSERT INTO workflows (id, name, board_id, status, started, paused, cancel_requested, counts,
                   version, rerun_of, created_at_ms, updated_at_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11)",
            )?
            .execute(params![
                workflow.id.as_str(),
                workflow.name,
                workflow.board_id,
                workflow.status.as_str(),
                workflow.started,
                workflow.paused,
                workflow.cancel_requested,
                to_json(&workflow.counts)?,
                workflow.version,
                workflow.rerun_of.as_ref().map(WorkflowId::as_str),
                workflow.created_at_ms,
            ])?;
        self.connection
            .prepare_cached("INSERT INTO definitions (workflow_id, definition) VALUES (?1, ?2)")?
            .execute(params![workflow.id.as_str(), to_json(definition)?])?;
        Ok(())
    }

    /// Writes where a workflow stands.
    pub fn update_workflow(&self, workflow: &Workflow) -> Result<(), Failure> {
        self.connection
            .prepare_cached(
                "UPDATE workflows SET status = ?2, started = ?3, paused = ?4, cancel_requested = ?5, counts = ?6,
                   version = ?7, updated_at_ms = ?8, started_at_ms = ?9, finished_at_ms = ?10 WHERE id = ?1",
            )?
            .execute(params![
                workflow.id.as_str(),
                workflow.status.as_str(),
                workflow.started,
                workflow.paused,
                workflow.cancel_requested,
                to_json(&workflow.counts)?,
                workflow.version,
                workflow.updated_at_ms,
                workflow.started_at_ms,
                workflow.finished_at_ms,
            ])?;
        Ok(())
    }
}
