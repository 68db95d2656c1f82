//! Text measured in terminal cells: made harmless, cut and wrapped by grapheme, never inside one.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::text::{many_lines, one_line};

/// One line that is safe to draw. Escapes become pictures, and emoji whose width terminals disagree about lose
/// what makes it uncertain (variation selectors, joined parts, skin tones): columns that line up are worth more
/// than the last detail of a picture.
pub fn clean(text: &str) -> String {
    steady(one_line(text))
}

/// Several lines that are safe to draw.
pub fn clean_lines(text: &str) -> Vec<String> {
    many_lines(text).lines().map(|line| steady(line.to_owned())).collect()
}

fn steady(text: String) -> String {
    if text.is_ascii() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        let kept = grapheme.split('\u{200d}').next().unwrap_or(grapheme);
        let most = if kept.width() > 2 { 1 } else { usize::MAX };
        let steady = |c: &char| !matches!(c, '\u{fe0e}' | '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}');
        out.extend(kept.chars().filter(steady).take(most));
    }
    out
}

/// How many cells a clean text takes.
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).map(UnicodeWidthStr::width).sum() }
}

/// At most `cells` cells of a clean text; where something is cut the last cell is `…`.
pub fn cut(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    if cells == 0 {
        return Cow::Borrowed("");
    }
    let (head, _) = split(text, cells - 1);
    Cow::Owned(format!("{}…", head.trim_end()))
}

/// Splits a clean text after as many graphemes as fit in `cells`.
pub fn split(text: &str, cells: usize) -> (&str, &str) {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme.width();
        if used > cells {
            return text.split_at(at);
        }
    }
    (text, "")
}

/// Wraps a clean line at spaces, and inside words that are wider than a line. `first` is the width of the first
/// line, `rest` that of the others. With `limit`, the last line is cut with `…`.
pub fn wrap(text: &str, first: usize, rest: usize, limit: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut left = text.trim_end();
    loop {
        let room = if lines.is_empty() { first } else { rest }.max(1);
        if limit == Some(lines.len() + 1) || width(left) <= room {
            lines.push(cut(left, room).into_owned());
            return lines;
        }
        let (head, tail) = break_line(left, room);
        lines.push(head.to_owned());
        left = tail;
    }
}

/// Wraps several clean lines to `cells`, keeping their own breaks.
pub fn wrap_all<S: AsRef<str>>(lines: &[S], cells: usize) -> Vec<String> {
    lines.iter().flat_map(|line| wrap(line.as_ref(), cells, cells, None)).collect()
}

fn break_line(text: &str, room: usize) -> (&str, &str) {
    let (head, tail) = split(text, room);
    if head.is_empty() {
        // A single grapheme wider than the room: it is kept whole, and drawn cut.
        let end = text.graphemes(true).next().map_or(text.len(), str::len);
        return text.split_at(end);
    }
    if tail.starts_with(' ') {
        return (head, tail.trim_start());
    }
    match head.rfind(' ') {
        // A break that would leave more than half of the line empty looks worse than a broken word.
        Some(at) if width(&head[..at]) * 2 >= room => (head[..at].trim_end(), text[at..].trim_start()),
        _ => (head, tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wide_characters_take_two_cells_and_are_never_halved() {
        assert_eq!(width("修复登录"), 8);
        assert_eq!(cut("修复登录", 7), "修复登…");
        assert_eq!(cut("修复登录", 6), "修复…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn combined_characters_stay_together() {
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(clean("👨\u{200d}👩\u{200d}👧 family"), "👨 family");
        assert_eq!(clean("❤\u{fe0f}"), "❤");
    }

    #[test]
    fn lines_break_at_spaces_and_end_with_an_ellipsis() {
        assert_eq!(wrap("Rotate API keys now", 12, 12, Some(2)), ["Rotate API", "keys now"]);
        assert_eq!(wrap("Rotate API keys now", 12, 6, Some(2)), ["Rotate API", "keys…"]);
        assert_eq!(wrap("aaaaaaaaaa bbb", 4, 4, None), ["aaaa", "aaaa", "aa", "bbb"]);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_its_room(text in "\\PC{0,60}", cells in 2usize..30) {
            let text = clean(&text);
            prop_assert!(width(&cut(&text, cells)) <= cells);
            for line in wrap(&text, cells, cells, None) {
                prop_assert!(width(&line) <= cells, "{line:?}");
            }
        }
    }
}
