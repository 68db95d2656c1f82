//! The answer dialogue: at the left what the question is about, at the right the choices and the text.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::pen::{self, Frame, span};
use super::{card, detail, log};
use crate::domain::QuestionPurpose;
use crate::domain::time::short_age;
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::layer::AnswerLayer;
use crate::tui::layer::answer::LIMIT;
use crate::tui::text::{clean, clean_lines, wrap, wrap_all};
use crate::tui::theme::Role;

/// Two halves stand side by side from this width on.
const TWO_FROM: u16 = 84;

/// Draws the dialogue; gives the cursor while a text is typed.
pub fn draw(app: &App, answer: &AnswerLayer, buffer: &mut Buffer) -> Option<Position> {
    let (width, height) = app.size;
    // A sliver of the board beside or around the dialogue would only be noise.
    let wide = if width < 128 { width } else { 120 };
    let high = if height < 20 { height.saturating_sub(1) } else { (height - 4).min(24) };
    let area = pen::centred(app, wide, high.max(1), buffer);
    let all = answer.done + answer.left(app);
    let title = vec![
        span(app, Role::Title, "answer"),
        span(app, Role::Dim, format!(" {} of {}", answer.done + 1, all.max(answer.done + 1))),
    ];
    let foot = match (answer.typing, answer.question.options.is_empty()) {
        _ if answer.sending => vec![span(app, Role::Dim, "sending…")],
        (false, _) => {
            let mut keys = vec![
                span(app, Role::Key, pick_keys(answer.question.options.len())),
                span(app, Role::Dim, " pick"),
                span(app, Role::Rule, " · "),
            ];
            keys.extend(pen::keys(app, &[Action::AnswerSend, Action::AnswerSkip, Action::AnswerLog]));
            keys
        }
        (true, true) => pen::keys(app, &[Action::TextSend, Action::TextNewline, Action::TextSkip]),
        (true, false) => pen::keys(app, &[Action::TextSend, Action::TextChoices, Action::TextSkip]),
    };
    let leave = app.keymap.first(Action::AnswerLeave).unwrap_or_default();
    let aside = vec![span(app, Role::Dim, format!("oldest first · {leave} leaves"))];
    Frame { edge: app.theme.style(Role::Accent), title, aside, foot }.draw(area, buffer);
    let inside = pen::inside(area);
    if area.width < TWO_FROM {
        return choices(app, answer, inside, buffer);
    }
    let left = Rect { width: inside.width * 2 / 5, ..inside };
    let right = Rect { x: left.right() + 3, width: inside.width - left.width - 3, ..inside };
    context(app, answer, left, buffer);
    for y in inside.top()..inside.bottom() {
        pen::put_span(buffer, left.right() + 1, y, &span(app, Role::Rule, "│"), 1);
    }
    choices(app, answer, right, buffer)
}

fn pick_keys(options: usize) -> String {
    match options {
        0 | 1 => "1".to_owned(),
        n => format!("1-{}", n.min(9)),
    }
}

/// The task, its plan, the last lines of its log.
fn context(app: &App, answer: &AnswerLayer, area: Rect, buffer: &mut Buffer) {
    let Some(card) = app.card(&answer.task) else { return };
    let width = usize::from(area.width);
    let mut lines = Vec::new();
    let number = format!("#{} ", card.seq);
    for (at, words) in
        wrap(&clean(&card.title), width.saturating_sub(number.len()), width, Some(3)).into_iter().enumerate()
    {
        let mut line = Vec::new();
        if at == 0 {
            line.push(span(app, Role::Dim, number.clone()));
        }
        line.push(span(app, Role::Title, words));
        lines.push(Line::from(line));
    }
    let mut facts = vec![card::priority(app, card.priority)];
    for label in &card.labels {
        facts.push(span(app, Role::Dim, format!(" {}", clean(label))));
    }
    facts.push(span(app, Role::Dim, format!(" · board {}", clean(&card.board_id))));
    let view =
        app.opened.as_ref().filter(|opened| opened.task == card.id).and_then(|opened| opened.view.as_ref());
    if let Some(run) = view.and_then(|view| view.runs.last()) {
        facts.push(span(app, Role::Dim, format!(" · attempt {}", run.attempt)));
    }
    lines.push(Line::from(pen::cut_spans(facts, width)));
    if let Some(workflow) = &card.workflow {
        lines.push(Line::default());
        lines.push(Line::from(vec![
            span(app, Role::Dim, format!("{}  ", clean(&workflow.name))),
            span(app, Role::Progress, detail::bar(workflow.done, workflow.total)),
            span(app, Role::Dim, format!(" {}/{}", workflow.done, workflow.total)),
        ]));
    }
    if let Some(view) = view
        && !view.task.description.trim().is_empty()
    {
        lines.push(Line::default());
        for line in wrap_all(&clean_lines(view.task.description.trim_end()), width).into_iter().take(8) {
            lines.push(Line::from(span(app, Role::Text, line)));
        }
    }
    let room = usize::from(area.height).saturating_sub(lines.len() + 2);
    let tail = log::tail(app, width.saturating_sub(2), room.min(10));
    if !tail.is_empty() && room > 1 {
        lines.push(Line::default());
        lines.push(Line::from(span(app, Role::Heading, "last output")));
        for line in tail {
            let mut spans = vec![span(app, Role::Dim, "  ")];
            spans.extend(line.spans);
            lines.push(Line::from(spans));
        }
    }
    pen::lines(&lines, area, buffer);
}

