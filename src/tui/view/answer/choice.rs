//! The right half: who wants what, what there is to read, the choices, the text with its counter, and what went
//! wrong.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::super::pen::{self, span};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::lamps::Look;
use crate::tui::layer::AnswerLayer;
use crate::tui::layer::answer::LIMIT;
use crate::tui::text::{clean, clean_lines, wrap, wrap_all};
use crate::tui::theme::Role;

/// The text has at least so many rows with what stands above and below it.
const WRITING: usize = 5;

/// The text shows at most so many rows at once.
const FIELD: u16 = 8;

/// How many lines of what there is to read can be scrolled away.
pub fn most_top(app: &App, answer: &AnswerLayer, area: Rect) -> usize {
    let width = usize::from(area.width).max(1);
    scrolled(reading(app, answer, width).len(), reading_room(app, answer, area))
}

/// As above, of so many lines in so many rows: where not all fit, one row says so.
fn scrolled(lines: usize, room: usize) -> usize {
    if lines <= room { 0 } else { lines - (room - 1) }
}

/// How many rows what there is to read may take.
fn reading_room(app: &App, answer: &AnswerLayer, area: Rect) -> usize {
    let width = usize::from(area.width).max(1);
    let choices: usize =
        (0..answer.matter.choices.len()).map(|at| choice(app, answer, at, width).len()).sum();
    let writing = if answer.takes_text() { WRITING } else { 0 };
    let taken = 3 + choices + writing + notes(app, answer, width).len();
    usize::from(area.height).saturating_sub(taken).max(2)
}

/// Draws it; gives the cursor while a text is typed.
pub fn draw(app: &App, answer: &AnswerLayer, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let width = usize::from(area.width).max(1);
    let mut lines = vec![said(app, answer, width), Line::default()];
    let read = reading(app, answer, width);
    let room = reading_room(app, answer, area);
    let most = scrolled(read.len(), room);
    let top = answer.top.min(most);
    let shown = room - usize::from(most > 0);
    let below = read.len().saturating_sub(top + shown);
    lines.extend(read.into_iter().skip(top).take(shown));
    if most > 0 {
        lines.push(more(app, answer, top, below));
    }
    lines.push(Line::default());
    let mut focus = 0;
    for at in 0..answer.matter.choices.len() {
        lines.extend(choice(app, answer, at, width));
        if answer.choice.is_none_or(|choice| at <= choice) {
            focus = lines.len();
        }
    }
    // Where not all has room, what has the keyboard is seen: the text, or the choice.
    let kept = if answer.takes_text() { 2 } else { 0 } + notes(app, answer, width).len();
    let room = usize::from(area.height).saturating_sub(kept).max(1);
    let skipped = if answer.typing { 0 } else { focus.saturating_sub(room) };
    let lines: Vec<Line> = lines.into_iter().skip(skipped).take(room).collect();
    pen::lines(&lines, area, buffer);
    let used = (lines.len() as u16).min(area.height);
    let left = Rect { y: area.y + used, height: area.height - used, ..area };
    typed(app, answer, left, buffer)
}

/// Who wants what, and since when.
fn said(app: &App, answer: &AnswerLayer, width: usize) -> Line<'static> {
    let text = clean(&answer.matter.said(app.now));
    Line::from(pen::cut_spans(vec![span(app, Role::Lamp, text)], width))
}

/// All lines of what there is to read.
fn reading(app: &App, answer: &AnswerLayer, width: usize) -> Vec<Line<'static>> {
    let view = app.opened.as_ref().filter(|opened| opened.task == *answer.matter.task());
    let view = view.and_then(|opened| opened.view.as_deref());
    let mut lines = Vec::new();
    for part in answer.matter.parts(view) {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        if !part.heading.is_empty() {
            lines.push(Line::from(span(app, Role::Heading, format!("  {}", part.heading))));
        }
        let role = match part.look {
            Look::Loud => Role::Title,
            Look::Plain => Role::Text,
            Look::Faint => Role::Dim,
        };
        for line in wrap_all(&clean_lines(part.text.trim()), width.saturating_sub(2)) {
            lines.push(Line::from(span(app, role, format!("  {line}"))));
        }
    }
    lines
}

