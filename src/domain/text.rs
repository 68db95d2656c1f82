//! What people write: limits, and how control characters are made harmless before they reach a terminal.

use std::borrow::Cow;

use super::refusal::Refusal;

/// The longest title, in characters.
pub const TITLE_LIMIT: usize = 500;
/// The longest description, result, error or reason, in characters.
pub const TEXT_LIMIT: usize = 100_000;
/// The longest answer to a question, in characters.
pub const ANSWER_LIMIT: usize = 10_000;
/// The longest label, assignee or source, in characters.
pub const LABEL_LIMIT: usize = 60;
/// How many labels a task may have.
pub const LABELS_LIMIT: usize = 50;

/// A title: not blank, at most [`TITLE_LIMIT`] characters, trimmed.
pub fn title(text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Refusal::invalid("title", "a title can't be empty; write at least one character"));
    }
    limited("title", text, TITLE_LIMIT)
}

/// A text of at most `limit` characters.
pub fn limited(field: &'static str, text: &str, limit: usize) -> Result<String, Refusal> {
    let count = text.chars().count();
    if count > limit {
        return Err(Refusal::invalid(
            field,
            format!("{field} has {count} characters and at most {limit} are kept; shorten it"),
        ));
    }
    if text.contains('\0') {
        return Err(Refusal::invalid(field, format!("{field} holds a NUL character; remove it")));
    }
    Ok(text.to_owned())
}

/// The name of a board: a word, and not the `*` that stands for all of them.
pub fn board(text: &str) -> Result<String, Refusal> {
    let name = word("board", text)?;
    match name.as_str() {
        "*" => Err(Refusal::invalid("board", "`*` means all boards; give this one a name of its own")),
        _ => Ok(name),
    }
}

/// A short word such as a label or a name: not blank, trimmed, at most [`LABEL_LIMIT`] characters.
pub fn word(field: &'static str, text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Refusal::invalid(
            field,
            format!("{field} can't be empty; give it at least one character"),
        ));
    }
    limited(field, text, LABEL_LIMIT)
}

/// Labels: trimmed, without doubles, in the order given.
pub fn labels(given: &[String]) -> Result<Vec<String>, Refusal> {
    let mut kept: Vec<String> = Vec::new();
    for label in given {
        let label = word("label", label)?;
        if !kept.contains(&label) {
            kept.push(label);
        }
    }
    if kept.len() > LABELS_LIMIT {
        return Err(Refusal::invalid(
            "labels",
            format!("a task has at most {LABELS_LIMIT} labels, and these are {}; leave some out", kept.len()),
        ));
    }
    Ok(kept)
}

/// A priority from 0 (highest) to 9.
pub fn priority(value: i64) -> Result<u8, Refusal> {
    u8::try_from(value).ok().filter(|p| *p <= 9).ok_or_else(|| {
        Refusal::invalid(
            "priority",
            format!("priority {value} is outside 0 to 9, where 0 is the highest and 5 the usual"),
        )
    })
}

/// The band a person reads for a priority.
pub fn priority_band(priority: u8) -> &'static str {
    match priority {
        0..=2 => "urgent",
        3..=4 => "high",
        5 => "normal",
        6..=7 => "low",
        _ => "lowest",
    }
}

/// One line that no terminal interprets: control characters become their pictures (`␛`), line breaks and tabs
/// become spaces, and characters that reorder text are dropped.
pub fn one_line(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\t' | '\r' => Some(' '),
            c => harmless(c),
        })
        .collect()
}

/// Several lines that no terminal interprets; line breaks stay, tabs become four spaces.
pub fn many_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            c => out.extend(harmless(c)),
        }
    }
    out
}

/// The first `limit` characters, with `…` where something was cut.
pub fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => {
            let mut cut: String = text.chars().take(limit.saturating_sub(1)).collect();
            cut.push('…');
            cut
        }
    }
}

/// The same JSON, with what a terminal would interpret written as `\u…`: its writers leave C1 controls and
/// characters that reorder text as they are.
pub fn harmless_json(json: &str) -> Cow<'_, str> {
    let dangerous = |c: char| c > '~' && harmless(c) != Some(c);
    if !json.contains(dangerous) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match dangerous(c) {
            true => out.push_str(&format!("\\u{:04x}", c as u32)),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn harmless(c: char) -> Option<char> {
    match c {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + c as u32),
        '\u{7f}' => Some('␡'),
        '\u{80}'..='\u{9f}' => Some('␦'),
        // Bidirectional overrides and isolates, line and paragraph separators, the byte order mark.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => None,
        c => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_neither_blank_nor_enormous() {
        assert!(title("  \n ").is_err());
        assert_eq!(title("  修复登录 ").unwrap(), "修复登录");
        assert!(title(&"界".repeat(TITLE_LIMIT)).is_ok());
        let refusal = title(&"x".repeat(TITLE_LIMIT + 1)).unwrap_err().to_string();
        assert!(refusal.contains("501 characters"), "{refusal}");
    }

    #[test]
    fn priorities_are_zero_to_nine() {
        assert_eq!(priority(0).unwrap(), 0);
        assert_eq!(priority(9).unwrap(), 9);
        assert!(priority(10).is_err() && priority(-1).is_err());
    }

    #[test]
    fn priority_bands_follow_the_plan() {
        let bands: Vec<_> = (0..=9).map(priority_band).collect();
        assert_eq!(
            bands,
            ["urgent", "urgent", "urgent", "high", "high", "normal", "low", "low", "lowest", "lowest"]
        );
    }

    #[test]
    fn escapes_are_shown_and_never_sent() {
        assert_eq!(one_line("a\x1b[31mb\nc\u{9b}d\u{202e}e"), "a␛[31mb c␦de");
        assert_eq!(many_lines("a\r\nb\tc\x07"), "a\nb    c␇");
    }

    #[test]
    fn json_keeps_its_meaning_and_sends_nothing_that_a_terminal_interprets() {
        let value = serde_json::json!({ "a\u{9b}31m": "\u{202e}b\u{7f}界\u{1b}é" });
        let json = value.to_string();
        let harmless = harmless_json(&json);
        assert_eq!(harmless, r#"{"a\u009b31m":"\u202eb\u007f界\u001bé"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&harmless).unwrap(), value);
        assert!(matches!(harmless_json(r#"{"a":"界"}"#), Cow::Borrowed(_)));
    }

    #[test]
    fn cutting_counts_characters() {
        assert_eq!(shortened("日本語テキスト", 4), "日本語…");
        assert_eq!(shortened("abc", 3), "abc");
    }
}
