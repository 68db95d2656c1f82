//! Small drawing tools: lines with a left and a right part, boxes, words cut to cells.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::tui::app::App;
use crate::tui::text::{cut, width};
use crate::tui::theme::Role;

/// A piece of text in a role.
pub fn span(app: &App, role: Role, text: impl Into<String>) -> Span<'static> {
    Span::styled(text.into(), app.theme.style(role))
}

/// How many cells the spans take.
pub fn span_width(spans: &[Span]) -> usize {
    spans.iter().map(|span| width(&span.content)).sum()
}

/// Cuts spans to `cells`; what is cut ends with `…`.
pub fn cut_spans(spans: Vec<Span<'static>>, cells: usize) -> Vec<Span<'static>> {
    let mut left = cells;
    let mut kept = Vec::with_capacity(spans.len());
    let total = span_width(&spans);
    for span in spans {
        if left == 0 {
            break;
        }
        let wide = width(&span.content);
        let more_follows = total > cells && wide >= left;
        if wide < left || !more_follows {
            left -= wide.min(left);
            kept.push(span);
        } else {
            // The text goes on behind the room: the last cell says so.
            let content = cut(&format!("{}…", span.content), left).into_owned();
            kept.push(Span::styled(content, span.style));
            left = 0;
        }
    }
    kept
}

/// A line with a part at the left and one at the right edge; the left one is cut where both do not fit.
pub fn spread(left: Vec<Span<'static>>, right: Vec<Span<'static>>, cells: usize) -> Line<'static> {
    let right = cut_spans(right, cells);
    let right_width = span_width(&right);
    if right_width == 0 {
        return Line::from(cut_spans(left, cells));
    }
    let room = cells.saturating_sub(right_width + 1);
    let mut spans = cut_spans(left, room);
    let gap = cells - right_width - span_width(&spans);
    spans.push(Span::raw(" ".repeat(gap)));
    spans.extend(right);
    Line::from(spans)
}

/// Draws lines from the top of an area; what does not fit is left out.
pub fn lines(lines: &[Line], area: Rect, buffer: &mut Buffer) {
    for (row, line) in lines.iter().take(usize::from(area.height)).enumerate() {
        put_line(buffer, area.x, area.y + row as u16, line, area.width);
    }
}

/// Draws a line at a cell; nothing where that is outside of the screen.
pub fn put_line(buffer: &mut Buffer, x: u16, y: u16, line: &Line, cells: u16) {
    if buffer.area.contains(Position::new(x, y)) {
        buffer.set_line(x, y, line, cells);
    }
}

/// Draws a span at a cell; nothing where that is outside of the screen.
pub fn put_span(buffer: &mut Buffer, x: u16, y: u16, span: &Span, cells: u16) {
    if buffer.area.contains(Position::new(x, y)) {
        buffer.set_span(x, y, span, cells);
    }
}

/// Draws a text at a cell; nothing where that is outside of the screen.
pub fn put_text(buffer: &mut Buffer, x: u16, y: u16, text: impl AsRef<str>, style: Style) {
    if buffer.area.contains(Position::new(x, y)) {
        buffer.set_string(x, y, text, style);
    }
}

/// A box with rounded corners, a title in its upper edge and words in its lower edge.
pub struct Frame<'a> {
    /// The style of the edges.
    pub edge: Style,
    /// At the left of the upper edge.
    pub title: Vec<Span<'a>>,
    /// At the right of the upper edge.
    pub aside: Vec<Span<'a>>,
    /// At the right of the lower edge.
    pub foot: Vec<Span<'a>>,
}