/// The question, its options, and the text.
fn choices(app: &App, answer: &AnswerLayer, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let width = usize::from(area.width).max(1);
    let question = &answer.question;
    let mut lines = Vec::new();
    let age = short_age(app.now - question.asked_at_ms);
    let ago = if age == "now" { "just now".to_owned() } else { format!("{age} ago") };
    let asks = match question.purpose {
        QuestionPurpose::Clarify => format!("{} asks, {ago}:", clean(&question.asked_by)),
        _ => format!("what is to become of it? ({ago})"),
    };
    lines.push(Line::from(span(app, Role::Lamp, asks)));
    lines.push(Line::default());
    let most = usize::from(area.height).saturating_sub(question.options.len() + 8).max(2);
    let text = wrap_all(&clean_lines(question.text.trim()), width.saturating_sub(2));
    let cut = text.len() > most;
    for line in text.into_iter().take(most) {
        lines.push(Line::from(span(app, Role::Title, format!("  {line}"))));
    }
    if cut {
        lines.push(Line::from(span(app, Role::Dim, "  … (the overview shows all of it)")));
    }
    lines.push(Line::default());
    let mut focus = 0;
    for (at, option) in question.options.iter().enumerate() {
        lines.extend(choice(app, answer, at, option, width));
        if at <= answer.choice {
            focus = lines.len();
        }
    }
    // Where not all has room, what has the keyboard is seen: the text, or the choice.
    let kept = if answer.takes_text() { 2 } else { 0 } + notes(app, answer, width).len();
    let room = usize::from(area.height).saturating_sub(kept).max(1);
    let skipped = if answer.typing { 0 } else { focus.saturating_sub(room) };
    let lines: Vec<Line> = lines.into_iter().skip(skipped).take(room).collect();
    pen::lines(&lines, area, buffer);
    let used = (lines.len() as u16).min(area.height);
    let left = Rect { y: area.y + used, height: area.height - used, ..area };
    typed(app, answer, left, buffer)
}

fn choice(app: &App, answer: &AnswerLayer, at: usize, option: &str, width: usize) -> Vec<Line<'static>> {
    let chosen = !answer.typing && answer.choice == at;
    let mark = if chosen { "▌" } else { " " };
    let role = if chosen { Role::Selected } else { Role::Text };
    let room = width.saturating_sub(6).max(4);
    let words = wrap(&clean(option), room, room, Some(3));
    let number = match at {
        0..9 => format!("{}  ", at + 1),
        _ => "   ".to_owned(),
    };
    let lines = words.into_iter().enumerate().map(|(row, words)| {
        let lead = if row == 0 { number.clone() } else { "   ".to_owned() };
        Line::from(vec![
            span(app, Role::Accent, format!("{mark} ")),
            span(app, Role::Key, lead),
            span(app, role, words),
        ])
    });
    lines.collect()
}

/// The text with its counter, and what went wrong.
fn typed(app: &App, answer: &AnswerLayer, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let notes = notes(app, answer, usize::from(area.width).max(1));
    let mut y = area.y;
    let bottom = area.bottom().saturating_sub(notes.len() as u16);
    if answer.takes_text() && y < bottom {
        if !answer.question.options.is_empty() && y + 2 < bottom {
            let role = if answer.typing { Role::Accent } else { Role::Dim };
            pen::put_span(buffer, area.x, y + 1, &span(app, role, "  or type an answer:"), area.width);
            y += 2;
        }
        let count = answer.typed();
        let counter = format!("{}/10,000", thousands(count));
        let role = if count > LIMIT { Role::Danger } else { Role::Dim };
        let last = bottom.saturating_sub(1);
        let x = area.right().saturating_sub(counter.len() as u16);
        if last > y {
            pen::put_span(buffer, x, last, &span(app, role, counter), area.width);
        }
        let field = Rect {
            x: area.x + 2,
            y,
            width: area.width.saturating_sub(2),
            height: last.saturating_sub(y).max(1),
        };
        if answer.typing {
            for y in field.top()..field.bottom() {
                pen::put_span(buffer, area.x, y, &span(app, Role::Accent, "▌"), 1);
            }
        }
        let style = app.theme.style(Role::Input);
        let cursor = answer.field.draw(field, buffer, style);
        draw_notes(&notes, area, buffer);
        return answer.typing.then_some(cursor);
    }
    draw_notes(&notes, area, buffer);
    None
}

fn draw_notes(notes: &[Line], area: Rect, buffer: &mut Buffer) {
    let high = (notes.len() as u16).min(area.height);
    pen::lines(notes, Rect { y: area.bottom() - high, height: high, ..area }, buffer);
}

fn notes(app: &App, answer: &AnswerLayer, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if answer.closed_elsewhere {
        let text = "This question was answered or withdrawn elsewhere. What you typed stays here; going on shows the next.";
        for line in wrap(text, width, width, None) {
            lines.push(Line::from(span(app, Role::Lamp, line)));
        }
    }
    if let Some(error) = &answer.error {
        let text = format!("✗ not sent, and what you typed is kept: {}", clean(error));
        for line in wrap(&text, width, width, Some(4)) {
            lines.push(Line::from(span(app, Role::Danger, line)));
        }
    }
    lines
}

fn thousands(count: usize) -> String {
    match count {
        0..1_000 => count.to_string(),
        _ => format!("{},{:03}", count / 1_000, count % 1_000),
    }
}
