//! From a workflow file to the command that makes the workflow: all faults at once, with their places.

use std::io::Read;
use std::path::Path;

use super::context::Context;
use super::error::CliError;
use super::work::folder;
use super::workflow_file;
use crate::domain::{WorkflowDefinition, definition};
use crate::engine::Command;
use crate::tools::Registry;

/// Reads the file, `-` being standard input, and gives the command.
pub fn command(context: &Context, file: &Path, start: bool) -> Result<Command, CliError> {
    let bytes = bytes(file)?;
    let registry = super::registry::of(context)?;
    Ok(Command::CreateWorkflow {
        definition: Box::new(read(&file.to_string_lossy(), &bytes, &registry)?),
        board: Some(context.board()?),
        cwd: Some(folder(None)?),
        start,
    })
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

/// The command for a definition that comes with the program; its steps run in `folder`, and it starts at once.
pub fn embedded(name: &str, bytes: &[u8], folder: String) -> Result<Command, CliError> {
    let registry = Registry::new(None);
    Ok(Command::CreateWorkflow {
        definition: Box::new(read(name, bytes, &registry)?),
        board: None,
        cwd: Some(folder),
        start: true,
    })
}

fn read(name: &str, bytes: &[u8], registry: &Registry) -> Result<WorkflowDefinition, CliError> {
    let definition = workflow_file::read(name, bytes)
        .and_then(|tree| definition::read(&tree, registry.vocabulary()))
        .map_err(|faults| definition::refusal(&faults))?;
    Ok(definition)
}
