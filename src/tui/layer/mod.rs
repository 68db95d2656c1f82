//! What floats over the board. The last layer has the keyboard: it answers that it consumed a key, ignored it,
//! or closes; there is never a loop inside a loop. Each file holds one layer's state and keys; how it looks is
//! in `view`.

pub mod answer;
pub mod boards;
pub mod form;
pub mod help;
pub mod prompt;
pub mod quit;
pub mod search;
pub mod why;

use crossterm::event::KeyEvent;

use super::action::Context;
use super::app::App;
use super::event::Effect;

pub use answer::AnswerLayer;
pub use boards::BoardsLayer;
pub use form::FormLayer;
pub use help::HelpLayer;
pub use prompt::{ConfirmLayer, PromptLayer, Then};
pub use quit::QuitLayer;
pub use search::SearchLayer;
pub use why::WhyLayer;

/// What a layer did with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// It was for the layer.
    Consumed,
    /// It means nothing to the layer.
    Ignored,
    /// The layer goes.
    Close,
}

/// Something that floats over the board.
pub enum Layer {
    /// All keys.
    Help(HelpLayer),
    /// A card is made or edited.
    Form(Box<FormLayer>),
    /// A question is answered.
    Answer(Box<AnswerLayer>),
    /// A text is asked for.
    Prompt(PromptLayer),
    /// Yes or no.
    Confirm(ConfirmLayer),
    /// How to quit.
    Quit(QuitLayer),
    /// The boards.
    Boards(BoardsLayer),
    /// Why a card does not move.
    Why(WhyLayer),
    /// The filter is typed.
    Search(SearchLayer),
}

impl Layer {
    /// Whose keys these are.
    pub fn context(&self) -> Context {
        match self {
            Layer::Help(_) | Layer::Boards(_) | Layer::Why(_) => Context::List,
            Layer::Form(_) => Context::Form,
            Layer::Answer(answer) if answer.typing => Context::AnswerText,
            Layer::Answer(_) => Context::Answer,
            Layer::Prompt(_) => Context::Prompt,
            Layer::Confirm(_) => Context::Confirm,
            Layer::Quit(_) => Context::Quit,
            Layer::Search(_) => Context::Filter,
        }
    }

    /// Takes a key.
    pub fn key(&mut self, app: &mut App, key: KeyEvent, effects: &mut Vec<Effect>) -> Reply {
        let action = app.keymap.action(self.context(), key);
        match self {
            Layer::Help(help) => help.key(app, action),
            Layer::Form(form) => form.key(app, key, action, effects),
            Layer::Answer(answer) => answer.key(app, key, action, effects),
            Layer::Prompt(prompt) => prompt.key(app, key, action, effects),
            Layer::Confirm(confirm) => confirm.key(app, action, effects),
            Layer::Quit(quit) => quit.key(app, action, effects),
            Layer::Boards(boards) => boards.key(app, action, effects),
            Layer::Why(why) => why.key(app, action),
            Layer::Search(search) => search.key(app, key, action),
        }
    }

    /// Takes a paste; nothing where no text is typed.
    pub fn paste(&mut self, app: &mut App, text: &str, effects: &mut Vec<Effect>) {
        match self {
            Layer::Form(form) => form.paste(text),
            Layer::Answer(answer) => answer.paste(app, text, effects),
            Layer::Prompt(prompt) => prompt.field.insert(text),
            Layer::Search(search) => search.paste(app, text),
            _ => {}
        }
    }
}

/// Moves a place in a list of `count` lines as the list actions say; `None` for any other action.
pub(super) fn step(place: usize, count: usize, action: super::action::Action) -> Option<usize> {
    use super::action::Action;
    let last = count.saturating_sub(1);
    Some(match action {
        Action::ListDown => (place + 1).min(last),
        Action::ListUp => place.saturating_sub(1),
        Action::ListPageDown => (place + 10).min(last),
        Action::ListPageUp => place.saturating_sub(10),
        Action::ListTop => 0,
        Action::ListBottom => last,
        _ => return None,
    })
}
