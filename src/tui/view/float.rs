//! The small boxes that float: a text or a yes is asked for, how to quit, the boards, why a card stands still.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::pen::{self, Frame, span, spread};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::layer::{BoardsLayer, ConfirmLayer, PromptLayer, WhyLayer};
use crate::tui::text::{clean, wrap};
use crate::tui::theme::Role;

fn frame(app: &App, title: &str, actions: &[Action], area: Rect, buffer: &mut Buffer) -> Rect {
    let title = vec![span(app, Role::Title, clean(title))];
    let foot = pen::keys(app, actions);
    Frame { edge: app.theme.style(Role::Accent), title, aside: Vec::new(), foot }.draw(area, buffer);
    pen::inside(area)
}

fn words(app: &App, role: Role, text: &str, cells: u16) -> Vec<Line<'static>> {
    let cells = usize::from(cells).max(1);
    wrap(&clean(text), cells, cells, None).into_iter().map(|line| Line::from(span(app, role, line))).collect()
}

/// A text is asked for.
pub fn prompt(app: &App, prompt: &PromptLayer, buffer: &mut Buffer) -> Option<Position> {
    let area = pen::centred(app, 64, 8, buffer);
    let inside = frame(app, &prompt.heading, &[Action::PromptSend, Action::PromptLeave], area, buffer);
    let mut lines = words(app, Role::Text, &prompt.asks, inside.width);
    if prompt.optional {
        lines.push(Line::from(span(app, Role::Dim, "may be left empty")));
    }
    pen::lines(&lines, inside, buffer);
    let used = (lines.len() as u16 + 1).min(inside.height.saturating_sub(1));
    let field = Rect { y: inside.y + used, height: inside.height - used, ..inside };
    Some(prompt.field.draw(field, buffer, app.theme.style(Role::Input)))
}

/// Yes or no.
pub fn confirm(app: &App, confirm: &ConfirmLayer, buffer: &mut Buffer) -> Option<Position> {
    let area = pen::centred(app, 56, 5, buffer);
    let inside = frame(app, &confirm.heading, &[Action::Yes, Action::No], area, buffer);
    let middle =
        Rect { y: inside.y + 1.min(inside.height), height: inside.height.saturating_sub(1), ..inside };
    pen::lines(&words(app, Role::Text, &confirm.asks, inside.width), middle, buffer);
    None
}

/// How to quit while runs are going.
pub fn quit(app: &App, buffer: &mut Buffer) -> Option<Position> {
    let area = pen::centred(app, 58, 7, buffer);
    let count = app.own_runs();
    let title = match count {
        1 => "a run is going".to_owned(),
        n => format!("{n} runs are going"),
    };
    let inside = frame(app, &title, &[], area, buffer);
    let rows = [
        (Action::QuitDrain, "let them finish, then quit"),
        (Action::QuitStop, "stop them and quit; s resumes each later"),
        (Action::QuitStay, "stay"),
    ];
    let lines: Vec<Line> = rows
        .into_iter()
        .map(|(action, text)| {
            let key = app.keymap.first(action).unwrap_or_default();
            Line::from(vec![span(app, Role::Key, format!("{key:>5}  ")), span(app, Role::Text, text)])
        })
        .collect();
    let middle =
        Rect { y: inside.y + 1.min(inside.height), height: inside.height.saturating_sub(1), ..inside };
    pen::lines(&lines, middle, buffer);
    None
}

/// The boards.
pub fn boards(app: &App, layer: &BoardsLayer, buffer: &mut Buffer) -> Option<Position> {
    let count = app.snapshot.boards.len();
    let area = pen::centred(app, 58, count as u16 + 3, buffer);
    let inside =
        frame(app, "boards", &[Action::ListChoose, Action::ListNew, Action::ListClose], area, buffer);
    let rows = usize::from(inside.height).max(1);
    let top = (layer.at + 1).saturating_sub(rows);
    for (at, board) in app.snapshot.boards.iter().enumerate().skip(top).take(rows) {
        let chosen = at == layer.at;
        let role = if chosen { Role::Selected } else { Role::Text };
        let here = if board.id == app.board { "▸ " } else { "  " };
        let left = vec![span(app, Role::Dim, here), span(app, role, clean(&board.id))];
        let mut right = Vec::new();
        if board.lamps > 0 {
            right.push(span(app, Role::Lamp, format!("◆ {}  ", board.lamps)));
        }
        if board.running > 0 {
            right.push(span(app, Role::Running, format!("● {}  ", board.running)));
        }
        right.push(span(app, Role::Dim, format!("{:>4} open", board.open)));
        let y = inside.y + (at - top) as u16;
        if chosen {
            pen::put_span(buffer, inside.x.saturating_sub(1), y, &span(app, Role::Accent, "▌"), 1);
        }
        pen::put_line(buffer, inside.x, y, &spread(left, right, usize::from(inside.width)), inside.width);
    }
    None
}

/// Why a card does not move.
pub fn why(app: &App, why: &WhyLayer, buffer: &mut Buffer) -> Option<Position> {
    let wide = app.size.0.min(76);
    let cells = wide.saturating_sub(4);
    let mut lines = Vec::new();
    match &why.reasons {
        None => lines.push(Line::from(span(app, Role::Dim, "looking…"))),
        Some(reasons) => {
            for reason in reasons {
                if !lines.is_empty() {
                    lines.push(Line::default());
                }
                lines.extend(words(app, Role::Text, &reason.text, cells));
                if !reason.fix.is_empty() {
                    lines.extend(words(app, Role::Dim, &format!("→ {}", reason.fix), cells));
                }
            }
        }
    }
    let title = match app.card(&why.task) {
        Some(card) => format!("why #{} is not moving", card.seq),
        None => "why".to_owned(),
    };
    let area = pen::centred(app, wide, lines.len() as u16 + 2, buffer);
    let inside = frame(app, &title, &[Action::ListClose], area, buffer);
    pen::lines(&lines, inside, buffer);
    None
}
