//! Work that waits for a review: take it, or send it back with what should be better.

use super::{Asks, Choice, Does, Look, Part, Writing};
use crate::domain::{Card, IdRef};
use crate::engine::{Command, TaskView};

pub(super) fn asks(card: &Card) -> Asks {
    let task = || IdRef::Full(card.id.0.clone());
    let choices = vec![
        Choice::send("approve", Command::Approve { task: task() }),
        Choice { label: "send it back, with feedback".to_owned(), does: Does::Write },
    ];
    let writing = Writing {
        asks: "What should be better? (may be left empty)",
        needed: false,
        command: Box::new(Command::Reject { task: task(), feedback: None }),
    };
    ("its work has waited for your review for {age}:".to_owned(), choices, Some(writing))
}

pub(super) fn parts(card: &Card, view: Option<&TaskView>) -> Vec<Option<Part>> {
    let task = view.map(|view| &view.task).filter(|task| task.id == card.id);
    let summary = task.map_or(&card.review_summary, |task| &task.review_summary).trim();
    let result = task.map_or(&card.result, |task| &task.result).trim();
    let same = summary == result;
    let parts = vec![
        Part::new("", Look::Loud, summary),
        Part::new(if same || summary.is_empty() { "" } else { "result" }, Look::Plain, result)
            .filter(|_| !same),
    ];
    if parts.iter().all(Option::is_none) {
        return vec![Part::new(
            "",
            Look::Faint,
            "It says nothing about what it did; l shows what it printed.",
        )];
    }
    parts
}