impl Frame<'_> {
    /// Draws the box.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer) {
        if area.width < 2 || area.height < 2 {
            return;
        }
        let (left, right, top, bottom) = (area.x, area.right() - 1, area.y, area.bottom() - 1);
        let across = "─".repeat(usize::from(area.width) - 2);
        put_text(buffer, left, top, format!("╭{across}╮"), self.edge);
        put_text(buffer, left, bottom, format!("╰{across}╯"), self.edge);
        for y in top + 1..bottom {
            put_text(buffer, left, y, "│", self.edge);
            put_text(buffer, right, y, "│", self.edge);
        }
        let room = usize::from(area.width.saturating_sub(4));
        let aside = in_edge(&self.aside, room);
        let title = in_edge(&self.title, room.saturating_sub(aside.width() + 1));
        let foot = in_edge(&self.foot, room);
        let from_right = |line: &Line| right.saturating_sub(line.width() as u16);
        for (x, y, line) in
            [(left + 1, top, &title), (from_right(&aside), top, &aside), (from_right(&foot), bottom, &foot)]
        {
            // The words have looks of their own, not that of the edge below them.
            let under = Rect::new(x, y, line.width() as u16, 1).intersection(buffer.area);
            buffer.set_style(under, Style::reset());
            put_line(buffer, x, y, line, area.width - 2);
        }
    }
}

/// Words that stand in an edge, with a blank on both sides.
fn in_edge(spans: &[Span], room: usize) -> Line<'static> {
    if spans.is_empty() || room < 3 {
        return Line::default();
    }
    let owned =
        spans.iter().map(|span| Span::styled(span.content.clone().into_owned(), span.style)).collect();
    let mut line = vec![Span::raw(" ")];
    line.extend(cut_spans(owned, room - 2));
    line.push(Span::raw(" "));
    Line::from(line)
}

/// Takes an area back: all that is in it becomes as faint as a rule.
pub fn fade(app: &App, area: Rect, buffer: &mut Buffer) {
    let strong = Modifier::BOLD | Modifier::REVERSED | Modifier::UNDERLINED;
    buffer.set_style(area.intersection(buffer.area), app.theme.style(Role::Rule).remove_modifier(strong));
}

/// An area of at most this size in the middle of the screen, emptied.
pub fn centred(app: &App, wide: u16, high: u16, buffer: &mut Buffer) -> Rect {
    let (width, height) = app.size;
    let wide = wide.min(width);
    let high = high.min(height);
    let area = Rect::new((width - wide) / 2, (height - high) / 2, wide, high);
    clear(area, buffer);
    area
}

/// Empties an area, and a wide character that its left edge would halve.
pub fn clear(area: Rect, buffer: &mut Buffer) {
    if area.x > 0 {
        for y in area.top()..area.bottom().min(buffer.area.bottom()) {
            let cell = &mut buffer[(area.x - 1, y)];
            if width(cell.symbol()) > 1 {
                cell.set_symbol(" ");
            }
        }
    }
    Clear.render(area.intersection(buffer.area), buffer);
}

/// The inside of a box: without its edges and with a blank at both sides.
pub fn inside(area: Rect) -> Rect {
    Rect {
        x: area.x + 2.min(area.width),
        y: area.y + 1.min(area.height),
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    }
}

/// Keys with what they do, for the foot of a box.
pub fn keys(app: &App, actions: &[crate::tui::action::Action]) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    for action in actions {
        let (Some(key), Ok(label)) =
            (app.keymap.first(*action), crate::tui::update::offer::offer(app, *action))
        else {
            continue;
        };
        if !spans.is_empty() {
            spans.push(span(app, Role::Rule, " · "));
        }
        spans.push(span(app, Role::Key, key));
        spans.push(span(app, Role::Dim, format!(" {label}")));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_part_keeps_its_edge_and_the_left_one_is_cut() {
        let text = |line: Line| line.spans.iter().map(|s| s.content.to_string()).collect::<String>();
        assert_eq!(text(spread(vec!["abc".into()], vec!["9".into()], 8)), "abc    9");
        assert_eq!(text(spread(vec!["abcdefgh".into()], vec!["9".into()], 8)), "abcde… 9");
        assert_eq!(text(spread(vec!["修复登录".into()], vec!["9".into()], 8)), "修复…  9");
        assert_eq!(text(spread(vec!["ab".into(), "cd".into()], Vec::new(), 3)), "ab…");
    }
}
