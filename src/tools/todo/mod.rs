//! The tool `todo`: a light list per session, for thinking and planning. It is a file beside the database and
//! nothing else: no card, no step, no event. [`list`] is the list as a value, [`file`] its file, and this page says
//! what a call looks like. It knows its own session and no other's.

pub mod file;
pub mod list;

use serde_json::{Map, Value, json};

use super::context::ToolContext;
use super::error::{ErrorClass, ToolError};
use super::params::Params;
use super::shape::{Action, Field, Kind, Risk, Shape};
use crate::domain::id::IdKind;
use crate::domain::{IdRef, Refusal};
use file::TodoFolder;
use list::{NewTodo, TodoList, TodoStatus};

/// The words for where a todo stands, in a call.
const STATUSES: &[&str] = &["pending", "in_progress", "done", "completed"];

/// `todo`
pub const TODO: Shape = Shape {
    name: "todo",
    about: "A light list of your session, for planning and thinking; nobody schedules it and it is not on the \
            board. What is to be tracked or carried out is a `task`.",
    risk: Risk::Write,
    fields: &[
        Field { name: "title", kind: Kind::Text, about: "what is to be done, in one line" },
        Field {
            name: "items",
            kind: Kind::Tables,
            about: "several at once, each with title and optionally status",
        },
        Field {
            name: "task_id",
            kind: Kind::Text,
            about: "the item: its id, `t_…`, or a unique beginning of it",
        },
        Field {
            name: "status",
            kind: Kind::Word(STATUSES),
            about: "pending, in_progress or done (`completed` means the same)",
        },
    ],
    actions: &[
        Action {
            name: "create",
            about: "adds one item by its title, or several by items.",
            needs: &[],
            takes: &["title", "items", "status"],
        },
        Action { name: "list", about: "the items of the session.", needs: &[], takes: &["status"] },
        Action {
            name: "update",
            about: "changes an item's status or title.",
            needs: &["task_id"],
            takes: &["status", "title"],
        },
        Action { name: "complete", about: "marks an item done.", needs: &["task_id"], takes: &[] },
        Action { name: "delete", about: "removes an item.", needs: &["task_id"], takes: &[] },
    ],
};

/// Carries out one call.
pub fn call(ctx: &ToolContext, params: &Params) -> Result<Value, ToolError> {
    let folder = TodoFolder::beside(ctx.engine.path());
    let session = session(ctx)?;
    let now = ctx.engine.now();
    let status = params.text("status").and_then(|word| TodoStatus::read(&word));
    let which = params.text_or_empty("task_id");
    match params.action {
        "create" => create(&folder, &session, params, status.unwrap_or_default(), now),
        "list" => listed(&folder.read(&session)?, status),
        "update" => {
            let title = params.text("title");
            if status.is_none() && title.is_none() {
                let message = "todo update changes nothing so; give a `status` or a `title`";
                return Err(ToolError::invalid("invalid_params", message));
            }
            change(ctx, &folder, &session, &which, |list| list.update(&which, status, title.as_deref(), now))
        }
        "complete" => change(ctx, &folder, &session, &which, |list| {
            list.update(&which, Some(TodoStatus::Done), None, now)
        }),
        _ => {
            let mut record = change(ctx, &folder, &session, &which, |list| list.delete(&which))?;
            record["deleted"] = json!(true);
            Ok(record)
        }
    }
}

/// The session whose list is meant: that of the run which the caller is a part of, else the one that it named.
fn session(ctx: &ToolContext) -> Result<String, ToolError> {
    let Some(inside) = &ctx.inside else {
        return ctx.session.clone().ok_or_else(|| {
            let message = "todo needs a session: outside of a run nobody knows whose list is meant; name it \
                           with `--session`";
            ToolError::invalid("missing_session", message)
        });
    };
    let task = ctx.engine.task(&IdRef::Full(inside.task.0.clone()))?;
    match &ctx.session {
        Some(named) if *named != task.session_id => Err(ToolError::new(
            ErrorClass::NotAllowed,
            "foreign_session",
            format!(
                "this run works in the session {}, and a session does not see another's todos; leave out the \
                 session",
                task.session_id
            ),
        )),
        _ => Ok(task.session_id),
    }
}

