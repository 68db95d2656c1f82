//! Output of programs on its way to a terminal: colours pass, everything else that would steer the terminal is
//! shown instead of obeyed (ECMA-48, "Control Functions for Coded Character Sets").

use crate::domain::text::many_lines;

/// The longest colour sequence that is waited for, in bytes; real ones are far shorter.
const SEQUENCE_LIMIT: usize = 64;

/// A filter that may be fed in pieces of any size.
pub struct Harmless {
    color: bool,
    colored: bool,
    at_line_start: bool,
    pending: Vec<u8>,
}

impl Harmless {
    /// A filter; `color` lets colours pass, otherwise they are dropped.
    pub fn new(color: bool) -> Self {
        Self { color, colored: false, at_line_start: true, pending: Vec::new() }
    }

    /// The next piece, as far as it can be judged by now.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let keep = unfinished(&self.pending);
        let rest = self.pending.split_off(self.pending.len() - keep);
        let ready = std::mem::replace(&mut self.pending, rest);
        self.filter(&ready)
    }

    /// What was still held back, with the colours put out and the last line ended.
    pub fn end(&mut self) -> String {
        let ready = std::mem::take(&mut self.pending);
        let mut text = self.filter(&ready);
        if std::mem::take(&mut self.colored) {
            text.push_str("\x1b[0m");
        }
        if !self.at_line_start {
            text.push('\n');
        }
        text
    }

    fn filter(&mut self, bytes: &[u8]) -> String {
        let decoded = String::from_utf8_lossy(bytes);
        let mut out = String::with_capacity(decoded.len());
        let mut rest = decoded.as_ref();
        while let Some(escape) = rest.find('\x1b') {
            out.push_str(&plain(&rest[..escape]));
            rest = &rest[escape..];
            match color_sequence(rest) {
                Some(length) => {
                    if self.color {
                        out.push_str(&rest[..length]);
                        self.colored = true;
                    }
                    rest = &rest[length..];
                }
                None => {
                    out.push('␛');
                    rest = &rest[1..];
                }
            }
        }
        out.push_str(&plain(rest));
        if let Some(last) = out.chars().last() {
            self.at_line_start = last == '\n';
        }
        out
    }
}

/// Text without escapes; a lone carriage return, which would overwrite the line, begins a new one.
fn plain(text: &str) -> String {
    many_lines(&text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// The length of the colour sequence (SGR) that `text` starts with.
fn color_sequence(text: &str) -> Option<usize> {
    let body = text.strip_prefix("\x1b[")?;
    let end = body.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'))?;
    (body[end..].starts_with('m') && end < SEQUENCE_LIMIT).then_some(2 + end + 1)
}

/// How many bytes at the end can't be judged before more have come.
fn unfinished(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(SEQUENCE_LIMIT)..];
    if let Some(escape) = tail.iter().rposition(|byte| *byte == 0x1b) {
        let sequence = &tail[escape..];
        let open = match sequence {
            [_] => true,
            [_, b'[', body @ ..] => body.iter().all(|b| matches!(b, b'0'..=b'9' | b';' | b':')),
            _ => false,
        };
        if open {
            return sequence.len();
        }
    }
    if tail.last() == Some(&b'\r') {
        return 1;
    }
    // A character of several bytes that has only begun.
    (1..=tail.len().min(3))
        .find(|back| tail[tail.len() - back] >= 0xc0)
        .filter(|back| *back < character_length(tail[tail.len() - back]))
        .unwrap_or(0)
}

fn character_length(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(bytes: &[u8], color: bool) -> String {
        let mut filter = Harmless::new(color);
        let mut text = filter.push(bytes);
        text.push_str(&filter.end());
        text
    }

    #[test]
    fn colours_pass_and_nothing_else_does() {
        assert_eq!(whole(b"\x1b[31mred\x1b[0m\n", true), "\x1b[31mred\x1b[0m\n\x1b[0m");
        assert_eq!(whole(b"\x1b[31mred\x1b[0m\n", false), "red\n");
        assert_eq!(whole(b"a\x1b[2J\x1b]0;title\x07b\n", true), "a␛[2J␛]0;title␇b\n");
        assert_eq!(whole(b"\x1b[?1049h\n", true), "␛[?1049h\n");
    }

    #[test]
    fn what_would_overwrite_the_line_begins_a_new_one() {
        assert_eq!(whole(b"10%\r20%\r\n\x08x", true), "10%\n20%\n␈x\n");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(whole(b"a\xffb\n", true), "a\u{fffd}b\n");
        assert_eq!(whole(b"\xc2\x9b31m\n", true), "␦31m\n");
    }

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b'm'), Just(b'\r'), Just(b'\n'), Just(b'3')], 0..200),
            cut in 1usize..40,
        ) {
            let mut filter = Harmless::new(true);
            let mut pieces = String::new();
            for piece in bytes.chunks(cut) {
                pieces.push_str(&filter.push(piece));
            }
            pieces.push_str(&filter.end());
            let valid = std::str::from_utf8(&bytes).is_ok();
            if valid {
                prop_assert_eq!(&pieces, &whole(&bytes, true));
            }
            let obeyed = pieces.replace("\u{1b}[0m", "");
            prop_assert!(!obeyed.chars().any(|c| c.is_control() && c != '\n' && c != '\x1b'));
        }
    }
}
