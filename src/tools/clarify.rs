//! The tool `clarify`: a task asks a person. Inside a run the caller waits for the answer by default, its task
//! BLOCKED and its slot free meanwhile; a caller that does not wait ends, and its next run gets the answer.

use serde_json::{Value, json};

use super::context::ToolContext;
use super::error::{ErrorClass, ToolError};
use super::params::Params;
use super::shape::{Action, Field, Kind, Risk, Shape};
use super::waiting::{LOOK_AGAIN, Woken};
use crate::domain::time::SECOND_MS;
use crate::domain::{IdRef, Question, QuestionId, WaitState};
use crate::engine::{Command, Outcome};

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
    let text = params.text_or_empty("question");
    let options = params.texts("options").unwrap_or_default();
    let expires_at_ms =
        params.small("expires_in_seconds").map(|seconds| ctx.engine.now() + i64::from(seconds) * SECOND_MS);
    let question = match asked_already(ctx, &text, &options)? {
        Some(question) => {
            ctx.attend(question.as_str(), wait)?;
            ctx.engine.question(&question)?
        }
        None => {
            let waits = inside && wait;
            taken(ctx, Command::Ask { task, question: text, options, waits, expires_at_ms })?
        }
    };
    if !wait {
        return Ok(json!({ "question_id": question.id, "state": question.state }));
    }
    ctx.waiting.tell(&question);
    awaited(ctx, &question.id)
}

/// The question that this very run asks already, in the same words: a caller that had lost its patience, or whose
/// connection broke, asks again and means the same.
fn asked_already(ctx: &ToolContext, text: &str, options: &[String]) -> Result<Option<QuestionId>, ToolError> {
    let Some(inside) = &ctx.inside else { return Ok(None) };
    let questions = ctx.engine.task_view(&IdRef::Full(inside.task.0.clone()))?.questions;
    let same = questions.into_iter().rev().find(|question| {
        matches!(question.state, WaitState::Open | WaitState::Answered)
            && question.run_id.as_ref() == Some(&inside.run)
            && question.text == text
            && question.options == options
    });
    Ok(same.map(|question| question.id))
}

fn taken(ctx: &ToolContext, command: Command) -> Result<Question, ToolError> {
    match ctx.engine.execute(command, &ctx.actor)? {
        Outcome::Question(question) => Ok(*question),
        _ => Err(ToolError::failed("no_question", "the question was not recorded; ask again")),
    }
}

/// Waits for the answer to a question as long as the caller does. Once that is over the question stays on the
/// board, and its answer takes the task up again when its run has ended.
pub fn awaited(ctx: &ToolContext, id: &QuestionId) -> Result<Value, ToolError> {
    if let Some(answer) = answer(ctx, id)? {
        return Ok(json!({ "question_id": id, "answer": answer }));
    }
    let message = match ctx.inside {
        Some(_) => {
            ctx.attend(id.as_str(), false)?;
            let left = ctx.engine.question(id)?;
            if matches!(left.state, WaitState::Answered | WaitState::Consumed) {
                return Ok(json!({ "question_id": id, "answer": left.answer }));
            }
            "parked: end your turn. The question is on the board, and its answer resumes this task in a new turn; do \
             not guess it and do not go on without it."
        }
        None => {
            "parked: the question is on the board and nobody has answered it yet; look at the task again later."
        }
    };
    Ok(json!({ "question_id": id, "state": "parked", "message": message }))
}

/// Waits until the question is answered or no longer asked; `None` when the caller waits no longer.
fn answer(ctx: &ToolContext, id: &QuestionId) -> Result<Option<String>, ToolError> {
    loop {
        let seen = ctx.engine.last_seq()?;
        let question = ctx.engine.question(id)?;
        match question.state {
            WaitState::Open => {
                if ctx.waiting.for_change(&ctx.engine, seen, LOOK_AGAIN)? != Woken::Look {
                    return Ok(None);
                }
            }
            WaitState::Answered
            | WaitState::Consumed
            | WaitState::Allowed
            | WaitState::Denied
            | WaitState::Triggered => return Ok(Some(question.answer)),
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
