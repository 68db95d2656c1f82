//! A block without a question: lift it, cancel the card, or leave it.

use super::{Asks, Choice, Does, Look, Part, Writing};
use crate::domain::{Card, IdRef, TaskStatus, moves};
use crate::engine::{Command, TaskView};

pub(super) fn asks(card: &Card) -> Asks {
    let task = || IdRef::Full(card.id.0.clone());
    let mut choices = Vec::new();
    if let Ok(found) = moves::to(card, TaskStatus::Queued) {
        choices.push(Choice::send(found.meaning, Command::Unblock { task: task() }));
    }
    choices.push(Choice { label: "cancel it".to_owned(), does: Does::Write });
    choices.push(Choice::leave("leave it as it is"));
    let writing = Writing {
        asks: "Why is it cancelled? (may be left empty)",
        needed: false,
        command: Box::new(Command::Cancel { task: task(), reason: None }),
    };
    ("it has been blocked for {age}:".to_owned(), choices, Some(writing))
}

pub(super) fn parts(card: &Card, view: Option<&TaskView>) -> Vec<Option<Part>> {
    let task = view.map(|view| &view.task).filter(|task| task.id == card.id);
    let reason = task.map_or(&card.blocked_reason, |task| &task.blocked_reason);
    let reason = if reason.trim().is_empty() { "It gave no reason." } else { reason };
    vec![Part::new("", Look::Loud, reason)]
}
