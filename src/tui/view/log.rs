//! A run's output: followed at its end, or read from anywhere.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::pen::{self, span};
use crate::tui::app::App;
use crate::tui::log::spans;
use crate::tui::text::{split, width as cells};
use crate::tui::theme::Role;

/// Draws the output.
pub fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let (head, body) = (Rect { height: 1, ..area }, Rect { y: area.y + 1, height: area.height - 1, ..area });
    pen::put_line(buffer, head.x, head.y, &state(app, usize::from(head.width)), head.width);
    pen::lines(&visible(app, usize::from(body.width), usize::from(body.height)), body, buffer);
}

/// One line about the output: which run, whether it goes on, whether the end is followed.
fn state(app: &App, width: usize) -> Line<'static> {
    let log = &app.log;
    let run = app.opened.as_ref().and_then(|opened| opened.last_run());
    let Some(run) = run else {
        return Line::from(span(app, Role::Dim, "it has not run yet"));
    };
    let mut left = vec![span(app, Role::Dim, format!("run {}", run.number))];
    if run.is_active() {
        left.push(span(app, Role::Running, " · live"));
    }
    if log.read && log.lines.is_empty() && log.unfinished().is_none() {
        left.push(span(app, Role::Dim, " · no output"));
    }
    if log.dropped > 0 {
        left.push(span(app, Role::Lamp, format!(" · {} dropped", size(log.dropped))));
    }
    if log.skipped > 0 {
        left.push(span(app, Role::Dim, format!(" · {} not shown", size(log.skipped))));
    }
    let right = match log.follow {
        true if left.len() > 2 => "following".to_owned(),
        true => "following the end".to_owned(),
        false => format!("line {} of {}", log.top + 1, log.lines.len()),
    };
    pen::spread(left, vec![span(app, Role::Dim, right)], width)
}

fn size(bytes: u64) -> String {
    match bytes {
        ..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KiB", bytes / 1_024),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// The rows that are drawn.
fn visible(app: &App, width: usize, height: usize) -> Vec<Line<'static>> {
    let log = &app.log;
    if log.follow {
        let mut rows: Vec<Line> = Vec::new();
        let unfinished = log.unfinished();
        for line in unfinished.iter().map(String::as_str).chain(log.lines.iter().rev().map(String::as_str)) {
            let mut part = row(app, line, width);
            part.extend(std::mem::take(&mut rows));
            rows = part;
            if rows.len() >= height {
                break;
            }
        }
        let over = rows.len().saturating_sub(height);
        return rows.split_off(over);
    }
    let mut rows = Vec::new();
    for line in log.lines.iter().skip(log.top) {
        if rows.len() >= height {
            break;
        }
        rows.extend(row(app, line, width));
    }
    if rows.len() < height
        && let Some(last) = log.unfinished()
    {
        rows.extend(row(app, &last, width));
    }
    rows.truncate(height);
    rows
}

/// A line of the output in rows of at most `width` cells.
fn row(app: &App, line: &str, width: usize) -> Vec<Line<'static>> {
    let spans = spans(line, app.theme.colored);
    if !app.log.wrap {
        return vec![Line::from(pen::cut_spans(spans, width))];
    }
    let mut rows = vec![Vec::new()];
    let mut used = 0;
    for span in spans {
        let mut left: &str = &span.content;
        while !left.is_empty() {
            let (head, tail) = split(left, width.saturating_sub(used));
            if head.is_empty() && used == 0 {
                break;
            }
            if !head.is_empty() {
                used += cells(head);
                if let Some(row) = rows.last_mut() {
                    row.push(Span::styled(head.to_owned(), span.style));
                }
            }
            left = tail;
            if !left.is_empty() {
                rows.push(Vec::new());
                used = 0;
            }
        }
    }
    rows.into_iter().map(Line::from).collect()
}

/// The last lines, for where only a glimpse is wanted.
pub fn tail(app: &App, width: usize, height: usize) -> Vec<Line<'static>> {
    let log = &app.log;
    let mut rows: Vec<Line<'static>> = log
        .lines
        .iter()
        .map(String::as_str)
        .rev()
        .filter(|line| !line.trim().is_empty())
        .take(height)
        .map(|line| Line::from(pen::cut_spans(spans(line, app.theme.colored), width)))
        .collect();
    rows.reverse();
    rows
}

/// Follows the end, or stops where the end is now.
pub fn set_follow(app: &mut App, follow: bool) {
    let body = crate::tui::layout::panel_body(app);
    if !follow && app.log.follow {
        app.log.top = first_followed(app, body);
    }
    app.log.follow = follow;
}

/// The first line that is in view while the end is followed.
fn first_followed(app: &App, body: Rect) -> usize {
    let (width, height) = (usize::from(body.width).max(1), usize::from(body.height).saturating_sub(1));
    let mut rows = usize::from(app.log.unfinished().is_some());
    let mut first = app.log.lines.len();
    while first > 0 && rows < height {
        first -= 1;
        rows += row(app, &app.log.lines[first], width).len();
    }
    first
}

/// Scrolls by lines; scrolling down over the end follows it again.
pub fn scroll(app: &mut App, by: isize, body: Rect) {
    let end = first_followed(app, body);
    if app.log.follow {
        if by >= 0 {
            return;
        }
        app.log.top = end;
        app.log.follow = false;
    }
    app.log.top = app.log.top.saturating_add_signed(by);
    if app.log.top >= end {
        app.log.top = end;
        app.log.follow = by > 0;
    }
}
