//! What an action does, once `offer` has said that it is possible.

use super::{grab, offer, read, refresh};
use crate::domain::{Card, IdRef, Move, Needs, TaskId, TaskStatus, moves};
use crate::engine::{Command, TaskEdit};
use crate::tui::action::Action;
use crate::tui::app::{App, Leaving, Purpose, Undo};
use crate::tui::detail::{Detail, Tab};
use crate::tui::event::{EditPlace, Effect};
use crate::tui::field::Field;
use crate::tui::layer::*;
use crate::tui::{Exit, layout, select};

/// Does what a key means, or says why it can't be done.
pub fn run(app: &mut App, action: Action, effects: &mut Vec<Effect>) {
    if let Err(why) = offer::offer(app, action) {
        if !why.is_empty() {
            app.notices.trouble(why, app.now);
        }
        return;
    }
    match action {
        Action::Left => select::step_column(app, -1),
        Action::Right => select::step_column(app, 1),
        Action::Down => select::step_row(app, 1),
        Action::Up => select::step_row(app, -1),
        Action::PageDown => select::step_row(app, 5),
        Action::PageUp => select::step_row(app, -5),
        Action::Top => select::step_row(app, isize::MIN / 2),
        Action::Bottom => select::step_row(app, isize::MAX / 2),
        Action::NextCard => step_open_card(app, 1),
        Action::PreviousCard => step_open_card(app, -1),
        Action::NextLamp | Action::PreviousLamp => {
            if let Some(id) = select::next_lamp(app, action == Action::NextLamp) {
                select::select(app, &id);
            }
        }
        Action::Answer => {
            let first = app.selected.clone();
            if let Some(layer) = AnswerLayer::open(app, first.as_ref()) {
                app.layers.push(Layer::Answer(Box::new(layer)));
            }
        }
        Action::Open => open(app, Tab::Overview),
        Action::Create => app.layers.push(Layer::Form(Box::new(FormLayer::create(&app.board.clone())))),
        Action::Filter => app.layers.push(Layer::Search(SearchLayer::new(app))),
        Action::Back => search::apply(app, ""),
        Action::Help => app.layers.push(Layer::Help(HelpLayer::default())),
        Action::Boards => app.layers.push(Layer::Boards(BoardsLayer::new(app))),
        Action::Archive => {
            app.archive = !app.archive;
            refresh(app);
            read::reload(app, effects);
        }
        Action::ResumeAll => resume_all(app, effects),
        Action::Undo => undo(app, effects),
        Action::Redraw => effects.push(Effect::Redraw),
        Action::Background => effects.push(Effect::Background),
        Action::Quit => quit(app, effects),
        _ if action.context() == crate::tui::action::Context::Detail => panel(app, action),
        _ => {
            if let Some(card) = app.selected_card().cloned() {
                on_card(app, action, &card, effects);
            }
        }
    }
}

