//! The columns. A box stands only around the column in focus; the others are told apart by a thin rule.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::card;
use super::pen::{self, Frame, span, spread};
use crate::tui::app::{App, Column};
use crate::tui::layout::{self, Place, Screen};
use crate::tui::text::clean;
use crate::tui::theme::{Role, glyph};

/// Draws the columns, or what an empty board says.
pub fn draw(app: &App, screen: &Screen, buffer: &mut Buffer) {
    strip(app, screen, buffer);
    let places = layout::places(app, screen.board);
    for (at, place) in places.iter().enumerate() {
        let focus = focus_of(app, &places);
        if at > 0 && place.edged && focus != Some(at) && focus != Some(at - 1) {
            rule(app, place, buffer);
        }
    }
    for place in &places {
        column(app, place, buffer);
    }
    if app.loaded && app.snapshot.cards.is_empty() {
        match app.snapshot.closed {
            0 => welcome(app, screen.board, buffer),
            closed => all_closed(app, closed, screen.board, buffer),
        }
    }
}

/// The column whose box stands; none while the keyboard belongs to the panel.
fn focus_of(app: &App, places: &[Place]) -> Option<usize> {
    if app.detail.is_some() {
        return None;
    }
    places.iter().position(|place| app.columns[place.index].status == app.focus)
}

fn rule(app: &App, place: &Place, buffer: &mut Buffer) {
    let style = app.theme.style(Role::Rule);
    for y in place.outer.top()..place.outer.bottom() {
        pen::put_text(buffer, place.outer.x, y, "│", style);
    }
}

fn column(app: &App, place: &Place, buffer: &mut Buffer) {
    let column = &app.columns[place.index];
    let focus = column.status == app.focus && app.detail.is_none();
    let faded = app.grab.as_ref().is_some_and(|grab| !grab.allows(column.status));
    let seen = layout::cards_in(app, column, place.cards);
    let top = seen.first().map_or(0, |(row, _)| *row);
    let drawn = cards(app, column, place, &seen, buffer);
    if place.edged {
        let hidden = column.cards.len() - top - drawn;
        heading(app, column, place, focus, top, hidden, buffer);
    }
    if faded {
        pen::fade(app, place.cards.union(place.head), buffer);
    }
}

/// The title of a column: in focus it stands in the upper edge of the box.
fn heading(
    app: &App,
    column: &Column,
    place: &Place,
    focus: bool,
    above: usize,
    below: usize,
    buffer: &mut Buffer,
) {
    let status = app.theme.status(column.status).remove_modifier(Modifier::CROSSED_OUT);
    let lit = app.grab.as_ref().is_some_and(|grab| grab.allows(column.status));
    let name_style = if lit { app.theme.style(Role::Held) } else { status.add_modifier(Modifier::BOLD) };
    let title = vec![
        Span::styled(glyph(column.status), status),
        Span::raw(" "),
        Span::styled(column.status.as_str().to_uppercase(), name_style),
    ];
    let room = usize::from(place.head.width.saturating_sub(2));
    let mut aside = vec![span(app, Role::Dim, column.cards.len().to_string())];
    // How many are above is said where the name of the column keeps its room.
    let arrow = span(app, Role::Dim, format!("↑{above}  "));
    if above > 0 && pen::span_width(&title) + pen::span_width(&aside) + arrow.width() + 3 <= room {
        aside.insert(0, arrow);
    }
    let foot = match below {
        0 => Vec::new(),
        n => vec![span(app, Role::Dim, format!("↓ {n} more"))],
    };
    if focus {
        let edge = app.theme.style(Role::Accent);
        return Frame { edge, title, aside, foot }.draw(place.outer, buffer);
    }
    let head = spread(title, aside, room);
    pen::put_line(buffer, place.head.x + 1, place.head.y, &head, room as u16);
    let foot = spread(Vec::new(), foot, room);
    pen::put_line(buffer, place.head.x + 1, place.outer.bottom() - 1, &foot, room as u16);
}

/// Draws the cards that are in view; gives how many are wholly drawn.
fn cards(app: &App, column: &Column, place: &Place, seen: &[(usize, u16)], buffer: &mut Buffer) -> usize {
    let mut y = place.cards.y;
    let mut whole = 0;
    for (row, height) in seen {
        let card = &app.snapshot.cards[column.cards[*row]];
        let area = Rect { y, height: (place.cards.bottom() - y).min(*height), ..place.cards };
        whole += usize::from(area.height == *height);
        let rows = card::rows(app, card, place.cards.width);
        let text = Rect { x: area.x + 1, width: area.width.saturating_sub(2).max(1), ..area };
        pen::lines(&rows, text, buffer);
        let held = app.grab.as_ref().is_some_and(|grab| grab.task == card.id);
        if held || app.selected.as_ref() == Some(&card.id) {
            let mark = app.theme.style(if held { Role::Held } else { Role::Accent });
            for y in area.top()..area.bottom() {
                pen::put_text(buffer, area.x, y, "▌", mark.remove_modifier(Modifier::REVERSED));
            }
        }
        y += *height + 1;
        if y >= place.cards.bottom() {
            break;
        }
    }
    whole
}

