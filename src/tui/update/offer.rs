//! What is possible now: one function from an action and the selection to the words for it, or to why not. The
//! keys, the footer and the help all ask it; moves of cards are asked of the domain.

use crate::domain::lamp::Lamp;
use crate::domain::{Card, Move, TaskStatus, moves};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::detail::Tab;
use crate::tui::lamps::{self, Choice, Does};
use crate::tui::layer::Layer;
use crate::tui::select::next_lamp;

/// The words for an action that is possible now, or why it is not.
pub fn offer(app: &App, action: Action) -> Result<String, String> {
    let label = || Ok(action.label().to_owned());
    let card = || app.selected_card().ok_or_else(|| "no card is selected; c makes one".to_owned());
    match action {
        Action::Grab => {
            let card = card()?;
            match moves::permitted(card).is_empty() {
                true => Err(stays(card)),
                false => label(),
            }
        }
        Action::MoveLeft => side_step(card()?, false).map(|found| found.meaning),
        Action::MoveRight => side_step(card()?, true).map(|found| found.meaning),
        Action::Retry => {
            let card = card()?;
            only(card, &[TaskStatus::Failed], "only a failed card is retried")?;
            Ok(to(card, TaskStatus::Queued)?.meaning)
        }
        Action::Pause => {
            let card = card()?;
            only(card, &[TaskStatus::Running, TaskStatus::Suspended], "only a running card is suspended")?;
            match card.status {
                TaskStatus::Suspended => Ok("resume".to_owned()),
                _ => to(card, TaskStatus::Suspended).map(|_| "suspend".to_owned()),
            }
        }
        Action::ResumeAll => {
            let count = app.snapshot.cards.iter().filter(|card| card.status == TaskStatus::Suspended).count();
            match count {
                0 => Err("no card is suspended".to_owned()),
                1 => Ok("resume 1 suspended card".to_owned()),
                _ => Ok(format!("resume {count} suspended cards")),
            }
        }
        Action::Approve => {
            only(card()?, &[TaskStatus::Review], "only work in review is approved")?;
            label()
        }
        Action::Reject => {
            only(card()?, &[TaskStatus::Review], "only work in review is rejected")?;
            label()
        }
        Action::Cancel => to(card()?, TaskStatus::Cancelled).map(|_| "cancel".to_owned()),
        Action::PutAway => {
            let card = card()?;
            match (card.status.is_settled(), card.archived) {
                (_, true) => Err(format!("#{} was put away already", card.seq)),
                (false, _) => {
                    Err(format!("#{} is {}: cancel it first, or let it settle", card.seq, card.status))
                }
                _ => label(),
            }
        }
        Action::Raise if card()?.priority == 0 => Err("0 is the highest priority".to_owned()),
        Action::Lower if card()?.priority == 9 => Err("9 is the lowest priority".to_owned()),
        Action::Raise | Action::Lower | Action::Edit | Action::Editor => {
            let card = card()?;
            match card.archived {
                true => Err(format!("#{} was put away; D makes a fresh copy", card.seq)),
                false => label(),
            }
        }
        Action::Open | Action::Why | Action::Copy | Action::CopyId => card().and_then(|_| label()),
        Action::Answer if !lamps::any(app) => Err("nothing needs you".to_owned()),
        Action::NextLamp | Action::PreviousLamp if next_lamp(app, true).is_none() => {
            Err("nothing needs you".to_owned())
        }
        Action::Undo => match app.undo.last() {
            Some(undo) => Ok(format!("undo #{}", undo.seq)),
            None => Err("there is no edit to take back".to_owned()),
        },
        Action::Back if !app.filter.is_active() => Err(String::new()),
        Action::Back => Ok("show all".to_owned()),
        Action::Archive if app.archive => Ok("hide archive".to_owned()),
        Action::Drop => match app.grab.as_ref().and_then(|grab| grab.pending()) {
            Some(found) => Ok(found.meaning.clone()),
            None => Ok("leave it here".to_owned()),
        },
        Action::Follow | Action::Wrap => match &app.detail {
            Some(detail) if detail.tab == Tab::Log => Ok(match action {
                Action::Follow if app.log.follow => "stop following".to_owned(),
                Action::Wrap if app.log.wrap => "cut lines".to_owned(),
                _ => action.label().to_owned(),
            }),
            _ => Err("only the log is followed and wrapped".to_owned()),
        },
        Action::FormSend | Action::FormNext => match app.layers.last() {
            Some(Layer::Form(form)) if action == Action::FormNext && !form.open => {
                Ok("all fields".to_owned())
            }
            Some(Layer::Form(form)) if action == Action::FormSend && form.before.is_none() => {
                Ok("make it".to_owned())
            }
            _ => label(),
        },
        Action::AnswerSend | Action::TextSend | Action::AnswerType | Action::TextChoices => {
            answer(app, action)
        }
        Action::ListChoose | Action::ListNew if !matches!(app.layers.last(), Some(Layer::Boards(_))) => {
            Err(String::new())
        }
        Action::Zoom if app.detail.as_ref().is_some_and(|detail| detail.full) => {
            Ok("beside the board".to_owned())
        }
        _ => label(),
    }
}