/// Actions on the selected card.
fn on_card(app: &mut App, action: Action, card: &Card, effects: &mut Vec<Effect>) {
    let task = IdRef::Full(card.id.0.clone());
    let seq = card.seq;
    let mut go = |app: &mut App, to: TaskStatus| {
        if let Ok(found) = moves::to(card, to) {
            begin_move(app, &card.id, found, effects);
        }
    };
    match action {
        Action::Grab => grab::pick_up(app, card),
        Action::MoveLeft | Action::MoveRight => {
            if let Ok(found) = offer::side_step(card, action == Action::MoveRight) {
                begin_move(app, &card.id, found, effects);
            }
        }
        Action::Retry => go(app, TaskStatus::Queued),
        Action::Pause if card.status == TaskStatus::Suspended => go(app, TaskStatus::Queued),
        Action::Pause => go(app, TaskStatus::Suspended),
        Action::Approve => go(app, TaskStatus::Success),
        Action::Reject => go(app, TaskStatus::Queued),
        Action::Cancel => go(app, TaskStatus::Cancelled),
        Action::Raise => set_priority(app, card, card.priority - 1, effects),
        Action::Lower => set_priority(app, card, card.priority + 1, effects),
        Action::Edit => effects.push(Effect::LoadToEdit(card.id.clone(), EditPlace::Form)),
        Action::Editor => effects.push(Effect::LoadToEdit(card.id.clone(), EditPlace::Editor)),
        Action::Why => {
            app.layers.push(Layer::Why(WhyLayer { task: card.id.clone(), reasons: None }));
            effects.push(Effect::LoadWhy(card.id.clone()));
        }
        Action::Copy => {
            app.send(Command::Copy { task }, Purpose::Create, effects);
        }
        Action::CopyId => {
            effects.push(Effect::Clipboard(card.id.0.clone()));
            app.notices.say(format!("{} is in the clipboard", card.id), app.now);
        }
        Action::PutAway => app.layers.push(Layer::Confirm(ConfirmLayer {
            heading: format!("#{seq}"),
            asks: format!("Put #{seq} away? t shows it again."),
            then: Then::PutAway(card.id.clone()),
        })),
        _ => {}
    }
}

/// Asks what a move needs, then makes it.
pub fn begin_move(app: &mut App, id: &TaskId, found: Move, effects: &mut Vec<Effect>) {
    let Some(seq) = app.card(id).map(|card| card.seq) else { return };
    let then = Then::Move(id.clone(), found.to);
    let heading = format!("#{seq} → {}", found.to.as_str().to_uppercase());
    app.moving = Some((id.clone(), found.to));
    match found.needs {
        Needs::Nothing => send_move(app, id, found.to, None, effects),
        Needs::Confirmation => {
            let asks = found.asks.to_owned();
            app.layers.push(Layer::Confirm(ConfirmLayer { heading, asks, then }));
        }
        Needs::Text | Needs::OptionalText => {
            let optional = found.needs == Needs::OptionalText;
            app.layers.push(Layer::Prompt(PromptLayer::new(heading, found.asks, optional, then)));
        }
    }
    refresh(app);
}

/// Makes a move.
pub fn send_move(
    app: &mut App,
    id: &TaskId,
    to: TaskStatus,
    text: Option<String>,
    effects: &mut Vec<Effect>,
) {
    let task = IdRef::Full(id.0.clone());
    app.send(Command::Move { task, to, text }, Purpose::Move(id.clone()), effects);
}

/// A move was not made after all.
pub fn let_go(app: &mut App) {
    if app.moving.take().is_some() {
        refresh(app);
    }
}

/// Puts a settled card away.
pub fn put_away(app: &mut App, id: &TaskId, effects: &mut Vec<Effect>) {
    let Some(seq) = app.card(id).map(|card| card.seq) else { return };
    let task = IdRef::Full(id.0.clone());
    app.send(Command::Archive { task }, Purpose::Say(format!("#{seq} was put away")), effects);
}

fn set_priority(app: &mut App, card: &Card, priority: u8, effects: &mut Vec<Effect>) {
    let edit = |value: u8| TaskEdit { priority: Some(i64::from(value)), ..TaskEdit::default() };
    let undo = Undo { task: card.id.clone(), seq: card.seq, edit: edit(card.priority) };
    let task = IdRef::Full(card.id.0.clone());
    let command = Command::Edit { task, edit: Box::new(edit(priority)), if_version: None };
    app.send(command, Purpose::Edit(Box::new(undo)), effects);
    // Shown at once, so that a second press counts on from here; the next read confirms it.
    if let Some(place) = app.places.get(&card.id).copied() {
        app.snapshot.cards[place].priority = priority;
    }
}

