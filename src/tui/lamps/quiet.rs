//! A run without any sign for a while: let it go on, pause it, or stop it.

use super::{Asks, Choice, Look, Part};
use crate::domain::{Card, IdRef, TaskStatus, moves};
use crate::engine::Command;

pub(super) fn asks(card: &Card) -> Asks {
    let task = || IdRef::Full(card.id.0.clone());
    let mut choices = vec![Choice::leave("let it go on")];
    if moves::to(card, TaskStatus::Suspended).is_ok() {
        choices.push(Choice::send("pause it", Command::Suspend { task: task() }));
    }
    if moves::to(card, TaskStatus::Cancelled).is_ok() {
        choices.push(Choice::send("stop and cancel it", Command::Cancel { task: task(), reason: None }));
    }
    ("it runs, and has been quiet for {age}:".to_owned(), choices, None)
}

pub(super) fn parts(card: &Card) -> Vec<Option<Part>> {
    let name = match (&card.agent, card.executor.trim()) {
        (Some(agent), _) => format!("@{agent}"),
        (None, executor) => executor.to_owned(),
    };
    vec![
        Part::new("", Look::Loud, name),
        Part::new("", Look::Faint, "It may be thinking; l shows its output."),
    ]
}
