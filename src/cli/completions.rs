//! `andon completions`: the script that completes verbs and options in a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::args::CommandLine;
use super::context::Context;
use super::error::{CliError, Exit};

/// Options of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn run(context: &mut Context, args: CompletionsArgs) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CommandLine::command(), "andon", &mut script);
    context.out.bytes(&script)?;
    Ok(Exit::Done)
}
