//! A card behind one that was cancelled: go on without it, or cancel this one too.

use super::{Asks, Choice, Look, Part};
use crate::domain::text::one_line;
use crate::domain::{Card, IdRef, TaskStatus};
use crate::engine::Command;

pub(super) fn asks(card: &Card) -> Asks {
    let task = || IdRef::Full(card.id.0.clone());
    let gone = card.predecessors.iter().filter(|needed| needed.status == TaskStatus::Cancelled);
    let mut choices: Vec<Choice> = gone
        .map(|needed| {
            let without = Command::Undepend { task: task(), on: IdRef::Full(needed.id.0.clone()) };
            Choice::send(format!("go on without #{}", needed.seq), without)
        })
        .collect();
    choices.push(Choice::send("cancel it too", Command::Cancel { task: task(), reason: None }));
    choices.push(Choice::leave("leave it as it is"));
    ("it has been stuck for {age}:".to_owned(), choices, None)
}

pub(super) fn parts(card: &Card) -> Vec<Option<Part>> {
    let gone = card.predecessors.iter().filter(|needed| needed.status == TaskStatus::Cancelled);
    gone.map(|needed| {
        let text = format!("It waits for #{} {}, which was cancelled.", needed.seq, one_line(&needed.title));
        Part::new("", Look::Loud, text)
    })
    .collect()
}
