//! Quitting while runs are going: let them finish, stop them, or stay.

use super::Reply;
use crate::tui::action::Action;
use crate::tui::app::{App, Leaving};
use crate::tui::event::Effect;

/// The choice.
#[derive(Debug)]
pub struct QuitLayer;

impl QuitLayer {
    /// Takes a key.
    pub fn key(&mut self, app: &mut App, action: Option<Action>, effects: &mut Vec<Effect>) -> Reply {
        match action {
            Some(Action::QuitDrain) => {
                app.leaving = Some(Leaving::Drain);
                effects.push(Effect::Drain);
                Reply::Close
            }
            Some(Action::QuitStop) => {
                app.leaving = Some(Leaving::Stop);
                effects.push(Effect::StopRuns);
                Reply::Close
            }
            Some(Action::QuitStay) => Reply::Close,
            _ => Reply::Ignored,
        }
    }
}
