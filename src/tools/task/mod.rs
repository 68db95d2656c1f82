//! The tool `task`: persistent tasks with their whole life, as an agent handles them. [`TASK`] says what a call
//! looks like, [`call`] carries it out through the engine's commands; no rule about tasks lives here.

mod shape;

use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::domain::definition::nearest;
use crate::domain::text::{one_line, shortened};
use crate::domain::{Executor, IdRef, RunId, Task, TaskStatus, Work};
use crate::engine::{Command, NewTask, Outcome, TaskEdit, TaskFilter};
use crate::tools::context::ToolContext;
use crate::tools::error::{ErrorClass, ToolError};
use crate::tools::params::Params;
use crate::tools::record;
use crate::tools::waiting::Woken;

pub use shape::TASK;

/// How many tasks a list has unless it is told otherwise.
const LIST_LIMIT: usize = 50;
/// How long a caller from outside waits for a live run to end; the stop path needs its grace period at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// Carries out one call.
pub fn call(ctx: &ToolContext, agents: Option<&[String]>, params: &Params) -> Result<Value, ToolError> {
    match params.action {
        "create" => {
            let new = new_task(ctx, agents, params)?;
            changed(ctx, params, Command::Create(Box::new(new)))
        }
        "list" => list(ctx, params),
        "get" => {
            let task = ctx.engine.task(&which(ctx, params)?)?;
            record::of_task(&ctx.engine, &task)
        }
        "update" => {
            let edit = Box::new(edit(ctx, agents, params)?);
            let task = which(ctx, params)?;
            changed(ctx, params, Command::Edit { task, edit, if_version: params.whole("version") })
        }
        _ => changed(ctx, params, command(ctx, params)?),
    }
}

/// The command behind an action that is about one task and nothing else.
fn command(ctx: &ToolContext, params: &Params) -> Result<Command, ToolError> {
    let task = which(ctx, params)?;
    Ok(match params.action {
        "start" => Command::Take { task },
        "complete" => Command::Complete { task, result: params.text("result") },
        "fail" => Command::Fail { task, error: params.text("error") },
        "cancel" => Command::Cancel { task, reason: params.text("reason") },
        "retry" => Command::Retry { task },
        "block" => Command::Block { task, reason: params.text_or_empty("reason") },
        "suspend" => Command::Suspend { task },
        "resume" => Command::Resume { task },
        other => return Err(ToolError::invalid("unknown_action", format!("task has no action `{other}`"))),
    })
}

/// The task that is meant: the named one, or the caller's own.
fn which(ctx: &ToolContext, params: &Params) -> Result<IdRef, ToolError> {
    if let Some(named) = params.task("task_id")? {
        return Ok(named);
    }
    ctx.own_task().ok_or_else(|| {
        ToolError::invalid(
            "invalid_params",
            format!("task {} needs `task_id`; only inside a run is the own task meant", params.action),
        )
    })
}

fn changed(ctx: &ToolContext, params: &Params, command: Command) -> Result<Value, ToolError> {
    match ctx.engine.execute(command, &ctx.actor)? {
        Outcome::Accepted { task, run } => accepted(ctx, params, &task, &run),
        outcome => match outcome.task() {
            Some(task) => record::of_task(&ctx.engine, task),
            None => Ok(Value::Null),
        },
    }
}

/// A live run is being ended. Whoever is inside that run hears at once that it is accepted (waiting for one's
/// own end would be for ever); others wait for the end, unless they said that they don't.
fn accepted(ctx: &ToolContext, params: &Params, task: &Task, run: &RunId) -> Result<Value, ToolError> {
    let own = ctx.inside.as_ref().is_some_and(|inside| inside.run == *run);
    let settled = match own || params.flag("wait") == Some(false) {
        true => None,
        false => when_ended(ctx, task, run)?,
    };
    match settled {
        Some(task) => record::of_task(&ctx.engine, &task),
        None => {
            let mut record = record::of_task(&ctx.engine, task)?;
            record["accepted"] = json!(true);
            Ok(record)
        }
    }
}

