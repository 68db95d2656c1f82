//! Where everything stands, from the size of the terminal alone: the same for drawing, for scrolling and for
//! knowing what is in view.

use ratatui::layout::Rect;
use std::ops::Range;

use super::app::{App, Column};
use super::select::selected_row;
use super::view::{card, detail, log};
use crate::domain::Card;

/// Below this width one column is shown.
pub const ONE_COLUMN_BELOW: u16 = 60;
/// All columns stand side by side where each has so many cells.
const TIGHT: u16 = 19;
/// Otherwise the columns scroll sideways, each at least so wide.
const ROOMY: u16 = 24;
/// The panel stands beside the board from this width on.
const PANEL_FROM: u16 = 96;

/// From this height on a blank line stands below the first one.
const AIRY_FROM: u16 = 28;

/// The parts of the screen; a part that has no room is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Screen {
    /// The board's name and the counts.
    pub header: Rect,
    /// All columns in one line, where not all are in view.
    pub strip: Rect,
    /// The columns.
    pub board: Rect,
    /// The opened card.
    pub panel: Rect,
    /// What happened, or what asks.
    pub message: Rect,
    /// The keys.
    pub footer: Rect,
}

/// One column on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which of the app's columns.
    pub index: usize,
    /// With its edges; columns share the edge between them.
    pub outer: Rect,
    /// Its title.
    pub head: Rect,
    /// Its cards.
    pub cards: Rect,
    /// Whether there is room for edges.
    pub edged: bool,
}

/// The parts of the screen.
pub fn screen(app: &App) -> Screen {
    let (width, height) = app.size;
    let mut left = Rect::new(0, 0, width, height);
    let mut screen = Screen::default();
    if height >= 3 {
        screen.footer = take_bottom(&mut left);
    }
    if height >= 16 {
        screen.message = take_bottom(&mut left);
    }
    if height >= 9 {
        screen.header = take_top(&mut left);
    }
    let panel = match &app.detail {
        None => 0,
        Some(panel) if panel.full || width < PANEL_FROM => width,
        Some(_) => (u32::from(width) * 46 / 100).clamp(44, 110) as u16,
    };
    if panel < width && fitting(app, width - panel) < app.columns.len() && height >= 5 {
        screen.strip = take_top(&mut left);
    } else if height >= AIRY_FROM {
        take_top(&mut left);
    }
    if panel > 0 {
        screen.panel = Rect { x: left.right() - panel, width: panel, ..left };
        left.width -= panel;
    }
    if left.width > 0 {
        screen.board = left;
    }
    screen
}

fn take_top(left: &mut Rect) -> Rect {
    let row = Rect { height: 1, ..*left };
    left.y += 1;
    left.height -= 1;
    row
}

fn take_bottom(left: &mut Rect) -> Rect {
    left.height -= 1;
    Rect { y: left.bottom(), height: 1, ..*left }
}

/// How many columns stand side by side.
fn fitting(app: &App, width: u16) -> usize {
    let count = app.columns.len();
    match width {
        _ if width < ONE_COLUMN_BELOW && usize::from(width) < count * usize::from(TIGHT) => 1,
        _ if usize::from(width / TIGHT) >= count => count,
        _ => usize::from(width / ROOMY).clamp(1, count),
    }
}

/// The columns that are in view, from left to right.
pub fn places(app: &App, board: Rect) -> Vec<Place> {
    if board.is_empty() {
        return Vec::new();
    }
    let count = fitting(app, board.width);
    let edged = board.width >= 24 && board.height >= 7;
    let first = app.first_column.min(app.columns.len().saturating_sub(count));
    if !edged {
        let head = Rect { height: 0, ..board };
        return vec![Place { index: first, outer: board, head, cards: board, edged }];
    }
    let inner = usize::from(board.width).saturating_sub(count + 1);
    let mut x = board.x;
    (0..count)
        .map(|at| {
            let width = (inner / count + usize::from(at < inner % count)) as u16;
            let outer = Rect { x, width: width + 2, ..board };
            x += width + 1;
            let head = Rect { x: outer.x + 1, width, height: 1, ..outer };
            let cards = Rect { x: outer.x + 1, y: outer.y + 1, width, height: outer.height - 2 };
            Place { index: first + at, outer, head, cards, edged }
        })
        .collect()
}

