//! The tool `clarify`: a task asks a person. Inside a run the caller waits for the answer by default, its task
//! BLOCKED and its slot free meanwhile; a caller that does not wait ends, and its next run gets the answer.

use serde_json::{Value, json};
use std::time::Duration;

use super::context::ToolContext;
use super::error::{ErrorClass, ToolError};
use super::params::Params;
use super::shape::{Action, Field, Kind, Risk, Shape};
use crate::domain::time::SECOND_MS;
use crate::domain::{QuestionId, WaitState};
use crate::engine::{Command, Outcome};

/// How long one wait for a change lasts before the question is looked at anyway.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// `clarify`
pub const CLARIFY: Shape = Shape {
    name: "clarify",
    about: "Asks the person a question, with options to pick from or for a free answer, and gives the answer \
            back. The task is BLOCKED until then.",
    risk: Risk::Write,
    fields: &[
        Field { name: "question", kind: Kind::Text, about: "what is asked" },
        Field { name: "options", kind: Kind::Texts, about: "choices; the person may still answer freely" },
        Field { name: "task_id", kind: Kind::Id, about: "the task that asks; your own inside a run" },
        Field {
            name: "wait",
            kind: Kind::Flag,
            about: "wait for the answer; yes inside a run unless false, no outside of one unless true",
        },
        Field {
            name: "expires_in_seconds",
            kind: Kind::Whole(1, 31_536_000),
            about: "give up when nobody has answered by then; never unless given",
        },
    ],
    actions: &[Action {
        name: "",
        about: "",
        needs: &["question"],
        takes: &["options", "task_id", "wait", "expires_in_seconds"],
    }],
};

/// Asks, and waits where the caller waits.
pub fn call(ctx: &ToolContext, params: &Params) -> Result<Value, ToolError> {
    let own = ctx.own_task();
    let task = match params.task("task_id")?.or_else(|| own.clone()) {
        Some(task) => task,
        None => {
            return Err(ToolError::invalid(
                "invalid_params",
                "clarify needs `task_id`: outside a run nobody knows which task asks",
            ));
        }
    };
    let inside = ctx.is_own(&task)?;
    let wait = params.flag("wait").unwrap_or(inside);
    let command = Command::Ask {
        task,
        question: params.text_or_empty("question"),
        options: params.texts("options").unwrap_or_default(),
        waits: inside && wait,
        expires_at_ms: params
            .small("expires_in_seconds")
            .map(|seconds| ctx.engine.now() + i64::from(seconds) * SECOND_MS),
    };
    let Outcome::Question(question) = ctx.engine.execute(command, &ctx.actor)? else {
        return Err(ToolError::failed("no_question", "the question was not recorded; ask again"));
    };
    if !wait {
        return Ok(json!({ "question_id": question.id, "state": question.state }));
    }
    let answer = answer(ctx, &question.id)?;
    Ok(json!({ "question_id": question.id, "answer": answer }))
}

/// Waits, for as long as it takes, until the question is answered or no longer asked.
fn answer(ctx: &ToolContext, id: &QuestionId) -> Result<String, ToolError> {
    loop {
        let seen = ctx.engine.last_seq()?;
        let question = ctx.engine.question(id)?;
        match question.state {
            WaitState::Open => {
                ctx.engine.wait_for_change(seen, LOOK_AGAIN)?;
            }
            WaitState::Answered
            | WaitState::Consumed
            | WaitState::Allowed
            | WaitState::Denied
            | WaitState::Triggered => return Ok(question.answer),
            WaitState::Superseded => {
                return Err(ToolError::new(
                    ErrorClass::State,
                    "question_superseded",
                    format!(
                        "question {id} is no longer asked: another took its place, or the task goes on without it"
                    ),
                ));
            }
            WaitState::Cancelled => {
                return Err(ToolError::new(
                    ErrorClass::State,
                    "question_cancelled",
                    format!("question {id} was withdrawn, since its task was cancelled"),
                ));
            }
            WaitState::Expired => {
                return Err(ToolError::new(
                    ErrorClass::State,
                    "question_expired",
                    format!("nobody answered question {id} in the time that it was given"),
                ));
            }
        }
    }
}
