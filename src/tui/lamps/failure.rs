//! A failure that nobody retries by itself: run it once more, put it away, or leave it.

use super::{Asks, Choice, Look, Part};
use crate::domain::{Card, IdRef, TaskStatus, moves};
use crate::engine::{Command, TaskView};

pub(super) fn asks(card: &Card) -> Asks {
    let task = || IdRef::Full(card.id.0.clone());
    let mut choices = Vec::new();
    if let Ok(found) = moves::to(card, TaskStatus::Queued) {
        let again = Command::Move { task: task(), to: TaskStatus::Queued, text: None };
        choices.push(Choice::send(found.meaning, again));
    }
    choices.push(Choice::send("put it away", Command::Archive { task: task() }));
    choices.push(Choice::leave("leave it as it is"));
    ("it failed, {ago}:".to_owned(), choices, None)
}

pub(super) fn parts(card: &Card, view: Option<&TaskView>) -> Vec<Option<Part>> {
    let error = view.filter(|view| view.task.id == card.id).map_or(&card.error, |view| &view.task.error);
    let error = if error.trim().is_empty() { "It gave no reason." } else { error };
    let spent = moves::to(card, TaskStatus::Queued).err().map(|refusal| refusal.to_string());
    vec![Part::new("", Look::Loud, error), Part::new("", Look::Faint, spent.unwrap_or_default())]
}
