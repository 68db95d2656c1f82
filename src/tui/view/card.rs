//! A card: number and title, priority and labels with its age, who and how far, and what it waits for.

use ratatui::text::{Line, Span};

use super::pen::{span, span_width, spread};
use crate::domain::lamp::{Lamp, lamp};
use crate::domain::time::{Millis, running_time, short_age};
use crate::domain::{Card, Dispatch, Lamp as DomainLamp, TaskStatus, WorkflowStatus};
use crate::tui::app::App;
use crate::tui::text::{clean, cut, width as cells, wrap};
use crate::tui::theme::{Role, glyph};

/// One picture of the spinner each.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The cells of a column that are not text: the mark at the left and a blank at the right.
const MARGIN: u16 = 2;

/// How many lines the card takes in a column with so many cells.
pub fn height(app: &App, card: &Card, width: u16) -> u16 {
    rows(app, card, width).len() as u16
}

/// The lines of a card in a column with so many cells; the mark at the left is not part of them.
pub fn rows(app: &App, card: &Card, width: u16) -> Vec<Line<'static>> {
    let room = usize::from(width.saturating_sub(MARGIN)).max(1);
    let mut rows = title(app, card, room);
    rows.push(facts(app, card, room));
    rows.extend(people(app, card, room));
    rows.extend(situation(app, card, room));
    rows
}

fn title(app: &App, card: &Card, room: usize) -> Vec<Line<'static>> {
    let number = format!("#{} ", card.seq);
    let taken = cells(&number);
    let role = match () {
        () if app.grab.as_ref().is_some_and(|grab| grab.task == card.id) => Role::Held,
        () if app.selected.as_ref() == Some(&card.id) => Role::Selected,
        () if card.status == TaskStatus::Cancelled => Role::Cancelled,
        () => Role::Title,
    };
    let words = wrap(&clean(&card.title), room.saturating_sub(taken), room, Some(2));
    let mut rows = Vec::with_capacity(2);
    for (at, words) in words.into_iter().enumerate() {
        let mut line = Vec::with_capacity(2);
        if at == 0 {
            line.push(span(app, Role::Dim, number.clone()));
        }
        line.push(span(app, role, words));
        rows.push(Line::from(line));
    }
    rows
}

/// Priority and labels, and at the right how long it has stood here.
fn facts(app: &App, card: &Card, room: usize) -> Line<'static> {
    let mut left = vec![priority(app, card.priority)];
    for label in &card.labels {
        left.push(span(app, Role::Dim, format!(" {}", clean(label))));
    }
    let right = match card.status {
        TaskStatus::Running if card.has_live_run() => Vec::new(),
        _ => vec![span(app, Role::Dim, age(app.now - card.since_ms))],
    };
    spread(left, right, room)
}

/// `P2`: the urgent ones bold, the usual and the low ones dim.
pub fn priority(app: &App, priority: u8) -> Span<'static> {
    let role = match priority {
        0..=2 => Role::Title,
        3..=4 => Role::Text,
        _ => Role::Dim,
    };
    span(app, role, format!("P{priority}"))
}

/// Who should do it, where it came from, and at the right how far its workflow is.
fn people(app: &App, card: &Card, room: usize) -> Option<Line<'static>> {
    let mut left = Vec::new();
    let assignee = card.assignee.trim_start_matches('@');
    match (assignee, card.agent.as_deref()) {
        ("", None) => {}
        ("", Some(name)) | (name, _) => left.push(span(app, Role::Text, format!("@{}", clean(name)))),
    }
    if let Some(agent) = card.agent.as_deref()
        && !assignee.is_empty()
        && agent != assignee
    {
        left.push(span(app, Role::Dim, format!(" runs @{}", clean(agent))));
    }
    if left.is_empty() && !card.executor.is_empty() {
        let prompt = if card.executor.starts_with("tool ") { "" } else { "$ " };
        left.push(span(app, Role::Dim, format!("{prompt}{}", clean(&card.executor))));
    }
    if !card.source.is_empty() {
        let gap = if left.is_empty() { "" } else { " " };
        left.push(span(app, Role::Dim, format!("{gap}from {}", clean(&card.source))));
    }
    let right: Vec<_> = card
        .workflow
        .iter()
        .map(|workflow| span(app, Role::Dim, format!("{}/{}", workflow.done, workflow.total)))
        .collect();
    (!left.is_empty() || !right.is_empty()).then(|| spread(left, right, room))
}

