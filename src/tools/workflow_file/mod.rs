//! Files that describe workflows: YAML or JSON, read into a tree that keeps the place of every value and every
//! double key, so that whatever is wrong can be told with line and column. Sees only the domain's nodes; what a
//! definition means is the domain's to say. Start reading at [`read`].

mod json;
mod yaml;

use crate::domain::definition::{Fault, Node};

/// The largest file that is read, in bytes.
pub const FILE_LIMIT: usize = 16 * 1024 * 1024;
/// How deep lists and tables may be nested.
pub const DEPTH_LIMIT: usize = 64;

type Place = Option<(usize, usize)>;

/// Reads a file. `name` decides the format (`.json`, `.yaml`, `.yml`); with any other name, such as `-` for
/// stdin, the text does.
pub fn read(name: &str, bytes: &[u8]) -> Result<Node, Vec<Fault>> {
    let text = text_of(bytes).map_err(|fault| vec![fault])?;
    let lower = name.to_ascii_lowercase();
    let named_yaml = lower.ends_with(".yaml") || lower.ends_with(".yml");
    if lower.ends_with(".json") {
        return json::read(text);
    }
    if named_yaml || !text.trim_start().starts_with(['{', '[']) {
        return yaml::read(text);
    }
    // It looks like JSON, and may be YAML in braces; if it is neither, the JSON fault is the likelier help.
    json::read(text).or_else(|faults| yaml::read(text).map_err(|_| faults))
}

fn fault(at: Place, message: impl Into<String>) -> Fault {
    Fault { at, path: String::new(), message: message.into() }
}

/// The bytes as text, without a byte order mark. Control characters are refused: the parser takes a NUL for the
/// end of the file and would leave the rest unread without a word.
fn text_of(bytes: &[u8]) -> Result<&str, Fault> {
    if bytes.len() > FILE_LIMIT {
        let message = format!("the file has {} bytes and at most {FILE_LIMIT} are read", bytes.len());
        return Err(fault(None, message));
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(fault(Some((1, 1)), "the file is UTF-16; save it as UTF-8"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let at = position(std::str::from_utf8(before).unwrap_or_default());
        fault(Some(at), "the file is not UTF-8 text from here on; save it as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let control = |c: char| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
    if let Some(at) = text.find(control) {
        let code = text[at..].chars().next().map_or(0, u32::from);
        let message =
            format!("there is a control character (U+{code:04X}) here; write it as an escape in quotes");
        return Err(fault(Some(position(&text[..at])), message));
    }
    if text.trim().is_empty() {
        return Err(fault(None, "the file is empty; a workflow has a name and steps"));
    }
    Ok(text)
}

/// Line and column of what follows `before`.
fn position(before: &str) -> (usize, usize) {
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before[start..].chars().count() + 1)
}

#[cfg(test)]
mod tests;
