//! The last lines: what asks or what was done, and the few keys that make sense for what is selected. They come
//! from the table that the key handler uses.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::pen::{self, Frame, span};
use crate::domain::lamp::{Lamp, lamp};
use crate::domain::{Approval, Card, TaskStatus};
use crate::tui::action::{Action, Context};
use crate::tui::app::App;
use crate::tui::detail::Tab;
use crate::tui::layer::Layer;
use crate::tui::layout::Screen;
use crate::tui::notice::Kind;
use crate::tui::text::{clean, wrap_all};
use crate::tui::theme::Role;
use crate::tui::update::{keys, offer};

/// Draws the last lines; gives the cursor where the filter is typed.
pub fn draw(app: &App, screen: &Screen, buffer: &mut Buffer) -> Option<Position> {
    if screen.footer.is_empty() {
        return None;
    }
    let line = key_line(app, usize::from(screen.footer.width));
    pen::put_line(buffer, screen.footer.x, screen.footer.y, &line, screen.footer.width);
    // Where there is only one line, what is typed or was said takes the place of the keys.
    let alone = screen.message.is_empty();
    let area = if alone { screen.footer } else { screen.message };
    if let Some(Layer::Search(search)) = app.layers.last() {
        pen::clear(area, buffer);
        return Some(filter_line(app, search, area, buffer));
    }
    let said = app.notices.current().filter(|notice| notice.kind == Kind::Done);
    let spans = match said {
        Some(notice) => vec![span(app, Role::Done, "✓ "), span(app, Role::Text, clean(&notice.text))],
        None if app.presence.line.is_some() => away(app),
        None if alone => return None,
        None => standing(app),
    };
    if alone {
        pen::clear(area, buffer);
    }
    let room = usize::from(area.width.saturating_sub(2));
    let line = Line::from(pen::cut_spans(spans, room));
    pen::put_line(buffer, area.x + 1, area.y, &line, room as u16);
    None
}

/// What the line says when nothing was said: the oldest thing that needs a person, else the selected card.
fn standing(app: &App) -> Vec<Span<'static>> {
    let urgent = app
        .snapshot
        .cards
        .iter()
        .filter_map(|card| Some((lamp(card, app.now).filter(|lamp| lamp.needs_person())?, card)))
        .min_by_key(|(lamp, card)| (*lamp, card.since_ms, card.seq));
    if let Some((lit, card)) = urgent {
        return lamp_words(app, lit, card);
    }
    let Some(card) = app.selected_card() else { return Vec::new() };
    vec![span(app, Role::Dim, format!("#{} ", card.seq)), span(app, Role::Dim, clean(&card.title))]
}

/// What happened while nobody looked, and what can be done about what the last stop left.
fn away(app: &App) -> Vec<Span<'static>> {
    let Some(line) = &app.presence.line else { return Vec::new() };
    let mut spans = vec![span(app, Role::Accent, "● "), span(app, Role::Text, line.says())];
    if let (Ok(words), Some(key)) =
        (offer::offer(app, Action::ResumeAll), app.keymap.first(Action::ResumeAll))
    {
        spans.push(span(app, Role::Dim, " · "));
        spans.push(span(app, Role::Key, key));
        spans.push(span(app, Role::Dim, format!(" {words}")));
    }
    spans
}

fn lamp_words(app: &App, lit: Lamp, card: &Card) -> Vec<Span<'static>> {
    let more = match (lit, &card.question) {
        (Lamp::Question, Some(question)) => format!(": {}", clean(&question.text)),
        (Lamp::Approval, _) => {
            format!(": {}", clean(&card.approval.as_ref().map(Approval::label).unwrap_or_default()))
        }
        (Lamp::Blocked, _) if !card.blocked_reason.is_empty() => format!(": {}", clean(&card.blocked_reason)),
        _ => format!(": {}", clean(&card.title)),
    };
    vec![span(app, Role::Lamp, format!("◆ #{} {}", card.seq, lit.says())), span(app, Role::Text, more)]
}

fn filter_line(
    app: &App,
    search: &crate::tui::layer::SearchLayer,
    area: Rect,
    buffer: &mut Buffer,
) -> Position {
    let shown: usize = app.columns.iter().map(|column| column.cards.len()).sum();
    let aside = match app.filter.faults().first() {
        Some(fault) => span(app, Role::Lamp, clean(fault)),
        None => span(app, Role::Dim, format!("{shown} shown")),
    };
    let wide = (pen::span_width(std::slice::from_ref(&aside)) as u16).min(area.width.saturating_sub(14));
    pen::put_span(buffer, area.x + 1, area.y, &span(app, Role::Key, "/"), 1);
    pen::put_span(buffer, area.right().saturating_sub(wide + 1), area.y, &aside, wide);
    let field = Rect { x: area.x + 3.min(area.width), width: area.width.saturating_sub(wide + 6), ..area };
    search.field.draw(field, buffer, app.theme.style(Role::Input))
}