/// The cards of a column that fit below its scroll, with the height of each; the last may be cut.
pub fn cards_in(app: &App, column: &Column, area: Rect) -> Vec<(usize, u16)> {
    let top = app.scroll.get(&column.status).copied().unwrap_or(0);
    let mut used = 0;
    let mut seen = Vec::new();
    for (row, found) in app.cards_of(column).enumerate().skip(top) {
        if used >= area.height {
            break;
        }
        let height = card::height(app, found, area.width);
        seen.push((row, height));
        used += height + 1;
    }
    seen
}

/// All cards that are in view.
pub fn cards_in_view(app: &App) -> Vec<&Card> {
    let screen = screen(app);
    if screen.board.is_empty() {
        return app.selected_card().into_iter().collect();
    }
    let mut seen = Vec::new();
    for place in places(app, screen.board) {
        let column = &app.columns[place.index];
        for (row, _) in cards_in(app, column, place.cards) {
            seen.push(&app.snapshot.cards[column.cards[row]]);
        }
    }
    seen
}

/// Scrolls so that the column in focus and the selected card are in view, and no column is scrolled past its end.
pub fn keep_in_view(app: &mut App) {
    let board = screen(app).board;
    if board.is_empty() {
        return;
    }
    let count = fitting(app, board.width);
    if let Some(focus) = app.column_of(app.focus) {
        let first = app.first_column.clamp((focus + 1).saturating_sub(count), focus);
        app.first_column = first.min(app.columns.len().saturating_sub(count));
    }
    for place in places(app, board) {
        let column = &app.columns[place.index];
        let status = column.status;
        let selected = if status == app.focus { selected_row(app) } else { None };
        let mut top = app.scroll.get(&status).copied().unwrap_or(0);
        let last = column.cards.len().saturating_sub(1);
        if let Some(row) = selected {
            top = top.clamp(first_to_show(app, column, row, place.cards), row);
        }
        top = top.min(first_to_show(app, column, last, place.cards));
        app.scroll.insert(status, top);
    }
}

/// The first card from which on `row` is wholly in view.
fn first_to_show(app: &App, column: &Column, row: usize, area: Rect) -> usize {
    let mut used = 0;
    let mut first = row;
    for at in (0..=row.min(column.cards.len().saturating_sub(1))).rev() {
        let Some(place) = column.cards.get(at) else { break };
        used += card::height(app, &app.snapshot.cards[*place], area.width);
        if used > area.height && at != row {
            break;
        }
        first = at;
        used += 1;
    }
    first
}

/// The inside of the panel below its tabs.
pub fn panel_body(app: &App) -> Rect {
    let panel = screen(app).panel;
    if panel.width < 8 || panel.height < 5 {
        return panel;
    }
    Rect { x: panel.x + 2, y: panel.y + 3, width: panel.width - 4, height: panel.height - 4 }
}

/// How many lines the panel shows.
pub fn panel_rows(app: &App) -> usize {
    usize::from(panel_body(app).height)
}

/// Scrolls the panel by so many lines (negative: up).
pub fn scroll_panel(app: &mut App, by: isize) {
    let body = panel_body(app);
    let Some(panel) = &app.detail else { return };
    if panel.tab == super::detail::Tab::Log {
        return log::scroll(app, by, body);
    }
    let count = detail::lines(app, usize::from(body.width)).len();
    let last = count.saturating_sub(usize::from(body.height));
    if let Some(panel) = &mut app.detail {
        panel.top = panel.top.saturating_add_signed(by).min(last);
    }
}

/// The columns that are in view, as a range.
pub fn columns_in_view(app: &App, board: Rect) -> Range<usize> {
    let count = fitting(app, board.width);
    let first = app.first_column.min(app.columns.len().saturating_sub(count));
    first..first + count
}
