//! `andon token`: the token that a program sends to reach the board over HTTP.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::context::Context;
use super::error::{CliError, Exit};
use crate::api::Role;
use crate::api::token::Tokens;
use crate::domain::Refusal;

/// Options of `token`.
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// Which: `admin` may do everything, `read` only looks
    #[arg(value_name = "ROLE", value_enum, default_value_t)]
    role: Which,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Which {
    #[default]
    Admin,
    Read,
}

/// Prints the token; makes it where there is none yet.
pub fn run(context: &mut Context, args: &TokenArgs) -> Result<Exit, CliError> {
    if !context.actor().is_operator() {
        return Err(Refusal::not_allowed(
            "tokens are for the person at the board, and this was called from inside a run; ask them, or call it from \
             a terminal of your own",
        )
        .into());
    }
    let engine = context.engine()?;
    let tokens = Tokens::load(engine.path()).map_err(|error| CliError::Failed(error.to_string()))?;
    let role = match args.role {
        Which::Admin => Role::Admin,
        Which::Read => Role::Read,
    };
    match context.out.is_json() {
        true => context.out.value(&json!({ "role": role.as_str(), "token": tokens.of(role) }))?,
        false => context.out.line(tokens.of(role))?,
    }
    Ok(Exit::Done)
}
