//! Why something was not done. A refusal is a value: it has a stable code, a class that decides the exit code
//! and the HTTP status, and says what happened, why, and what to do next. It never changes anything.

use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::status::TaskStatus;

/// What kind of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalClass {
    /// The input itself is wrong (exit 2, HTTP 422).
    Invalid,
    /// Nothing has that name (exit 3, HTTP 404).
    NotFound,
    /// The state does not allow it (exit 4, HTTP 409).
    State,
    /// The caller may not do it (exit 5, HTTP 403).
    NotAllowed,
}

/// A refusal: nothing was written.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind it is.
    pub class: RefusalClass,
    /// A stable word for programs, such as `illegal_transition`.
    pub code: &'static str,
    /// What happened, why, and what to do, in one to three lines.
    pub message: String,
    /// More for programs: names, numbers, what would be allowed.
    pub detail: Value,
}

impl Refusal {
    /// A value that can't be taken.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self {
            class: RefusalClass::Invalid,
            code: "invalid_value",
            message: message.into(),
            detail: json!({ "field": field }),
        }
    }

    /// Nothing has that name.
    pub fn not_found(kind: &str, name: &str) -> Self {
        let shown = super::text::shortened(&super::text::one_line(name), 60);
        let list = match kind {
            "workflow" => "andon workflow list",
            "question" => "andon questions",
            "approval" => "andon approvals",
            "timer" => "andon tool '{\"tool\":\"timer\",\"action\":\"list\"}'",
            "board" => "andon boards",
            "run" => "andon show ID",
            _ => "andon list --all",
        };
        Self {
            class: RefusalClass::NotFound,
            code: "not_found",
            message: format!("there is no {kind} `{shown}`; `{list}` shows what exists"),
            detail: json!({ "kind": kind, "name": name }),
        }
    }

    /// More than one record starts with that prefix.
    pub fn ambiguous(kind: &str, name: &str, matches: &[String]) -> Self {
        Self {
            class: RefusalClass::Invalid,
            code: "ambiguous_id",
            message: format!(
                "`{name}` could be any of {} {kind}s: {}; type more of the id",
                matches.len(),
                matches.join(", ")
            ),
            detail: json!({ "kind": kind, "name": name, "matches": matches }),
        }
    }

    /// A status change outside the table. Names both states and what is allowed.
    pub fn illegal_transition(seq: i64, from: TaskStatus, to: TaskStatus) -> Self {
        let allowed: Vec<&str> = from.successors().iter().map(|s| s.as_str()).collect();
        let next = if allowed.is_empty() {
            format!("{from} is final; `andon copy {seq}` makes a fresh card with the same content")
        } else {
            format!("from {from} it can go to {}", allowed.join(", "))
        };
        Self {
            class: RefusalClass::State,
            code: "illegal_transition",
            message: format!("task #{seq} can't go from {from} to {to}: {next}"),
            detail: json!({ "from": from, "to": to, "allowed": allowed }),
        }
    }

    /// A verb that takes a task out of `wanted`, called for one that is `from`. The same code as an illegal
    /// transition, since to a program it is one; a person reads which verb does what was probably meant.
    pub fn wrong_verb(seq: i64, verb: &str, wanted: TaskStatus, from: TaskStatus, to: TaskStatus) -> Self {
        use TaskStatus::{Blocked, Failed, Pending, Queued, Review, Suspended};
        let refusal = Self::illegal_transition(seq, from, to);
        let other = match (from, to) {
            (Pending, Queued) => "start",
            (Blocked, Queued) => "unblock",
            (Review, Queued) => "reject",
            (Suspended, Queued) => "resume",
            (Failed, Queued) => "retry",
            (Queued, Queued) => {
                let message =
                    format!("task #{seq} is queued already; `andon why {seq}` says what it waits for");
                return Self { message, ..refusal };
            }
            _ => return refusal,
        };
        let message = format!(
            "task #{seq} is {from}, and `{verb}` takes one from {wanted} to {to}; `andon {other} {seq}` does that here"
        );
        Self { message, ..refusal }
    }

    /// Refused by the state of things, with a code of its own.
    pub fn state(code: &'static str, message: impl Into<String>) -> Self {
        Self { class: RefusalClass::State, code, message: message.into(), detail: Value::Null }
    }

    /// Refused since the caller may not do it.
    pub fn not_allowed(message: impl Into<String>) -> Self {
        Self {
            class: RefusalClass::NotAllowed,
            code: "not_allowed",
            message: message.into(),
            detail: Value::Null,
        }
    }

    /// Replaces the code for programs.
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.code = code;
        self
    }

    /// Adds detail for programs.
    pub fn with_detail(mut self, detail: Value) -> Self {
        self.detail = detail;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_illegal_move_names_both_states_and_what_is_allowed() {
        let refusal = Refusal::illegal_transition(12, TaskStatus::Queued, TaskStatus::Success);
        assert_eq!(
            refusal.to_string(),
            "task #12 can't go from queued to success: from queued it can go to running, cancelled"
        );
        assert_eq!(refusal.code, "illegal_transition");
    }

    #[test]
    fn a_verb_for_another_status_names_the_one_that_fits() {
        use TaskStatus::{Failed, Pending, Queued, Success};
        let said = |from| Refusal::wrong_verb(3, "retry", Failed, from, Queued).to_string();
        assert_eq!(
            said(Pending),
            "task #3 is pending, and `retry` takes one from failed to queued; `andon start 3` does that here"
        );
        assert!(said(Queued).contains("queued already"));
        assert!(said(Success).contains("andon copy 3"));
    }
}
