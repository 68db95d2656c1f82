//! The endpoints of workflows.

use super::call::{Call, Reply};
use super::problem::Problem;
use super::shapes;
use super::table::{Answer, Body, Does, Endpoint, Method};
use super::tasks::limit;
use crate::domain::{Refusal, WorkflowStatus, definition};
use crate::engine::Command;
use crate::tools::{Shape, wire, workflow_file};

/// A row for what steers one workflow.
const fn steer(
    path: &'static str,
    id: &'static str,
    about: &'static str,
    body: &'static Shape,
    command: fn(&Call) -> Result<Command, Problem>,
) -> Endpoint {
    Endpoint {
        method: Method::Post,
        path,
        id,
        about,
        query: &shapes::NOTHING,
        body: Body::Object(body),
        status: 200,
        answer: Answer::One("Workflow"),
        refusals: &[],
        does: Does::Change(command),
    }
}

/// All of them.
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        method: Method::Get,
        query: &shapes::WORKFLOWS,
        body: Body::None,
        answer: Answer::List("WorkflowRow"),
        does: Does::Look(list),
        ..steer("/workflows", "listWorkflows", "Workflows, the newest first", &shapes::NOTHING, create)
    },
    Endpoint {
        query: &shapes::CREATE_WORKFLOW,
        body: Body::Definition,
        status: 201,
        ..steer(
            "/workflows",
            "createWorkflow",
            "Makes a workflow from its definition, JSON or YAML; all faults are told at once",
            &shapes::NOTHING,
            create,
        )
    },
    Endpoint {
        method: Method::Get,
        body: Body::None,
        does: Does::Look(get),
        ..steer(
            "/workflows/{id}",
            "getWorkflow",
            "How a workflow stands, step by step",
            &shapes::NOTHING,
            create,
        )
    },
    steer(
        "/workflows/{id}/start",
        "startWorkflow",
        "Starts a workflow: queues the steps that need nothing",
        &shapes::NOTHING,
        |call| Ok(Command::StartWorkflow { workflow: name(call) }),
    ),
    steer(
        "/workflows/{id}/advance",
        "advanceWorkflow",
        "Repairs a workflow; `changes` is 0 on a healthy one",
        &shapes::NOTHING,
        |call| Ok(Command::AdvanceWorkflow { workflow: name(call) }),
    ),
    steer(
        "/workflows/{id}/pause",
        "pauseWorkflow",
        "Holds the steps that were not claimed yet",
        &shapes::NOTHING,
        |call| Ok(Command::PauseWorkflow { workflow: name(call) }),
    ),
    steer("/workflows/{id}/resume", "resumeWorkflow", "Lets them go", &shapes::NOTHING, |call| {
        Ok(Command::ResumeWorkflow { workflow: name(call) })
    }),
    steer(
        "/workflows/{id}/cancel",
        "cancelWorkflow",
        "Cancels a workflow with all unfinished steps",
        &shapes::NOTHING,
        |call| Ok(Command::CancelWorkflow { workflow: name(call) }),
    ),
    Endpoint {
        status: 201,
        ..steer(
            "/workflows/{id}/rerun",
            "rerunWorkflow",
            "A new workflow from one that has ended",
            &shapes::RERUN,
            |call| {
                let from_failed = call.body.flag("from_failed").unwrap_or(false);
                Ok(Command::RerunWorkflow { workflow: name(call), from_failed })
            },
        )
    },
];

fn name(call: &Call) -> String {
    call.param("id").to_owned()
}

fn list(call: &Call) -> Result<Reply, Problem> {
    let status = call.query.text("status").and_then(|word| WorkflowStatus::parse(&word));
    let mut workflows = call.engine().workflows(status)?;
    if let Some(board) = call.query.text("board_id").filter(|board| board != "*") {
        workflows.retain(|workflow| workflow.board_id == board);
    }
    workflows.truncate(limit(call));
    Ok(Reply::list(workflows.iter().map(wire::workflow_row).collect(), None))
}

fn get(call: &Call) -> Result<Reply, Problem> {
    let view = call.engine().workflow(call.param("id"))?;
    Ok(Reply::Versioned(wire::workflow(&view), view.workflow.version))
}

fn create(call: &Call) -> Result<Command, Problem> {
    let (bytes, is_json) = call.definition.clone().unwrap_or_default();
    // The name decides how it is read; faults name places, not files.
    let file = if is_json { "body.json" } else { "body.yaml" };
    if is_json {
        // The reader takes YAML too, and this says that it is none.
        super::call::json_of::<serde::de::IgnoredAny>(&bytes)?;
    }
    let registry = call.api.registry();
    let definition = workflow_file::read(file, &bytes)
        .and_then(|tree| registry.with_vocabulary(|vocabulary| definition::read(&tree, vocabulary)))
        .map_err(|faults| definition::refusal(&faults))?;
    let cwd = call.query.text("cwd").unwrap_or_else(|| call.api.cwd().to_string_lossy().into_owned());
    if !cwd.starts_with('/') || cwd.contains('\0') {
        return Err(Refusal::invalid("cwd", "the folder is not absolute; write it from / on").into());
    }
    Ok(Command::CreateWorkflow {
        definition: Box::new(definition),
        board: call.query.text("board_id"),
        cwd: Some(cwd),
        start: call.query.flag("start").unwrap_or(false),
    })
}
