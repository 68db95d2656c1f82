//! Columns and selection. The selection is a card's id: it follows the card wherever it goes, and only when the
//! card is gone does it fall to the one that took its place.

use super::app::{App, Column};
use crate::domain::lamp::lamp;
use crate::domain::{Card, TaskId, TaskStatus};

/// The columns that always stand.
pub const STANDING: [TaskStatus; 6] = [
    TaskStatus::Pending,
    TaskStatus::Queued,
    TaskStatus::Running,
    TaskStatus::Review,
    TaskStatus::Blocked,
    TaskStatus::Failed,
];

/// Sorts the cards into columns anew and lets the selection follow its card.
pub fn rebuild(app: &mut App) {
    app.places = app.snapshot.cards.iter().enumerate().map(|(at, card)| (card.id.clone(), at)).collect();
    let mut filled = [false; 9];
    for card in &app.snapshot.cards {
        filled[card.status as usize] = true;
    }
    let shown: Vec<TaskStatus> =
        TaskStatus::ALL.iter().copied().filter(|status| stands(app, *status, &filled)).collect();
    let mut sorted: Vec<Vec<usize>> = vec![Vec::new(); TaskStatus::ALL.len()];
    let mut lifted = None;
    let mut pass = app.filter.pass(app.now);
    for (at, card) in app.snapshot.cards.iter().enumerate() {
        if card.archived && !app.archive {
            continue;
        }
        let held = app.grab.as_ref().is_some_and(|grab| grab.task == card.id);
        match away(app, card).filter(|status| shown.contains(status)) {
            Some(status) => lifted = Some((at, status)),
            None if held || pass.shows(card) => sorted[card.status as usize].push(at),
            None => {}
        }
    }
    drop(pass);
    if let Some((at, status)) = lifted {
        sorted[status as usize].insert(0, at);
    }
    let column = |status| Column { status, cards: std::mem::take(&mut sorted[status as usize]) };
    app.columns = shown.into_iter().map(column).collect();
    follow(app);
}

/// Whether a column is on the board.
fn stands(app: &App, status: TaskStatus, filled: &[bool; 9]) -> bool {
    STANDING.contains(&status)
        || app.grab.as_ref().is_some_and(|grab| grab.allows(status))
        || match status {
            TaskStatus::Suspended => filled[status as usize],
            _ => app.archive,
        }
}

/// Where a card is shown while it is held, or dropped and not yet read back, if that is not its own column.
fn away(app: &App, card: &Card) -> Option<TaskStatus> {
    let held = app.grab.as_ref().filter(|grab| grab.task == card.id).map(|grab| grab.over);
    let moving = app.moving.as_ref().filter(|(task, _)| *task == card.id).map(|(_, to)| *to);
    held.or(moving).filter(|status| *status != card.status)
}

fn follow(app: &mut App) {
    if let Some(wanted) = app.wanted.clone()
        && select(app, &wanted)
    {
        app.wanted = None;
        return;
    }
    if let Some(id) = app.selected.clone() {
        if select(app, &id) {
            return;
        }
        app.selected = None;
    }
    if app.column_of(app.focus).is_none() {
        app.focus = TaskStatus::Pending;
    }
    stay_near(app);
}

/// Selects a card that is shown; false when it is not.
pub fn select(app: &mut App, id: &TaskId) -> bool {
    let Some(place) = app.places.get(id).copied() else { return false };
    let found = app
        .columns
        .iter()
        .find_map(|column| column.cards.iter().position(|at| *at == place).map(|row| (column.status, row)));
    let Some((status, row)) = found else { return false };
    app.focus = status;
    app.selected = Some(id.clone());
    app.rows.insert(status, row);
    true
}

/// Selects the card of the column in focus that is nearest to where the selection last was in it.
fn stay_near(app: &mut App) {
    let row = app.rows.get(&app.focus).copied().unwrap_or(0);
    let Some(column) = app.column_of(app.focus).map(|at| &app.columns[at]) else { return };
    let near = row.min(column.cards.len().saturating_sub(1));
    let id = column.cards.get(near).map(|place| app.snapshot.cards[*place].id.clone());
    app.selected = id;
    app.rows.insert(app.focus, near);
}

/// Puts the focus on the column `by` places to the right (negative: left).
pub fn step_column(app: &mut App, by: isize) {
    let at = app.column_of(app.focus).unwrap_or(0);
    let to = at.saturating_add_signed(by).min(app.columns.len().saturating_sub(1));
    app.focus = app.columns[to].status;
    stay_near(app);
}

/// Moves the selection `by` cards down (negative: up) within its column.
pub fn step_row(app: &mut App, by: isize) {
    let row = app.rows.get(&app.focus).copied().unwrap_or(0);
    app.rows.insert(app.focus, row.saturating_add_signed(by));
    stay_near(app);
}

/// The place of the selection within its column.
pub fn selected_row(app: &App) -> Option<usize> {
    let place = app.places.get(app.selected.as_ref()?)?;
    app.columns[app.column_of(app.focus)?].cards.iter().position(|at| at == place)
}

/// The next card with a lamp after the selected one (or before it), in the order of the board, around its ends.
pub fn next_lamp(app: &App, forward: bool) -> Option<TaskId> {
    let mut lit: Vec<&Card> = app
        .columns
        .iter()
        .flat_map(|column| app.cards_of(column))
        .filter(|card| lamp(card, app.now).is_some() || Some(&card.id) == app.selected.as_ref())
        .collect();
    if !forward {
        lit.reverse();
    }
    let at = lit.iter().position(|card| Some(&card.id) == app.selected.as_ref());
    let order = match at {
        Some(at) => lit[at + 1..].iter().chain(&lit[..=at]).copied().collect(),
        None => lit,
    };
    order.into_iter().find(|card| lamp(card, app.now).is_some()).map(|card| card.id.clone())
}
