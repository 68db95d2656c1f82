//! Whether a caller may make a call: what the approval policy asks a person about waits here for the decision, whatever
//! way the call came in. A step of a workflow was asked about before its run was started, and does not pass here.

use serde_json::{Map, Value, json};

use super::context::ToolContext;
use super::error::{ErrorClass, ToolError};
use super::shape::Risk;
use super::waiting::{LOOK_AGAIN, Woken};
use crate::domain::approval::{Call, Rule};
use crate::domain::{Approval, ApprovalId, WaitState};
use crate::engine::{Command, Outcome, denied_by};

/// Returns when the call may be made; blocks for as long as a person takes to decide.
pub fn obtain(
    ctx: &ToolContext,
    tool: &str,
    risk: Risk,
    params: &Map<String, Value>,
) -> Result<(), ToolError> {
    let call = Call::of_tool(tool, risk, params, &ctx.cwd.to_string_lossy());
    if ctx.engine.rule(&ctx.actor, &call)? == Rule::Allow {
        return Ok(());
    }
    let permit = Command::Permit { task: ctx.own_task(), call: Box::new(call) };
    match ctx.engine.execute(permit, &ctx.actor)? {
        Outcome::Approval(asked) => decision(ctx, &asked.id),
        _ => Ok(()),
    }
}

fn decision(ctx: &ToolContext, id: &ApprovalId) -> Result<(), ToolError> {
    loop {
        let seen = ctx.engine.last_seq()?;
        let approval = ctx.engine.approval(id)?;
        match approval.state {
            WaitState::Open => {
                if ctx.waiting.for_change(&ctx.engine, seen, LOOK_AGAIN)? != Woken::Look {
                    ctx.attend(id.as_str(), false)?;
                    if ctx.engine.approval(id)?.state == WaitState::Open {
                        return Err(parked(id));
                    }
                }
            }
            WaitState::Allowed | WaitState::Consumed => return Ok(()),
            _ => return Err(refused(&approval)),
        }
    }
}

fn parked(id: &ApprovalId) -> ToolError {
    let said = "parked: end your turn. The call was not made: a person has to allow it, and their decision resumes this \
                task in a new turn. Make the same call again then";
    ToolError::new(ErrorClass::State, "parked", said).with_detail(json!({ "approval_id": id }))
}

fn refused(approval: &Approval) -> ToolError {
    let id = &approval.id;
    let (class, code, message) = match approval.state {
        WaitState::Denied => (ErrorClass::NotAllowed, "denied", denied_by(approval)),
        WaitState::Cancelled => (
            ErrorClass::State,
            "approval_cancelled",
            format!("approval {id} was withdrawn, since its task was cancelled; the call was not made"),
        ),
        WaitState::Expired => (
            ErrorClass::State,
            "approval_expired",
            format!(
                "nobody decided approval {id} before the time of the task was over; the call was not made"
            ),
        ),
        _ => (
            ErrorClass::State,
            "approval_superseded",
            format!(
                "approval {id} is no longer asked for: another question took its place, or the task goes on without \
                 it; the call was not made"
            ),
        ),
    };
    let detail = json!({ "approval_id": id, "state": approval.state, "reason": approval.reason });
    ToolError::new(class, code, message).with_detail(detail)
}