/// What the keys of answer mode do to the lamp that is shown.
fn answer(app: &App, action: Action) -> Result<String, String> {
    let Some(Layer::Answer(answer)) = app.layers.last() else { return Err(String::new()) };
    match action {
        _ if answer.gone.is_some() => match action {
            Action::AnswerSend | Action::TextSend => Ok("go on".to_owned()),
            _ => Err(String::new()),
        },
        Action::AnswerType if !answer.takes_text() => Err(String::new()),
        Action::TextChoices if answer.matter.choices.is_empty() => Err(String::new()),
        Action::AnswerSend | Action::TextSend => match (answer.matter.lamp, answer.typing, answer.choice) {
            (Lamp::Question, ..) => Ok(action.label().to_owned()),
            (_, false, None) => Err("nothing is picked yet".to_owned()),
            (_, true, _) => Ok("send and continue".to_owned()),
            (_, false, Some(at)) => Ok(match answer.matter.choices.get(at) {
                Some(Choice { does: Does::Send(_), label }) if label.len() < 24 => {
                    format!("{label} and continue")
                }
                _ => "continue".to_owned(),
            }),
        },
        _ => Ok(action.label().to_owned()),
    }
}

/// The nearest permitted column to the left or right of where the card is. A cancel is never a step aside: it has
/// a key of its own.
pub fn side_step(card: &Card, right: bool) -> Result<Move, String> {
    let permitted = moves::permitted(card).into_iter().filter(|found| found.to != TaskStatus::Cancelled);
    let found = match right {
        true => permitted.filter(|found| found.to > card.status).min_by_key(|found| found.to),
        false => permitted.filter(|found| found.to < card.status).max_by_key(|found| found.to),
    };
    found.ok_or_else(|| {
        let side = if right { "right" } else { "left" };
        // Where the table would allow the next column, the reason why not is worth more than "nowhere".
        let mut next = card.status.successors().iter().filter(|to| (**to > card.status) == right);
        match next.next().map(|to| moves::to(card, *to)) {
            Some(Err(refusal)) => refusal.to_string(),
            _ => format!("#{} is {} and can't go further {side}", card.seq, card.status),
        }
    })
}

fn to(card: &Card, status: TaskStatus) -> Result<Move, String> {
    moves::to(card, status).map_err(|refusal| refusal.to_string())
}

fn only(card: &Card, statuses: &[TaskStatus], why: &str) -> Result<(), String> {
    match statuses.contains(&card.status) {
        true => Ok(()),
        false => Err(format!("#{} is {}: {why}", card.seq, card.status)),
    }
}

fn stays(card: &Card) -> String {
    let first = card.status.successors().first();
    match first.map(|to| moves::to(card, *to)) {
        Some(Err(refusal)) => refusal.to_string(),
        _ => format!("#{} is {}, and that is final; D makes a fresh copy", card.seq, card.status),
    }
}
