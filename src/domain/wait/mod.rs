//! Waits: everything that a task or a work item waits for, as one concept with one life. A question is answered, an
//! approval decided, a task settles, an event arrives, a timer goes off: then the wait is triggered, and whoever waited
//! goes on with what it was triggered with. Start reading at [`Wait`]; `question` has what a person is asked.

mod question;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::{RunId, TaskId, TimerId, WaitId};
use super::refusal::Refusal;
use super::status::wire_enum;
use super::text::one_line;
use super::time::Millis;

pub use question::{LOST_OPTIONS, Question, QuestionPurpose, check_question};

/// What kind of thing is waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum WaitKind {
    /// A person's answer.
    #[default]
    Question,
    /// A person's decision on one call.
    Approval,
    /// The end of a task.
    TaskResult,
    /// An event from outside, by its key.
    Event,
    /// A timer.
    Timer,
    /// The next time that the program wakes by itself.
    System,
    /// A message of a peer.
    Message,
}

wire_enum!(WaitKind {
    Question = "question",
    Approval = "approval",
    TaskResult = "task_result",
    Event = "event",
    Timer = "timer",
    System = "system",
    Message = "message",
});

impl WaitKind {
    /// Whether it takes a person; all else comes by itself.
    pub fn needs_person(self) -> bool {
        matches!(self, WaitKind::Question | WaitKind::Approval)
    }
}

/// The life of a wait: open, then triggered (a question is answered, a call allowed or denied), then consumed. What is
/// triggered can only be consumed, never replaced; the other ends are those of what was never triggered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum WaitState {
    /// What is waited for has not happened.
    #[default]
    Open,
    /// A question was answered; the answer waits to be read by the task.
    Answered,
    /// A call was allowed, and was not made yet; or it may be made as often as its task likes.
    Allowed,
    /// A call was denied.
    Denied,
    /// It has happened; whoever waited has not gone on yet.
    Triggered,
    /// Whoever waited has gone on with it.
    Consumed,
    /// Replaced by another wait, or no longer needed.
    Superseded,
    /// Its task was cancelled.
    Cancelled,
    /// The time that it was given is over.
    Expired,
}

wire_enum!(WaitState {
    Open = "open",
    Answered = "answered",
    Allowed = "allowed",
    Denied = "denied",
    Triggered = "triggered",
    Consumed = "consumed",
    Superseded = "superseded",
    Cancelled = "cancelled",
    Expired = "expired",
});

/// Who waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiter {
    /// A task.
    Task(TaskId),
    /// A work item, by its id.
    Item(String),
}

impl Default for Waiter {
    fn default() -> Self {
        Waiter::Task(TaskId::default())
    }
}

/// Something that is waited for. Questions and approvals are read as such too, as [`Question`] and
/// [`super::Approval`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// Its id.
    pub id: WaitId,
    /// What kind of thing is waited for.
    pub kind: WaitKind,
    /// Who waits.
    pub waiter: Waiter,
    /// The run that waits, or waited.
    pub run_id: Option<RunId>,
    /// What exactly: the id of a task or a timer, the key of an event.
    pub subject: String,
    /// Why, in the waiter's words.
    pub reason: String,
    /// Who waits, for the log.
    pub asked_by: String,
    /// Whether the process of the run lives on until it is triggered.
    pub asker_waits: bool,
    /// Where it stands.
    pub state: WaitState,
    /// What it was triggered with; `Null` before.
    pub outcome: Value,
    /// Since when.
    pub asked_at_ms: Millis,
    /// When the waiter gives it up; `None` = never.
    pub expires_at_ms: Option<Millis>,
    /// When it was triggered or closed.
    pub closed_at_ms: Option<Millis>,
}

impl Wait {
    /// What is waited for, in a few words.
    pub fn label(&self) -> String {
        let subject = one_line(&self.subject);
        match self.kind {
            WaitKind::Question => "an answer".to_owned(),
            WaitKind::Approval => "an approval".to_owned(),
            WaitKind::TaskResult => format!("the end of task {subject}"),
            WaitKind::Event => format!("the event `{subject}`"),
            WaitKind::Timer => format!("the timer {subject}"),
            WaitKind::System => "the next start of the program".to_owned(),
            WaitKind::Message => format!("a message of {subject}"),
        }
    }
}

/// A timer. It goes off once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// Its id.
    pub id: TimerId,
    /// A name for people; may be empty.
    pub name: String,
    /// When it goes off.
    pub due_at_ms: Millis,
    /// Open, triggered or cancelled.
    pub state: WaitState,
    /// Who set it.
    pub created_by: String,
    /// The task that set it, if one did.
    pub task_id: Option<TaskId>,
    /// When it was set.
    pub created_at_ms: Millis,
    /// When it went off or was cancelled.
    pub closed_at_ms: Option<Millis>,
}

/// An event from outside. The first of each key counts, and it is kept for whoever waits for it later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Wake {
    /// Its key.
    pub key: String,
    /// What came with it.
    pub data: Value,
    /// Who told of it.
    pub by: String,
    /// When.
    pub at_ms: Millis,
}

/// The longest key of an event, in characters.
pub const KEY_LIMIT: usize = 200;

/// Checks the key of an event: something that can be typed and read on one line.
pub fn check_key(key: &str) -> Result<String, Refusal> {
    let key = key.trim();
    if key.is_empty() {
        return Err(Refusal::invalid("key", "an event needs a key, such as deploy-finished or pr-17"));
    }
    if key.chars().count() > KEY_LIMIT || key.chars().any(char::is_control) {
        return Err(Refusal::invalid(
            "key",
            format!("the key of an event is one line of at most {KEY_LIMIT} characters"),
        ));
    }
    Ok(key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_readable_line() {
        assert_eq!(check_key(" pr-17 ").unwrap(), "pr-17");
        assert_eq!(check_key(&"界".repeat(200)).unwrap().chars().count(), 200);
        for bad in ["", "  ", "a\nb", "a\0", &"x".repeat(201)] {
            assert!(check_key(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_questions_and_approvals_take_a_person() {
        let by_itself: Vec<_> = WaitKind::ALL.iter().filter(|kind| !kind.needs_person()).collect();
        assert_eq!(by_itself.len(), 5);
    }
}
