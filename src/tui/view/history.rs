//! What happened to a card, in words.

use ratatui::text::Line;
use serde_json::Value;

use super::pen::span;
use crate::domain::{Event, EventKind};
use crate::tui::app::App;
use crate::tui::text::{clean, width as cells, wrap};
use crate::tui::theme::Role;

/// The lines of the history, the newest first.
pub fn lines(app: &App, width: usize) -> Vec<Line<'static>> {
    let Some(opened) = &app.opened else { return Vec::new() };
    if opened.history.is_empty() {
        let words = if opened.history_loading { "reading…" } else { "nothing happened yet" };
        return vec![Line::from(span(app, Role::Dim, words))];
    }
    let mut lines = Vec::new();
    let shown: Vec<&Event> =
        opened.history.iter().filter(|event| event.kind != EventKind::Reported).collect();
    let times: Vec<String> = shown.iter().map(|event| app.clock(event.at_ms)).collect();
    let margin = times.iter().map(|time| cells(time)).max().unwrap_or(0) + 2;
    for (event, time) in shown.into_iter().zip(times).rev() {
        let (words, more) = sentence(event);
        let room = width.saturating_sub(margin).max(8);
        for (at, part) in wrap(&clean(&words), room, room, None).into_iter().enumerate() {
            let lead = if at == 0 { time.as_str() } else { "" };
            lines.push(Line::from(vec![
                span(app, Role::Dim, format!("{lead:<margin$}")),
                span(app, Role::Text, part),
            ]));
        }
        for part in wrap(&clean(&more), room, room, Some(4)).into_iter().filter(|part| !part.is_empty()) {
            lines.push(Line::from(vec![
                span(app, Role::Text, " ".repeat(margin)),
                span(app, Role::Dim, part),
            ]));
        }
    }
    lines
}

/// What an event says: a sentence, and what goes with it.
pub fn sentence(event: &Event) -> (String, String) {
    let who = if event.actor.is_empty() { "somebody" } else { event.actor.as_str() };
    let words = match event.kind {
        EventKind::Created => format!("{who} made the card"),
        EventKind::Edited => format!("{who} changed {}", changed(event)),
        EventKind::Queued => format!("{who} queued it"),
        EventKind::Taken => format!("{who} took it"),
        EventKind::Claimed => "the dispatcher claimed it".to_owned(),
        EventKind::Started => "its process runs".to_owned(),
        EventKind::ClosingAs => format!("{who} asked to end the run{}", intent(event)),
        EventKind::Reported => "the run reported something".to_owned(),
        EventKind::ReviewAsked => "it waits for a review".to_owned(),
        EventKind::Rejected => format!("{who} sent it back"),
        EventKind::Succeeded => "it succeeded".to_owned(),
        EventKind::Failed => "it failed".to_owned(),
        EventKind::Retried => format!("{who} put it into the queue once more"),
        EventKind::Cancelled => format!("{who} cancelled it"),
        EventKind::Blocked => "it is blocked".to_owned(),
        EventKind::Unblocked => format!("{who} unblocked it"),
        EventKind::Suspended => format!("{who} suspended it"),
        EventKind::Resumed => format!("{who} resumed it"),
        EventKind::Asked => format!("{who} asked"),
        EventKind::Answered => format!("{who} answered"),
        EventKind::QuestionClosed => "the question was withdrawn".to_owned(),
        EventKind::ApprovalAsked => "it waits for approval".to_owned(),
        EventKind::Allowed => format!("{who} allowed the call"),
        EventKind::Denied => format!("{who} denied the call"),
        EventKind::AllowanceUsed => "it made the call that was allowed".to_owned(),
        EventKind::ApprovalClosed => "its approval is no longer asked for".to_owned(),
        EventKind::WaitBegun => "it waits for something".to_owned(),
        EventKind::Triggered => "what it waited for has happened".to_owned(),
        EventKind::WaitClosed => "it no longer waits".to_owned(),
        EventKind::Woken => "an event arrived from outside".to_owned(),
        EventKind::TimerChanged => "a timer changed".to_owned(),
        EventKind::LateResult => "a result came too late and was not used".to_owned(),
        EventKind::Lost => "the worker that ran it died".to_owned(),
        EventKind::DependencyAdded => format!("{who} made it wait for another card"),
        EventKind::DependencyRemoved => format!("{who} took away what it waited for"),
        EventKind::PredecessorDone => "a card that it waited for is done".to_owned(),
        EventKind::Held => "it was held or released with its workflow".to_owned(),
        EventKind::Due => "its time has come".to_owned(),
        EventKind::Archived => format!("{who} put it away"),
        EventKind::Unarchived => format!("{who} brought it back"),
        EventKind::WorkflowCreated => format!("{who} made its workflow"),
        EventKind::WorkflowChanged => "its workflow changed".to_owned(),
        EventKind::AdvanceFailed => "its workflow could not advance; it is repaired by itself".to_owned(),
        EventKind::Repaired => "something was repaired".to_owned(),
        EventKind::BoardChanged => "the board changed".to_owned(),
        EventKind::Purged => "old cards were removed".to_owned(),
        EventKind::Damaged => "the database was found damaged".to_owned(),
        EventKind::Notified => format!("{who} told you something"),
    };
    (words, detail(event))
}

fn intent(event: &Event) -> String {
    match event.data.get("closing_as").or(event.data.get("intent")).and_then(Value::as_str) {
        Some(intent) => format!(" ({intent})"),
        None => String::new(),
    }
}

/// The names of the fields that an edit changed.
fn changed(event: &Event) -> String {
    let names: Vec<&str> = event
        .patch
        .keys()
        .map(String::as_str)
        .filter(|name| !matches!(*name, "version" | "updated_at_ms"))
        .collect();
    match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.join(", ").replace('_', " "),
    }
}

/// The text that goes with an event, from what it says or from what it wrote.
fn detail(event: &Event) -> String {
    const SAID: [&str; 11] = [
        "call", "question", "answer", "text", "reason", "feedback", "error", "note", "result", "title",
        "cause",
    ];
    const WRITTEN: [&str; 4] = ["error", "blocked_reason", "result", "review_summary"];
    let of = |fields: &serde_json::Map<String, Value>, names: &[&str]| {
        names.iter().find_map(|name| match fields.get(*name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text.clone()),
            Some(Value::Object(inner)) => inner.get("text").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        })
    };
    of(&event.data, &SAID).or_else(|| of(&event.patch, &WRITTEN)).unwrap_or_default()
}
