//! `andon backup`: a whole copy of the database in a new file.

use clap::Args;
use serde_json::json;
use std::path::PathBuf;

use super::context::Context;
use super::error::{CliError, Exit};
use super::words;

/// Options of `backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The file to make; one that is there is never overwritten
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Makes the copy. It holds the board with its history; the logs of runs are files beside the database.
pub fn run(context: &mut Context, args: &BackupArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let made = engine.backup(&args.file)?;
    match context.out.is_json() {
        true => context.out.value(
            &json!({ "path": made.path, "bytes": made.bytes, "last_event": made.last_event, "checked": true }),
        )?,
        false => {
            let (path, size) = (made.path.display(), words::size(made.bytes));
            context.out.line(format!("{path}  {size}, checked; the logs of runs are not in it"))?;
        }
    }
    Ok(Exit::Done)
}
