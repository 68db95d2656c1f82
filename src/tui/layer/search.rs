//! The filter while it is typed: the board follows each letter.

use crossterm::event::KeyEvent;

use super::Reply;
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::field::Field;
use crate::tui::filter::Filter;
use crate::tui::select;

/// The line that filters.
pub struct SearchLayer {
    /// What is typed.
    pub field: Field,
}

impl SearchLayer {
    /// The line with the filter that stands.
    pub fn new(app: &App) -> SearchLayer {
        SearchLayer { field: Field::line(app.filter.text()) }
    }

    /// Takes a key.
    pub fn key(&mut self, app: &mut App, key: KeyEvent, action: Option<Action>) -> Reply {
        match action {
            Some(Action::FilterKeep) => Reply::Close,
            Some(Action::FilterClear) => {
                apply(app, "");
                Reply::Close
            }
            _ if self.field.key(key) => {
                apply(app, &self.field.text());
                Reply::Consumed
            }
            _ => Reply::Ignored,
        }
    }

    /// Takes a paste.
    pub fn paste(&mut self, app: &mut App, text: &str) {
        self.field.insert(text);
        apply(app, &self.field.text());
    }
}

/// Shows only what matches.
pub fn apply(app: &mut App, text: &str) {
    app.filter = Filter::parse(text);
    select::rebuild(app);
}
