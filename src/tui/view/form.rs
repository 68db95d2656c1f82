//! The form, small while only a title is asked for.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::pen::{self, Frame, span};
use crate::domain::text::priority_band;
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::layer::FormLayer;
use crate::tui::layer::form::Slot;
use crate::tui::text::{clean, wrap_all};
use crate::tui::theme::Role;

const LABEL: u16 = 11;
const DESCRIPTION_ROWS: u16 = 4;

/// Draws the form; gives the cursor.
pub fn draw(app: &App, form: &FormLayer, buffer: &mut Buffer) -> Option<Position> {
    let wide = app.size.0.min(84);
    let errors: Vec<String> = form.error.iter().flat_map(|error| error.lines().map(clean)).collect();
    let errors = wrap_all(&errors, usize::from(wide.saturating_sub(4)).max(1));
    let fields: u16 = form.slots().iter().map(|slot| rows(*slot) + gap(*slot, form)).sum();
    let high = fields + errors.len() as u16 + if errors.is_empty() { 2 } else { 3 };
    let area = pen::centred(app, wide, high, buffer);
    let title = match &form.before {
        Some(task) => format!("edit #{}", task.seq),
        None => "new card".to_owned(),
    };
    let mut foot = pen::keys(app, &[Action::FormSend, Action::FormNext, Action::FormLeave]);
    if form.sending {
        foot = vec![span(app, Role::Dim, "saving…")];
    } else if form.focus == Slot::Description {
        foot = pen::keys(app, &[Action::FormNext, Action::FormLeave]);
        let second = app.keymap.labels(Action::FormSend).into_iter().nth(1).unwrap_or_default();
        foot.insert(0, span(app, Role::Rule, " · "));
        foot.insert(0, span(app, Role::Dim, if form.before.is_some() { " save" } else { " make it" }));
        foot.insert(0, span(app, Role::Key, second));
    }
    Frame {
        edge: app.theme.style(Role::Accent),
        title: vec![span(app, Role::Title, title)],
        aside: vec![span(app, Role::Dim, clean(&form.board.text()))],
        foot,
    }
    .draw(area, buffer);
    let inside = pen::inside(area);
    let mut y = inside.y;
    // Where the screen is too low for all fields, the ones before the focus make room.
    let mut over = (fields + errors.len() as u16).saturating_sub(inside.height);
    let mut cursor = None;
    for slot in form.slots() {
        let high = rows(*slot) + gap(*slot, form);
        if over > 0
            && *slot != form.focus
            && form.slots().iter().position(|s| s == slot)
                < form.slots().iter().position(|s| *s == form.focus)
        {
            over = over.saturating_sub(high);
            continue;
        }
        if y >= inside.bottom() {
            break;
        }
        let line = Rect { y, height: rows(*slot).min(inside.bottom() - y), ..inside };
        if let Some(found) = field(app, form, *slot, line, buffer) {
            cursor = Some(found);
        }
        y += high;
    }
    let y = (y + u16::from(!errors.is_empty()))
        .min(inside.bottom().saturating_sub(errors.len() as u16))
        .max(inside.y);
    let text: Vec<Line> = errors.into_iter().map(|line| Line::from(span(app, Role::Danger, line))).collect();
    pen::lines(&text, Rect { y, height: inside.bottom().saturating_sub(y), ..inside }, buffer);
    cursor
}

fn rows(slot: Slot) -> u16 {
    if slot == Slot::Description { DESCRIPTION_ROWS } else { 1 }
}

/// Blank lines after a field, so that the eye finds three groups.
fn gap(slot: Slot, form: &FormLayer) -> u16 {
    u16::from(form.open && matches!(slot, Slot::Title | Slot::Description | Slot::Start))
}

fn field(app: &App, form: &FormLayer, slot: Slot, line: Rect, buffer: &mut Buffer) -> Option<Position> {
    let focus = form.focus == slot;
    let role = if focus { Role::Accent } else { Role::Dim };
    let x = line.x + LABEL;
    let room = line.width.saturating_sub(LABEL);
    if focus {
        pen::put_span(buffer, line.x.saturating_sub(1), line.y, &span(app, Role::Accent, "▌"), 1);
    }
    pen::put_span(buffer, line.x, line.y, &span(app, role, slot.title()), LABEL);
    let area = Rect { x, width: room, ..line };
    if let Some(field) = form.field(slot) {
        let cursor = field.draw(area, buffer, app.theme.style(Role::Input));
        if field.is_blank() {
            let hint = crate::tui::text::cut(slot.hint(), usize::from(room)).into_owned();
            pen::put_span(buffer, x, line.y, &span(app, Role::Placeholder, hint), room);
        }
        return focus.then_some(cursor);
    }
    let spans = match slot {
        Slot::Priority => priority(app, form.priority, focus),
        _ => yes_no(app, form, focus),
    };
    pen::put_line(buffer, x, line.y, &Line::from(spans), room);
    None
}

fn priority(app: &App, chosen: u8, focus: bool) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    for value in 0..=9 {
        let role = match value == chosen {
            true => Role::Selected,
            false => Role::Dim,
        };
        spans.push(span(app, role, value.to_string()));
        spans.push(Span::raw(" "));
    }
    spans.push(span(app, Role::Text, format!(" {}", priority_band(chosen))));
    if focus {
        spans.push(span(app, Role::Dim, "   0–9, ← →"));
    }
    spans
}

fn yes_no(app: &App, form: &FormLayer, focus: bool) -> Vec<Span<'static>> {
    let words = match (form.start, form.runs.is_blank()) {
        (true, true) => "yes: you take it at once",
        (true, false) => "yes: queue it at once",
        (false, _) => "no: leave it in pending",
    };
    let mark = if form.start { "◉ " } else { "○ " };
    let mut spans = vec![span(app, Role::Accent, mark), span(app, Role::Text, words)];
    if focus {
        spans.push(span(app, Role::Dim, "   space changes it"));
    }
    spans
}
