//! What answer mode asks: each lamp of the board as a matter with what there is to read, the choices, and what a
//! typed text does. One file a kind; none of them decides what is allowed, the domain and the engine do. Start
//! reading at [`Matter`], then [`walk`], then any kind.

mod approval;
mod blocked;
mod failure;
mod question;
mod quiet;
mod review;
mod stuck;

use super::app::App;
use crate::domain::lamp::{Lamp, QUIET_AFTER_MS, lamp};
use crate::domain::text::{ANSWER_LIMIT, limited};
use crate::domain::time::{Millis, short_age};
use crate::domain::{Card, TaskId};
use crate::engine::{AnswerText, Command, TaskView};

/// Which lamp. The same card lit again is another one, so that nobody answers what they have not seen. It is also
/// the name under which a text that was begun is kept: letters, digits, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LampKey(pub String);

/// What a choice does.
#[derive(Debug, Clone)]
pub enum Does {
    /// It sends this.
    Send(Box<Command>),
    /// It goes to the text, which says the rest.
    Write,
    /// It leaves everything as it is and goes on.
    Leave,
}

/// One of the choices.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The words.
    pub label: String,
    /// What it does.
    pub does: Does,
}

/// What a typed text does.
#[derive(Debug, Clone)]
pub struct Writing {
    /// What stands above the text.
    pub asks: &'static str,
    /// Whether it can't be left empty.
    pub needed: bool,
    /// What is sent, with the text in it.
    pub command: Box<Command>,
}

/// A lamp, with all that a person needs to answer it.
#[derive(Debug, Clone)]
pub struct Matter {
    /// Which lamp.
    pub key: LampKey,
    /// Its kind.
    pub lamp: Lamp,
    /// The card as it was when it was lit.
    pub card: Card,
    /// When it was lit.
    pub since_ms: Millis,
    /// Who wants what; `{ago}` and `{age}` stand for how long ago and for how long.
    pub says: String,
    /// What can be picked, in order.
    pub choices: Vec<Choice>,
    /// What a typed text does; `None` where none is taken.
    pub writing: Option<Writing>,
}

/// How a piece of what there is to read looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The thing itself.
    Loud,
    /// More about it.
    Plain,
    /// A remark.
    Faint,
}

/// A piece of what there is to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is, in a word; none for the first one.
    pub heading: &'static str,
    /// How it looks.
    pub look: Look,
    /// The text, as it was written.
    pub text: String,
}

impl Part {
    fn new(heading: &'static str, look: Look, text: impl Into<String>) -> Option<Part> {
        let text = text.into();
        (!text.trim().is_empty()).then_some(Part { heading, look, text })
    }
}

impl Choice {
    fn send(label: impl Into<String>, command: Command) -> Choice {
        Choice { label: label.into(), does: Does::Send(Box::new(command)) }
    }

    fn leave(label: impl Into<String>) -> Choice {
        Choice { label: label.into(), does: Does::Leave }
    }
}

impl Matter {
    /// The task.
    pub fn task(&self) -> &TaskId {
        &self.card.id
    }

    /// The id of the question or the approval, where it is one.
    pub fn wait_id(&self) -> Option<&str> {
        match self.lamp {
            Lamp::Question => self.card.question.as_ref().map(|question| question.id.as_str()),
            Lamp::Approval => self.card.approval.as_ref().map(|approval| approval.id.as_str()),
            _ => None,
        }
    }

    /// What there is to read, the most important first.
    pub fn parts(&self, view: Option<&TaskView>) -> Vec<Part> {
        let parts = match self.lamp {
            Lamp::Question => question::parts(&self.card),
            Lamp::Approval => approval::parts(&self.card, view),
            Lamp::Blocked => blocked::parts(&self.card, view),
            Lamp::Review => review::parts(&self.card, view),
            Lamp::Failure => failure::parts(&self.card, view),
            Lamp::Stuck => stuck::parts(&self.card),
            Lamp::Quiet => quiet::parts(&self.card),
        };
        parts.into_iter().flatten().collect()
    }

    /// Who wants what, and since when.
    pub fn said(&self, now: Millis) -> String {
        let quiet = if self.lamp == Lamp::Quiet { QUIET_AFTER_MS } else { 0 };
        let age = short_age(now - self.since_ms + quiet);
        let (age, ago) = match age.as_str() {
            "now" => ("a moment".to_owned(), "just now".to_owned()),
            _ => (age.clone(), format!("{age} ago")),
        };
        self.says.replace("{age}", &age).replace("{ago}", &ago)
    }

    /// The choice that goes to the text, where it is one of the numbered ones.
    pub fn writing_choice(&self) -> Option<usize> {
        self.choices.iter().position(|choice| matches!(choice.does, Does::Write))
    }

    /// What sending this text asks for, or why it is not taken.
    pub fn written(&self, text: &str) -> Result<Command, String> {
        let Some(writing) = &self.writing else { return Err("nothing is typed here; pick one".to_owned()) };
        if let Some(question) = &self.card.question
            && self.lamp == Lamp::Question
        {
            question.accept(text).map_err(|refusal| refusal.to_string())?;
        } else {
            if writing.needed && text.trim().is_empty() {
                return Err(format!("{} It can't be left empty.", writing.asks));
            }
            limited("the text", text, ANSWER_LIMIT).map_err(|refusal| refusal.to_string())?;
        }
        let mut command = (*writing.command).clone();
        put_in(&mut command, text);
        Ok(command)
    }
}

