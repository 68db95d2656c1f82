//! The tool `notify`: tells the person something without asking. Boards show it, and hooks get it.

use serde_json::{Value, json};

use super::context::ToolContext;
use super::error::ToolError;
use super::params::Params;
use super::shape::{Action, Field, Kind, Risk, Shape};
use crate::domain::{Notice, notice::NoticeLevel};
use crate::engine::Command;

/// `notify`
pub const NOTIFY: Shape = Shape {
    name: "notify",
    about: "Tells the person something that needs no answer: the board shows it, and the hooks of the \
            configuration get it. To ask, use `clarify`.",
    risk: Risk::Write,
    fields: &[
        Field { name: "title", kind: Kind::Text, about: "the news, in one line" },
        Field { name: "message", kind: Kind::Text, about: "more about it" },
        Field {
            name: "level",
            kind: Kind::Word(&["info", "warning", "error"]),
            about: "how loud it is; info",
        },
        Field { name: "task_id", kind: Kind::Id, about: "the task that it is about; your own inside a run" },
    ],
    actions: &[Action { name: "", about: "", needs: &["title"], takes: &["message", "level", "task_id"] }],
};

/// Tells it.
pub fn call(ctx: &ToolContext, params: &Params) -> Result<Value, ToolError> {
    let level = params.text("level").and_then(|word| NoticeLevel::parse(&word)).unwrap_or_default();
    let notice =
        Notice { title: params.text_or_empty("title"), message: params.text_or_empty("message"), level };
    let notice = notice.checked()?;
    let told = json!({ "title": notice.title, "level": notice.level });
    let task = params.task("task_id")?.or_else(|| ctx.own_task());
    ctx.engine.execute(Command::Notify { task, board: ctx.board.clone(), notice }, &ctx.actor)?;
    Ok(told)
}
