//! References to results of predecessors: `${steps.ID.result}` and `${steps.ID.error}` in the strings of a
//! step. A value never becomes shell code: into a shell command it goes through the environment only.

use std::collections::BTreeMap;

/// Which text of a predecessor is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// `result`
    Result,
    /// `error`
    Error,
}

/// A reference found in a string.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// The step that is referred to.
    pub step: String,
    /// Which of its texts.
    pub part: Part,
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let part = match self.part {
            Part::Result => "result",
            Part::Error => "error",
        };
        write!(f, "{OPENING}{}.{part}}}", self.step)
    }
}

enum Piece<'a> {
    Text(&'a str),
    Reference(Reference),
    /// Starts like a reference, but isn't one; holds the whole of it.
    Malformed(&'a str),
}

const OPENING: &str = "${steps.";

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(OPENING) {
        if at > 0 {
            out.push(Piece::Text(&rest[..at]));
        }
        let tail = &rest[at..];
        match tail.find('}') {
            None => {
                out.push(Piece::Malformed(tail));
                return out;
            }
            Some(end) => {
                let inside = &tail[OPENING.len()..end];
                let whole = &tail[..=end];
                let reference = inside.rsplit_once('.').and_then(|(step, part)| {
                    let part = match part {
                        "result" => Part::Result,
                        "error" => Part::Error,
                        _ => return None,
                    };
                    (!step.is_empty()).then(|| Reference { step: step.to_owned(), part })
                });
                out.push(reference.map_or(Piece::Malformed(whole), Piece::Reference));
                rest = &tail[end + 1..];
            }
        }
    }
    if !rest.is_empty() {
        out.push(Piece::Text(rest));
    }
    out
}

/// The references in a string; the malformed ones apart, whole.
pub fn references(text: &str) -> (Vec<Reference>, Vec<String>) {
    let mut found = Vec::new();
    let mut malformed = Vec::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(_) => {}
            Piece::Reference(reference) => found.push(reference),
            Piece::Malformed(whole) => malformed.push(whole.to_owned()),
        }
    }
    (found, malformed)
}

/// The string with every reference replaced by its value.
pub fn substitute(text: &str, value: impl Fn(&Reference) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) | Piece::Malformed(text) => out.push_str(text),
            Piece::Reference(reference) => out.push_str(&value(&reference)),
        }
    }
    out
}

/// A shell line with every reference replaced by an expansion of a variable, quoted for where it stands, and
/// the variables to set. Whatever a value holds, the shell sees it as data.
pub fn substitute_in_shell(
    line: &str,
    value: impl Fn(&Reference) -> String,
) -> (String, BTreeMap<String, String>) {
    let mut out = String::with_capacity(line.len());
    let mut variables = BTreeMap::new();
    let mut names: Vec<Reference> = Vec::new();
    let mut quote = Quote::None;
    for piece in pieces(line) {
        match piece {
            Piece::Text(text) | Piece::Malformed(text) => {
                quote = quote.after(text);
                out.push_str(text);
            }
            Piece::Reference(reference) => {
                let place = names.iter().position(|known| *known == reference).unwrap_or_else(|| {
                    names.push(reference.clone());
                    names.len() - 1
                });
                let name = format!("ANDON_VALUE_{}", place + 1);
                match quote {
                    Quote::None => out.push_str(&format!("\"${{{name}}}\"")),
                    Quote::Double => out.push_str(&format!("${{{name}}}")),
                    Quote::Single => out.push_str(&format!("'\"${{{name}}}\"'")),
                }
                variables.entry(name).or_insert_with(|| value(&reference));
            }
        }
    }
    (out, variables)
}

/// Where in a shell line one stands. It need not be exact (here-documents, nested substitutions): an expansion
/// in the wrong quotes may be split into words, but is never read as code.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Quote {
    None,
    Single,
    Double,
}

impl Quote {
    fn after(mut self, text: &str) -> Quote {
        let mut escaped = false;
        for c in text.chars() {
            if escaped {
                escaped = false;
                continue;
            }
            self = match (self, c) {
                (Quote::None | Quote::Double, '\\') => {
                    escaped = true;
                    self
                }
                (Quote::None, '\'') => Quote::Single,
                (Quote::Single, '\'') => Quote::None,
                (Quote::None, '"') => Quote::Double,
                (Quote::Double, '"') => Quote::None,
                (same, _) => same,
            };
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(reference: &Reference) -> String {
        format!("<{}>", reference.step)
    }

    #[test]
    fn references_are_found_and_malformed_ones_named() {
        let (found, malformed) =
            references("a ${steps.x.result} ${steps.y.z.error} ${steps.x.output} ${HOME} ${steps.");
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], Reference { step: "y.z".into(), part: Part::Error });
        assert_eq!(malformed, ["${steps.x.output}", "${steps."]);
    }

    #[test]
    fn plain_strings_get_the_value() {
        assert_eq!(substitute("see ${steps.a.result}!", step), "see <a>!");
    }

    #[test]
    fn shell_lines_get_a_variable_quoted_for_its_place() {
        let (line, variables) = substitute_in_shell(
            r#"echo ${steps.a.result} "x ${steps.a.result}" 'y ${steps.b.error}' \" ${steps.b.error}"#,
            |r| format!("$(rm -rf {})", r.step),
        );
        assert_eq!(
            line,
            r#"echo "${ANDON_VALUE_1}" "x ${ANDON_VALUE_1}" 'y '"${ANDON_VALUE_2}"'' \" "${ANDON_VALUE_2}""#
        );
        assert_eq!(variables["ANDON_VALUE_1"], "$(rm -rf a)");
        assert_eq!(variables.len(), 2);
    }
}
