//! The help: every action with its keys, from the table that the key handler uses.

use super::{Reply, step};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::view::help::{lines, room};

/// The help, scrolled.
#[derive(Debug, Default)]
pub struct HelpLayer {
    /// The first line that is drawn.
    pub top: usize,
}

impl HelpLayer {
    /// Takes a key.
    pub fn key(&mut self, app: &App, action: Option<Action>) -> Reply {
        let Some(action) = action else { return Reply::Ignored };
        if action == Action::ListClose {
            return Reply::Close;
        }
        let (columns, rows) = room(app);
        let count = (lines(app, columns).len() + 1).saturating_sub(rows);
        match step(self.top, count, action) {
            Some(top) => self.top = top,
            None => return Reply::Ignored,
        }
        Reply::Consumed
    }
}
