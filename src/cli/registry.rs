//! The tools that this call may name: all of them, checked against the agents of the configuration.

use super::context::Context;
use super::error::CliError;
use crate::tools::Registry;

/// The registry for this call.
pub fn of(context: &Context) -> Result<Registry, CliError> {
    Ok(Registry::new(Some(context.config()?.agents.keys().cloned().collect())))
}
