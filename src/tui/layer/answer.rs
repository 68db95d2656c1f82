//! Answer mode: one lamp after the other, oldest first. A choice is picked or a text typed; sending goes on to
//! the next lamp. Nothing is picked at first, so that a stray enter sends nothing. What was typed is kept when
//! sending fails, when the dialogue is closed, and over restarts; keys that come while something is sent are for
//! the next lamp.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::HashSet;

use super::Reply;
use crate::domain::text::ANSWER_LIMIT;
use crate::domain::{Card, TaskId};
use crate::engine::Command;
use crate::tui::action::Action;
use crate::tui::app::{App, Purpose};
use crate::tui::event::Effect;
use crate::tui::field::Field;
use crate::tui::lamps::{self, Does, LampKey, Matter};

/// Something that was typed while an answer was on its way.
#[derive(Debug)]
pub enum Ahead {
    /// A key.
    Key(KeyEvent),
    /// A paste.
    Paste(String),
}

/// A lamp that is being answered.
pub struct AnswerLayer {
    /// What it is about.
    pub matter: Matter,
    /// The choice that is picked.
    pub choice: Option<usize>,
    /// Whether the keyboard belongs to the text.
    pub typing: bool,
    /// The text.
    pub field: Field,
    /// How many lines of what there is to read are scrolled away.
    pub top: usize,
    /// Why the answer was not taken.
    pub error: Option<String>,
    /// It is on its way.
    pub sending: bool,
    /// The lamp went out: how that looks from here.
    pub gone: Option<String>,
    /// How many lamps were dealt with since the dialogue opened.
    pub done: usize,
    /// Words were begun where none are taken: until another key says what is meant, letters mean nothing.
    pub stray: bool,
    /// What was typed while something was sent.
    pub ahead: Vec<Ahead>,
    skipped: HashSet<LampKey>,
}

impl AnswerLayer {
    /// The dialogue, with the lamp of `first` where it has one, or the oldest.
    pub fn open(app: &App, first: Option<&TaskId>) -> Option<AnswerLayer> {
        let lit = lamps::walk(app);
        let (_, card) = lit.iter().find(|(_, card)| Some(&card.id) == first).or(lit.first())?;
        Some(AnswerLayer::with(app, lamps::matter(card, app.now)?))
    }

    fn with(app: &App, matter: Matter) -> AnswerLayer {
        let draft = app.drafts.get(&matter.key).cloned().unwrap_or_default();
        let typing = matter.writing.is_some() && (matter.choices.is_empty() || !draft.is_empty());
        AnswerLayer {
            choice: if typing { matter.writing_choice() } else { None },
            typing,
            field: Field::lines(&draft),
            top: 0,
            error: None,
            sending: false,
            gone: None,
            done: 0,
            stray: false,
            ahead: Vec::new(),
            skipped: HashSet::new(),
            matter,
        }
    }

    /// Whether a text is taken at all.
    pub fn takes_text(&self) -> bool {
        self.matter.writing.is_some()
    }

    /// How many characters were typed.
    pub fn typed(&self) -> usize {
        self.field.text().chars().count()
    }

    /// Lamps that are still to come, this one included.
    pub fn left(&self, app: &App) -> usize {
        let lit = lamps::walk(app);
        let here = usize::from(lit.iter().all(|(key, _)| *key != self.matter.key));
        lit.iter().filter(|(key, _)| !self.skipped.contains(key)).count() + here
    }

    /// Goes on to the next lamp; false when there is none.
    pub fn advance(&mut self, app: &App) -> bool {
        let lit = lamps::walk(app);
        let next = lit.iter().find(|(key, _)| *key != self.matter.key && !self.skipped.contains(key));
        let Some(matter) = next.and_then(|(_, card)| lamps::matter(card, app.now)) else { return false };
        let (done, skipped) = (self.done + 1, std::mem::take(&mut self.skipped));
        *self = AnswerLayer { done, skipped, ..AnswerLayer::with(app, matter) };
        true
    }

