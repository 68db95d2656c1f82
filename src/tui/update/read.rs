//! What is shown is kept fresh: one read of the board under way, at most one more wanted; the opened card, its
//! history and its output follow what is on the screen.

use std::collections::HashSet;

use super::refresh;
use crate::domain::lamp::lamp;
use crate::domain::{BoardSnapshot, Event, RunId, TaskId};
use crate::engine::{StepView, TaskView};
use crate::tui::Exit;
use crate::tui::app::{App, Leaving};
use crate::tui::detail::Tab;
use crate::tui::event::Effect;
use crate::tui::lamps;
use crate::tui::layer::Layer;
use crate::tui::opened::{HISTORY_PAGE, Opened};

/// Something was committed.
pub fn changed(app: &mut App, effects: &mut Vec<Effect>) {
    reload(app, effects);
}

/// Reads the board, or notes that it is wanted once more.
pub fn reload(app: &mut App, effects: &mut Vec<Effect>) {
    if app.reading.under_way {
        app.reading.again = true;
        return;
    }
    app.reading.under_way = true;
    effects.push(Effect::LoadBoard { board: app.board.clone(), closed: app.archive });
}

/// The board was read.
pub fn snapshot(app: &mut App, snapshot: BoardSnapshot, effects: &mut Vec<Effect>) {
    app.reading.under_way = false;
    if std::mem::take(&mut app.reading.again) || snapshot.board_id != app.board {
        reload(app, effects);
    }
    if snapshot.board_id != app.board {
        return;
    }
    if app.loaded && app.notify && !app.focused {
        tell_desktop(app, &snapshot, effects);
    }
    let first = !std::mem::replace(&mut app.loaded, true);
    let bare = app.columns.iter().all(|column| column.cards.is_empty());
    app.snapshot = snapshot;
    app.moving = None;
    forget_answered(app);
    check_grab(app);
    refresh(app);
    if bare && app.selected.is_none() {
        begin_somewhere(app);
    }
    if let Some(opened) = &mut app.opened {
        (opened.stale, opened.history_stale) = (true, true);
    }
    match first {
        true => effects.push(Effect::LoadSeen(app.board.clone())),
        false => super::presence::sees(app, effects),
    }
    match app.leaving {
        Some(Leaving::Drain) if app.own_runs() == 0 => effects.push(Effect::Quit(Exit::Drained)),
        Some(Leaving::Stop) if app.own_runs() == 0 => effects.push(Effect::Quit(Exit::Stopped)),
        _ => {}
    }
}

/// What was answered here and is out now needs no remembering; what is being answered and went out says so.
fn forget_answered(app: &mut App) {
    let now = app.now;
    let cards = &app.snapshot.cards;
    if !app.answered.is_empty() {
        let lit: HashSet<_> = cards.iter().filter_map(|card| lamps::key(card, now)).collect();
        app.answered.retain(|key| lit.contains(key));
    }
    for layer in &mut app.layers {
        if let Layer::Answer(answer) = layer {
            let card = cards.iter().find(|card| card.id == *answer.matter.task());
            answer.check(card, now);
        }
    }
}

/// A held card that was moved by somebody else is let go.
fn check_grab(app: &mut App) {
    let Some(grab) = &app.grab else { return };
    let status = app.snapshot.cards.iter().find(|card| card.id == grab.task).map(|card| card.status);
    if status != Some(grab.from) {
        app.grab = None;
        app.notices.trouble("the card was moved meanwhile", app.now);
    }
}

/// Where there was no card before, the selection goes to the first one there is, so that the next key already
/// does something.
fn begin_somewhere(app: &mut App) {
    if let Some(column) = app.columns.iter().find(|column| !column.cards.is_empty()) {
        app.focus = column.status;
        refresh(app);
    }
}

