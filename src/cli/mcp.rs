//! `andon mcp`: the tools, the board and its questions for an agent that speaks the Model Context Protocol, on
//! standard input and output.

use clap::Args;
use std::time::Duration;

use super::context::Context;
use super::error::{CliError, Exit};
use super::{registry, work};
use crate::api::mcp::{Caller, Limits, stdio};

/// Options of `mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// How long a question may hold a call before it is parked; its answer then resumes the task
    #[arg(long, value_name = "SECONDS", default_value = "240", value_parser = seconds)]
    wait: Duration,
    /// How often a call that goes on tells its progress, where the client wants to know
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    progress: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is no number of seconds"))?;
    Duration::try_from_secs_f64(number).map_err(|_| format!("`{text}` is no length of time"))
}

/// Serves until standard input is closed.
pub fn run(context: &mut Context, args: &McpArgs) -> Result<Exit, CliError> {
    let registry = registry::of(context)?;
    let caller = Caller {
        right: context.actor().clone(),
        cwd: work::folder(None)?.into(),
        session: std::env::var("ANDON_SESSION").ok().filter(|session| !session.is_empty()),
        board: Some(context.board()?),
        may_write: true,
    };
    let limits = Limits { wait: args.wait, progress: args.progress };
    let served = stdio::serve(context.engine()?, registry, caller, limits);
    served.map_err(|error| CliError::Failed(format!("MCP can't be served ({error}); try again")))?;
    Ok(Exit::Done)
}
