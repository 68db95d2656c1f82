//! `andon` without a verb: the board on the terminal, with the dispatcher in the same process.

use std::sync::Arc;

use super::config::Config;
use super::context::Context;
use super::error::{CliError, Exit};
use super::{dispatch, signals};
use crate::tui::{self, BoardError, ThemeChoice};

/// Opens the board; the dispatcher ends with it.
pub fn open(context: &mut Context) -> Result<Exit, CliError> {
    let board = context.board()?;
    let config = context.config()?;
    let mut options = tui::Options::new(board, context.actor().clone());
    options.theme = theme(&config.board.theme)?;
    options.keymap = own_keys(config)?;
    options.archive = config.board.archive;
    options.notify = config.board.notify;
    options.color = context.out.has_color();
    options.cwd = std::env::current_dir().ok().map(|folder| folder.to_string_lossy().into_owned());
    let signals = signals::watch().map_err(|e| CliError::Failed(format!("can't watch for signals: {e}")))?;
    let engine = context.engine()?;
    let dispatcher = dispatch::start(context, &engine, None)?;
    options.dispatcher = Some(Arc::<crate::engine::Dispatcher>::clone(dispatcher.dispatcher()) as _);
    let left = tui::run(engine, options);
    let ended = dispatcher.stop_and_wait(&signals);
    match left {
        Ok(_) if ended => Ok(Exit::Done),
        Ok(_) => Err(CliError::Failed("a run did not end; the next start looks after it".to_owned())),
        Err(BoardError::Keymap(fault)) => Err(CliError::Usage(fault.to_string())),
        Err(fault) => Err(CliError::Failed(fault.to_string())),
    }
}

/// The theme that the configuration names: a built-in one, or a file.
fn theme(name: &str) -> Result<ThemeChoice, CliError> {
    match name {
        "auto" => Ok(ThemeChoice::Auto),
        name if tui::Theme::NAMES.contains(&name) => Ok(ThemeChoice::Named(name.to_owned())),
        path => match std::fs::read_to_string(path) {
            Ok(text) => Ok(ThemeChoice::Custom(text)),
            Err(source) => Err(CliError::Unreadable { path: path.into(), source }),
        },
    }
}

/// `[keys.…]` of the configuration, as the board reads a keymap.
fn own_keys(config: &Config) -> Result<Option<String>, CliError> {
    if config.keys.is_empty() {
        return Ok(None);
    }
    let text = toml_edit::ser::to_string(&config.keys);
    text.map(Some).map_err(|fault| CliError::Failed(format!("the keys of the configuration: {fault}")))
}