fn tell_desktop(app: &App, next: &BoardSnapshot, effects: &mut Vec<Effect>) {
    let lit = |card: &crate::domain::Card| lamp(card, app.now).filter(|lamp| lamp.needs_person());
    for card in &next.cards {
        let before = app.card(&card.id).and_then(lit);
        if let (Some(now), true) = (lit(card), before != lit(card)) {
            effects.push(Effect::Notify(format!(
                "#{} {} {}",
                card.seq,
                crate::tui::text::clean(&card.title),
                now.says()
            )));
        }
    }
}

/// Shows another board.
pub fn switch_board(app: &mut App, board: &str, effects: &mut Vec<Effect>) {
    if app.board == board {
        return;
    }
    app.board = board.to_owned();
    app.snapshot.cards.clear();
    app.snapshot.board_id = board.to_owned();
    app.loaded = false;
    app.presence = Default::default();
    app.selected = None;
    app.detail = None;
    app.rows.clear();
    app.scroll.clear();
    app.filter = Default::default();
    refresh(app);
    reload(app, effects);
}

/// A card was read.
pub fn view(app: &mut App, view: Box<TaskView>, steps: Vec<StepView>) {
    if let Some(opened) = &mut app.opened
        && opened.task == view.task.id
    {
        opened.loading = false;
        (opened.view, opened.steps) = (Some(view), steps);
    }
}

/// A page of a card's history was read.
pub fn history(app: &mut App, task: &TaskId, events: Vec<Event>) {
    if let Some(opened) = &mut app.opened
        && opened.task == *task
    {
        opened.history_loading = false;
        opened.history_stale |= events.len() >= HISTORY_PAGE;
        let last = opened.history.last().map_or(0, |event| event.seq);
        opened.history.extend(events.into_iter().filter(|event| event.seq > last));
    }
}

/// Reads what the screen now shows and has not, and lets go of what it shows no more.
pub fn keep_open(app: &mut App, effects: &mut Vec<Effect>) {
    let answering = app.layers.iter().find_map(|layer| match layer {
        Layer::Answer(answer) => Some(answer.matter.task().clone()),
        _ => None,
    });
    if app.detail.is_some() && app.selected.is_none() && answering.is_none() {
        app.detail = None;
    }
    let panel = app.detail.as_ref().and(app.selected.clone());
    let wanted = answering.clone().or(panel);
    if app.opened.as_ref().map(|opened| &opened.task) != wanted.as_ref() {
        app.opened = wanted.map(Opened::new);
        if let Some(detail) = &mut app.detail {
            detail.top = 0;
        }
    }
    let history = app.detail.as_ref().is_some_and(|detail| detail.tab == Tab::History);
    if let Some(opened) = &mut app.opened {
        if opened.stale && !opened.loading {
            (opened.stale, opened.loading) = (false, true);
            effects.push(Effect::LoadView(opened.task.clone()));
        }
        if history && opened.history_stale && !opened.history_loading {
            (opened.history_stale, opened.history_loading) = (false, true);
            let since = opened.history.last().map_or(0, |event| event.seq);
            effects.push(Effect::LoadHistory { task: opened.task.clone(), since });
        }
    }
    keep_log(app, answering.is_some(), effects);
}

fn keep_log(app: &mut App, answering: bool, effects: &mut Vec<Effect>) {
    let shown = answering || app.detail.as_ref().is_some_and(|detail| detail.tab == Tab::Log);
    let run: Option<(RunId, bool)> = match (shown, &app.opened) {
        (true, Some(opened)) if opened.view.is_some() => {
            opened.last_run().map(|run| (run.id.clone(), run.is_active()))
        }
        _ => None,
    };
    let (wanted, live) = run.unzip();
    // A run that ended is read once more from the beginning, in case its log was shortened in the middle.
    let ended = app.log.live && live == Some(false);
    if app.log.run != wanted || ended {
        let same = app.log.run == wanted;
        match (&wanted, live) {
            (Some(run), Some(live)) => effects.push(Effect::FollowLog { run: run.clone(), live }),
            _ => effects.push(Effect::StopLog),
        }
        match same {
            true => app.log.live = false,
            false => app.log.start(wanted, live.unwrap_or(false)),
        }
    }
}
