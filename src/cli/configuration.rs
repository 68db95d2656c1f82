//! `andon config`: where the configuration is, what it says, and whether it is right.
use clap::Args;
use super::context::Context;
use super::error::{CliError, Exit};
/// Options.
#[derive(Debug, Args)]
pub struct ConfigArgs {}
/// Runs.
pub fn run(_: &mut Context, _: ConfigArgs) -> Result<Exit, CliError> {
    Ok(Exit::Done)
}
