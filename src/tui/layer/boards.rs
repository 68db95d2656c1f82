//! The boards: one is chosen, or a new one made.

use super::prompt::{PromptLayer, Then};
use super::{Layer, Reply, step};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::event::Effect;
use crate::tui::update::read;

/// The list of boards.
#[derive(Debug, Default)]
pub struct BoardsLayer {
    /// The chosen line.
    pub at: usize,
}

impl BoardsLayer {
    /// The list, with the current board chosen.
    pub fn new(app: &App) -> BoardsLayer {
        BoardsLayer { at: app.snapshot.boards.iter().position(|board| board.id == app.board).unwrap_or(0) }
    }

    /// Takes a key.
    pub fn key(&mut self, app: &mut App, action: Option<Action>, effects: &mut Vec<Effect>) -> Reply {
        let Some(action) = action else { return Reply::Ignored };
        if let Some(at) = step(self.at, app.snapshot.boards.len(), action) {
            self.at = at;
            return Reply::Consumed;
        }
        match action {
            Action::ListChoose => {
                if let Some(board) = app.snapshot.boards.get(self.at).map(|board| board.id.clone()) {
                    read::switch_board(app, &board, effects);
                }
                Reply::Close
            }
            Action::ListNew => {
                let prompt = PromptLayer::new("new board", "What is it called?", false, Then::Board);
                app.layers.push(Layer::Prompt(prompt));
                Reply::Close
            }
            Action::ListClose => Reply::Close,
            _ => Reply::Ignored,
        }
    }
}
