//! What is remembered of the output beside the log: the beginning and the end of stdout, the end of stderr.
//! Bounded, however much is printed.

/// How many characters of a text are given out.
pub const TEXT_LIMIT: usize = 4_000;
/// Bytes that surely hold [`TEXT_LIMIT`] characters, an invalid byte making one as well, and one more that is cut.
const KEPT: usize = TEXT_LIMIT * 4 + 4;
/// Bytes of stderr that are kept for its last line.
const LAST_LINE_KEPT: usize = 4_096;

/// Which of a process's two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The remembered parts.
#[derive(Debug, Default)]
pub(super) struct Output {
    head: Vec<u8>,
    /// Whether anything but line ends came after the head.
    head_goes_on: bool,
    tail: Tail,
    stderr: Tail,
    /// How many bytes both streams gave.
    pub bytes: u64,
}

/// The last bytes of a stream; holds up to twice the limit, so that it is cut rarely.
#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
}

impl Tail {
    fn add(&mut self, bytes: &[u8], limit: usize) {
        let new = &bytes[bytes.len().saturating_sub(limit)..];
        self.bytes.extend_from_slice(new);
        if self.bytes.len() > 2 * limit {
            self.bytes.drain(..self.bytes.len() - limit);
        }
    }
}

impl Output {
    pub fn add(&mut self, stream: Stream, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        match stream {
            Stream::Stderr => self.stderr.add(bytes, LAST_LINE_KEPT),
            Stream::Stdout => {
                let room = KEPT - self.head.len();
                let (head, rest) = bytes.split_at(room.min(bytes.len()));
                self.head.extend_from_slice(head);
                self.head_goes_on |= rest.iter().any(|byte| !is_line_end(*byte));
                self.tail.add(bytes, KEPT);
            }
        }
    }

    /// The first characters of stdout, without the line ends that it ends with.
    pub fn stdout_head(&self) -> String {
        let text = lossy(&self.head);
        let text = if self.head_goes_on { &text } else { text.trim_end_matches(['\n', '\r']) };
        text.chars().take(TEXT_LIMIT).collect()
    }

    /// The last characters of stdout, without the line ends that it ends with.
    pub fn stdout_tail(&self) -> String {
        let text = lossy(&self.tail.bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let surplus = text.chars().count().saturating_sub(TEXT_LIMIT);
        text.chars().skip(surplus).collect()
    }

    /// The last line of stderr that is not blank, without white space around it; at most 1,000 characters.
    pub fn stderr_last_line(&self) -> String {
        let text = lossy(&self.stderr.bytes);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        line.chars().take(1_000).collect()
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Text that can be stored: what is not UTF-8, and NUL, becomes the replacement character.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdout(chunks: &[&[u8]]) -> Output {
        let mut output = Output::default();
        for chunk in chunks {
            output.add(Stream::Stdout, chunk);
        }
        output
    }

    #[test]
    fn a_result_loses_the_line_ends_at_its_end_only() {
        assert_eq!(stdout(&[b"a\n\n", b"b\r\n\n"]).stdout_head(), "a\n\nb");
        assert_eq!(stdout(&[b""]).stdout_head(), "");
    }

    #[test]
    fn a_result_is_the_first_four_thousand_characters_whatever_their_length() {
        let head = stdout(&["界".repeat(5_000).as_bytes()]).stdout_head();
        assert_eq!(head.chars().count(), TEXT_LIMIT);
        assert!(head.chars().all(|c| c == '界'));
        let emoji = stdout(&["🏮".repeat(4_000).as_bytes(), b"\n"]).stdout_head();
        assert_eq!(emoji.chars().count(), TEXT_LIMIT);
    }

    #[test]
    fn invalid_bytes_and_nul_become_replacement_characters() {
        assert_eq!(stdout(&[b"a\xff\xfeb\0\n"]).stdout_head(), "a\u{fffd}\u{fffd}b\u{fffd}");
    }

    #[test]
    fn the_final_text_is_the_end_of_stdout() {
        let mut output = Output::default();
        for n in 0..100_000 {
            output.add(Stream::Stdout, format!("{n}\n").as_bytes());
        }
        let tail = output.stdout_tail();
        assert_eq!(tail.chars().count(), TEXT_LIMIT);
        assert!(tail.ends_with("99998\n99999"));
        assert!(output.stdout_head().starts_with("0\n1\n2\n"));
    }

    #[test]
    fn the_last_line_of_stderr_is_the_last_that_says_something() {
        let mut output = Output::default();
        output.add(Stream::Stderr, b"warning: x\nerror: no such file\n\n  \n");
        assert_eq!(output.stderr_last_line(), "error: no such file");
        assert_eq!(output.stdout_head(), "");
        assert_eq!(output.bytes, 35);
    }
}
