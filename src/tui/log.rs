//! A run's output as lines that can be shown: colours stay, every other control character becomes visible, and
//! a line that was rewritten with carriage returns shows its last state.

use ansi_to_tui::IntoText;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

use super::event::LogChunk;
use super::text::clean;
use crate::domain::RunId;

/// How many lines are kept; older ones are dropped.
pub const LINES_KEPT: usize = 20_000;
/// The longest line, in bytes; the rest of it is dropped.
const LINE_LIMIT: usize = 16 * 1024;

/// The output that is shown.
pub struct LogView {
    /// Of which run; `None` where nothing is followed.
    pub run: Option<RunId>,
    /// Whether that run was going when it was asked for.
    pub live: bool,
    /// Whether anything was read yet.
    pub read: bool,
    /// The lines; colours are still in them as escape sequences.
    pub lines: Vec<String>,
    /// Bytes before the first line that are kept on disk but not here.
    pub skipped: u64,
    /// Bytes that the log lost in its middle, at its cap.
    pub dropped: u64,
    /// The first line that is drawn, where the end is not followed.
    pub top: usize,
    /// Whether the end is followed.
    pub follow: bool,
    /// Whether long lines are wrapped.
    pub wrap: bool,
    rest: Vec<u8>,
    colour: String,
}

impl Default for LogView {
    fn default() -> Self {
        LogView {
            run: None,
            live: false,
            read: false,
            lines: Vec::new(),
            skipped: 0,
            dropped: 0,
            top: 0,
            follow: true,
            wrap: true,
            rest: Vec::new(),
            colour: String::new(),
        }
    }
}

impl LogView {
    /// Begins with another run.
    pub fn start(&mut self, run: Option<RunId>, live: bool) {
        *self = LogView { run, live, wrap: self.wrap, ..LogView::default() };
    }

    /// Takes in a piece.
    pub fn take(&mut self, chunk: LogChunk) {
        if chunk.first {
            let (run, live) = (self.run.take(), self.live);
            let (follow, top) = (self.follow, self.top);
            self.start(run, live);
            (self.follow, self.top) = (follow, top);
        }
        self.read = true;
        if chunk.first {
            self.skipped = chunk.skipped;
        }
        self.dropped = chunk.dropped;
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend(chunk.bytes);
        let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            if lines.peek().is_none() {
                self.rest = line[..line.len().min(LINE_LIMIT)].to_vec();
                break;
            }
            let shown = self.shown(line);
            self.lines.push(shown);
        }
        let over = self.lines.len().saturating_sub(LINES_KEPT);
        // A line may be shown otherwise than it is stored, so this is a size to tell and not to reckon with.
        self.skipped += self.lines.drain(..over).map(|line| line.len() as u64 + 1).sum::<u64>();
        self.top = self.top.saturating_sub(over);
    }

    /// The line that is not finished yet.
    pub fn unfinished(&self) -> Option<String> {
        if self.rest.is_empty() {
            return None;
        }
        let mut probe = LogView { colour: self.colour.clone(), ..LogView::default() };
        Some(probe.shown(&self.rest))
    }

    fn shown(&mut self, line: &[u8]) -> String {
        let text = String::from_utf8_lossy(&line[..line.len().min(LINE_LIMIT)]);
        let text = text.trim_end_matches('\r');
        let last = text.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default();
        let mut out = self.colour.clone();
        let mut left = last;
        while let Some(at) = left.find('\x1b') {
            out.push_str(&plain(&left[..at]));
            left = &left[at..];
            match colour_sequence(left) {
                Some(sequence) => {
                    out.push_str(sequence);
                    self.remember(sequence);
                    left = &left[sequence.len()..];
                }
                None => {
                    out.push('␛');
                    left = &left[1..];
                }
            }
        }
        out.push_str(&plain(left));
        out
    }

    /// Colours that a line leaves on are on for the next one too.
    fn remember(&mut self, sequence: &str) {
        let parameters = &sequence[2..sequence.len() - 1];
        if parameters.is_empty() || parameters == "0" {
            self.colour.clear();
        } else if self.colour.len() < 200 {
            self.colour.push_str(sequence);
        }
    }
}

fn plain(text: &str) -> String {
    clean(&text.replace('\t', "    "))
}

/// `ESC [ … m` at the beginning of `text`.
fn colour_sequence(text: &str) -> Option<&str> {
    let body = text.strip_prefix("\x1b[")?;
    let end = body.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
    (body.as_bytes()[end] == b'm').then(|| &text[..end + 3])
}

/// A line of the log in pieces of one style each. Without `colored`, only weights are kept.
pub fn spans(line: &str, colored: bool) -> Vec<Span<'static>> {
    if !line.contains('\x1b') {
        return vec![Span::raw(line.to_owned())];
    }
    let Ok(text) = line.into_text() else { return vec![Span::raw(clean(line))] };
    let spans = text.lines.into_iter().flat_map(|line| {
        let style = line.style;
        line.spans
            .into_iter()
            .map(move |span| Span::styled(span.content.into_owned(), style.patch(span.style)))
    });
    spans.map(|span| Span::styled(span.content, tamed(span.style, colored))).collect()
}

/// Blinking is not for this screen, and without colour none is set: a cell with a colour would lose its weight
/// under NO_COLOR.
fn tamed(style: Style, colored: bool) -> Style {
    let mut kept =
        Style::new().add_modifier(style.add_modifier - Modifier::SLOW_BLINK - Modifier::RAPID_BLINK);
    if colored {
        kept.fg = style.fg.filter(|color| *color != Color::Reset);
        kept.bg = style.bg.filter(|color| *color != Color::Reset);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> LogView {
        let mut log = LogView::default();
        for (at, bytes) in pieces.iter().enumerate() {
            log.take(LogChunk { bytes: bytes.to_vec(), first: at == 0, ..LogChunk::default() });
        }
        log
    }

    #[test]
    fn lines_are_put_together_from_pieces_and_bad_bytes_are_shown() {
        let log = read(&[b"on", b"e\ntw\xffo\nthr", b"ee"]);
        assert_eq!(log.lines, ["one", "tw\u{fffd}o"]);
        assert_eq!(log.unfinished().as_deref(), Some("three"));
    }

    #[test]
    fn colours_stay_and_every_other_escape_becomes_visible() {
        let log = read(&[b"\x1b[31mred\nstill\x1b[0m\n\x1b[2Jx\x07\x1b]0;t\n"]);
        assert_eq!(log.lines, ["\x1b[31mred", "\x1b[31mstill\x1b[0m", "␛[2Jx␇␛]0;t"]);
        let red = spans(&log.lines[1], true);
        assert_eq!((red[0].content.as_ref(), red[0].style.fg), ("still", Some(Color::Red)));
        assert_eq!(spans(&log.lines[1], false)[0].style.fg, None);
    }

    #[test]
    fn a_line_that_was_rewritten_shows_its_last_state() {
        let log = read(&[b"10%\r50%\r100%\r\ndone\r\n"]);
        assert_eq!(log.lines, ["100%", "done"]);
    }

    #[test]
    fn a_flood_keeps_its_end() {
        let many = "x\n".repeat(LINES_KEPT + 5);
        let log = read(&[many.as_bytes()]);
        assert_eq!((log.lines.len(), log.skipped), (LINES_KEPT, 10));
    }
}
