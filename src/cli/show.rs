//! `andon show` and `andon why`: one card in full, and why it does not move.

use anstyle::Style;
use clap::Args;
use serde_json::json;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::words::{self, Cell};
use super::{record, status};
use crate::domain::board::Predecessor;
use crate::domain::text::{many_lines, one_line, priority_band};
use crate::domain::time::{precise, running_time};
use crate::domain::{Approval, Question, Run, Task, WaitState};
use crate::engine::TaskView;

/// Options of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The card
    #[arg(value_name = "ID")]
    id: String,
}

/// Options of `why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The card
    #[arg(value_name = "ID")]
    id: String,
}

/// Shows one card with its runs, questions and dependencies.
pub fn show(context: &mut Context, args: ShowArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let view = engine.task_view(&task_ref(&args.id)?)?;
    if context.out.is_json() {
        context.out.value(&record::task_view(&view))?;
    } else {
        for line in detail(context, &view) {
            context.out.line(line)?;
        }
    }
    Ok(Exit::Done)
}

/// Names every reason why a card does not move, with what lifts it.
pub fn why(context: &mut Context, args: WhyArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let reference = task_ref(&args.id)?;
    let task = engine.task(&reference)?;
    let reasons = engine.why(&reference)?;
    if context.out.is_json() {
        let answer = json!({ "id": task.id, "seq": task.seq, "status": task.status, "reasons": reasons });
        context.out.value(&answer)?;
        return Ok(Exit::Done);
    }
    context.out.line(status::headline(&context.out, &task))?;
    for reason in reasons {
        context.out.line(format!("  {}", one_line(&reason.text)))?;
        if !reason.fix.is_empty() {
            let fix = format!("    → {}", one_line(&reason.fix));
            context.out.line(context.out.paint(Style::new().dimmed(), &fix))?;
        }
    }
    Ok(Exit::Done)
}

fn detail(context: &Context, view: &TaskView) -> Vec<String> {
    let out = &context.out;
    let task = &view.task;
    let bold = Style::new().bold();
    let mut lines = vec![out.paint(bold, &format!("#{} {}", task.seq, one_line(&task.title)))];
    let rows: Vec<Vec<Cell>> = facts(view)
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| {
            let style = if name == "status" { words::style(task.status) } else { Style::new() };
            vec![
                Cell::text(format!("  {name}")).styled(Style::new().dimmed()),
                Cell::text(value).styled(style),
            ]
        })
        .collect();
    lines.extend(words::table(&rows, usize::MAX, None, out.has_color()));
    let mut block = |title: &str, body: Vec<String>| {
        if !body.is_empty() {
            lines.push(String::new());
            lines.push(out.paint(bold, title));
            lines.extend(body.into_iter().map(|line| format!("  {line}")));
        }
    };
    block("description", paragraph(&task.description));
    block("asks", view.questions.iter().flat_map(question).collect());
    block("approvals", view.approvals.iter().map(approval).collect());
    block("review", paragraph(&task.review_summary));
    block("result", paragraph(&task.result));
    block("error", paragraph(&task.error));
    block("needs", view.predecessors.iter().map(neighbour).collect());
    block("is needed by", view.successors.iter().map(neighbour).collect());
    let runs: Vec<Vec<Cell>> = view.runs.iter().map(run).collect();
    block("runs", words::table(&runs, usize::MAX, None, false));
    lines
}

