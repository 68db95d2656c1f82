//! `andon boards`: which boards there are, and a new one.

use clap::{Args, Subcommand};
use serde_json::json;

use super::context::Context;
use super::error::{CliError, Exit};
use super::record;
use super::words::{self, Cell};
use crate::domain::text::one_line;
use crate::engine::{Command, Outcome};

/// Options of `boards`.
#[derive(Debug, Args)]
pub struct BoardsArgs {
    #[command(subcommand)]
    verb: Option<BoardsVerb>,
}

#[derive(Debug, Subcommand)]
enum BoardsVerb {
    /// List them
    List,
    /// Make a board
    Create {
        /// Its name
        name: String,
    },
}

/// Lists the boards, or makes one.
pub fn run(context: &mut Context, args: BoardsArgs) -> Result<Exit, CliError> {
    match args.verb {
        Some(BoardsVerb::Create { name }) => {
            let outcome = context.execute(Command::CreateBoard { name })?;
            let Outcome::Board(name) = outcome else {
                return Err(CliError::Failed(format!("making a board gave no board: {outcome:?}")));
            };
            match context.out.is_json() {
                true => context.out.value(&json!({ "id": name }))?,
                false => context.out.line(one_line(&name))?,
            }
        }
        None | Some(BoardsVerb::List) => list(context)?,
    }
    Ok(Exit::Done)
}

fn list(context: &mut Context) -> Result<(), CliError> {
    let boards = context.engine()?.boards()?;
    if context.out.is_json() {
        let items = boards.iter().map(|board| json!(board)).collect();
        return context.out.value(&record::list(items, None));
    }
    let rows: Vec<Vec<Cell>> = boards
        .iter()
        .map(|board| {
            let counted = |count: u32, word: &str| match count {
                0 => Cell::text(""),
                count => Cell::number(format!("{count} {word}")),
            };
            vec![
                Cell::text(one_line(&board.id)),
                counted(board.open, "open"),
                counted(board.running, "running"),
                counted(board.lamps, "need you"),
            ]
        })
        .collect();
    for line in words::table(&rows, 0, context.out.width(), context.out.has_color()) {
        context.out.line(line)?;
    }
    Ok(())
}
