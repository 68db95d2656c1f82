//! The tool `wait_for`: a run waits for what comes by itself. Inside a run the caller waits in place by default, its task
//! BLOCKED and its slot free meanwhile; one that does not wait ends, and its next run gets the outcome as its answer.

use serde_json::{Value, json};

use super::context::ToolContext;
use super::error::{ErrorClass, ToolError};
use super::params::Params;
use super::shape::{Action, Field, Kind, Risk, Shape};
use super::waiting::{LOOK_AGAIN, Woken};
use crate::domain::time::SECOND_MS;
use crate::domain::{Wait, WaitId, WaitState};
use crate::engine::{Command, Outcome, WaitOn};

/// `wait_for`
pub const WAIT_FOR: Shape = Shape {
    name: "wait_for",
    about: "Waits for the end of a task, for an event from outside, or for a timer, and gives the outcome back. The \
            task is BLOCKED until then. What has happened already is given at once.",
    risk: Risk::Write,
    fields: &[
        Field {
            name: "wake",
            kind: Kind::Word(&["task_result", "external", "timer"]),
            about: "what wakes it: the end of a task, an event from outside, a timer",
        },
        Field {
            name: "resource",
            kind: Kind::Id,
            about: "the task's id or number, the event's key, or the timer_id",
        },
        Field { name: "reason", kind: Kind::Text, about: "what it is waited for" },
        Field {
            name: "expires_in_seconds",
            kind: Kind::Whole(1, 31_536_000),
            about: "give up when nothing has come by then; never unless given",
        },
        Field { name: "task_id", kind: Kind::Id, about: "the task that waits; your own inside a run" },
        Field {
            name: "wait",
            kind: Kind::Flag,
            about: "wait in place; yes inside a run unless false. Without, end the run: the next one gets the outcome",
        },
    ],
    actions: &[Action {
        name: "",
        about: "",
        needs: &["wake", "resource", "reason"],
        takes: &["expires_in_seconds", "task_id", "wait"],
    }],
};

/// Registers the wait, and waits where the caller waits.
pub fn call(ctx: &ToolContext, params: &Params) -> Result<Value, ToolError> {
    let own = ctx.own_task();
    let Some(task) = params.task("task_id")?.or_else(|| own.clone()) else {
        let said = "wait_for needs `task_id`: outside a run nobody knows which task waits";
        return Err(ToolError::invalid("invalid_params", said));
    };
    let inside = ctx.is_own(&task)?;
    let waits = params.flag("wait").unwrap_or(inside);
    let resource = params.text_or_empty("resource");
    let on =
        match params.text_or_empty("wake").to_ascii_lowercase().as_str() {
            "task_result" => WaitOn::TaskResult(params.task("resource")?.ok_or_else(|| {
                ToolError::invalid("invalid_params", "wait_for needs the task in `resource`")
            })?),
            "timer" => WaitOn::Timer(resource),
            _ => WaitOn::Event(resource),
        };
    let seconds = params.small("expires_in_seconds").map(i64::from);
    let command = Command::WaitFor {
        task,
        on,
        reason: params.text_or_empty("reason"),
        expires_at_ms: seconds.map(|seconds| ctx.engine.now() + seconds * SECOND_MS),
        waits: inside && waits,
    };
    let Outcome::Wait(wait) = ctx.engine.execute(command, &ctx.actor)? else {
        return Err(ToolError::failed("no_wait", "the wait was not recorded; try again"));
    };
    match waits && wait.state == WaitState::Open {
        true => outcome(ctx, &wait.id),
        false => Ok(told(&wait)),
    }
}

/// The caller waits no longer: what it waits for comes with the next run of its task.
fn left(ctx: &ToolContext, id: &WaitId) -> Result<Value, ToolError> {
    if ctx.inside.is_some() {
        ctx.attend(id.as_str(), false)?;
    }
    let wait = ctx.engine.wait(id)?;
    let mut told = told(&wait);
    if wait.state == WaitState::Open {
        told["state"] = json!("parked");
        told["message"] = json!("parked: end your turn. What is waited for resumes this task in a new turn.");
    }
    Ok(told)
}

fn told(wait: &Wait) -> Value {
    json!({ "wait_id": wait.id, "state": wait.state, "outcome": wait.outcome })
}

/// Waits, for as long as it takes, until the wait is over.
fn outcome(ctx: &ToolContext, id: &WaitId) -> Result<Value, ToolError> {
    loop {
        let seen = ctx.engine.last_seq()?;
        let wait = ctx.engine.wait(id)?;
        let (code, said) = match wait.state {
            WaitState::Open => {
                if ctx.waiting.for_change(&ctx.engine, seen, LOOK_AGAIN)? != Woken::Look {
                    return left(ctx, id);
                }
                continue;
            }
            WaitState::Superseded => {
                ("wait_superseded", "another took its place, or the task goes on without it")
            }
            WaitState::Cancelled => ("wait_cancelled", "its task was cancelled"),
            WaitState::Expired => ("wait_expired", "nothing came in the time that it was given"),
            _ => return Ok(told(&wait)),
        };
        let said = format!("wait {id} for {} is over without an outcome: {said}", wait.label());
        return Err(ToolError::new(ErrorClass::State, code, said));
    }
}
