//! The update function: an event comes in, the state changes, effects go out. Synchronous and pure: no clock, no
//! file, no database. Start reading at [`update`]; `keys` finds who a key is for, `offer` says what is possible
//! and why not, `acts` does it, `read` keeps what is shown fresh, `done` hears how commands went.

pub mod acts;
pub mod done;
mod grab;
pub mod keys;
pub mod offer;
mod presence;
pub mod read;

use super::app::{App, Leaving, Purpose};
use super::event::{EditPlace, Effect, Event, Loading};
use super::layer::{FormLayer, Layer};
use super::{Exit, layout, select};
use crate::domain::lamp::lamp;
use crate::engine::Command;

/// Takes one event in and says what is to be done outside.
pub fn update(app: &mut App, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    let quiet = matches!(event, Event::Now(_) | Event::Changed);
    match event {
        Event::Now(now) => {
            app.now = now;
            app.notices.expire(now);
        }
        Event::Key(key) => {
            presence::key(app, &mut effects);
            keys::press(app, key, &mut effects);
        }
        Event::Paste(text) => keys::paste(app, &text, &mut effects),
        Event::Resize(width, height) => app.size = (width, height),
        Event::Focus(focused) => presence::focus(app, focused, &mut effects),
        Event::Terminate => terminate(app, &mut effects),
        Event::Changed => read::changed(app, &mut effects),
        Event::Snapshot(snapshot) => read::snapshot(app, *snapshot, &mut effects),
        Event::View { view, steps } => read::view(app, view, steps),
        Event::ToEdit { task, place: EditPlace::Form } => {
            app.layers.push(Layer::Form(Box::new(FormLayer::edit(*task))));
        }
        Event::ToEdit { task, place: EditPlace::Editor } => {
            let text = format!("{}\n\n{}\n", task.title, task.description.trim_end());
            effects.push(Effect::Editor { task, text });
        }
        Event::ToEdit { task, place: EditPlace::Again } => done::form_goes_on(app, *task, &mut effects),
        Event::Edited { task, text } => acts::edited(app, &task, text, &mut effects),
        Event::History { task, events } => read::history(app, &task, events),
        Event::Why { task, reasons } => {
            for layer in &mut app.layers {
                if let Layer::Why(why) = layer
                    && why.task == task
                {
                    why.reasons = Some(reasons.clone());
                }
            }
        }
        Event::Log { run, chunk } => {
            if app.log.run.as_ref() == Some(&run) {
                app.log.take(chunk);
            }
        }
        Event::Executed { request, result } => done::executed(app, request, result, &mut effects),
        Event::LoadFailed { what, message } => {
            if what == Loading::Board {
                app.reading.under_way = false;
            }
            app.presence.asked = None;
            if let Some(opened) = &mut app.opened {
                (opened.loading, opened.history_loading) = (false, false);
            }
            app.notices.trouble(message, app.now);
        }
        Event::SeenBefore(mark) => presence::before(app, mark, &mut effects),
        Event::Away(away) => app.presence.told(away, app.now),
        Event::Drafts(drafts) => {
            for (key, text) in drafts {
                for layer in &mut app.layers {
                    if let Layer::Answer(answer) = layer {
                        answer.take_up(&key, &text);
                    }
                }
                app.drafts.entry(key).or_insert(text);
            }
        }
        Event::Trouble(text) => app.notices.trouble(text, app.now),
    }
    presence::ending(app, &mut effects);
    if !quiet {
        app.dirty = true;
        settle(app, &mut effects);
    }
    effects
}

/// What follows from the state as it is now, whatever led to it.
fn settle(app: &mut App, effects: &mut Vec<Effect>) {
    layout::keep_in_view(app);
    read::keep_open(app, effects);
    note_seen(app, effects);
    let lit = app
        .snapshot
        .cards
        .iter()
        .filter(|card| lamp(card, app.now).is_some_and(|l| l.needs_person()))
        .count();
    let title = if lit > 0 {
        format!("◆ {lit} andon ▸ {}", app.board)
    } else {
        format!("andon ▸ {}", app.board)
    };
    if title != app.title {
        effects.push(Effect::Title(title.clone()));
        app.title = title;
    }
}

/// A question or a call that is put before a person is noted as seen.
fn note_seen(app: &mut App, effects: &mut Vec<Effect>) {
    let Some(Layer::Answer(answer)) = app.layers.last() else { return };
    if let Some(id) = answer.matter.wait_id()
        && app.seen.insert(id.to_owned())
    {
        effects.push(Effect::Delivered(id.to_owned()));
    }
}

fn terminate(app: &mut App, effects: &mut Vec<Effect>) {
    if app.own_runs() == 0 || app.leaving == Some(Leaving::Stop) {
        effects.push(Effect::Quit(Exit::Stopped));
        return;
    }
    app.leaving = Some(Leaving::Stop);
    effects.push(Effect::StopRuns);
}

impl App {
    /// Sends a command; gives its number.
    pub fn send(&mut self, command: Command, purpose: Purpose, effects: &mut Vec<Effect>) -> u64 {
        self.last_request += 1;
        self.pending.insert(self.last_request, purpose);
        effects.push(Effect::Execute { request: self.last_request, command: Box::new(command) });
        self.last_request
    }
}

/// When something that is shown changes by itself: the spinner (at most five times a second, and only where one
/// is in view), an age, the end of a notice. `None` = never; the board sleeps until something happens.
pub fn next_wake(app: &App) -> Option<crate::domain::time::Millis> {
    let mut due: Vec<i64> = app.notices.current().map(|notice| notice.until).into_iter().collect();
    for card in layout::cards_in_view(app) {
        if card.has_live_run() {
            due.push(app.now - app.now.rem_euclid(SPIN_MS) + SPIN_MS);
        } else {
            let age = (app.now - card.since_ms).max(0);
            let unit = match age {
                0..3_600_000 => 60_000,
                3_600_000..86_400_000 => 3_600_000,
                _ => 86_400_000,
            };
            due.push(app.now + unit - age % unit);
        }
    }
    due.into_iter().min()
}

/// How long one picture of the spinner stands.
pub const SPIN_MS: i64 = 200;

/// Looks for the selected card again after the filter, the archive or the grab changed.
pub fn refresh(app: &mut App) {
    select::rebuild(app);
}