/// Resumes every suspended card of the board.
fn resume_all(app: &mut App, effects: &mut Vec<Effect>) {
    let suspended = app.snapshot.cards.iter().filter(|card| card.status == TaskStatus::Suspended);
    let cards: Vec<(TaskId, i64)> = suspended.map(|card| (card.id.clone(), card.seq)).collect();
    for (id, seq) in cards {
        let task = IdRef::Full(id.0);
        app.send(Command::Resume { task }, Purpose::Say(format!("#{seq} goes on")), effects);
    }
}

fn undo(app: &mut App, effects: &mut Vec<Effect>) {
    let Some(undo) = app.undo.pop() else { return };
    let task = IdRef::Full(undo.task.0.clone());
    let command = Command::Edit { task, edit: Box::new(undo.edit), if_version: None };
    app.send(command, Purpose::TakeBack(undo.seq), effects);
}

/// `$EDITOR` was closed: its first line is the title, the rest the description.
pub fn edited(
    app: &mut App,
    task: &crate::domain::Task,
    text: Result<String, String>,
    effects: &mut Vec<Effect>,
) {
    let text = match text {
        Ok(text) => text,
        Err(why) => return app.notices.trouble(why, app.now),
    };
    let (title, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let mut form = FormLayer::edit(task.clone());
    form.title = Field::line(title.trim());
    if rest.trim() != task.description.trim() {
        form.description = Field::lines(rest.trim());
    }
    // It goes through the form, which keeps the text and says why where it is not taken.
    form.send(app, effects);
    match form.is_done() {
        true => app.notices.say(format!("#{} is as it was", task.seq), app.now),
        false => app.layers.push(Layer::Form(Box::new(form))),
    }
}

fn open(app: &mut App, tab: Tab) {
    match &mut app.detail {
        Some(detail) => (detail.tab, detail.top) = (tab, 0),
        None => app.detail = Some(Detail::new(tab)),
    }
}

/// Opens the log of a card, from the answer dialogue.
pub fn open_log(app: &mut App, id: &TaskId) {
    select::select(app, id);
    open(app, Tab::Log);
}

fn step_open_card(app: &mut App, by: isize) {
    select::step_row(app, by);
    if let Some(detail) = &mut app.detail {
        detail.top = 0;
    }
}

fn panel(app: &mut App, action: Action) {
    let page = layout::panel_rows(app).saturating_sub(1).max(1) as isize;
    let Some(detail) = &mut app.detail else { return };
    let tab = match action {
        Action::Close => {
            app.detail = None;
            return;
        }
        Action::Zoom => {
            detail.full = !detail.full;
            return;
        }
        Action::NextTab => Some(detail.tab.step(1)),
        Action::PreviousTab => Some(detail.tab.step(-1)),
        Action::TabOverview => Some(Tab::Overview),
        Action::TabLog => Some(Tab::Log),
        Action::TabHistory => Some(Tab::History),
        _ => None,
    };
    if let Some(tab) = tab {
        (detail.tab, detail.top) = (tab, 0);
        return;
    }
    match action {
        Action::Follow => crate::tui::view::log::set_follow(app, !app.log.follow),
        Action::Wrap => app.log.wrap = !app.log.wrap,
        Action::ScrollDown => layout::scroll_panel(app, 1),
        Action::ScrollUp => layout::scroll_panel(app, -1),
        Action::ScrollPageDown => layout::scroll_panel(app, page),
        Action::ScrollPageUp => layout::scroll_panel(app, -page),
        Action::ScrollTop => layout::scroll_panel(app, isize::MIN / 2),
        Action::ScrollBottom => layout::scroll_panel(app, isize::MAX / 2),
        _ => {}
    }
}

fn quit(app: &mut App, effects: &mut Vec<Effect>) {
    match (app.own_runs(), app.leaving) {
        (0, _) => effects.push(Effect::Quit(Exit::Idle)),
        (_, Some(Leaving::Stop)) => effects.push(Effect::Quit(Exit::AtOnce)),
        _ => app.layers.push(Layer::Quit(QuitLayer)),
    }
}
