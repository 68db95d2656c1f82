//! A question is answered in place: pick a choice or type. Sending goes on to the next open question, oldest
//! first. What was typed is kept when sending fails, when the dialogue is closed, and over restarts.

use crossterm::event::{KeyCode, KeyEvent};
use std::collections::HashSet;

use super::Reply;
use crate::domain::text::ANSWER_LIMIT;
use crate::domain::{Question, QuestionId, QuestionPurpose, TaskId};
use crate::engine::{AnswerText, Command, QuestionRef};
use crate::tui::action::Action;
use crate::tui::app::{App, Purpose};
use crate::tui::event::Effect;
use crate::tui::field::Field;

/// A question that is being answered.
pub struct AnswerLayer {
    /// The task that asks.
    pub task: TaskId,
    /// The question.
    pub question: Question,
    /// The chosen option; as many as there are options means the text.
    pub choice: usize,
    /// Whether the keyboard belongs to the text.
    pub typing: bool,
    /// The text.
    pub field: Field,
    /// Why the answer was not taken.
    pub error: Option<String>,
    /// It is on its way.
    pub sending: bool,
    /// Somebody else has answered or withdrawn the question.
    pub closed_elsewhere: bool,
    /// How many questions were dealt with since the dialogue opened.
    pub done: usize,
    skipped: HashSet<QuestionId>,
}

impl AnswerLayer {
    /// The dialogue, with the question of `first` where it asks one, or the oldest open one.
    pub fn open(app: &App, first: Option<&TaskId>) -> Option<AnswerLayer> {
        let asking = app.open_questions();
        let card = asking.iter().find(|card| Some(&card.id) == first).or(asking.first())?;
        let (task, question) = (card.id.clone(), card.question.clone()?);
        Some(AnswerLayer::with(app, task, question))
    }

    fn with(app: &App, task: TaskId, question: Question) -> AnswerLayer {
        let draft = app.drafts.get(&question.id).cloned().unwrap_or_default();
        let typing = question.options.is_empty() || !draft.is_empty();
        AnswerLayer {
            task,
            choice: if typing { question.options.len() } else { 0 },
            typing,
            field: Field::lines(&draft),
            error: None,
            sending: false,
            closed_elsewhere: false,
            done: 0,
            skipped: HashSet::new(),
            question,
        }
    }

    /// Whether a text is taken at all; what becomes of a lost run is only picked.
    pub fn takes_text(&self) -> bool {
        self.question.purpose == QuestionPurpose::Clarify
    }

    /// How many characters were typed.
    pub fn typed(&self) -> usize {
        self.field.text().chars().count()
    }

    /// Open questions that are still to come, this one included.
    pub fn left(&self, app: &App) -> usize {
        let here = usize::from(self.closed_elsewhere || app.answered.contains(&self.question.id));
        let open = app.open_questions();
        open.iter().filter(|card| !self.is_skipped(card.question.as_ref())).count() + here
    }

    fn is_skipped(&self, question: Option<&Question>) -> bool {
        question.is_some_and(|question| self.skipped.contains(&question.id))
    }

    /// Goes on to the next open question; false when there is none.
    pub fn advance(&mut self, app: &App) -> bool {
        let open = app.open_questions();
        let next = open.into_iter().find(|card| {
            card.question.as_ref().is_some_and(|q| q.id != self.question.id)
                && !self.is_skipped(card.question.as_ref())
        });
        let Some(card) = next else { return false };
        let Some(question) = card.question.clone() else { return false };
        let (done, skipped) = (self.done + 1, std::mem::take(&mut self.skipped));
        *self = AnswerLayer { done, skipped, ..AnswerLayer::with(app, card.id.clone(), question) };
        true
    }

    /// Takes a key.
    pub fn key(
        &mut self,
        app: &mut App,
        key: KeyEvent,
        action: Option<Action>,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        let options = self.question.options.len();
        match action {
            Some(Action::AnswerLeave | Action::TextLeave) => return Reply::Close,
            Some(Action::AnswerSend | Action::TextSend) => return self.send(app, effects),
            Some(Action::AnswerSkip | Action::TextSkip) => {
                self.skipped.insert(self.question.id.clone());
                return if self.advance(app) { Reply::Consumed } else { Reply::Close };
            }
            Some(Action::AnswerDown) if self.choice + 1 < options => self.choice += 1,
            Some(Action::AnswerDown | Action::AnswerType) if self.takes_text() => {
                self.typing = true;
                self.choice = options;
            }
            Some(Action::AnswerDown) => {}
            Some(Action::AnswerUp) => self.choice = self.choice.saturating_sub(1),
            Some(Action::TextChoices) if options > 0 => {
                self.typing = false;
                self.choice = 0;
            }
            Some(Action::AnswerLog) => {
                crate::tui::update::acts::open_log(app, &self.task.clone());
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
        let options = self.question.options.len();
        if self.typing {
            if key.code == KeyCode::Up && self.field.at_top() && options > 0 {
                self.typing = false;
                self.choice = options - 1;
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
            Some(number) if number >= 1 && number as usize <= options => {
                self.choice = number as usize - 1;
                self.error = None;
                Reply::Consumed
            }
            // Whoever just types means an answer of their own.
            None if self.takes_text()
                && key.modifiers.difference(crossterm::event::KeyModifiers::SHIFT).is_empty() =>
            {
                self.typing = true;
                self.choice = options;
                self.other_key(app, key, effects)
            }
            _ => Reply::Ignored,
        }
    }

    /// Takes a paste: it is an answer of one's own.
    pub fn paste(&mut self, app: &mut App, text: &str, effects: &mut Vec<Effect>) {
        if self.takes_text() {
            self.typing = true;
            self.choice = self.question.options.len();
            self.field.insert(text);
            self.keep(app, effects);
        }
    }

    fn keep(&mut self, app: &mut App, effects: &mut Vec<Effect>) {
        let text = self.field.text();
        app.drafts.insert(self.question.id.clone(), text.clone());
        effects.push(Effect::KeepDraft(self.question.id.clone(), text));
    }

    fn send(&mut self, app: &mut App, effects: &mut Vec<Effect>) -> Reply {
        if self.sending {
            return Reply::Consumed;
        }
        if self.closed_elsewhere && self.error.is_none() {
            // Whoever pressed this in the same moment meant to send, not to lose sight of the text.
            self.error = Some("the question is closed; press it once more to go on".to_owned());
            return Reply::Consumed;
        }
        if self.closed_elsewhere {
            return if self.advance(app) { Reply::Consumed } else { Reply::Close };
        }
        let answer = match self.choice < self.question.options.len() {
            true => AnswerText::Option(self.choice + 1),
            false => match self.question.accept(&self.field.text()) {
                Ok(text) => AnswerText::Text(text),
                Err(refusal) => {
                    self.error = Some(refusal.to_string());
                    return Reply::Consumed;
                }
            },
        };
        self.error = None;
        self.sending = true;
        let question = self.question.id.clone();
        let command = Command::Answer { question: QuestionRef::Id(question.clone()), answer };
        app.send(command, Purpose::Answer(question), effects);
        Reply::Consumed
    }
}

/// The most characters that an answer may have.
pub const LIMIT: usize = ANSWER_LIMIT;