/// What was refused, in a box above the last lines: the words of a refusal need room.
pub fn trouble(app: &App, buffer: &mut Buffer) {
    let Some(notice) = app.notices.current().filter(|notice| notice.kind == Kind::Trouble) else { return };
    let (width, height) = app.size;
    let wide = width.min(72);
    if wide < 12 || height < 4 {
        let line = Line::from(pen::cut_spans(
            vec![span(app, Role::Danger, clean(&notice.text))],
            usize::from(width),
        ));
        let y = height.saturating_sub(1);
        pen::clear(Rect::new(0, y, width, 1.min(height)), buffer);
        pen::put_line(buffer, 0, y, &line, width);
        return;
    }
    let parts: Vec<String> = notice.text.lines().map(clean).collect();
    let words = wrap_all(&parts, usize::from(wide - 4));
    let high = (words.len() as u16 + 2).min(height.saturating_sub(1));
    let area = Rect::new(width - wide, height.saturating_sub(high + 1), wide, high);
    pen::clear(area, buffer);
    let title = vec![span(app, Role::Danger, "not done")];
    Frame { edge: app.theme.style(Role::Danger), title, aside: Vec::new(), foot: Vec::new() }
        .draw(area, buffer);
    let text: Vec<Line> = words.into_iter().map(|line| Line::from(span(app, Role::Text, line))).collect();
    pen::lines(&text, pen::inside(area), buffer);
}

/// The keys, as many as fit, the most fitting first; help and quit stand at the end.
fn key_line(app: &App, width: usize) -> Line<'static> {
    let mut left: Vec<Span> = Vec::new();
    let mut used = 1;
    let last = match keys::context(app) {
        Context::Board | Context::Detail => key_words(app, Action::Help),
        _ => None,
    };
    let reserved = last.as_ref().map_or(0, |spans| pen::span_width(spans) + 3);
    if let Some(grab) = &app.grab
        && let Some(card) = app.card(&grab.task)
    {
        let held = vec![span(app, Role::Held, format!("holding #{}", card.seq))];
        used += pen::span_width(&held) + 3;
        left.extend(held);
    }
    for action in fitting(app) {
        let Some(words) = key_words(app, action) else { continue };
        let wide = pen::span_width(&words) + if left.is_empty() { 0 } else { 3 };
        if used + wide + reserved > width {
            break;
        }
        if !left.is_empty() {
            left.push(Span::raw("   "));
        }
        left.extend(words);
        used += wide;
    }
    if let Some(last) = last {
        if !left.is_empty() {
            left.push(Span::raw("   "));
        }
        left.extend(last);
    }
    let mut spans = vec![Span::raw(" ")];
    spans.extend(left);
    Line::from(pen::cut_spans(spans, width))
}

fn key_words(app: &App, action: Action) -> Option<Vec<Span<'static>>> {
    let words = offer::offer(app, action).ok()?;
    let key = app.keymap.first(action)?;
    Some(vec![span(app, Role::Key, key), span(app, Role::Dim, format!(" {words}"))])
}

/// The actions that make sense now, the most fitting first.
fn fitting(app: &App) -> Vec<Action> {
    use Action::*;
    match keys::context(app) {
        Context::Grab => vec![GrabLeft, GrabRight, Drop, PutBack],
        Context::Board => on_board(app),
        Context::Detail => {
            let mut actions = match app.detail.as_ref().map(|detail| detail.tab) {
                Some(Tab::Log) => vec![NextTab, Follow, Wrap],
                _ => vec![NextTab],
            };
            actions.extend([Close, Zoom]);
            let more = on_board(app).into_iter().filter(|action| !matches!(action, Open | Grab | Help));
            actions.extend(more);
            actions
        }
        Context::Form => vec![FormSend, FormNext, FormLeave],
        Context::Answer => vec![AnswerSend, AnswerType, AnswerSkip, AnswerLog, AnswerLeave],
        Context::AnswerText => vec![TextSend, TextNewline, TextSkip, TextChoices, TextLeave],
        Context::Filter => vec![FilterKeep, FilterClear],
        Context::List => vec![ListChoose, ListClose],
        Context::Prompt => vec![PromptSend, PromptLeave],
        Context::Confirm => vec![Yes, No],
        Context::Quit => vec![QuitDrain, QuitStop, QuitStay],
    }
}

fn on_board(app: &App) -> Vec<Action> {
    use Action::*;
    let Some(card) = app.selected_card() else {
        return vec![Create, Answer, Filter, Back, Boards, Archive, Quit];
    };
    let mut actions = match card.status {
        TaskStatus::Pending => vec![MoveRight],
        TaskStatus::Queued => vec![MoveRight, Why],
        TaskStatus::Running => vec![Pause, Cancel],
        TaskStatus::Review => vec![Approve, Reject],
        TaskStatus::Blocked if card.question.is_some() || card.approval.is_some() => vec![Answer],
        TaskStatus::Blocked => vec![MoveLeft, Why],
        TaskStatus::Failed => vec![Retry, PutAway],
        TaskStatus::Suspended => vec![Pause],
        TaskStatus::Success | TaskStatus::Cancelled => vec![Copy],
    };
    if !actions.contains(&Answer) && crate::tui::lamps::any(app) {
        actions.push(Answer);
    }
    actions.extend([Open, Grab, Create, Edit, Filter, Back, Why, Undo, Boards, Archive, Quit]);
    let mut seen = Vec::new();
    actions.retain(|action| {
        !seen.contains(action) && {
            seen.push(*action);
            true
        }
    });
    actions
}
