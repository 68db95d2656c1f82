//! Answer mode: at the left what the lamp is about, at the right what there is to read, the choices and the text.

mod choice;
mod context;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::pen::{self, Frame, span};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::layer::AnswerLayer;
use crate::tui::theme::Role;

/// Two halves stand side by side from this width on.
const TWO_FROM: u16 = 84;

/// On a narrow screen the context stands above the choice from this height on.
const STACKED_FROM: u16 = 14;

/// How many lines of what there is to read can be scrolled away.
pub fn most_top(app: &App, answer: &AnswerLayer) -> usize {
    let (_, right) = halves(pen::inside(place(app)));
    choice::most_top(app, answer, right)
}

/// Draws the dialogue; gives the cursor while a text is typed.
pub fn draw(app: &App, answer: &AnswerLayer, buffer: &mut Buffer) -> Option<Position> {
    let area = place(app);
    pen::clear(area, buffer);
    let all = answer.done + answer.left(app);
    let title = vec![
        span(app, Role::Title, "answer"),
        span(app, Role::Dim, format!(" {} of {}", answer.done + 1, all.max(answer.done + 1))),
    ];
    let leave = app.keymap.first(Action::AnswerLeave).unwrap_or_default();
    let aside = vec![span(app, Role::Dim, format!("oldest first · {leave} leaves"))];
    let foot = foot(app, answer);
    Frame { edge: app.theme.style(Role::Accent), title, aside, foot }.draw(area, buffer);
    let (left, right) = halves(pen::inside(area));
    if let Some(left) = left {
        context::draw(app, answer, left, buffer);
        if left.width == right.width {
            let rule = "─".repeat(usize::from(left.width));
            pen::put_span(buffer, left.x, left.bottom(), &span(app, Role::Rule, rule), left.width);
        } else {
            for y in left.top()..left.bottom() {
                pen::put_span(buffer, left.right() + 1, y, &span(app, Role::Rule, "│"), 1);
            }
        }
    }
    choice::draw(app, answer, right, buffer)
}

/// Where the dialogue stands. A sliver of the board beside or around it would only be noise.
fn place(app: &App) -> Rect {
    let (width, height) = app.size;
    let wide = if width < 128 { width } else { width.saturating_sub(8).min(140) };
    let high = if height < 20 { height.saturating_sub(1) } else { (height - 4).min(26) }.max(1).min(height);
    Rect::new((width - wide) / 2, (height - high) / 2, wide, high)
}

/// The context, where there is room for it, and the choice: side by side, or one above the other.
fn halves(inside: Rect) -> (Option<Rect>, Rect) {
    if inside.width + 4 < TWO_FROM {
        if inside.height < STACKED_FROM {
            return (None, inside);
        }
        let above = Rect { height: inside.height / 4, ..inside };
        let y = above.bottom() + 1;
        return (Some(above), Rect { y, height: inside.bottom() - y, ..inside });
    }
    let left = Rect { width: inside.width * 2 / 5, ..inside };
    let right = Rect { x: left.right() + 3, width: inside.width - left.width - 3, ..inside };
    (Some(left), right)
}

fn foot(app: &App, answer: &AnswerLayer) -> Vec<ratatui::text::Span<'static>> {
    if answer.sending {
        return vec![span(app, Role::Dim, "sending…")];
    }
    if answer.gone.is_some() {
        return pen::keys(app, &[if answer.typing { Action::TextSend } else { Action::AnswerSend }]);
    }
    if answer.typing {
        let keys = [Action::TextSend, Action::TextNewline, Action::TextSkip, Action::TextChoices];
        return pen::keys(app, &keys);
    }
    let mut keys = vec![
        span(app, Role::Key, pick_keys(answer.matter.choices.len())),
        span(app, Role::Dim, " pick"),
        span(app, Role::Rule, " · "),
    ];
    let more = [Action::AnswerSend, Action::AnswerType, Action::AnswerSkip, Action::AnswerLog];
    keys.extend(pen::keys(app, &more));
    keys
}

fn pick_keys(choices: usize) -> String {
    match choices {
        0 | 1 => "1".to_owned(),
        n => format!("1-{}", n.min(9)),
    }
}
