//! One text, or a yes, that is asked for before something is done.

use crossterm::event::KeyEvent;

use super::Reply;
use crate::domain::{TaskId, TaskStatus};
use crate::engine::Command;
use crate::tui::action::Action;
use crate::tui::app::{App, Purpose};
use crate::tui::event::Effect;
use crate::tui::field::Field;
use crate::tui::update::acts;

/// What is done when the answer is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    /// A card moves.
    Move(TaskId, TaskStatus),
    /// A settled card is put away.
    PutAway(TaskId),
    /// A board is made.
    Board,
}

/// A text is asked for.
pub struct PromptLayer {
    /// What it is about.
    pub heading: String,
    /// The question.
    pub asks: String,
    /// The text.
    pub field: Field,
    /// Whether it may be left empty.
    pub optional: bool,
    /// What is done then.
    pub then: Then,
}

impl PromptLayer {
    /// A prompt with an empty text.
    pub fn new(heading: impl Into<String>, asks: impl Into<String>, optional: bool, then: Then) -> Self {
        PromptLayer { heading: heading.into(), asks: asks.into(), field: Field::lines(""), optional, then }
    }

    /// Takes a key.
    pub fn key(
        &mut self,
        app: &mut App,
        key: KeyEvent,
        action: Option<Action>,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        match action {
            Some(Action::PromptSend) if self.field.is_blank() && !self.optional => Reply::Consumed,
            Some(Action::PromptSend) => {
                let text = self.field.text().trim().to_owned();
                match &self.then {
                    Then::Move(task, to) => {
                        let text = (!text.is_empty()).then_some(text);
                        acts::send_move(app, task, *to, text, effects);
                    }
                    Then::Board => {
                        let command = Command::CreateBoard { name: text.clone() };
                        app.send(command, Purpose::Board(text), effects);
                    }
                    Then::PutAway(_) => {}
                }
                Reply::Close
            }
            Some(Action::PromptLeave) => {
                acts::let_go(app);
                Reply::Close
            }
            _ if self.field.key(key) => Reply::Consumed,
            _ => Reply::Ignored,
        }
    }
}

/// Yes or no.
#[derive(Debug)]
pub struct ConfirmLayer {
    /// What it is about.
    pub heading: String,
    /// The question.
    pub asks: String,
    /// What is done on a yes.
    pub then: Then,
}

impl ConfirmLayer {
    /// Takes a key.
    pub fn key(&mut self, app: &mut App, action: Option<Action>, effects: &mut Vec<Effect>) -> Reply {
        match action {
            Some(Action::Yes) => {
                match &self.then {
                    Then::Move(task, to) => acts::send_move(app, task, *to, None, effects),
                    Then::PutAway(task) => acts::put_away(app, task, effects),
                    Then::Board => {}
                }
                Reply::Close
            }
            Some(Action::No) => {
                acts::let_go(app);
                Reply::Close
            }
            _ => Reply::Ignored,
        }
    }
}
