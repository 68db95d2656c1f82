//! From a workflow file to the command that makes the workflow: all faults at once, with their places.

use std::io::Read;
use std::path::Path;

use super::context::Context;
use super::error::CliError;
use super::work::folder;
use super::workflow_file;
use crate::domain::{WorkflowDefinition, crowd, definition};
use crate::engine::Command;
use crate::tools::Registry;

/// Reads the file, `-` being standard input, and gives the command.
pub fn command(context: &Context, file: &Path, start: bool) -> Result<Command, CliError> {
    let bytes = bytes(file)?;
    let registry = super::registry::of(context)?;
    let definition = read(&file.to_string_lossy(), &bytes, &registry)?;
    warn_of_crowd(context, &definition)?;
    Ok(Command::CreateWorkflow {
        definition: Box::new(definition),
        board: Some(context.board()?),
        cwd: Some(folder(None)?),
        start,
    })
}

/// Says when steps may be out of time in the queue, as far as the slots are known from here.
fn warn_of_crowd(context: &Context, definition: &WorkflowDefinition) -> Result<(), CliError> {
    let config = context.config()?;
    let parallel = context.globals.parallel.unwrap_or(config.dispatch.parallel);
    let slots = |agent: &str| config.agents.get(agent).map_or(parallel, |agent| agent.parallel.min(parallel));
    if let Some(crowd) = crowd::tightest(definition, slots) {
        let of_agent = if crowd.agent.is_empty() { String::new() } else { format!(" of @{}", crowd.agent) };
        context.out.note(&format!(
            "{} steps{of_agent} may be ready at once, and {} run at a time. Their {} s begin in the queue, so where \
             one takes longer than {} s, the last of them fail before they start; raise timeout_seconds, or \
             let more run at a time (--parallel).",
            crowd.steps, crowd.slots, crowd.timeout_seconds, crowd.each_seconds
        ));
    }
    Ok(())
}

/// No more than what is read at all is taken from an endless source.
fn bytes(file: &Path) -> Result<Vec<u8>, CliError> {
    let limit = workflow_file::FILE_LIMIT as u64 + 1;
    let mut bytes = Vec::new();
    let read = match file.as_os_str() == "-" {
        true => std::io::stdin().lock().take(limit).read_to_end(&mut bytes),
        false => std::fs::File::open(file).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    match read {
        Ok(_) => Ok(bytes),
        Err(source) => Err(CliError::Unreadable { path: file.to_owned(), source }),
    }
}

/// The command for a definition that comes with the program; its steps run in `folder`, its cards lie on `board`, and it starts at
/// once.
pub fn embedded(name: &str, bytes: &[u8], board: &str, folder: String) -> Result<Command, CliError> {
    let registry = Registry::new(None);
    Ok(Command::CreateWorkflow {
        definition: Box::new(read(name, bytes, &registry)?),
        board: Some(board.to_owned()),
        cwd: Some(folder),
        start: true,
    })
}

fn read(name: &str, bytes: &[u8], registry: &Registry) -> Result<WorkflowDefinition, CliError> {
    let definition = workflow_file::read(name, bytes)
        .and_then(|tree| registry.with_vocabulary(|vocabulary| definition::read(&tree, vocabulary)))
        .map_err(|faults| definition::refusal(&faults))?;
    Ok(definition)
}
