//! The opened card: its tabs, and the overview of all its fields.

use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::pen::{self, Frame, span};
use super::{card, history, log};
use crate::domain::board::Predecessor;
use crate::domain::text::priority_band;
use crate::domain::time::{precise, running_time, short_age};
use crate::domain::{Card, Run, RunOutcome, Task, TaskStatus};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::detail::Tab;
use crate::tui::layout::{self, Screen};
use crate::tui::text::{clean, clean_lines, wrap, wrap_all};
use crate::tui::theme::{Role, glyph};

/// The cells that the words before the fields take.
const LABEL: usize = 12;

/// Draws the panel.
pub fn draw(app: &App, screen: &Screen, buffer: &mut Buffer) {
    let (Some(panel), false) = (&app.detail, screen.panel.is_empty()) else { return };
    let Some(card) = app.selected_card() else { return };
    pen::clear(screen.panel, buffer);
    let body = layout::panel_body(app);
    if screen.panel.height >= 5 && screen.panel.width >= 8 {
        let title = vec![
            card::sign(app, card),
            span(app, Role::Dim, format!(" #{} ", card.seq)),
            span(app, Role::Title, clean(&card.title)),
        ];
        Frame { edge: app.theme.style(Role::Accent), title, aside: Vec::new(), foot: Vec::new() }
            .draw(screen.panel, buffer);
        let tabs = tabs(app, panel.tab);
        pen::put_line(buffer, body.x, screen.panel.y + 1, &tabs, body.width);
    }
    match panel.tab {
        Tab::Log => log::draw(app, body, buffer),
        _ => {
            let lines = lines(app, usize::from(body.width));
            let top = panel.top.min(lines.len().saturating_sub(1));
            pen::lines(&lines[top..], body, buffer);
            let below = lines.len().saturating_sub(top + usize::from(body.height));
            if below > 0 && screen.panel.height >= 5 {
                let more = span(app, Role::Dim, format!(" ↓ {below} more "));
                pen::put_span(buffer, body.x, screen.panel.bottom() - 1, &more, body.width);
            }
        }
    }
}

fn tabs(app: &App, open: Tab) -> Line<'static> {
    let mut spans = Vec::new();
    for (at, tab) in Tab::ALL.into_iter().enumerate() {
        if at > 0 {
            spans.push(Span::raw("   "));
        }
        let role = if tab == open { Role::Tab } else { Role::Dim };
        let style = app.theme.style(role);
        let style = if tab == open { style.add_modifier(Modifier::UNDERLINED) } else { style };
        spans.push(Span::styled(tab.title(), style));
    }
    Line::from(spans)
}

/// The lines of the open tab; the log has its own.
pub fn lines(app: &App, width: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    match app.detail.as_ref().map(|panel| panel.tab) {
        Some(Tab::History) => history::lines(app, width),
        _ => overview(app, width),
    }
}

fn overview(app: &App, width: usize) -> Vec<Line<'static>> {
    let Some(card) = app.selected_card() else { return Vec::new() };
    let view =
        app.opened.as_ref().filter(|opened| opened.task == card.id).and_then(|opened| opened.view.as_ref());
    let mut sheet = Sheet { app, width, lines: Vec::new() };
    if app.screen_is_narrow() {
        sheet.paragraph(Role::Title, &card.title);
        sheet.gap();
    }
    sheet.status(card);
    sheet.question(card);
    if let Some(view) = view {
        let task = &view.task;
        sheet.outcome(card, task);
        if !task.description.trim().is_empty() {
            sheet.gap();
            sheet.text(Role::Text, &task.description);
        }
        sheet.gap();
        sheet.fields(card, task);
        sheet.relatives("waits for", &view.predecessors);
        sheet.relatives("holds up", &view.successors);
        sheet.runs(&view.runs);
    } else {
        sheet.gap();
        sheet.lines.push(Line::from(span(app, Role::Dim, "reading…")));
    }
    sheet.lines
}

struct Sheet<'a> {
    app: &'a App,
    width: usize,
    lines: Vec<Line<'static>>,
}

