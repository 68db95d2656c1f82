//! `andon wait`: until cards, or workflows, are settled.

use clap::Args;
use std::time::Duration;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::several::Several;
use super::{record, settle, status};
use crate::domain::id::IdKind;
use crate::engine::{Engine, WorkflowView};

/// Options of `wait`.
#[derive(Debug, Args)]
pub struct WaitArgs {
    /// Cards, or workflows by their id
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

/// Waits for all of them, one after the other.
pub fn run(context: &mut Context, args: WaitArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    if !engine.has_dispatcher() {
        context.out.note("nobody dispatches now: what has something to run waits until andon is started");
    }
    let mut several = Several::new(args.ids.len());
    let mut exit = Exit::Done;
    for id in &args.ids {
        let waited = if id.starts_with(IdKind::Workflow.prefix()) {
            workflow(&engine, id).map(|view| {
                exit = settle::worse(exit, settle::exit_of_workflow(view.workflow.status));
                let line = super::workflow::headline(&context.out, &view.workflow);
                (line, record::workflow(&view))
            })
        } else {
            task_ref(id)
                .map_err(CliError::from)
                .and_then(|reference| settle::until_settled(&engine, &reference))
                .and_then(|task| {
                    exit = settle::worse(exit, settle::exit_of_task(task.status));
                    let json = record::task(&engine, &task)?;
                    Ok((status::headline(&context.out, &task), json))
                })
        };
        several.note(context, id, waited)?;
    }
    several.finish(context, exit)
}

fn workflow(engine: &Engine, id: &str) -> Result<WorkflowView, CliError> {
    loop {
        let seen = engine.last_seq()?;
        let view = engine.workflow(id)?;
        if view.workflow.status.is_closed() {
            return Ok(view);
        }
        engine.wait_for_change(seen, Duration::from_secs(1))?;
    }
}
