//! Who a key is for: the topmost layer, a held card, the panel, the board, in this order.

use crossterm::event::KeyEvent;

use super::{acts, grab};
use crate::tui::action::{Action, Context};
use crate::tui::app::App;
use crate::tui::event::Effect;
use crate::tui::layer::{Layer, Reply};

/// A key was pressed.
pub fn press(app: &mut App, key: KeyEvent, effects: &mut Vec<Effect>) {
    app.notices.clear();
    let board = app.keymap.action(Context::Board, key);
    if let Some(mut layer) = app.layers.pop() {
        let place = app.layers.len();
        let reply = layer.key(app, key, effects);
        let done = matches!(&layer, Layer::Form(form) if form.is_done());
        if reply != Reply::Close && !done {
            app.layers.insert(place, layer);
        }
        if reply == Reply::Ignored
            && let Some(action @ (Action::Redraw | Action::Background)) = board
        {
            acts::run(app, action, effects);
        }
        return;
    }
    if app.grab.is_some() {
        if let Some(action) = app.keymap.action(Context::Grab, key) {
            grab::key(app, action, effects);
        }
        return;
    }
    if app.detail.is_some()
        && let Some(action) = app.keymap.action(Context::Detail, key)
    {
        return acts::run(app, action, effects);
    }
    if let Some(action) = board {
        acts::run(app, action, effects);
    }
}

/// A text was pasted. On the board itself it means nothing, so that its letters are not taken for keys.
pub fn paste(app: &mut App, text: &str, effects: &mut Vec<Effect>) {
    if let Some(mut layer) = app.layers.pop() {
        let place = app.layers.len();
        layer.paste(app, text, effects);
        app.layers.insert(place, layer);
    }
}

/// The context that has the keyboard.
pub fn context(app: &App) -> Context {
    match app.layers.last() {
        Some(layer) => layer.context(),
        None if app.grab.is_some() => Context::Grab,
        None if app.detail.is_some() => Context::Detail,
        None => Context::Board,
    }
}
