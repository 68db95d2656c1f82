//! `andon` without a verb: the board on the terminal, with the dispatcher in the same process.

use std::path::Path;
use std::sync::Arc;

use super::context::Context;
use super::dispatch;
use super::error::{CliError, Exit};
use super::{logging, output};
use crate::tui::{self, ThemeChoice};

/// Opens the board, and stays until it is left.
pub fn open(context: &mut Context) -> Result<Exit, CliError> {
    let board = context.board()?;
    let engine = context.engine()?;
    let config = context.config()?;
    let mut options = tui::Options::new(board, context.actor().clone());
    options.theme = theme(&config.board.theme)?;
    options.color = output::color_wanted(context.globals.color);
    options.keymap = config.keymap();
    options.notify = config.board.notify;
    options.cwd = std::env::current_dir().ok().and_then(|folder| folder.to_str().map(str::to_owned));
    logging::to_file(&engine.path().with_added_extension("log"), context.globals.verbose);
    let dispatch = dispatch::start(context, &engine, None)?;
    options.dispatcher = Some(dispatch.dispatcher().clone() as Arc<dyn tui::DispatcherControl>);
    let left = tui::run(engine, options).map_err(|error| CliError::Failed(error.to_string()));
    // Whatever the board decided about its runs was told to the dispatcher; the rest is stopped as SUSPENDED.
    let dispatcher = dispatch.dispatcher();
    match left? {
        tui::Exit::AtOnce => dispatcher.stop_now(),
        tui::Exit::Drained => dispatcher.drain(),
        tui::Exit::Idle | tui::Exit::Stopped => dispatcher.stop(),
    }
    dispatcher.join();
    Ok(Exit::Done)
}

/// The theme that the configuration names: a built-in one, or a file.
fn theme(named: &str) -> Result<ThemeChoice, CliError> {
    if named == "auto" {
        return Ok(ThemeChoice::Auto);
    }
    let path = Path::new(named);
    if path.extension().is_none_or(|e| e != "toml") {
        return Ok(ThemeChoice::Named(named.to_owned()));
    }
    std::fs::read_to_string(path).map(ThemeChoice::Custom).map_err(|error| {
        CliError::Failed(format!(
            "the theme {} can't be read: {error}; name a file that is there, or a built-in theme, under [board]",
            path.display()
        ))
    })
}
