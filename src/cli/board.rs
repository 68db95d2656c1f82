//! `andon` without a verb: the board on the terminal, with the dispatcher in the same process.

use std::path::{Path, PathBuf};

use super::config::{THEMES, places};
use super::context::Context;
use super::error::{CliError, Exit};
use super::{dispatch, http, logging, output, signals, work};
use crate::tui::{self, BoardError, Options, ThemeChoice};

/// Opens the board, dispatches while it is open, and ends what it dispatched as its leaving said.
pub fn open(context: &mut Context) -> Result<Exit, CliError> {
    if !tui::terminal::is_terminal() {
        return Err(refused(BoardError::NoTerminal));
    }
    let mut options = options(context)?;
    let signals = signals::watch().map_err(|e| CliError::Failed(format!("can't watch for signals: {e}")))?;
    let engine = context.engine()?;
    logging::to_file(&engine.path().with_added_extension("log"), context.globals.verbose);
    let dispatch = dispatch::start(context, &engine, None)?;
    let server = match http::serve(context, &engine, false) {
        Ok(server) => server,
        Err(error) => {
            dispatch.stop_and_wait(&signals);
            return Err(error);
        }
    };
    options.dispatcher = Some(dispatch.dispatcher().clone());
    let left = tui::run(engine, options).map_err(refused);
    if let Some(server) = server {
        server.stop();
    }
    match &left {
        Ok(tui::Exit::Drained) => dispatch.drain_and_wait(&signals),
        Ok(tui::Exit::AtOnce) => dispatch.end_at_once(),
        Ok(tui::Exit::Idle | tui::Exit::Stopped | tui::Exit::HungUp) | Err(_) => {
            dispatch.stop_and_wait(&signals)
        }
    };
    left.map(|_| Exit::Done)
}

fn options(context: &Context) -> Result<Options, CliError> {
    let mut options = Options::new(context.board()?, context.actor().clone());
    let config = context.config()?;
    options.theme = theme(context, &config.board.theme)?;
    options.color = output::color_wanted(context.globals.color);
    options.keymap = config.keymap();
    options.notify = config.board.notify;
    options.archive = config.board.archive;
    options.cwd = Some(work::folder(None)?);
    Ok(options)
}

/// A theme by its name, or from a file that is named relative to the configuration's folder.
fn theme(context: &Context, name: &str) -> Result<ThemeChoice, CliError> {
    if name == "auto" {
        return Ok(ThemeChoice::Auto);
    }
    if THEMES.contains(&name) {
        return Ok(ThemeChoice::Named(name.to_owned()));
    }
    let configuration = places::config_file(context.globals.config.as_deref());
    let folder = configuration.as_deref().and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
    let path: PathBuf = folder.join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(ThemeChoice::Custom(text)),
        Err(source) => Err(CliError::Unreadable { path, source }),
    }
}

fn refused(error: BoardError) -> CliError {
    match error {
        BoardError::NoTerminal | BoardError::Keymap(_) | BoardError::Theme(_) => {
            CliError::Usage(error.to_string())
        }
        BoardError::Terminal(_) => CliError::Failed(error.to_string()),
    }
}
