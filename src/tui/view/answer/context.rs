//! The left half: the task, how far its workflow is, and what its run printed last.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::pen::{self, span};
use super::super::{card, detail, log};
use crate::domain::Card;
use crate::engine::StepView;
use crate::tui::app::App;
use crate::tui::layer::AnswerLayer;
use crate::tui::text::{clean, clean_lines, width as cells, wrap, wrap_all};
use crate::tui::theme::{Role, glyph};

/// At most so many rows of steps, and so many lines of output and of the description.
const STEP_ROWS: usize = 6;
const TAIL: usize = 12;
const DESCRIPTION: usize = 6;

/// Draws it.
pub fn draw(app: &App, answer: &AnswerLayer, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width).max(1);
    // The card as it is now; where it is gone, as it was.
    let card = app.card(answer.matter.task()).unwrap_or(&answer.matter.card);
    let opened = app.opened.as_ref().filter(|opened| opened.task == card.id);
    let view = opened.and_then(|opened| opened.view.as_ref());
    let mut lines = title(app, card, width);
    let attempt = view.and_then(|view| view.runs.last()).map(|run| run.attempt);
    lines.push(Line::from(pen::cut_spans(facts(app, card, attempt), width)));
    if let Some(view) = view
        && !view.task.description.trim().is_empty()
    {
        lines.push(Line::default());
        let text = wrap_all(&clean_lines(view.task.description.trim_end()), width);
        let most = DESCRIPTION.min(usize::from(area.height) / 4).max(1);
        let cut = text.len() > most;
        for line in text.into_iter().take(most - usize::from(cut)) {
            lines.push(Line::from(span(app, Role::Dim, line)));
        }
        if cut {
            lines.push(Line::from(span(app, Role::Dim, "…")));
        }
    }
    let progress = progress(app, card, opened.map_or(&[], |opened| &opened.steps), width);
    let room = usize::from(area.height).saturating_sub(lines.len() + progress.len() + 2);
    let tail = log::tail(app, width.saturating_sub(2), room.min(TAIL));
    if !tail.is_empty() && room > 0 {
        lines.push(Line::default());
        lines.push(Line::from(span(app, Role::Heading, "last output")));
        for line in tail {
            let mut spans = vec![Span::raw("  ")];
            spans.extend(line.spans);
            lines.push(Line::from(spans));
        }
    }
    lines.extend(progress);
    pen::lines(&lines, area, buffer);
}

fn title(app: &App, card: &Card, width: usize) -> Vec<Line<'static>> {
    let number = format!("#{} ", card.seq);
    let words = wrap(&clean(&card.title), width.saturating_sub(number.len()), width, Some(3));
    let lines = words.into_iter().enumerate().map(|(at, words)| {
        let mut line = Vec::new();
        if at == 0 {
            line.push(span(app, Role::Dim, number.clone()));
        }
        line.push(span(app, Role::Title, words));
        Line::from(line)
    });
    lines.collect()
}

fn facts(app: &App, card: &Card, attempt: Option<u32>) -> Vec<Span<'static>> {
    let mut facts = vec![card::priority(app, card.priority)];
    for label in &card.labels {
        facts.push(span(app, Role::Dim, format!(" {}", clean(label))));
    }
    if let Some(agent) = &card.agent {
        facts.push(span(app, Role::Dim, format!(" · @{}", clean(agent))));
    }
    facts.push(span(app, Role::Dim, format!(" · board {}", clean(&card.board_id))));
    if let Some(attempt) = attempt {
        facts.push(span(app, Role::Dim, format!(" · attempt {attempt}")));
    }
    facts
}

/// The bar of its workflow, and its steps by glyph and name.
fn progress(app: &App, card: &Card, steps: &[StepView], width: usize) -> Vec<Line<'static>> {
    let Some(workflow) = &card.workflow else { return Vec::new() };
    let bar = vec![
        span(app, Role::Heading, format!("{}  ", clean(&workflow.name))),
        span(app, Role::Progress, detail::bar(workflow.done, workflow.total)),
        span(app, Role::Dim, format!(" {}/{}", workflow.done, workflow.total)),
    ];
    let mut lines = vec![Line::default(), Line::from(pen::cut_spans(bar, width))];
    let mut row: Vec<Span> = Vec::new();
    let mut used = 0;
    let mut rows = Vec::new();
    for step in steps {
        let here = step.task_id == card.id;
        let name = format!(" {}", clean(&step.id));
        let wide = 3 + cells(&name);
        if used > 0 && used + wide > width {
            rows.push(Line::from(std::mem::take(&mut row)));
            used = 0;
        }
        row.push(Span::raw("  "));
        row.push(Span::styled(glyph(step.status), app.theme.status(step.status)));
        row.push(span(app, if here { Role::Title } else { Role::Dim }, name));
        used += wide;
    }
    rows.push(Line::from(row));
    let over = rows.len() > STEP_ROWS;
    lines.extend(rows.into_iter().take(STEP_ROWS).map(|row| Line::from(pen::cut_spans(row.spans, width))));
    if over {
        lines.push(Line::from(span(app, Role::Dim, "  …")));
    }
    lines
}