fn create(
    folder: &TodoFolder,
    session: &str,
    params: &Params,
    status: TodoStatus,
    now: i64,
) -> Result<Value, ToolError> {
    let (new, is_list) = match (params.text("title"), params.value("items")) {
        (Some(title), None) => (vec![NewTodo { title, status }], false),
        (None, Some(items)) => (read_items(items, status)?, true),
        _ => {
            let message = "todo create takes a `title`, or `items` for several, and one of the two";
            return Err(ToolError::invalid("invalid_params", message));
        }
    };
    let random = || getrandom::u64().unwrap_or(now.cast_unsigned());
    let added = folder.change(session, |list| list.add(new, now, random))?;
    match (added.first(), is_list) {
        (Some(only), false) => Ok(only.record()),
        _ => Ok(
            json!({ "session": session, "items": added.iter().map(list::Todo::record).collect::<Vec<_>>() }),
        ),
    }
}

/// Several new items, with all faults told at once.
fn read_items(items: &Value, status: TodoStatus) -> Result<Vec<NewTodo>, ToolError> {
    let mut new = Vec::new();
    let mut faults = Vec::new();
    match items.as_array() {
        Some(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                match item
                    .as_object()
                    .map_or(Err("must be a table with a `title`".to_owned()), |item| read_item(item, status))
                {
                    Ok(item) => new.push(item),
                    Err(fault) => faults.push(format!("items[{at}] {fault}")),
                }
            }
        }
        _ => faults.push("`items` must be a list of tables with a `title` each, and not empty".to_owned()),
    }
    match faults.is_empty() {
        true => Ok(new),
        false => Err(ToolError::invalid(
            "invalid_params",
            format!("todo create can't be called so: {}. Nothing was added", faults.join("; ")),
        )
        .with_detail(json!({ "faults": faults }))),
    }
}

fn read_item(item: &Map<String, Value>, status: TodoStatus) -> Result<NewTodo, String> {
    if let Some(unknown) = item.keys().find(|key| !["title", "status"].contains(&key.as_str())) {
        return Err(format!("has an unknown field `{unknown}`; it takes title and status"));
    }
    let title = match item.get("title") {
        Some(Value::String(title)) => crate::domain::text::title(title).map_err(|refusal| refusal.message)?,
        _ => return Err("needs a `title`, which is a text".to_owned()),
    };
    let status = match item.get("status") {
        None | Some(Value::Null) => status,
        Some(word) => word
            .as_str()
            .and_then(TodoStatus::read)
            .ok_or_else(|| format!("has a `status` that is not one of {}", STATUSES.join(", ")))?,
    };
    Ok(NewTodo { title, status })
}

fn listed(list: &TodoList, status: Option<TodoStatus>) -> Result<Value, ToolError> {
    let shown = list.items.iter().filter(|item| status.is_none_or(|wanted| item.status == wanted));
    let items: Vec<Value> = shown.map(list::Todo::record).collect();
    Ok(json!({ "session": list.session, "items": items, "next_cursor": null }))
}

fn change(
    ctx: &ToolContext,
    folder: &TodoFolder,
    session: &str,
    which: &str,
    change: impl FnOnce(&mut TodoList) -> Result<list::Todo, Refusal>,
) -> Result<Value, ToolError> {
    match folder.change(session, change) {
        Ok(item) => Ok(item.record()),
        Err(error) if error.class == ErrorClass::NotFound => {
            Err(if_it_is_a_task(ctx, which).unwrap_or(error))
        }
        Err(error) => Err(error),
    }
}

/// The error for who hands a task to this tool.
fn if_it_is_a_task(ctx: &ToolContext, which: &str) -> Option<ToolError> {
    let reference = IdRef::parse(which, IdKind::Task).ok()?;
    let task = ctx.engine.task(&reference).ok()?;
    let message = format!("{which} is the task #{}, no todo; use the tool `task` for it", task.seq);
    Some(wrong_kind(message, "task"))
}

/// The error for who hands a todo to the tool `task`: `error`, unless the id that it could not find is a todo that
/// the caller may see.
pub fn if_it_is_a_todo(ctx: &ToolContext, which: &str, error: ToolError) -> ToolError {
    let folder = TodoFolder::beside(ctx.engine.path());
    let mine = session(ctx).ok().filter(|session| {
        folder.read(session).is_ok_and(|list| list.items.iter().any(|item| item.id == which))
    });
    let session = mine.or_else(|| match ctx.actor.is_operator() {
        true => folder.session_of(which),
        false => None,
    });
    match session {
        Some(session) => wrong_kind(
            format!("{which} is a todo of the session {session}, no task; use the tool `todo` for it"),
            "todo",
        ),
        None => error,
    }
}

fn wrong_kind(message: String, right: &str) -> ToolError {
    ToolError::new(ErrorClass::NotFound, "wrong_kind", message).with_detail(json!({ "tool": right }))
}