/// What the card does, waits for, asks or failed with.
fn situation(app: &App, card: &Card, room: usize) -> Vec<Line<'static>> {
    let lit = lamp(card, app.now);
    let said = |role, sign: &str, text: &str, limit| sentence(app, role, sign, text, room, limit);
    match card.status {
        TaskStatus::Pending | TaskStatus::Queued => waiting(app, card, lit, room),
        TaskStatus::Running => running(app, card, lit, room),
        TaskStatus::Review => {
            let summary =
                [&card.review_summary, &card.result].into_iter().find(|text| !text.trim().is_empty());
            said(Role::Lamp, "◇", summary.map_or("waits for your review", |text| text.as_str()), 2)
        }
        TaskStatus::Blocked => match &card.question {
            Some(question) => said(Role::Lamp, "◆", &question.text, 2),
            None if card.approval.is_some() => {
                // A call that is the card's own work stands above already.
                let call = card.approval.as_ref().map(|approval| approval.label()).unwrap_or_default();
                let asks = match call == card.executor || card.agent.is_some() {
                    true => "may it run?".to_owned(),
                    false => format!("may it run {call}?"),
                };
                said(Role::Lamp, "◆", &asks, 2)
            }
            // It comes by itself: no lamp.
            None if let Some(wait) = &card.waiting => {
                said(Role::Dim, "◔", &format!("waits for {}", wait.label()), 2)
            }
            None if card.blocked_reason.trim().is_empty() => said(Role::Lamp, "◆", "blocked", 1),
            None => said(Role::Lamp, "◆", &card.blocked_reason, 2),
        },
        TaskStatus::Failed => {
            let error = if card.error.trim().is_empty() { "failed" } else { &card.error };
            let mut rows = said(Role::Danger, "✗", error, 2);
            if card.retry_count > 0 {
                let tries =
                    vec![span(app, Role::Dim, format!("{} of {}", card.retry_count, card.max_retries))];
                let left = rows.pop().map(|line| line.spans).unwrap_or_default();
                match span_width(&left) + span_width(&tries) < room {
                    true => rows.push(spread(left, tries, room)),
                    false => rows.extend([Line::from(left), spread(Vec::new(), tries, room)]),
                }
            }
            rows
        }
        TaskStatus::Suspended => said(Role::Dim, "‖", "paused", 1),
        TaskStatus::Success if card.result.trim().is_empty() => Vec::new(),
        TaskStatus::Success => said(Role::Dim, "✓", &card.result, 1),
        TaskStatus::Cancelled if card.error.trim().is_empty() => Vec::new(),
        TaskStatus::Cancelled => said(Role::Dim, "⊘", &card.error, 1),
    }
}

fn waiting(app: &App, card: &Card, lit: Option<Lamp>, room: usize) -> Vec<Line<'static>> {
    let one = |role, text: String| vec![Line::from(span(app, role, cut(&text, room).into_owned()))];
    if let Some(first) = card.predecessors.first() {
        let more = match card.predecessors.len() {
            1 => String::new(),
            n => format!(" +{}", n - 1),
        };
        let role = if lit == Some(DomainLamp::Stuck) { Role::Lamp } else { Role::Dim };
        let cancelled = if first.status == TaskStatus::Cancelled { ", cancelled" } else { "" };
        return one(role, format!("waits for #{}{cancelled}{more}", first.seq));
    }
    if card.held || card.workflow.as_ref().is_some_and(|w| w.status == WorkflowStatus::Waiting) {
        return one(Role::Dim, "its workflow is paused".to_owned());
    }
    if let Some(at) = card.not_before_ms
        && at > app.now
    {
        return one(Role::Dim, format!("starts in {}", short_age(at - app.now)));
    }
    if card.status == TaskStatus::Queued {
        if card.run_next {
            return one(Role::Text, "runs next".to_owned());
        }
        if card.dispatch == Dispatch::Manual {
            return one(Role::Dim, "for you to take".to_owned());
        }
    }
    Vec::new()
}

fn running(app: &App, card: &Card, lit: Option<Lamp>, room: usize) -> Vec<Line<'static>> {
    let Some(run) = &card.run else { return Vec::new() };
    let role = Role::Running;
    let mut rows = Vec::with_capacity(2);
    if let Some(intent) = run.closing_as {
        let text = format!("being stopped ({intent})");
        rows.push(Line::from(span(app, Role::Dim, cut(&text, room).into_owned())));
    } else if run.dispatched {
        let left = vec![
            span(app, role, spinner(app.now)),
            span(app, Role::Text, format!(" {}", running_time(app.now - run.started_at_ms))),
        ];
        let right = match run.number {
            0 | 1 => Vec::new(),
            number => vec![span(app, Role::Dim, format!("run {number}"))],
        };
        rows.push(spread(left, right, room));
    } else {
        let text = format!("● {} has it", clean(&run.owner));
        rows.push(Line::from(span(app, role, cut(&text, room).into_owned())));
    }
    if lit == Some(DomainLamp::Quiet) {
        let text = format!("⚠ quiet for {}", short_age(app.now - run.active_at_ms));
        rows.push(Line::from(span(app, Role::Lamp, cut(&text, room).into_owned())));
    }
    rows
}

/// The picture of the spinner at this time.
pub fn spinner(now: Millis) -> &'static str {
    SPINNER[(now.div_euclid(crate::tui::update::SPIN_MS)).rem_euclid(SPINNER.len() as i64) as usize]
}

/// A sign and a sentence that hangs beside it, on at most `limit` lines. The sign is the loud part.
fn sentence(app: &App, role: Role, sign: &str, text: &str, room: usize, limit: usize) -> Vec<Line<'static>> {
    let words = wrap(clean(text).trim_start(), room.saturating_sub(2), room.saturating_sub(2), Some(limit));
    words
        .into_iter()
        .enumerate()
        .map(|(at, words)| {
            let lead = if at == 0 { format!("{sign} ") } else { "  ".to_owned() };
            let body = match role {
                Role::Lamp => Role::Blocked,
                Role::Danger => Role::Failed,
                other => other,
            };
            Line::from(vec![span(app, role, lead), span(app, body, words)])
        })
        .collect()
}

/// A short age: under a minute `now`, so that nothing on the board ticks.
pub fn age(age: Millis) -> String {
    match age {
        ..60_000 => "now".to_owned(),
        age => short_age(age),
    }
}

/// The sign of a card's status.
pub fn sign(app: &App, card: &Card) -> Span<'static> {
    Span::styled(glyph(card.status), app.theme.status(card.status))
}
