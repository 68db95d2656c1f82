//! The tools that this call may name: those of the house and of the configuration, checked against its agents.

use super::context::Context;
use super::error::CliError;
use crate::tools::Registry;

/// The registry for this call.
pub fn of(context: &Context) -> Result<Registry, CliError> {
    Ok(context.config()?.registry())
}
