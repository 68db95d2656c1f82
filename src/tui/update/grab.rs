//! A held card: it jumps between the columns that it may enter, and is dropped or put back.

use super::{acts, refresh};
use crate::domain::{Card, TaskStatus, moves};
use crate::tui::action::Action;
use crate::tui::app::{App, Grab};
use crate::tui::event::Effect;

/// Picks the card up.
pub fn pick_up(app: &mut App, card: &Card) {
    app.grab = Some(Grab {
        task: card.id.clone(),
        from: card.status,
        over: card.status,
        moves: moves::permitted(card),
    });
    refresh(app);
}

/// A key while a card is held.
pub fn key(app: &mut App, action: Action, effects: &mut Vec<Effect>) {
    match action {
        Action::GrabLeft => carry(app, false),
        Action::GrabRight => carry(app, true),
        Action::PutBack => {
            app.grab = None;
            refresh(app);
        }
        Action::Drop => drop_card(app, effects),
        _ => {}
    }
}

fn carry(app: &mut App, right: bool) {
    let Some(grab) = &mut app.grab else { return };
    let over = grab.over;
    let lit: Vec<TaskStatus> =
        TaskStatus::ALL.iter().copied().filter(|status| grab.allows(*status)).collect();
    let next = match right {
        true => lit.iter().find(|status| **status > over),
        false => lit.iter().rev().find(|status| **status < over),
    };
    if let Some(next) = next {
        grab.over = *next;
        refresh(app);
    }
}

fn drop_card(app: &mut App, effects: &mut Vec<Effect>) {
    let Some(grab) = app.grab.take() else { return };
    match grab.pending() {
        Some(found) => acts::begin_move(app, &grab.task, found.clone(), effects),
        None => refresh(app),
    }
}
