//! The tool `workflow`: a named set of steps with dependencies, made and steered as a whole.

use serde_json::{Map, Value, json};

use super::context::ToolContext;
use super::error::ToolError;
use super::params::Params;
use super::record;
use super::shape::{Action, Field, Kind, Risk, Shape};
use crate::domain::definition::{self, Vocabulary};
use crate::domain::{Node, Workflow, WorkflowStatus};
use crate::engine::{Command, Outcome};

/// `workflow`
pub const WORKFLOW: Shape = Shape {
    name: "workflow",
    about: "Workflows: steps with dependencies that the engine runs in order, in parallel where it can.",
    risk: Risk::Write,
    fields: &[
        Field {
            name: "workflow_id",
            kind: Kind::Text,
            about: "the workflow: its id, a unique prefix, or its unique name",
        },
        Field { name: "name", kind: Kind::Text, about: "its name" },
        Field {
            name: "steps",
            kind: Kind::Tables,
            about: "each with id, name, tool_name and tool_params (or agent and goal), and optional depends_on, \
                    retry_max, timeout_seconds, priority, labels, review_required, cwd",
        },
        Field { name: "board_id", kind: Kind::Text, about: "the board of its cards" },
        Field {
            name: "cwd",
            kind: Kind::Text,
            about: "the folder its steps run in; the caller's unless given",
        },
        Field { name: "start", kind: Kind::Flag, about: "start it at once" },
        Field { name: "status", kind: Kind::Text, about: "only workflows with this status" },
    ],
    actions: &[
        Action {
            name: "create",
            about: "makes a workflow; name and steps are needed.",
            // Read as a whole by the definition's reader, which tells all faults together.
            needs: &[],
            takes: &["name", "steps", "board_id", "cwd", "start"],
        },
        Action {
            name: "start",
            about: "queues the steps that need nothing.",
            needs: &["workflow_id"],
            takes: &[],
        },
        Action { name: "status", about: "the workflow with its steps.", needs: &["workflow_id"], takes: &[] },
        Action {
            name: "advance",
            about: "repairs it; reports how many changes were needed, 0 on a healthy one.",
            needs: &["workflow_id"],
            takes: &[],
        },
        Action {
            name: "pause",
            about: "holds the steps that were not claimed yet.",
            needs: &["workflow_id"],
            takes: &[],
        },
        Action { name: "resume", about: "lets them go.", needs: &["workflow_id"], takes: &[] },
        Action {
            name: "cancel",
            about: "cancels it with all unfinished steps.",
            needs: &["workflow_id"],
            takes: &[],
        },
        Action { name: "list", about: "all workflows, newest first.", needs: &[], takes: &["status"] },
    ],
};

/// Carries out one call.
pub fn call(ctx: &ToolContext, vocabulary: Vocabulary<'_>, params: &Params) -> Result<Value, ToolError> {
    let workflow = params.text_or_empty("workflow_id");
    let command = match params.action {
        "create" => create(ctx, vocabulary, params)?,
        "start" => Command::StartWorkflow { workflow },
        "status" => return Ok(record::of_workflow_view(&ctx.engine.workflow(&workflow)?)),
        "advance" => Command::AdvanceWorkflow { workflow },
        "pause" => Command::PauseWorkflow { workflow },
        "resume" => Command::ResumeWorkflow { workflow },
        "cancel" => Command::CancelWorkflow { workflow },
        _ => return list(ctx, params),
    };
    match ctx.engine.execute(command, &ctx.actor)? {
        Outcome::Workflow(workflow) => with_steps(ctx, &workflow),
        Outcome::Advanced { workflow, changes } => {
            let mut record = with_steps(ctx, &workflow)?;
            record["changes"] = json!(changes);
            Ok(record)
        }
        _ => Ok(Value::Null),
    }
}

fn create(ctx: &ToolContext, vocabulary: Vocabulary<'_>, params: &Params) -> Result<Command, ToolError> {
    let mut tree = Map::new();
    for (key, field) in [("name", "name"), ("board", "board_id"), ("steps", "steps")] {
        if let Some(value) = params.value(field) {
            tree.insert(key.to_owned(), value.clone());
        }
    }
    let definition = definition::read(&Node::from(Value::Object(tree)), vocabulary)
        .map_err(|faults| definition::refusal(&faults))?;
    let cwd = match params.text("cwd") {
        Some(path) => ctx.cwd.join(path),
        None => ctx.cwd.clone(),
    };
    Ok(Command::CreateWorkflow {
        definition: Box::new(definition),
        board: ctx.board.clone(),
        cwd: Some(cwd.to_string_lossy().into_owned()),
        start: params.flag("start").unwrap_or(false),
    })
}

fn with_steps(ctx: &ToolContext, workflow: &Workflow) -> Result<Value, ToolError> {
    Ok(record::of_workflow_view(&ctx.engine.workflow(workflow.id.as_str())?))
}

fn list(ctx: &ToolContext, params: &Params) -> Result<Value, ToolError> {
    let status = match params.text("status") {
        None => None,
        Some(word) => Some(WorkflowStatus::parse(&word).ok_or_else(|| {
            let known: Vec<&str> = WorkflowStatus::ALL.iter().map(|status| status.as_str()).collect();
            ToolError::invalid("invalid_params", format!("`status` must be one of {}", known.join(", ")))
        })?),
    };
    let workflows = ctx.engine.workflows(status)?;
    let items: Vec<Value> = workflows.iter().map(record::of_workflow).collect();
    Ok(json!({ "items": items, "next_cursor": null }))
}
