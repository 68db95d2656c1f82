//! The help, drawn from the table of actions and the keymap.

use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::text::Line;

use super::pen::{self, Frame, span};
use crate::tui::action::{Action, Context};
use crate::tui::app::App;
use crate::tui::layer::HelpLayer;
use crate::tui::text::{width, wrap};
use crate::tui::theme::Role;

/// The columns and rows of text that the help has.
pub fn room(app: &App) -> (usize, usize) {
    let (width, height) = app.size;
    let wide = width.saturating_sub(4).min(100);
    let high = height.saturating_sub(2);
    (usize::from(wide.saturating_sub(4)), usize::from(high.saturating_sub(2)))
}

/// All lines of the help.
pub fn lines(app: &App, columns: usize) -> Vec<Line<'static>> {
    let keys_of = |action: &Action| app.keymap.labels(*action).join(" ");
    let mut lines = Vec::new();
    for context in Context::ALL {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::from(span(app, Role::Heading, context.heading())));
        let actions = || Action::ALL.iter().filter(|action| action.context() == context);
        let widest = actions().map(|action| width(&keys_of(action))).max().unwrap_or(0);
        let margin = (widest + 5).min(columns / 2).max(8);
        for action in actions() {
            let keys = keys_of(action);
            if keys.is_empty() {
                continue;
            }
            let room = columns.saturating_sub(margin).max(8);
            for (at, words) in wrap(action.help(), room, room, None).into_iter().enumerate() {
                let lead = if at == 0 { keys.as_str() } else { "" };
                let shown = crate::tui::text::cut(lead, margin.saturating_sub(2)).into_owned();
                let gap = margin.saturating_sub(2 + width(&shown));
                lines.push(Line::from(vec![
                    span(app, Role::Key, format!("  {shown}")),
                    span(app, Role::Text, format!("{}{words}", " ".repeat(gap))),
                ]));
            }
        }
    }
    lines
}

/// Draws the help.
pub fn draw(app: &App, help: &HelpLayer, buffer: &mut Buffer) -> Option<Position> {
    let (columns, rows) = room(app);
    let area = pen::centred(app, columns as u16 + 4, rows as u16 + 2, buffer);
    let all = lines(app, columns);
    let top = help.top.min(all.len().saturating_sub(rows));
    let aside = match all.len() > rows {
        true => vec![span(
            app,
            Role::Dim,
            format!("{}–{} of {}", top + 1, (top + rows).min(all.len()), all.len()),
        )],
        false => Vec::new(),
    };
    let foot = pen::keys(app, &[Action::ListDown, Action::ListUp, Action::ListClose]);
    let title = vec![span(app, Role::Title, "keys")];
    Frame { edge: app.theme.style(Role::Accent), title, aside, foot }.draw(area, buffer);
    pen::lines(&all[top..], pen::inside(area), buffer);
    None
}