/// All columns in one line: sign and count of each, the ones in view bright, the one in focus marked.
fn strip(app: &App, screen: &Screen, buffer: &mut Buffer) {
    if screen.strip.is_empty() {
        return;
    }
    let seen = layout::columns_in_view(app, screen.board);
    let wide = app.columns.len() * 14 <= usize::from(screen.strip.width);
    let mut spans: Vec<Span<'static>> = Vec::new();
    for (at, column) in app.columns.iter().enumerate() {
        let focus = column.status == app.focus;
        let status = app.theme.status(column.status).remove_modifier(Modifier::CROSSED_OUT);
        let role = match (focus, seen.contains(&at)) {
            (true, _) => Role::Tab,
            (false, true) => Role::Text,
            (false, false) => Role::Dim,
        };
        spans.push(Span::raw(if at == 0 { " " } else { "  " }));
        spans.push(Span::styled(glyph(column.status), status));
        let name = match wide || focus {
            true => format!(" {} {}", column.status, column.cards.len()),
            false => format!(" {}", column.cards.len()),
        };
        spans.push(span(app, role, name));
    }
    let line = Line::from(pen::cut_spans(spans, usize::from(screen.strip.width)));
    pen::put_line(buffer, screen.strip.x, screen.strip.y, &line, screen.strip.width);
}

/// What a board says on which nothing is open any more.
fn all_closed(app: &App, closed: u32, board: Rect, buffer: &mut Buffer) {
    let key = app.keymap.first(crate::tui::action::Action::Archive).unwrap_or_default();
    let cards = if closed == 1 { "closed card" } else { "closed cards" };
    let line = Line::from(vec![
        span(app, Role::Dim, " Nothing is open here. "),
        span(app, Role::Key, key),
        span(app, Role::Dim, format!(" shows {closed} {cards}. ")),
    ]);
    let width = (line.width() as u16).min(board.width);
    let (x, y) = (board.x + (board.width - width) / 2, board.y + board.height / 3);
    pen::put_line(buffer, x, y, &line, width);
}

/// What an empty board says, in three lines.
fn welcome(app: &App, board: Rect, buffer: &mut Buffer) {
    let key = |action| app.keymap.first(action).unwrap_or_default();
    let create = key(crate::tui::action::Action::Create);
    let help = key(crate::tui::action::Action::Help);
    let rows = [
        vec![
            span(app, Role::Text, "This board is empty. Press "),
            span(app, Role::Key, create),
            span(app, Role::Text, " and type a title to make the first card."),
        ],
        vec![
            span(app, Role::Dim, "A card with a command, such as "),
            span(app, Role::Text, "cargo test"),
            span(app, Role::Dim, ", is run for you once it is queued."),
        ],
        vec![
            span(app, Role::Text, "andon demo"),
            span(app, Role::Dim, " in another terminal shows a board at work; "),
            span(app, Role::Key, help),
            span(app, Role::Dim, " lists all keys."),
        ],
    ];
    let width = rows.iter().map(|row| pen::span_width(row)).max().unwrap_or(0) as u16;
    if width + 6 > board.width || board.height < 8 {
        return narrow_welcome(app, board, buffer);
    }
    let area = Rect {
        x: board.x + (board.width - width - 4) / 2,
        y: board.y + (board.height / 3).max(2),
        width: width + 4,
        height: 5,
    };
    pen::clear(area, buffer);
    let text: Vec<Line> = rows.into_iter().map(Line::from).collect();
    pen::lines(&text, Rect { x: area.x + 2, y: area.y + 1, width, height: 3 }, buffer);
}

fn narrow_welcome(app: &App, board: Rect, buffer: &mut Buffer) {
    let area = Rect {
        x: board.x + 2.min(board.width),
        y: board.y + 1.min(board.height),
        width: board.width.saturating_sub(4),
        height: board.height.saturating_sub(2),
    };
    let key = app.keymap.first(crate::tui::action::Action::Create).unwrap_or_default();
    let text = [
        format!("This board is empty: {key} makes a card."),
        "A card with a command runs by itself.".to_owned(),
        "andon demo shows a board at work.".to_owned(),
    ];
    let wrapped = crate::tui::text::wrap_all(&text.map(|line| clean(&line)), usize::from(area.width).max(1));
    let text: Vec<Line> = wrapped.into_iter().map(|line| Line::from(span(app, Role::Dim, line))).collect();
    pen::lines(&text, area, buffer);
}
