//! `andon wake`: tells of an event from outside, which wakes whoever waits for it now or later.

use clap::Args;
use serde_json::Value;

use super::context::Context;
use super::error::{CliError, Exit};
use super::record;
use crate::domain::Refusal;
use crate::domain::text::one_line;
use crate::domain::time::rfc3339;
use crate::engine::{Command, Outcome};

/// Options of `wake`.
#[derive(Debug, Args)]
pub struct WakeArgs {
    /// The key of the event, such as deploy-finished; the first of each key counts
    #[arg(value_name = "KEY")]
    key: String,
    /// What comes with it, as JSON
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
}

/// Keeps the event, and says whether it was the first of its key and how many waited for it.
pub fn run(context: &mut Context, args: WakeArgs) -> Result<Exit, CliError> {
    let data = match &args.data {
        None => Value::Null,
        Some(text) => serde_json::from_str(text).map_err(|error| {
            CliError::Refused(Refusal::invalid(
                "data",
                format!("the data is not JSON: {error}; quote a text as '\"text\"'"),
            ))
        })?,
    };
    let outcome = context.execute(Command::Wake { key: args.key, data })?;
    let Outcome::Woken { wake, first, woken } = outcome else {
        return Err(CliError::Failed(format!("the event was not kept: {outcome:?}")));
    };
    if context.out.is_json() {
        context.out.value(&record::woken(&wake, first, woken))?;
        return Ok(Exit::Done);
    }
    let key = one_line(&wake.key);
    let line = match (first, woken) {
        (false, _) => format!("{key} had arrived already, at {}; the first one counts", rfc3339(wake.at_ms)),
        (true, 0) => format!("{key} is kept for whoever waits for it"),
        (true, 1) => format!("{key} woke 1 card"),
        (true, many) => format!("{key} woke {many} cards"),
    };
    context.out.line(line)?;
    Ok(Exit::Done)
}
