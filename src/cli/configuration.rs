//! `andon config`: where the configuration is, what holds, and whether the file is right.

use clap::{Args, Subcommand};
use serde_json::json;

use super::config::{self, TEMPLATE, places};
use super::context::Context;
use super::error::{CliError, Exit};

/// Options of `config`.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    verb: Option<ConfigVerb>,
}

#[derive(Debug, Subcommand)]
enum ConfigVerb {
    /// Where the file is looked for
    Path,
    /// Everything that holds, defaults included
    Show,
    /// Name every fault of the file
    Check,
    /// The commented file with every key and its default
    Template,
}

/// Answers about the configuration.
pub fn run(context: &mut Context, args: ConfigArgs) -> Result<Exit, CliError> {
    match args.verb.unwrap_or(ConfigVerb::Show) {
        ConfigVerb::Path => path(context)?,
        ConfigVerb::Template => context.out.bytes(TEMPLATE.as_bytes())?,
        ConfigVerb::Show => {
            let config = context.config()?.clone();
            match context.out.is_json() {
                true => context.out.value(&json!(config))?,
                false => context.out.bytes(config.to_toml().as_bytes())?,
            }
        }
        ConfigVerb::Check => return check(context),
    }
    Ok(Exit::Done)
}

fn path(context: &mut Context) -> Result<(), CliError> {
    let path = places::config_file(context.globals.config.as_deref()).ok_or_else(|| {
        CliError::Failed("no home folder is known; name the configuration with --config".to_owned())
    })?;
    match context.out.is_json() {
        true => context.out.value(&json!({ "path": path, "exists": path.exists() })),
        false => context.out.line(path.display().to_string()),
    }
}

fn check(context: &mut Context) -> Result<Exit, CliError> {
    match config::load(context.globals.config.as_deref()) {
        Ok(_) => {
            match context.out.is_json() {
                true => context.out.value(&json!({ "ok": true, "faults": [] }))?,
                false => context.out.line("the configuration is right")?,
            }
            Ok(Exit::Done)
        }
        Err(error) => Err(CliError::Config(error)),
    }
}
