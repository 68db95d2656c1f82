//! A text that is typed: one line or several. Moves and deletes whole graphemes; a paste arrives as one piece
//! and as text, never as keys.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::Widget;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::text::{many_lines, one_line};

/// A text that is typed.
#[derive(Clone)]
pub struct Field {
    area: TextArea<'static>,
    many: bool,
}

impl Field {
    /// A field of one line.
    pub fn line(text: &str) -> Field {
        Field::with(one_line(text), false)
    }

    /// A field of several lines.
    pub fn lines(text: &str) -> Field {
        Field::with(many_lines(text), true)
    }

    fn with(text: String, many: bool) -> Field {
        let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
        area.set_wrap_mode(if many { WrapMode::WordOrGlyph } else { WrapMode::None });
        area.set_cursor_line_style(Style::new());
        area.set_cursor_style(Style::new());
        area.move_cursor(CursorMove::Bottom);
        area.move_cursor(CursorMove::End);
        Field { area, many }
    }

    /// What stands in it.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether nothing but blanks stands in it.
    pub fn is_blank(&self) -> bool {
        self.area.lines().iter().all(|line| line.trim().is_empty())
    }

    /// Whether it takes several lines.
    pub fn is_many(&self) -> bool {
        self.many
    }

    /// Whether the cursor stands in the first line.
    pub fn at_top(&self) -> bool {
        self.area.cursor().0 == 0
    }

    /// Whether the cursor stands in the last line.
    pub fn at_bottom(&self) -> bool {
        self.area.cursor().0 + 1 >= self.area.lines().len()
    }

    /// Puts a text in at the cursor. A field of one line takes line breaks as blanks.
    pub fn insert(&mut self, text: &str) {
        let text = if self.many { many_lines(text) } else { one_line(text) };
        self.area.insert_str(text);
    }

    /// A new line, where it takes several.
    pub fn newline(&mut self) {
        if self.many {
            self.area.insert_newline();
        }
    }

    /// Takes a key; false when it means nothing here.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('a') if ctrl => self.area.move_cursor(CursorMove::Head),
            KeyCode::Char('e') if ctrl => self.area.move_cursor(CursorMove::End),
            KeyCode::Char('u') if ctrl => drop_flag(self.area.delete_line_by_head()),
            KeyCode::Char('k') if ctrl => drop_flag(self.area.delete_line_by_end()),
            KeyCode::Char('w') if ctrl => drop_flag(self.area.delete_word()),
            KeyCode::Char('y') if ctrl => drop_flag(self.area.paste()),
            KeyCode::Char('_' | '7') if ctrl => drop_flag(self.area.undo()),
            KeyCode::Char('b') if alt => self.area.move_cursor(CursorMove::WordBack),
            KeyCode::Char('f') if alt => self.area.move_cursor(CursorMove::WordForward),
            KeyCode::Char('d') if alt => drop_flag(self.area.delete_next_word()),
            KeyCode::Char(c) if !ctrl && !alt => self.insert(&c.to_string()),
            KeyCode::Left if ctrl || alt => self.area.move_cursor(CursorMove::WordBack),
            KeyCode::Right if ctrl || alt => self.area.move_cursor(CursorMove::WordForward),
            KeyCode::Left => self.repeat(self.before(), CursorMove::Back),
            KeyCode::Right => self.repeat(self.after(), CursorMove::Forward),
            KeyCode::Up if self.many => self.area.move_cursor(CursorMove::Up),
            KeyCode::Down if self.many => self.area.move_cursor(CursorMove::Down),
            KeyCode::Home => self.area.move_cursor(CursorMove::Head),
            KeyCode::End => self.area.move_cursor(CursorMove::End),
            KeyCode::Backspace if ctrl || alt => drop_flag(self.area.delete_word()),
            KeyCode::Backspace => (0..self.before()).for_each(|_| drop_flag(self.area.delete_char())),
            KeyCode::Delete => (0..self.after()).for_each(|_| drop_flag(self.area.delete_next_char())),
            _ => return false,
        }
        true
    }

    /// Draws it; gives the place of the cursor.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer, style: Style) -> Position {
        if area.is_empty() {
            return area.as_position();
        }
        Widget::render(&self.area, area, buffer);
        buffer.set_style(area, style);
        let cursor = self.area.screen_cursor();
        let (top, left) = self.area.scroll_offset();
        let column = (cursor.col as u16).saturating_sub(left).min(area.width - 1);
        let row = (cursor.row as u16).saturating_sub(top).min(area.height - 1);
        Position::new(area.x + column, area.y + row)
    }

    fn repeat(&mut self, times: usize, step: CursorMove) {
        (0..times).for_each(|_| self.area.move_cursor(step));
    }

    /// How many characters the grapheme before the cursor has; 1 at the head of a line.
    fn before(&self) -> usize {
        let (row, column) = (self.area.cursor().0, self.area.cursor().1);
        let line = self.area.lines().get(row).map_or("", String::as_str);
        let head: String = line.chars().take(column).collect();
        head.graphemes(true).next_back().map_or(1, |grapheme| grapheme.chars().count())
    }

    /// How many characters the grapheme after the cursor has; 1 at the end of a line.
    fn after(&self) -> usize {
        let (row, column) = (self.area.cursor().0, self.area.cursor().1);
        let line = self.area.lines().get(row).map_or("", String::as_str);
        let tail: String = line.chars().skip(column).collect();
        tail.graphemes(true).next().map_or(1, |grapheme| grapheme.chars().count())
    }
}

/// The text area says whether it changed; here nothing depends on that.
fn drop_flag(_changed: bool) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(field: &mut Field, code: KeyCode) {
        field.key(KeyEvent::new(code, KeyModifiers::NONE));
    }

    #[test]
    fn backspace_takes_a_whole_grapheme() {
        let mut field = Field::line("ae\u{301}");
        press(&mut field, KeyCode::Backspace);
        assert_eq!(field.text(), "a");
        let mut family = Field::line("x👨\u{200d}👩\u{200d}👧");
        press(&mut family, KeyCode::Left);
        press(&mut family, KeyCode::Delete);
        assert_eq!(family.text(), "x");
    }

    #[test]
    fn a_paste_is_text_and_one_line_stays_one_line() {
        let mut field = Field::line("");
        field.insert("a\nb\x1b[31m");
        assert_eq!(field.text(), "a b␛[31m");
        let mut many = Field::lines("");
        many.insert("a\r\nb");
        assert_eq!(many.text(), "a\nb");
    }
}