impl Sheet<'_> {
    fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.spans.is_empty()) {
            self.lines.push(Line::default());
        }
    }

    fn heading(&mut self, text: &str) {
        self.gap();
        self.lines.push(Line::from(span(self.app, Role::Heading, text)));
    }

    fn paragraph(&mut self, role: Role, text: &str) {
        for line in wrap(&clean(text), self.width, self.width, None) {
            self.lines.push(Line::from(span(self.app, role, line)));
        }
    }

    fn text(&mut self, role: Role, text: &str) {
        for line in wrap_all(&clean_lines(text.trim_end()), self.width) {
            self.lines.push(Line::from(span(self.app, role, line)));
        }
    }

    /// A word at the left, its value beside it.
    fn field(&mut self, label: &str, role: Role, value: &str) {
        if value.trim().is_empty() {
            return;
        }
        let room = self.width.saturating_sub(LABEL).max(8);
        for (at, part) in wrap(&clean(value), room, room, None).into_iter().enumerate() {
            let lead = if at == 0 { label } else { "" };
            self.lines.push(Line::from(vec![
                span(self.app, Role::Dim, format!("{lead:<LABEL$}")),
                span(self.app, role, part),
            ]));
        }
    }

    fn status(&mut self, card: &Card) {
        let app = self.app;
        let style = app.theme.status(card.status).remove_modifier(Modifier::CROSSED_OUT);
        let mut spans = vec![
            Span::styled(
                format!("{} {}", glyph(card.status), card.status.as_str().to_uppercase()),
                style.add_modifier(Modifier::BOLD),
            ),
            span(app, Role::Dim, format!("  since {}", app.clock(card.since_ms))),
        ];
        if let Some(run) = &card.run {
            spans.push(span(app, Role::Dim, format!(", {}", running_time(app.now - run.started_at_ms))));
        } else {
            spans.push(span(app, Role::Dim, format!(", {}", running_time(app.now - card.since_ms))));
        }
        if card.archived {
            spans.push(span(app, Role::Dim, ", put away"));
        }
        self.lines.push(Line::from(pen::cut_spans(spans, self.width)));
    }

    fn question(&mut self, card: &Card) {
        let Some(question) = &card.question else { return };
        self.gap();
        let app = self.app;
        let asked = format!(
            "◆ {} asks, {} ago:",
            clean(&question.asked_by),
            short_age(app.now - question.asked_at_ms)
        );
        self.lines.push(Line::from(span(app, Role::Lamp, asked)));
        self.text(Role::Title, &question.text);
        for (at, option) in question.options.iter().enumerate() {
            self.lines.push(Line::from(vec![
                span(app, Role::Key, format!("  {}  ", at + 1)),
                span(app, Role::Text, clean(option)),
            ]));
        }
        if let Some(key) = app.keymap.first(Action::Answer) {
            self.lines.push(Line::from(vec![
                span(app, Role::Key, key),
                span(app, Role::Dim, " picks an option or types an answer"),
            ]));
        }
    }

    /// What came out, what went wrong, what it is blocked by, what the reviewer should know.
    fn outcome(&mut self, card: &Card, task: &Task) {
        let said = [
            (
                "blocked by",
                Role::Blocked,
                &task.blocked_reason,
                card.status == TaskStatus::Blocked && card.question.is_none(),
            ),
            ("error", Role::Failed, &task.error, true),
            ("review", Role::Text, &task.review_summary, true),
            ("result", Role::Text, &task.result, true),
        ];
        for (label, role, text, shown) in said {
            if shown && !text.trim().is_empty() {
                self.heading(label);
                self.text(role, text);
            }
        }
    }

    fn fields(&mut self, card: &Card, task: &Task) {
        let app = self.app;
        self.field("priority", Role::Text, &format!("{} {}", task.priority, priority_band(task.priority)));
        self.field("labels", Role::Text, &task.labels.join(", "));
        self.field("assignee", Role::Text, &task.assignee);
        self.field("runs", Role::Text, &card.executor);
        let folder = task.executor.as_ref().and_then(|executor| executor.cwd.clone()).unwrap_or_default();
        self.field("folder", Role::Text, &folder);
        if let Some(workflow) = &card.workflow {
            let text = format!(
                "{} {}/{}, step {} ({})",
                bar(workflow.done, workflow.total),
                workflow.done,
                workflow.total,
                card.step_id,
                workflow.status
            );
            self.field("workflow", Role::Text, &workflow.name);
            self.field("", Role::Progress, &text);
        }
        self.field("board", Role::Text, &task.board_id);
        self.field("source", Role::Text, &task.source);
        if task.retry_count > 0 || task.retry_max > 0 {
            self.field("retries", Role::Text, &format!("{} of {}", task.retry_count, task.max_retries));
        }
        if let Some(seconds) = task.timeout_seconds {
            self.field("time limit", Role::Text, &precise(i64::from(seconds) * 1_000));
        }
        if let Some(at) = task.not_before_ms.filter(|at| *at > app.now) {
            self.field("not before", Role::Text, &app.clock(at));
        }
        if task.review_required {
            self.field("review", Role::Text, "a person looks at the result");
        }
        self.field(
            "created",
            Role::Text,
            &format!("{} by {}", app.clock(task.created_at_ms), task.created_by),
        );
        if let Some(at) = task.started_at_ms {
            self.field("started", Role::Text, &app.clock(at));
        }
        if let Some(at) = task.finished_at_ms {
            self.field("finished", Role::Text, &app.clock(at));
        }
        self.field("id", Role::Dim, task.id.as_str());
    }

    fn relatives(&mut self, label: &str, tasks: &[Predecessor]) {
        if tasks.is_empty() {
            return;
        }
        self.heading(label);
        for task in tasks {
            let spans = vec![
                Span::styled(format!("{} ", glyph(task.status)), self.app.theme.status(task.status)),
                span(self.app, Role::Dim, format!("#{} ", task.seq)),
                span(self.app, Role::Text, clean(&task.title)),
            ];
            self.lines.push(Line::from(pen::cut_spans(spans, self.width)));
        }
    }

    fn runs(&mut self, runs: &[Run]) {
        if runs.is_empty() {
            return;
        }
        self.heading("runs");
        let app = self.app;
        for run in runs.iter().rev() {
            let (sign, style, word) = ending(app, run);
            let length = run.ended_at_ms.unwrap_or(app.now) - run.started_at_ms;
            let left = vec![
                Span::styled(format!("{sign} "), style),
                span(app, Role::Dim, format!("{:>2}  ", run.number)),
                span(app, Role::Text, word),
                span(app, Role::Dim, format!("  {}", clean(&run.note))),
            ];
            let right = vec![span(app, Role::Dim, precise(length))];
            self.lines.push(pen::spread(left, right, self.width));
        }
    }
}

