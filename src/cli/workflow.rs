//! `andon workflow`: workflows made, steered and looked at.

use anstyle::Style;
use clap::{Args, Subcommand};
use serde_json::json;

use super::context::Context;
use super::error::{CliError, Exit};
use super::output::Output;
use super::words::{self, Cell};
use super::{definition_file, graph, record};
use crate::domain::text::{one_line, shortened};
use crate::domain::time::{precise, short_age};
use crate::domain::{Workflow, WorkflowStatus};
use crate::engine::{Command, Outcome, StepView, WorkflowView};

/// The verbs of `workflow`.
#[derive(Debug, Subcommand)]
pub enum WorkflowVerb {
    /// Make one from a file, YAML or JSON; `-` reads standard input
    Create {
        /// The file
        #[arg(value_name = "FILE")]
        file: std::path::PathBuf,
        /// Start it at once
        #[arg(long)]
        start: bool,
    },
    /// Start it: queues the steps that need nothing
    Start(Named),
    /// How it stands, step by step
    #[command(visible_alias = "show")]
    Status(Named),
    /// Repair it; says how many changes were needed, 0 on a healthy one
    Advance(Named),
    /// Hold the steps that were not claimed yet
    Pause(Named),
    /// Let them go
    Resume(Named),
    /// Cancel it with all unfinished steps
    Cancel(Named),
    /// All of the board, newest first
    #[command(visible_alias = "ls")]
    List {
        /// Only with this status
        #[arg(short, long, value_name = "S", value_parser = read_status)]
        status: Option<WorkflowStatus>,
    },
    /// A new one from one that has ended
    Rerun {
        #[command(flatten)]
        workflow: Named,
        /// Keep the results of the steps that succeeded
        #[arg(long)]
        from_failed: bool,
    },
    /// Its steps as a graph, in layers
    Graph(Named),
}

/// Which workflow.
#[derive(Debug, Args)]
pub struct Named {
    /// Its id, a unique prefix, or its unique name
    #[arg(value_name = "ID")]
    id: String,
}

/// Carries out a verb.
pub fn run(context: &mut Context, verb: WorkflowVerb) -> Result<Exit, CliError> {
    let command = match verb {
        WorkflowVerb::Create { file, start } => return create(context, &file, start),
        WorkflowVerb::Status(named) => return status(context, &named.id),
        WorkflowVerb::List { status } => return list(context, status),
        WorkflowVerb::Graph(named) => return graph::run(context, &named.id),
        WorkflowVerb::Start(named) => Command::StartWorkflow { workflow: named.id },
        WorkflowVerb::Advance(named) => Command::AdvanceWorkflow { workflow: named.id },
        WorkflowVerb::Pause(named) => Command::PauseWorkflow { workflow: named.id },
        WorkflowVerb::Resume(named) => Command::ResumeWorkflow { workflow: named.id },
        WorkflowVerb::Cancel(named) => Command::CancelWorkflow { workflow: named.id },
        WorkflowVerb::Rerun { workflow, from_failed } => {
            let outcome = context.execute(Command::RerunWorkflow { workflow: workflow.id, from_failed })?;
            return made(context, outcome);
        }
    };
    let outcome = context.execute(command)?;
    steered(context, outcome)
}

fn create(context: &mut Context, file: &std::path::Path, start: bool) -> Result<Exit, CliError> {
    let command = definition_file::command(context, file, start)?;
    let outcome = context.execute(command)?;
    made(context, outcome)
}

/// A workflow that is new: its id alone, as `add` does it.
fn made(context: &mut Context, outcome: Outcome) -> Result<Exit, CliError> {
    let Outcome::Workflow(workflow) = outcome else { return Err(unexpected(&outcome)) };
    match context.out.is_json() {
        true => with_steps(context, &workflow, None)?,
        false => context.out.line(workflow.id.as_str())?,
    }
    Ok(Exit::Done)
}

/// A workflow that was there: how it stands now.
fn steered(context: &mut Context, outcome: Outcome) -> Result<Exit, CliError> {
    let (workflow, changes) = match outcome {
        Outcome::Workflow(workflow) => (workflow, None),
        Outcome::Advanced { workflow, changes } => (workflow, Some(changes)),
        other => return Err(unexpected(&other)),
    };
    if context.out.is_json() {
        with_steps(context, &workflow, changes)?;
        return Ok(Exit::Done);
    }
    let line = headline(&context.out, &workflow);
    let line = match changes {
        None => line,
        Some(1) => format!("{line}  1 change"),
        Some(n) => format!("{line}  {n} changes"),
    };
    context.out.line(line)?;
    Ok(Exit::Done)
}

