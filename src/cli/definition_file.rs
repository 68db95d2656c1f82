//! From a workflow file to the command that makes the workflow: all faults at once, with their places.

use std::io::Read;
use std::path::Path;

use super::context::Context;
use super::error::CliError;
use super::work::folder;
use super::workflow_file;
use crate::domain::definition;
use crate::engine::Command;

/// Reads the file, `-` being standard input, and gives the command.
pub fn command(context: &Context, file: &Path, start: bool) -> Result<Command, CliError> {
    let bytes = bytes(file)?;
    let registry = super::registry::of(context)?;
    let name = file.to_string_lossy();
    let definition = workflow_file::read(&name, &bytes)
        .and_then(|tree| definition::read(&tree, registry.vocabulary()))
        .map_err(|faults| definition::refusal(&faults))?;
    Ok(Command::CreateWorkflow {
        definition: Box::new(definition),
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