fn when_ended(ctx: &ToolContext, task: &Task, run: &RunId) -> Result<Option<Task>, ToolError> {
    let until = Instant::now() + PATIENCE;
    let id = IdRef::Full(task.id.0.clone());
    loop {
        let seen = ctx.engine.last_seq()?;
        let now = ctx.engine.task(&id)?;
        if now.current_run_id.as_ref() != Some(run) {
            return Ok(Some(now));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || ctx.waiting.for_change(&ctx.engine, seen, left)? != Woken::Look {
            return Ok(None);
        }
    }
}

fn list(ctx: &ToolContext, params: &Params) -> Result<Value, ToolError> {
    let mut statuses = Vec::new();
    for word in params.texts("status").unwrap_or_default() {
        statuses.push(TaskStatus::parse(&word).ok_or_else(|| unknown_status(&word))?);
    }
    let board = params.text("board_id").or_else(|| ctx.board.clone()).unwrap_or_else(default_board);
    let filter = TaskFilter {
        board: (board != "*").then_some(board),
        statuses,
        labels: params.texts("labels").unwrap_or_default(),
        assignee: params.text("assignee"),
        all: params.flag("all").unwrap_or(false),
        limit: params.whole("limit").and_then(|n| usize::try_from(n).ok()).unwrap_or(LIST_LIMIT),
        cursor: params.text("cursor"),
    };
    let page = ctx.engine.list(&filter)?;
    let items = page
        .items
        .iter()
        .map(|task| record::of_task(&ctx.engine, task))
        .collect::<Result<Vec<Value>, ToolError>>()?;
    Ok(json!({ "items": items, "next_cursor": page.next_cursor }))
}

fn default_board() -> String {
    crate::domain::task::DEFAULT_BOARD.to_owned()
}

fn unknown_status(word: &str) -> ToolError {
    let known: Vec<&str> = TaskStatus::ALL.iter().map(|status| status.as_str()).collect();
    let hint = nearest(word, &known).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    let word = shortened(&one_line(word), 40);
    ToolError::invalid(
        "invalid_params",
        format!("`{word}` is no status; there are {}{hint}", known.join(", ")),
    )
}

/// The task that a call describes. What it runs is checked against these agents; `None` = they are not known here.
pub fn new_task(ctx: &ToolContext, agents: Option<&[String]>, params: &Params) -> Result<NewTask, ToolError> {
    let title = params.text_or_empty("title");
    let description = params.text_or_empty("description");
    let goal = match description.trim().is_empty() {
        true => title.clone(),
        false => format!("{title}\n\n{description}"),
    };
    Ok(NewTask {
        executor: executor(ctx, agents, params, &goal)?,
        title,
        description,
        board: params.text("board_id").or_else(|| ctx.board.clone()),
        priority: params.whole("priority"),
        labels: params.texts("labels").unwrap_or_default(),
        assignee: params.text_or_empty("assignee"),
        source: params.text_or_empty("source"),
        after: params.tasks("depends_on")?,
        parent: params.task("parent_task_id")?,
        start: params.flag("start").unwrap_or(false),
        retry_max: params.small("retry_max").unwrap_or(0),
        max_retries: params.small("max_retries"),
        timeout_seconds: params.small("timeout_seconds"),
        not_before_ms: params.whole("not_before_ms"),
        worktree: params.flag("worktree").unwrap_or(false),
        review_required: params.flag("review_required"),
        metadata: params.table("metadata").unwrap_or_default(),
    })
}

/// The change that a call describes.
pub fn edit(ctx: &ToolContext, agents: Option<&[String]>, params: &Params) -> Result<TaskEdit, ToolError> {
    let goal = params.text_or_empty("title");
    Ok(TaskEdit {
        title: params.text("title"),
        description: params.text("description"),
        board: params.text("board_id"),
        priority: params.whole("priority"),
        labels: params.texts("labels"),
        assignee: params.text("assignee"),
        source: params.text("source"),
        executor: executor(ctx, agents, params, &goal)?.map(Some),
        retry_max: params.small("retry_max"),
        max_retries: params.small("max_retries"),
        timeout_seconds: params.small("timeout_seconds").map(Some),
        not_before_ms: params.whole("not_before_ms").map(Some),
        review_required: params.flag("review_required"),
    })
}

/// What the task runs with, from `command`, or `agent` with `goal`.
fn executor(
    ctx: &ToolContext,
    agents: Option<&[String]>,
    params: &Params,
    goal: &str,
) -> Result<Option<Executor>, ToolError> {
    let work = match (params.command("command"), params.text("agent")) {
        (Some(_), Some(_)) => {
            return Err(ToolError::invalid(
                "invalid_params",
                "a task has a `command` or an `agent`; keep one",
            ));
        }
        (Some(command), None) => Work::Command { command },
        (None, Some(name)) => {
            check_agent(agents, &name)?;
            let goal = params.text("goal").unwrap_or_else(|| goal.to_owned());
            if goal.trim().is_empty() {
                return Err(ToolError::invalid("invalid_params", "an `agent` needs a `goal`"));
            }
            Work::Agent { name, goal }
        }
        (None, None) => {
            for orphan in ["goal", "cwd", "env"] {
                if params.has(orphan) {
                    let message = format!("`{orphan}` is for a task with a `command` or an `agent`");
                    return Err(ToolError::invalid("invalid_params", message));
                }
            }
            return Ok(None);
        }
    };
    if params.has("goal") && matches!(work, Work::Command { .. }) {
        return Err(ToolError::invalid("invalid_params", "a `goal` is for an `agent`, not for a command"));
    }
    let cwd = match params.text("cwd") {
        Some(path) => ctx.cwd.join(Path::new(&path)),
        None => ctx.cwd.clone(),
    };
    let cwd = Some(cwd.to_string_lossy().into_owned());
    Ok(Some(Executor { work, cwd, env: params.environment("env") }))
}

fn check_agent(agents: Option<&[String]>, name: &str) -> Result<(), ToolError> {
    let Some(agents) = agents else { return Ok(()) };
    if agents.iter().any(|agent| agent == name) {
        return Ok(());
    }
    let name = shortened(&one_line(name), 40);
    let known = match agents.is_empty() {
        true => "none are configured; add [agents.NAME] to the configuration".to_owned(),
        false => format!("configured are {}", agents.join(", ")),
    };
    Err(ToolError::new(ErrorClass::Invalid, "unknown_agent", format!("there is no agent `{name}`; {known}")))
}