/// Puts what was typed where the command has its place for it.
fn put_in(command: &mut Command, text: &str) {
    let said = || Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    match command {
        Command::Answer { answer, .. } => *answer = AnswerText::Text(text.to_owned()),
        Command::Reject { feedback, .. } => *feedback = said(),
        Command::Deny { reason, .. } => *reason = text.trim().to_owned(),
        Command::Cancel { reason, .. } => *reason = said(),
        _ => {}
    }
}

/// The lamp of a card that answer mode goes to, with when it was lit.
fn lit(card: &Card, now: Millis) -> Option<(Lamp, Millis)> {
    let lamp = lamp(card, now)?;
    let since = match lamp {
        Lamp::Question => card.question.as_ref().map_or(card.since_ms, |question| question.asked_at_ms),
        Lamp::Approval => card.approval.as_ref().map_or(card.since_ms, |approval| approval.asked_at_ms),
        Lamp::Quiet => card.run.as_ref().map_or(card.since_ms, |run| run.active_at_ms + QUIET_AFTER_MS),
        _ => card.since_ms,
    };
    Some((lamp, since))
}

/// The key of a card's lamp.
pub fn key(card: &Card, now: Millis) -> Option<LampKey> {
    let (lamp, since) = lit(card, now)?;
    Some(match (lamp, &card.question, &card.approval) {
        (Lamp::Question, Some(question), _) => LampKey(question.id.0.clone()),
        (Lamp::Approval, _, Some(approval)) => LampKey(format!("{}-{}-{}", word(lamp), card.id, approval.id)),
        _ => LampKey(format!("{}-{}-{since}", word(lamp), card.id)),
    })
}

fn word(lamp: Lamp) -> &'static str {
    match lamp {
        Lamp::Question => "question",
        Lamp::Approval => "approval",
        Lamp::Blocked => "blocked",
        Lamp::Review => "review",
        Lamp::Failure => "failure",
        Lamp::Stuck => "stuck",
        Lamp::Quiet => "quiet",
    }
}

/// The matter of a card, where it has a lamp.
pub fn matter(card: &Card, now: Millis) -> Option<Matter> {
    let (lamp, since_ms) = lit(card, now)?;
    let key = key(card, now)?;
    let (says, choices, writing) = match lamp {
        Lamp::Question => question::asks(card),
        Lamp::Approval => approval::asks(card),
        Lamp::Blocked => blocked::asks(card),
        Lamp::Review => review::asks(card),
        Lamp::Failure => failure::asks(card),
        Lamp::Stuck => stuck::asks(card),
        Lamp::Quiet => quiet::asks(card),
    };
    Some(Matter { key, lamp, card: card.clone(), since_ms, says, choices, writing })
}

/// What a kind says: who wants what, the choices, and what a text does.
type Asks = (String, Vec<Choice>, Option<Writing>);

/// Whether there is anything to answer.
pub fn any(app: &App) -> bool {
    app.snapshot.cards.iter().any(|card| key(card, app.now).is_some_and(|key| !app.answered.contains(&key)))
}

/// The cards with a lamp that nobody here has answered, oldest first. A run that is only quiet comes last: it may
/// need nobody.
pub fn walk(app: &App) -> Vec<(LampKey, &Card)> {
    let mut lit: Vec<_> = app
        .snapshot
        .cards
        .iter()
        .filter_map(|card| {
            let (lamp, since) = lit(card, app.now)?;
            let key = key(card, app.now).filter(|key| !app.answered.contains(key))?;
            Some(((lamp == Lamp::Quiet, since, card.seq), key, card))
        })
        .collect();
    lit.sort_by_key(|(order, ..)| *order);
    lit.into_iter().map(|(_, key, card)| (key, card)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Dispatch, TaskStatus};

    fn card(status: TaskStatus) -> Card {
        Card { seq: 4, status, dispatch: Dispatch::Auto, max_retries: 3, since_ms: 7, ..Card::default() }
    }

    #[test]
    fn every_lamp_has_something_to_pick_and_says_what_it_is() {
        for status in TaskStatus::ALL {
            let Some(matter) = matter(&card(*status), 0) else { continue };
            assert!(!matter.choices.is_empty() && !matter.says.is_empty(), "{status}");
        }
    }

    #[test]
    fn the_same_card_lit_again_is_another_lamp() {
        let first = key(&card(TaskStatus::Review), 0);
        let again = key(&Card { since_ms: 9, ..card(TaskStatus::Review) }, 0);
        assert!(first.is_some() && first != again);
    }

    #[test]
    fn a_text_is_put_where_the_command_has_its_place() {
        let review = matter(&card(TaskStatus::Review), 0).unwrap();
        let command = review.written(" more tests ").unwrap();
        assert!(matches!(command, Command::Reject { feedback: Some(text), .. } if text == "more tests"));
        let bare = review.written("  ").unwrap();
        assert!(matches!(bare, Command::Reject { feedback: None, .. }));
        assert!(review.written(&"x".repeat(10_001)).is_err());
    }
}
