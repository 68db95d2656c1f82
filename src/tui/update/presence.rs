//! Somebody looks, goes, or comes back: until where the board was seen is kept, and who comes back is told.

use crate::tui::app::App;
use crate::tui::away::Mark;
use crate::tui::event::Effect;

/// A key was pressed.
pub fn key(app: &mut App, effects: &mut Vec<Effect>) {
    let since = app.presence.key(app.now, app.snapshot.seq);
    tell(app, since, effects);
    sees(app, effects);
}

/// The terminal gained or lost the focus.
pub fn focus(app: &mut App, focused: bool, effects: &mut Vec<Effect>) {
    if focused && !app.focused {
        let since = app.presence.back(app.now, app.snapshot.seq);
        tell(app, since, effects);
    }
    app.focused = focused;
}

/// Until where the board was seen before it was last closed. Whoever opens it looks at it.
pub fn before(app: &mut App, mark: Option<Mark>, effects: &mut Vec<Effect>) {
    let since = app.presence.before(mark, app.snapshot.seq);
    app.presence.key(app.now, app.snapshot.seq);
    tell(app, since, effects);
    sees(app, effects);
}

/// The board was read.
pub fn sees(app: &mut App, effects: &mut Vec<Effect>) {
    if let Some(mark) = app.presence.sees(app.now, app.snapshot.seq, app.focused) {
        effects.push(Effect::KeepSeen(app.board.clone(), mark));
    }
}

/// Before the program ends, what was seen is kept.
pub fn ending(app: &mut App, effects: &mut Vec<Effect>) {
    let Some(quit) = effects.iter().position(|effect| matches!(effect, Effect::Quit(_))) else { return };
    if let Some(mark) = app.presence.ends(app.now, app.snapshot.seq, app.focused) {
        effects.insert(quit, Effect::KeepSeen(app.board.clone(), mark));
    }
}

fn tell(app: &App, since: Option<Mark>, effects: &mut Vec<Effect>) {
    if let Some(since) = since {
        effects.push(Effect::LoadAway { board: app.board.clone(), since: since.seq });
    }
}