/// How much there is above and below what is seen, and the key that shows it.
fn more(app: &App, answer: &AnswerLayer, top: usize, below: usize) -> Line<'static> {
    let (on, back) = match answer.typing {
        true => (Action::TextScrollDown, Action::TextScrollUp),
        false => (Action::AnswerScrollDown, Action::AnswerScrollUp),
    };
    let (count, sign, action) = if below > 0 { (below, "↓", on) } else { (top, "↑", back) };
    let lines = if count == 1 { "line" } else { "lines" };
    let key = app.keymap.first(action).unwrap_or_default();
    Line::from(vec![
        span(app, Role::Dim, format!("  {sign} {count} more {lines}  ")),
        span(app, Role::Key, key),
    ])
}

fn choice(app: &App, answer: &AnswerLayer, at: usize, width: usize) -> Vec<Line<'static>> {
    let Some(choice) = answer.matter.choices.get(at) else { return Vec::new() };
    let chosen = answer.choice == Some(at);
    let mark = if chosen && !answer.typing { "▌" } else { " " };
    let role = match (chosen, answer.gone.is_some()) {
        (_, true) => Role::Dim,
        (true, false) => Role::Selected,
        (false, false) => Role::Text,
    };
    let room = width.saturating_sub(6).max(4);
    let number = match at {
        0..9 => format!("{}  ", at + 1),
        _ => "   ".to_owned(),
    };
    let words = wrap(&clean(&choice.label), room, room, Some(3));
    let lines = words.into_iter().enumerate().map(|(row, words)| {
        let lead = if row == 0 { number.clone() } else { "   ".to_owned() };
        Line::from(vec![
            span(app, Role::Accent, format!("{mark} ")),
            span(app, Role::Key, lead),
            span(app, role, words),
        ])
    });
    lines.collect()
}

/// The text with its counter, and what went wrong.
fn typed(app: &App, answer: &AnswerLayer, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let notes = notes(app, answer, usize::from(area.width).max(1));
    let mut y = area.y;
    let bottom = area.bottom().saturating_sub(notes.len() as u16);
    let writing = answer.matter.writing.as_ref();
    if let Some(writing) = writing
        && y < bottom
    {
        if !answer.matter.choices.is_empty() && y + 2 < bottom {
            let role = if answer.typing { Role::Accent } else { Role::Dim };
            pen::put_span(buffer, area.x, y + 1, &span(app, role, format!("  {}", writing.asks)), area.width);
            y += 2;
        }
        let count = answer.typed();
        let counter = format!("{}/10,000", thousands(count));
        let role = if count > LIMIT { Role::Danger } else { Role::Dim };
        let last = bottom.saturating_sub(1).min(y + FIELD);
        let x = area.right().saturating_sub(counter.len() as u16);
        if last > y {
            pen::put_span(buffer, x, last, &span(app, role, counter), area.width);
        }
        let field = Rect {
            x: area.x + 2,
            y,
            width: area.width.saturating_sub(2),
            height: last.saturating_sub(y).max(1),
        };
        if answer.typing {
            for y in field.top()..field.bottom() {
                pen::put_span(buffer, area.x, y, &span(app, Role::Accent, "▌"), 1);
            }
        }
        let style = app.theme.style(Role::Input);
        let cursor = answer.field.draw(field, buffer, style);
        draw_notes(&notes, area, buffer);
        return answer.typing.then_some(cursor);
    }
    draw_notes(&notes, area, buffer);
    None
}

fn draw_notes(notes: &[Line], area: Rect, buffer: &mut Buffer) {
    let high = (notes.len() as u16).min(area.height);
    pen::lines(notes, Rect { y: area.bottom() - high, height: high, ..area }, buffer);
}

fn notes(app: &App, answer: &AnswerLayer, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(gone) = &answer.gone {
        let kept = if answer.field.is_blank() { "" } else { " What you typed is not sent." };
        let text = format!("{gone}{kept} Going on shows the next.");
        for line in wrap(&text, width, width, None) {
            lines.push(Line::from(span(app, Role::Lamp, line)));
        }
    }
    if let Some(error) = &answer.error {
        let kept = if answer.field.is_blank() { "" } else { ", and what you typed is kept" };
        let text = format!("✗ not sent{kept}: {}", clean(error));
        for line in wrap(&text, width, width, Some(4)) {
            lines.push(Line::from(span(app, Role::Danger, line)));
        }
    }
    lines
}

fn thousands(count: usize) -> String {
    match count {
        0..1_000 => count.to_string(),
        _ => format!("{},{:03}", count / 1_000, count % 1_000),
    }
}
