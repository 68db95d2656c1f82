//! A question: its options, or an answer of one's own.

use super::{Asks, Choice, Look, Part, Writing};
use crate::domain::text::one_line;
use crate::domain::{Card, QuestionPurpose};
use crate::engine::{AnswerText, Command, QuestionRef};

pub(super) fn asks(card: &Card) -> Asks {
    let Some(question) = &card.question else { return (String::new(), Vec::new(), None) };
    let answer = |answer| Command::Answer { question: QuestionRef::Id(question.id.clone()), answer };
    let choices = question.options.iter().enumerate();
    let choices =
        choices.map(|(at, option)| Choice::send(option.clone(), answer(AnswerText::Option(at + 1))));
    let says = match question.purpose {
        QuestionPurpose::Clarify => format!("{} asks, {{ago}}:", asker(card, &question.asked_by)),
        _ => "its worker is gone, {ago}:".to_owned(),
    };
    // What becomes of a lost run is only picked.
    let writing = (question.purpose == QuestionPurpose::Clarify).then(|| Writing {
        asks: if question.options.is_empty() { "" } else { "or type an answer:" },
        needed: true,
        command: Box::new(answer(AnswerText::Text(String::new()))),
    });
    (says, choices.collect(), writing)
}

/// An agent by the sign that agents have on the cards.
fn asker(card: &Card, name: &str) -> String {
    let sign = if card.agent.as_deref() == Some(name) { "@" } else { "" };
    format!("{sign}{}", one_line(name))
}

pub(super) fn parts(card: &Card) -> Vec<Option<Part>> {
    card.question.iter().map(|question| Part::new("", Look::Loud, question.text.as_str())).collect()
}