    /// The board was read again: whether the lamp is still lit. `card` is its card, where it is still there.
    pub fn check(&mut self, card: Option<&Card>, now: crate::domain::time::Millis) {
        let key = card.and_then(|card| lamps::key(card, now));
        // An answer of one's own is on its way; what becomes of it is heard otherwise.
        if self.sending {
            return;
        }
        if key.as_ref() == Some(&self.matter.key) {
            self.gone = None;
            return;
        }
        let seq = self.matter.card.seq;
        self.gone = Some(match card {
            Some(card) if card.status == self.matter.card.status => {
                format!("This was settled elsewhere, and #{seq} needs something else now.")
            }
            Some(card) => format!("This was settled elsewhere: #{seq} is {} now.", card.status),
            None => format!("This was settled elsewhere: #{seq} is closed or put away."),
        });
    }

    /// Drafts were read: a text that was begun before and not here again is taken up.
    pub fn take_up(&mut self, key: &LampKey, text: &str) {
        if *key == self.matter.key && self.field.is_blank() && self.takes_text() {
            self.field = Field::lines(text);
            self.write();
        }
    }

    /// Takes a key.
    pub fn key(
        &mut self,
        app: &mut App,
        key: KeyEvent,
        action: Option<Action>,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        let letter = matches!(key.code, KeyCode::Char(c) if !c.is_ascii_digit())
            && key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        let leaves = matches!(action, Some(Action::AnswerLeave | Action::TextLeave));
        // What is typed ahead may be meant for a text, so a letter leaves nothing.
        if self.sending && (letter || !leaves) {
            self.ahead.push(Ahead::Key(key));
            return Reply::Consumed;
        }
        if self.stray && letter && !self.typing {
            return Reply::Consumed;
        }
        if leaves {
            return Reply::Close;
        }
        self.stray = false;
        let choices = self.matter.choices.len();
        match action {
            Some(Action::AnswerSend | Action::TextSend) => return self.send(app, effects),
            Some(Action::AnswerSkip | Action::TextSkip) => return self.skip(app),
            Some(Action::AnswerDown) => match self.choice {
                Some(at) if at + 1 >= choices => self.write(),
                at => self.pick(at.map_or(0, |at| at + 1)),
            },
            Some(Action::AnswerUp) => self.pick(self.choice.map_or(choices, |at| at).saturating_sub(1)),
            Some(Action::AnswerType) => self.write(),
            Some(Action::AnswerScrollDown | Action::TextScrollDown) => self.scroll(app, 4),
            Some(Action::AnswerScrollUp | Action::TextScrollUp) => self.scroll(app, -4),
            Some(Action::TextChoices) if choices > 0 => {
                self.typing = false;
                self.choice = None;
            }
            Some(Action::AnswerLog) => {
                crate::tui::update::acts::open_log(app, &self.matter.card.id.clone());
                return Reply::Close;
            }
            Some(Action::TextNewline) => {
                self.field.newline();
                self.keep(app, effects);
            }
            _ => return self.other_key(app, key, effects),
        }
        Reply::Consumed
    }

    fn other_key(&mut self, app: &mut App, key: KeyEvent, effects: &mut Vec<Effect>) -> Reply {
        let choices = self.matter.choices.len();
        if self.typing {
            if key.code == KeyCode::Up && self.field.at_top() && choices > 0 {
                self.typing = false;
                self.choice = self.matter.writing_choice().unwrap_or(choices).checked_sub(1);
                return Reply::Consumed;
            }
            if !self.field.key(key) {
                return Reply::Ignored;
            }
            self.error = None;
            self.keep(app, effects);
            return Reply::Consumed;
        }
        let KeyCode::Char(c) = key.code else { return Reply::Ignored };
        match c.to_digit(10) {
            Some(number) if number >= 1 && number as usize <= choices => {
                self.pick(number as usize - 1);
                Reply::Consumed
            }
            // Whoever just types means words of their own.
            None if self.takes_text() && key.modifiers.difference(KeyModifiers::SHIFT).is_empty() => {
                self.write();
                self.other_key(app, key, effects)
            }
            // The rest of the word is not taken for keys, nor for a text of the next lamp.
            None if key.modifiers.difference(KeyModifiers::SHIFT).is_empty() => {
                self.stray = true;
                self.error = Some("nothing is typed here; pick one with its number".to_owned());
                Reply::Consumed
            }
            _ => Reply::Ignored,
        }
    }