fn with_steps(context: &mut Context, workflow: &Workflow, changes: Option<u32>) -> Result<(), CliError> {
    let view = context.engine()?.workflow(workflow.id.as_str())?;
    let mut record = record::workflow(&view);
    if let Some(changes) = changes {
        record["changes"] = json!(changes);
    }
    context.out.value(&record)
}

fn status(context: &mut Context, id: &str) -> Result<Exit, CliError> {
    let view = context.engine()?.workflow(id)?;
    if context.out.is_json() {
        context.out.value(&record::workflow(&view))?;
    } else {
        for line in described(&context.out, &view) {
            context.out.line(line)?;
        }
    }
    Ok(Exit::Done)
}

/// A workflow with its steps, as people read it.
pub fn described(out: &Output, view: &WorkflowView) -> Vec<String> {
    let mut lines = vec![headline(out, &view.workflow)];
    let now = words::now_ms();
    let rows: Vec<Vec<Cell>> = view.steps.iter().map(|step| row(step, now)).collect();
    let table = words::table(&rows, 5, out.width().map(|width| width.saturating_sub(2)), out.has_color());
    lines.extend(table.into_iter().map(|line| format!("  {line}")));
    lines
}

fn row(step: &StepView, now: i64) -> Vec<Cell> {
    let length = step.started_at_ms.map(|from| precise(step.finished_at_ms.unwrap_or(now) - from));
    let says = match step.error.is_empty() {
        false => one_line(&step.error),
        true => one_line(step.result.trim()),
    };
    vec![
        Cell::text(format!("{} {}", words::glyph(step.status), step.status))
            .styled(words::style(step.status)),
        Cell::number(format!("#{}", step.seq)),
        Cell::text(one_line(&step.id)),
        Cell::number(length.unwrap_or_default()),
        Cell::text(match step.retry_count {
            0 => String::new(),
            1 => "1 retry".to_owned(),
            n => format!("{n} retries"),
        }),
        Cell::text(shortened(&says, 200)),
    ]
}

/// A workflow in one line: name, status, how far it is.
pub fn headline(out: &Output, workflow: &Workflow) -> String {
    let like = words::like(workflow.status);
    let status = format!("{} {}", words::glyph(like), workflow.status);
    format!(
        "{}  {}  {} of {} steps done  {}",
        out.paint(Style::new().bold(), &one_line(&workflow.name)),
        out.paint(words::style(like), &status),
        workflow.counts.success,
        workflow.counts.total(),
        out.paint(Style::new().dimmed(), workflow.id.as_str()),
    )
}

fn list(context: &mut Context, status: Option<WorkflowStatus>) -> Result<Exit, CliError> {
    let mut workflows = context.engine()?.workflows(status)?;
    if let Some(board) = context.board_filter()? {
        workflows.retain(|workflow| workflow.board_id == board);
    }
    if context.out.is_json() {
        let items = workflows.iter().map(record::workflow_row).collect();
        context.out.value(&record::list(items, None))?;
        return Ok(Exit::Done);
    }
    let now = words::now_ms();
    let rows: Vec<Vec<Cell>> = workflows
        .iter()
        .map(|workflow| {
            let like = words::like(workflow.status);
            vec![
                Cell::text(workflow.id.to_string()),
                Cell::text(format!("{} {}", words::glyph(like), workflow.status)).styled(words::style(like)),
                Cell::number(format!("{}/{}", workflow.counts.success, workflow.counts.total())),
                Cell::text(one_line(&workflow.name)),
                Cell::number(short_age(now - workflow.updated_at_ms)),
            ]
        })
        .collect();
    for line in words::table(&rows, 3, context.out.width(), context.out.has_color()) {
        context.out.line(line)?;
    }
    Ok(Exit::Done)
}

fn read_status(word: &str) -> Result<WorkflowStatus, String> {
    WorkflowStatus::parse(word.trim()).ok_or_else(|| {
        let known: Vec<&str> = WorkflowStatus::ALL.iter().map(|status| status.as_str()).collect();
        format!("`{}` is no status of a workflow; there are {}", one_line(word), known.join(", "))
    })
}

fn unexpected(outcome: &Outcome) -> CliError {
    CliError::Failed(format!("the engine gave an answer that this verb does not expect: {outcome:?}"))
}