fn facts(view: &TaskView) -> Vec<(&'static str, String)> {
    let task = &view.task;
    let now = words::now_ms();
    let since = |at| format!("{} ({})", words::local_time(at), words::ago(now - at));
    let run = view.runs.iter().find(|run| Some(&run.id) == task.current_run_id.as_ref());
    vec![
        (
            "status",
            format!(
                "{} {} for {}",
                words::glyph(task.status),
                task.status,
                running_time(now - task.since_ms)
            ),
        ),
        ("blocked by", one_line(&task.blocked_reason)),
        ("id", task.id.to_string()),
        ("board", one_line(&task.board_id)),
        ("priority", format!("P{} {}", task.priority, priority_band(task.priority))),
        ("labels", one_line(&task.labels.join(", "))),
        ("assignee", one_line(&task.assignee)),
        ("owner", run.map(|run| one_line(&run.owner)).unwrap_or_default()),
        ("source", one_line(&task.source)),
        ("workflow", workflow(view)),
        ("part of", task.parent_task_id.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("runs", task.executor.as_ref().map(|executor| executor.label()).unwrap_or_default()),
        (
            "check",
            task.executor
                .as_ref()
                .and_then(|e| e.check.as_ref())
                .map(|check| check.label())
                .unwrap_or_default(),
        ),
        ("folder", task.executor.as_ref().and_then(|e| e.cwd.as_deref()).map(one_line).unwrap_or_default()),
        ("retries", retries(task)),
        ("time limit", task.timeout_seconds.map(|s| format!("{s} s")).unwrap_or_default()),
        ("starts", task.not_before_ms.map(words::local_time).unwrap_or_default()),
        ("worktree", if task.worktree.is_empty() { String::new() } else { one_line(&task.worktree) }),
        ("made", since(task.created_at_ms)),
        ("by", one_line(&task.created_by)),
        ("started", task.started_at_ms.map(since).unwrap_or_default()),
        ("finished", task.finished_at_ms.map(since).unwrap_or_default()),
        ("archived", task.archived_at_ms.map(since).unwrap_or_default()),
    ]
}

fn workflow(view: &TaskView) -> String {
    match &view.card.workflow {
        None => String::new(),
        Some(workflow) => format!(
            "{} ({}, {} of {} steps done), step {}",
            one_line(&workflow.name),
            workflow.id,
            workflow.done,
            workflow.total,
            one_line(&view.task.step_id)
        ),
    }
}

fn retries(task: &Task) -> String {
    match (task.retry_count, task.retry_max) {
        (0, 0) => String::new(),
        (made, by_itself) => format!("{made} of {}, {by_itself} by itself", task.max_retries),
    }
}

fn paragraph(text: &str) -> Vec<String> {
    match text.trim_end() {
        "" => Vec::new(),
        text => many_lines(text).lines().map(str::to_owned).collect(),
    }
}

fn neighbour(task: &Predecessor) -> String {
    format!("#{}  {} {}  {}", task.seq, words::glyph(task.status), task.status, one_line(&task.title))
}

/// A question with its options, and its answer or how to give one.
pub fn question(question: &Question) -> Vec<String> {
    let mut lines = paragraph(&question.text);
    for (place, option) in question.options.iter().enumerate() {
        lines.push(format!("  {}  {}", place + 1, one_line(option)));
    }
    match question.state {
        WaitState::Open => {}
        WaitState::Answered | WaitState::Consumed => {
            lines.extend(paragraph(&question.answer).into_iter().map(|line| format!("→ {line}")));
        }
        state => lines.push(format!("({state})")),
    }
    lines
}

/// A call that a person was asked to allow, and what they said.
fn approval(approval: &Approval) -> String {
    let call = format!("{} (risk {}, written by {})", approval.label(), approval.risk, approval.asked_by);
    let by = &approval.decided_by;
    let end = match (approval.state, approval.reason.as_str()) {
        (WaitState::Open, _) => "waits for you".to_owned(),
        (WaitState::Denied, "") => format!("denied by {by}"),
        (WaitState::Denied, reason) => format!("denied by {by}: {}", one_line(reason)),
        (WaitState::Allowed | WaitState::Consumed, _) => format!("allowed by {by} ({})", approval.scope),
        (state, _) => state.to_string(),
    };
    format!("{} → {end}", one_line(&call))
}

fn run(run: &Run) -> Vec<Cell> {
    let end = match (run.outcome, run.exit_code, run.exit_signal) {
        (None, ..) => match run.closing_as {
            Some(intent) => format!("is being ended ({intent})"),
            None => "running".to_owned(),
        },
        (Some(outcome), Some(code), _) => format!("{outcome}, exit {code}"),
        (Some(outcome), _, Some(signal)) => format!("{outcome}, signal {signal}"),
        (Some(outcome), ..) => outcome.to_string(),
    };
    let length = run.ended_at_ms.unwrap_or_else(words::now_ms) - run.started_at_ms;
    vec![
        Cell::number(run.number.to_string()),
        Cell::text(words::local_time(run.started_at_ms)),
        Cell::number(precise(length)),
        Cell::text(end),
        Cell::text(one_line(&run.owner)),
        Cell::text(run.id.to_string()),
        Cell::text(one_line(&run.note)),
    ]
}