    /// Takes a paste: it is a text of one's own.
    pub fn paste(&mut self, app: &mut App, text: &str, effects: &mut Vec<Effect>) {
        if self.sending {
            self.ahead.push(Ahead::Paste(text.to_owned()));
        } else if self.takes_text() {
            self.write();
            self.field.insert(text);
            self.keep(app, effects);
        }
    }

    /// Picks a choice; the keyboard goes to the text where the choice wants one.
    fn pick(&mut self, at: usize) {
        let Some(choice) = self.matter.choices.get(at) else { return };
        self.choice = Some(at);
        self.error = None;
        self.typing = matches!(choice.does, Does::Write);
    }

    /// Gives the keyboard to the text, where there is one.
    fn write(&mut self) {
        if self.takes_text() {
            self.typing = true;
            self.choice = self.matter.writing_choice();
            self.error = None;
        }
    }

    fn scroll(&mut self, app: &App, by: isize) {
        let most = crate::tui::view::answer::most_top(app, self);
        self.top = self.top.min(most).saturating_add_signed(by).min(most);
    }

    fn skip(&mut self, app: &App) -> Reply {
        self.skipped.insert(self.matter.key.clone());
        if self.advance(app) { Reply::Consumed } else { Reply::Close }
    }

    fn keep(&mut self, app: &mut App, effects: &mut Vec<Effect>) {
        let text = self.field.text();
        app.drafts.insert(self.matter.key.clone(), text.clone());
        effects.push(Effect::KeepDraft(self.matter.key.clone(), text));
    }

    fn send(&mut self, app: &mut App, effects: &mut Vec<Effect>) -> Reply {
        if self.gone.is_some() && !self.field.is_blank() && self.error.is_none() {
            // Whoever pressed this in the same moment meant to send, not to lose sight of the text.
            self.error = Some("it was settled elsewhere; press it once more to go on".to_owned());
            return Reply::Consumed;
        }
        if let Some(gone) = self.gone.take() {
            // Nothing is sent: whoever pressed this in the same moment learns it on the next screen.
            app.notices.trouble(format!("#{}: nothing was sent. {gone}", self.matter.card.seq), app.now);
            return if self.advance(app) { Reply::Consumed } else { Reply::Close };
        }
        match self.command() {
            Ok(Some(command)) => {
                self.error = None;
                self.sending = true;
                app.send(command, Purpose::Answer(self.matter.key.clone()), effects);
                Reply::Consumed
            }
            Ok(None) => self.skip(app),
            Err(why) => {
                self.error = Some(why);
                Reply::Consumed
            }
        }
    }

    /// What sending asks for; `None` leaves the lamp as it is.
    fn command(&self) -> Result<Option<Command>, String> {
        if self.typing {
            return self.matter.written(&self.field.text()).map(Some);
        }
        let picked = self.choice.and_then(|at| self.matter.choices.get(at));
        match picked.map(|choice| &choice.does) {
            Some(Does::Send(command)) => Ok(Some((**command).clone())),
            Some(Does::Leave) => Ok(None),
            Some(Does::Write) => self.matter.written(&self.field.text()).map(Some),
            None if self.takes_text() => Err("nothing is picked yet: press a number, or type".to_owned()),
            None => Err("nothing is picked yet: press a number".to_owned()),
        }
    }
}

/// The most characters that an answer may have.
pub const LIMIT: usize = ANSWER_LIMIT;
