//! The first line: which board, what goes on, who dispatches.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use super::pen::{self, span};
use crate::domain::lamp::{Lamp, lamp};
use crate::domain::{DispatcherState, TaskStatus};
use crate::tui::app::{App, Leaving};
use crate::tui::layout::Screen;
use crate::tui::text::clean;
use crate::tui::theme::{Role, glyph};

/// Draws the first line.
pub fn draw(app: &App, screen: &Screen, buffer: &mut Buffer) {
    let area = screen.header;
    if area.is_empty() {
        return;
    }
    let left = name(app);
    let right = dispatching(app);
    let width = usize::from(area.width);
    let long = counts(app, true);
    let needed = pen::span_width(&left) + pen::span_width(&long) + pen::span_width(&right) + 6;
    let middle = if needed <= width { long } else { counts(app, false) };
    let (left_width, middle_width, right_width) =
        (pen::span_width(&left), pen::span_width(&middle), pen::span_width(&right));
    let place = |spans: Vec<Span<'static>>, x: usize, room: usize, buffer: &mut Buffer| {
        let line = ratatui::text::Line::from(pen::cut_spans(spans, room));
        pen::put_line(buffer, area.x + x as u16, area.y, &line, room as u16);
    };
    // The counts stand in the middle where there is room, else after the name; who dispatches goes first.
    let with_right = left_width + middle_width + right_width + 6 <= width;
    let room_right = if with_right { right_width + 2 } else { 0 };
    place(left, 1, width.saturating_sub(1), buffer);
    let centre = (width.saturating_sub(middle_width)) / 2;
    let x = centre.max(left_width + 4).min(width.saturating_sub(room_right + middle_width + 1));
    if x > left_width + 1 {
        place(middle, x, width.saturating_sub(x), buffer);
    }
    if with_right {
        place(right, width - right_width - 1, right_width, buffer);
    }
}

fn name(app: &App) -> Vec<Span<'static>> {
    let mut spans = vec![
        span(app, Role::Title, "andon"),
        span(app, Role::Dim, " ▸ "),
        span(app, Role::Text, clean(&app.board)),
    ];
    if app.filter.is_active() {
        spans.push(span(app, Role::Dim, "  / "));
        spans.push(span(app, Role::Accent, clean(app.filter.text())));
    }
    spans
}

/// How many run, need a person, failed; without `words`, only lamps have theirs.
fn counts(app: &App, words: bool) -> Vec<Span<'static>> {
    let cards = app.snapshot.cards.iter().filter(|card| !card.archived);
    let (mut running, mut needing, mut failed) = (0, 0, 0);
    for card in cards {
        running += usize::from(card.status == TaskStatus::Running);
        match lamp(card, app.now) {
            Some(Lamp::Failure) => failed += 1,
            Some(lamp) if lamp.needs_person() => needing += 1,
            _ => {}
        }
    }
    let parts = [
        (running, Role::Running, Role::Text, glyph(TaskStatus::Running), "running".to_owned()),
        (
            needing,
            Role::Lamp,
            Role::Lamp,
            "◆",
            if needing == 1 { "needs you" } else { "need you" }.to_owned(),
        ),
        (failed, Role::Danger, Role::Text, glyph(TaskStatus::Failed), "failed".to_owned()),
    ];
    let mut spans = Vec::new();
    for (count, sign, role, glyph, word) in parts {
        if count == 0 {
            continue;
        }
        if !spans.is_empty() {
            spans.push(Span::raw("   "));
        }
        spans.push(span(app, sign, glyph));
        let text = if words || role == Role::Lamp { format!(" {count} {word}") } else { format!(" {count}") };
        spans.push(span(app, role, text));
    }
    spans
}

fn dispatching(app: &App) -> Vec<Span<'static>> {
    if !app.loaded {
        return vec![span(app, Role::Dim, "reading the board…")];
    }
    let slots = match app.snapshot.slots_total {
        0 => String::new(),
        total => format!("{}/{total} slots · ", app.snapshot.slots_used),
    };
    let (role, words) = match (app.leaving, app.snapshot.dispatcher) {
        (Some(Leaving::Stop), _) => (Role::Lamp, "stopping the runs"),
        (Some(Leaving::Drain), _) => (Role::Lamp, "leaving when the runs are done"),
        (None, _) if app.snapshot.halted => (Role::Lamp, "stopped: the database is damaged"),
        (None, DispatcherState::Here) => (Role::Dim, "dispatching"),
        (None, DispatcherState::Elsewhere) => (Role::Dim, "attached"),
        (None, DispatcherState::Draining) => (Role::Lamp, "draining"),
        (None, DispatcherState::Nobody) => (Role::Lamp, "nobody dispatches"),
    };
    vec![span(app, Role::Dim, slots), span(app, role, words)]
}
