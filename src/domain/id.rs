//! Identifiers. Every kind has its own letter, `_`, and twelve lower-case letters and digits, so a person
//! can tell them apart and a wrong kind is named in the refusal.

use serde::{Deserialize, Serialize};
use std::fmt;

use super::refusal::Refusal;

/// How many characters follow the prefix.
pub const ID_LENGTH: usize = 12;
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// What an id names; decides its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// `t_`
    Task,
    /// `w_`
    Workflow,
    /// `i_`
    Item,
    /// `r_`
    Run,
    /// `q_`
    Question,
    /// `a_`
    Approval,
    /// `h_`: it holds a task up.
    Wait,
    /// `c_`: a clock.
    Timer,
}

impl IdKind {
    /// The two characters before the random part.
    pub fn prefix(self) -> &'static str {
        match self {
            IdKind::Task => "t_",
            IdKind::Workflow => "w_",
            IdKind::Item => "i_",
            IdKind::Run => "r_",
            IdKind::Question => "q_",
            IdKind::Approval => "a_",
            IdKind::Wait => "h_",
            IdKind::Timer => "c_",
        }
    }

    /// The word a person reads.
    pub fn word(self) -> &'static str {
        match self {
            IdKind::Task => "task",
            IdKind::Workflow => "workflow",
            IdKind::Item => "work item",
            IdKind::Run => "run",
            IdKind::Question => "question",
            IdKind::Approval => "approval",
            IdKind::Wait => "wait",
            IdKind::Timer => "timer",
        }
    }

    fn of(text: &str) -> Option<IdKind> {
        const ALL: [IdKind; 8] = [
            IdKind::Task,
            IdKind::Workflow,
            IdKind::Item,
            IdKind::Run,
            IdKind::Question,
            IdKind::Approval,
            IdKind::Wait,
            IdKind::Timer,
        ];
        ALL.into_iter().find(|kind| text.starts_with(kind.prefix()))
    }
}

/// Renders twelve id characters from a random number; the caller owns the randomness.
pub fn render(kind: IdKind, mut random: u64) -> String {
    let mut id = String::with_capacity(2 + ID_LENGTH);
    id.push_str(kind.prefix());
    for _ in 0..ID_LENGTH {
        id.push(ALPHABET[(random % 36) as usize] as char);
        random /= 36;
    }
    id
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $kind:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// A fresh id from one random number.
            pub fn from_random(random: u64) -> Self {
                Self(render($kind, random))
            }

            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

id_type!(/// A task's id, `t_…`.
    TaskId, IdKind::Task);
id_type!(/// A workflow's id, `w_…`.
    WorkflowId, IdKind::Workflow);
id_type!(/// A run's id, `r_…`.
    RunId, IdKind::Run);
id_type!(/// A question's id, `q_…`.
    QuestionId, IdKind::Question);
id_type!(/// An approval's id, `a_…`.
    ApprovalId, IdKind::Approval);
id_type!(/// A wait's id, `h_…`.
    WaitId, IdKind::Wait);
id_type!(/// A timer's id, `c_…`.
    TimerId, IdKind::Timer);

/// What a person or an agent typed to name a record: a full id, a unique prefix of one, or `#12` / `12`
/// (always a task's sequence number).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdRef {
    /// A complete id.
    Full(String),
    /// A prefix with its letter and underscore.
    Prefix(String),
    /// A task's `seq`.
    Seq(i64),
}

impl IdRef {
    /// Reads a reference to a record of `kind`. A wrong kind and nonsense are refused with what was expected.
    pub fn parse(text: &str, kind: IdKind) -> Result<IdRef, Refusal> {
        let text = text.trim();
        let number = text.strip_prefix('#').unwrap_or(text);
        if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) {
            return match number.parse::<i64>() {
                Ok(seq) if kind == IdKind::Task => Ok(IdRef::Seq(seq)),
                Ok(_) => Err(Refusal::invalid(
                    "id",
                    format!("#{number} is a task's number, and a {} is wanted here", kind.word()),
                )),
                Err(_) => Err(Refusal::not_found("task", text)),
            };
        }
        match IdKind::of(text) {
            Some(found) if found == kind => {
                let tail = &text[2..];
                let lower = tail.to_ascii_lowercase();
                if tail.is_empty()
                    || lower.len() > ID_LENGTH
                    || !lower.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
                {
                    return Err(Refusal::not_found(kind.word(), text));
                }
                let id = format!("{}{lower}", kind.prefix());
                Ok(if lower.len() == ID_LENGTH { IdRef::Full(id) } else { IdRef::Prefix(id) })
            }
            Some(found) => Err(Refusal::invalid(
                "id",
                format!("{text} names a {}, and a {} is wanted here", found.word(), kind.word()),
            )),
            None => Err(Refusal::not_found(kind.word(), text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_letter_and_twelve_lower_case_letters_and_digits() {
        let id = TaskId::from_random(u64::MAX);
        assert!(id.0.starts_with("t_"));
        assert_eq!(id.0.len(), 14);
        assert!(id.0[2..].bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
        assert_ne!(TaskId::from_random(1), TaskId::from_random(2));
    }

    #[test]
    fn references_are_full_prefix_or_number() {
        assert_eq!(IdRef::parse("#12", IdKind::Task).unwrap(), IdRef::Seq(12));
        assert_eq!(IdRef::parse("12", IdKind::Task).unwrap(), IdRef::Seq(12));
        assert_eq!(IdRef::parse("t_ab", IdKind::Task).unwrap(), IdRef::Prefix("t_ab".into()));
        assert_eq!(
            IdRef::parse("t_abcdefghijkl", IdKind::Task).unwrap(),
            IdRef::Full("t_abcdefghijkl".into())
        );
    }

    #[test]
    fn a_wrong_kind_says_what_is_wanted() {
        let refusal = IdRef::parse("w_abc", IdKind::Task).unwrap_err();
        assert!(refusal.to_string().contains("names a workflow"), "{refusal}");
        assert!(IdRef::parse("", IdKind::Task).is_err());
        assert!(IdRef::parse("t_", IdKind::Task).is_err());
        assert!(IdRef::parse("t_é", IdKind::Task).is_err());
        assert!(IdRef::parse("99999999999999999999999", IdKind::Task).is_err());
    }
}