fn ending(app: &App, run: &Run) -> (&'static str, Style, &'static str) {
    let of = |status| (glyph(status), app.theme.status(status));
    let ((sign, style), word) = match run.outcome {
        None => (of(TaskStatus::Running), "is going"),
        Some(RunOutcome::Success) => (of(TaskStatus::Success), "done"),
        Some(RunOutcome::Failed) => (of(TaskStatus::Failed), "failed"),
        Some(RunOutcome::Deadline) => (of(TaskStatus::Failed), "out of time"),
        Some(RunOutcome::Lost) => (of(TaskStatus::Failed), "its worker died"),
        Some(RunOutcome::Cancelled) => (of(TaskStatus::Suspended), "cancelled"),
        Some(RunOutcome::Suspended) => (of(TaskStatus::Suspended), "suspended"),
        Some(RunOutcome::Blocked) => (of(TaskStatus::Blocked), "blocked"),
        Some(RunOutcome::Parked) => (of(TaskStatus::Blocked), "asked, and waited"),
    };
    (sign, style, word)
}

/// A bar of at most ten pieces: `▰▰▱▱▱`.
pub fn bar(done: u32, total: u32) -> String {
    let pieces = total.clamp(1, 10);
    let full = (u64::from(done) * u64::from(pieces) / u64::from(total.max(1))) as u32;
    "▰".repeat(full as usize) + &"▱".repeat((pieces - full.min(pieces)) as usize)
}

impl App {
    /// Whether the title does not fit in the edge of the panel.
    fn screen_is_narrow(&self) -> bool {
        let title = self.selected_card().map_or(0, |card| crate::tui::text::width(&clean(&card.title)));
        usize::from(layout::screen(self).panel.width) < title + 14
    }
}
