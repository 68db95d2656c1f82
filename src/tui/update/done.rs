//! How a command went: what is said, what is selected, what can be taken back, and what stays open since it was
//! refused.

use super::{acts, keys, read, refresh};
use crate::domain::Task;
use crate::engine::Outcome;
use crate::tui::app::{App, Purpose};
use crate::tui::event::{EditPlace, Effect};
use crate::tui::lamps::LampKey;
use crate::tui::layer::answer::Ahead;
use crate::tui::layer::{FormLayer, Layer};

/// A command was carried out, or refused.
pub fn executed(
    app: &mut App,
    request: u64,
    result: Result<Box<Outcome>, String>,
    effects: &mut Vec<Effect>,
) {
    let Some(purpose) = app.pending.remove(&request) else { return };
    match result {
        Ok(outcome) => carried_out(app, request, purpose, &outcome, effects),
        Err(why) => refused(app, request, purpose, why, effects),
    }
}

fn carried_out(app: &mut App, request: u64, purpose: Purpose, outcome: &Outcome, effects: &mut Vec<Effect>) {
    match purpose {
        Purpose::Say(text) => app.notices.say(text, app.now),
        Purpose::Create => {
            close_form(app, request);
            if let Some(task) = outcome.task() {
                app.wanted = Some(task.id.clone());
                app.notices.say(format!("#{} is there", task.seq), app.now);
            }
        }
        Purpose::Edit(undo) => {
            close_form(app, request);
            app.undo.push(*undo);
        }
        Purpose::TakeBack(seq) => app.notices.say(format!("#{seq} is as it was before"), app.now),
        Purpose::Move(id) => {
            if let Outcome::Accepted { task, .. } = outcome {
                app.notices.say(format!("#{} is being stopped", task.seq), app.now);
                acts::let_go(app);
            }
            if let Outcome::Workflow(workflow) = outcome {
                app.notices
                    .say(format!("workflow {} runs again, as {}", workflow.name, workflow.id), app.now);
                acts::let_go(app);
            }
            app.wanted = Some(id);
        }
        Purpose::Answer(key) => answered(app, key, effects),
        Purpose::Board(name) => read::switch_board(app, &name, effects),
    }
    read::reload(app, effects);
}

fn refused(app: &mut App, request: u64, purpose: Purpose, why: String, effects: &mut Vec<Effect>) {
    match purpose {
        Purpose::Answer(key) => {
            for layer in &mut app.layers {
                if let Layer::Answer(answer) = layer
                    && answer.matter.key == key
                {
                    answer.sending = false;
                    answer.error = Some(why);
                    // What was typed meanwhile was meant for the lamp after this one.
                    answer.ahead.clear();
                    return read::reload(app, effects);
                }
            }
            // The dialogue was closed meanwhile; the text is in the drafts.
            app.notices.trouble(format!("the answer was not taken: {why}"), app.now);
        }
        Purpose::Create | Purpose::Edit(_) => match form(app, request) {
            Some(form) => {
                form.sending = false;
                form.error = Some(why);
                if let Some(before) = &form.before {
                    effects.push(Effect::LoadToEdit(before.id.clone(), EditPlace::Again));
                }
            }
            None => {
                app.notices.trouble(why, app.now);
                read::reload(app, effects);
            }
        },
        Purpose::Move(_) => {
            app.moving = None;
            app.notices.trouble(why, app.now);
            refresh(app);
        }
        _ => app.notices.trouble(why, app.now),
    }
}

fn answered(app: &mut App, key: LampKey, effects: &mut Vec<Effect>) {
    app.answered.insert(key.clone());
    app.drafts.remove(&key);
    effects.push(Effect::KeepDraft(key.clone(), String::new()));
    let open = app
        .layers
        .iter()
        .position(|layer| matches!(layer, Layer::Answer(answer) if answer.matter.key == key));
    let Some(place) = open else { return };
    let Layer::Answer(mut answer) = app.layers.remove(place) else { return };
    let ahead = std::mem::take(&mut answer.ahead);
    if !answer.advance(app) {
        app.notices.say("answered; nothing else needs you", app.now);
        return;
    }
    app.layers.insert(place, Layer::Answer(answer));
    for typed in ahead {
        match typed {
            Ahead::Key(key) => keys::press(app, key, effects),
            Ahead::Paste(text) => keys::paste(app, &text, effects),
        }
    }
}

/// The card of a form that was refused was read again: it may have changed meanwhile.
pub fn form_goes_on(app: &mut App, task: Task, effects: &mut Vec<Effect>) {
    let of = |layer: &Layer| matches!(layer, Layer::Form(form) if form.before.as_ref().is_some_and(|before| before.id == task.id));
    let Some(place) = app.layers.iter().position(of) else { return };
    let mut layer = app.layers.remove(place);
    if let Layer::Form(form) = &mut layer {
        form.catch_up(app, task, effects);
        if form.is_done() {
            return;
        }
    }
    app.layers.insert(place, layer);
}

fn form(app: &mut App, request: u64) -> Option<&mut FormLayer> {
    app.layers.iter_mut().find_map(|layer| match layer {
        Layer::Form(form) if form.request == Some(request) => Some(&mut **form),
        _ => None,
    })
}

fn close_form(app: &mut App, request: u64) {
    app.layers.retain(|layer| !matches!(layer, Layer::Form(form) if form.request == Some(request)));
}
