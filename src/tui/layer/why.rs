//! Why a card does not move, with what lifts each reason.

use super::Reply;
use crate::domain::TaskId;
use crate::domain::why::Reason;
use crate::tui::action::Action;
use crate::tui::app::App;

/// The reasons of a card.
#[derive(Debug)]
pub struct WhyLayer {
    /// Which card.
    pub task: TaskId,
    /// The reasons; `None` until they were read.
    pub reasons: Option<Vec<Reason>>,
}

impl WhyLayer {
    /// Takes a key.
    pub fn key(&mut self, _app: &App, action: Option<Action>) -> Reply {
        match action {
            Some(Action::ListClose | Action::ListChoose) => Reply::Close,
            _ => Reply::Ignored,
        }
    }
}
