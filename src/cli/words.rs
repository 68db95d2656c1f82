//! How values look to people: glyph and colour of a status, ages, local times, tables aligned by cells.

use anstyle::{AnsiColor, Effects, Style};
use jiff::{Timestamp, tz::TimeZone};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::time::{Millis, short_age};
use crate::domain::{TaskStatus, WorkflowStatus};

/// Milliseconds since the epoch, now.
pub fn now_ms() -> Millis {
    Timestamp::now().as_millisecond()
}

/// An instant in the person's own time zone, to the second.
pub fn local_time(at: Millis) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(stamp) => stamp.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => format!("{at} ms"),
    }
}

/// The time of day in the person's own time zone.
pub fn clock_time(at: Millis) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(stamp) => stamp.to_zoned_datetime(TimeZone::system()).strftime("%H:%M:%S").to_string(),
        Err(_) => format!("{at} ms"),
    }
}

/// How long ago something was.
pub fn ago(length: Millis) -> String {
    match short_age(length).as_str() {
        "now" => "just now".to_owned(),
        age => format!("{age} ago"),
    }
}

/// A length in bytes: `812 B`, `3.4 KiB`, `16.0 MiB`.
pub fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut length = bytes as f64;
    let mut unit = "B";
    for next in units {
        if length < 1_024.0 {
            break;
        }
        length /= 1_024.0;
        unit = next;
    }
    match unit {
        "B" => format!("{bytes} B"),
        _ => format!("{length:.1} {unit}"),
    }
}

pub use crate::tui::theme::glyph;

/// The colour of a status.
pub fn style(status: TaskStatus) -> Style {
    let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    match status {
        TaskStatus::Pending => color(AnsiColor::BrightBlack),
        TaskStatus::Queued => color(AnsiColor::Blue),
        TaskStatus::Running => color(AnsiColor::Cyan),
        TaskStatus::Review => color(AnsiColor::Magenta),
        TaskStatus::Blocked => color(AnsiColor::Yellow).bold(),
        TaskStatus::Failed => color(AnsiColor::Red),
        TaskStatus::Suspended => Style::new().dimmed(),
        TaskStatus::Success => color(AnsiColor::Green),
        TaskStatus::Cancelled => Style::new().effects(Effects::DIMMED | Effects::STRIKETHROUGH),
    }
}

/// The task status that looks like a workflow's.
pub fn like(status: WorkflowStatus) -> TaskStatus {
    match status {
        WorkflowStatus::Pending => TaskStatus::Pending,
        WorkflowStatus::Running => TaskStatus::Running,
        WorkflowStatus::Waiting => TaskStatus::Suspended,
        WorkflowStatus::Blocked => TaskStatus::Blocked,
        WorkflowStatus::Success => TaskStatus::Success,
        WorkflowStatus::Failed => TaskStatus::Failed,
        WorkflowStatus::Cancelled => TaskStatus::Cancelled,
    }
}

/// How many cells a text takes.
pub fn cells(text: &str) -> usize {
    text.width()
}

/// `text` cut to `width` cells, never inside a grapheme, with `…` where something was cut.
pub fn cut(text: &str, width: usize) -> String {
    if cells(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let wide = cells(grapheme);
        if used + wide + 1 > width {
            break;
        }
        kept.push_str(grapheme);
        used += wide;
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// `text` filled with spaces up to `width` cells.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(cells(text))))
}

/// A cell of a table: what is written, and in which colour.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// The text, harmless and on one line.
    pub text: String,
    /// Its colour.
    pub style: Style,
    /// Numbers stand at the right edge of their column.
    pub right: bool,
}

impl Cell {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A number, aligned right.
    pub fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), right: true, ..Self::default() }
    }

    /// The cell in a colour.
    pub fn styled(mut self, style: Style) -> Self {
        self.style = style;
        self
    }
}

/// Rows of cells as aligned lines. Column `flexible` is cut so that the lines fit into `width` cells; empty
/// columns vanish.
pub fn table(rows: &[Vec<Cell>], flexible: usize, width: Option<usize>, color: bool) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..columns)
        .map(|at| rows.iter().filter_map(|row| row.get(at)).map(|cell| cells(&cell.text)).max().unwrap_or(0))
        .collect();
    if let Some(limit) = width
        && flexible < columns
    {
        let others: usize = widths
            .iter()
            .enumerate()
            .filter(|(at, wide)| *at != flexible && **wide > 0)
            .map(|(_, wide)| wide + 2)
            .sum();
        widths[flexible] = widths[flexible].min(limit.saturating_sub(others).max(10));
    }
    let line = |row: &Vec<Cell>| {
        let last = row.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
        let parts =
            row.iter().enumerate().take(last + 1).filter(|(at, _)| widths[*at] > 0).map(|(at, cell)| {
                let text = cut(&cell.text, widths[at]);
                let gap = " ".repeat(widths[at] - cells(&text));
                let painted = super::output::paint(color, cell.style, &text);
                match (cell.right, at == last) {
                    (true, _) => format!("{gap}{painted}"),
                    (false, true) => painted,
                    (false, false) => format!("{painted}{gap}"),
                }
            });
        parts.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_in_bytes_have_a_unit_that_fits() {
        assert_eq!([812, 3_482, 16 * 1_024 * 1_024].map(size), ["812 B", "3.4 KiB", "16.0 MiB"]);
    }

    #[test]
    fn cutting_counts_cells_and_keeps_graphemes_whole() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("👨‍👩‍👧x", 2), "…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn every_glyph_is_one_cell_and_no_two_are_alike() {
        let mut glyphs: Vec<_> = TaskStatus::ALL.iter().map(|s| glyph(*s)).collect();
        assert!(glyphs.iter().all(|g| cells(g) == 1));
        glyphs.sort_unstable();
        glyphs.dedup();
        assert_eq!(glyphs.len(), 9);
    }

    #[test]
    fn a_table_aligns_by_cells_and_cuts_only_the_flexible_column() {
        let row = |n: &str, title: &str, label: &str| {
            vec![Cell::number(n), Cell::text(title), Cell::text(""), Cell::text(label)]
        };
        let rows = [row("#1", "修复登录页面", "bug"), row("#12", "a long title that is cut", "")];
        assert_eq!(table(&rows, 1, None, false)[0], " #1  修复登录页面              bug");
        let narrow = table(&rows, 1, Some(20), false);
        assert_eq!(narrow, [" #1  修复登录…   bug", "#12  a long ti…"]);
        assert!(narrow.iter().all(|line| cells(line) <= 20));
    }
}
