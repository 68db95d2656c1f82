//! `andon copy`: a fresh card with the same content, the way back from a mistaken cancel.

use clap::Args;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::record;
use super::several::Several;
use crate::engine::Command;

/// Options of `copy`.
#[derive(Debug, Args)]
pub struct CopyArgs {
    /// The cards to copy
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

/// Copies each card and prints the new ids.
pub fn run(context: &mut Context, args: CopyArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let mut several = Several::new(args.ids.len());
    for id in &args.ids {
        let copied = task_ref(id)
            .map_err(CliError::from)
            .and_then(|task| context.execute(Command::Copy { task }))
            .and_then(|outcome| {
                let task = outcome
                    .task()
                    .ok_or_else(|| CliError::Failed(format!("copy gave no card: {outcome:?}")))?;
                Ok((task.id.to_string(), record::task(&engine, task)?))
            });
        several.note(context, id, copied)?;
    }
    several.finish(context, Exit::Done)
}
