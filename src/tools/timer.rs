//! The tool `timer`: sets, lists and cancels timers, whose ids `wait_for` takes.

use serde_json::{Map, Value, json};

use super::context::ToolContext;
use super::error::ToolError;
use super::params::Params;
use super::shape::{Action, Field, Kind, Risk, Shape};
use crate::domain::Timer;
use crate::domain::time::{SECOND_MS, rfc3339};
use crate::engine::{Command, Outcome};

/// `timer`
pub const TIMER: Shape = Shape {
    name: "timer",
    about: "Timers: each goes off once, also when its time passed while nothing ran. `wait_for` waits for one.",
    risk: Risk::Write,
    fields: &[
        Field { name: "timer_id", kind: Kind::Text, about: "the timer" },
        Field { name: "in_seconds", kind: Kind::Whole(0, 315_360_000), about: "goes off so long from now" },
        Field {
            name: "at_ms",
            kind: Kind::Whole(0, 253_402_300_799_000),
            about: "goes off then, in milliseconds since 1970 (UTC)",
        },
        Field { name: "name", kind: Kind::Text, about: "a name for people" },
        Field { name: "all", kind: Kind::Flag, about: "those that went off or were cancelled too" },
    ],
    actions: &[
        Action {
            name: "create",
            about: "sets a timer; in_seconds or at_ms is needed.",
            needs: &[],
            takes: &["in_seconds", "at_ms", "name"],
        },
        Action { name: "list", about: "the timers, the next one first.", needs: &[], takes: &["all"] },
        Action {
            name: "cancel",
            about: "cancels one that has not gone off; whoever waits for it is told so.",
            needs: &["timer_id"],
            takes: &[],
        },
    ],
};

/// Carries out one call.
pub fn call(ctx: &ToolContext, params: &Params) -> Result<Value, ToolError> {
    let command = match params.action {
        "list" => {
            let timers = ctx.engine.timers(params.flag("all").unwrap_or(false))?;
            return Ok(
                json!({ "items": timers.iter().map(record).collect::<Vec<_>>(), "next_cursor": null }),
            );
        }
        "cancel" => Command::CancelTimer { timer: params.text_or_empty("timer_id") },
        _ => Command::CreateTimer { name: params.text_or_empty("name"), due_at_ms: due(ctx, params)? },
    };
    match ctx.engine.execute(command, &ctx.actor)? {
        Outcome::Timer(timer) => Ok(record(&timer)),
        other => Err(ToolError::failed("no_timer", format!("the timer was not recorded: {other:?}"))),
    }
}

fn due(ctx: &ToolContext, params: &Params) -> Result<i64, ToolError> {
    match (params.whole("in_seconds"), params.whole("at_ms")) {
        (Some(seconds), None) => Ok(ctx.engine.now() + seconds * SECOND_MS),
        (None, Some(at)) => Ok(at),
        _ => {
            let said = "timer create needs either `in_seconds` or `at_ms`, so that it knows when to go off";
            Err(ToolError::invalid("invalid_params", said))
        }
    }
}

fn record(timer: &Timer) -> Value {
    let mut record = Map::new();
    record.insert("timer_id".to_owned(), json!(timer.id));
    record.insert("name".to_owned(), json!(timer.name));
    record.insert("state".to_owned(), json!(timer.state));
    record.insert("due_at".to_owned(), json!(rfc3339(timer.due_at_ms)));
    record.insert("due_at_ms".to_owned(), json!(timer.due_at_ms));
    record.insert("created_by".to_owned(), json!(timer.created_by));
    record.insert("task_id".to_owned(), json!(timer.task_id));
    Value::Object(record)
}
