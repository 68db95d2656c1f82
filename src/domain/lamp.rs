//! Lamps: whether a card needs a person now, and for what.

use serde::{Deserialize, Serialize};

use super::board::Card;
use super::status::TaskStatus;
use super::task::Dispatch;
use super::time::Millis;

/// A run without any sign for this long is shown as quiet.
pub const QUIET_AFTER_MS: Millis = 5 * 60 * 1_000;

/// What a card needs a person for. The order is that of urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lamp {
    /// It asks something.
    Question,
    /// A call waits until a person allows it.
    Approval,
    /// It is blocked for a reason that only a person can lift.
    Blocked,
    /// Its work waits for a review.
    Review,
    /// It failed and will not be retried by itself.
    Failure,
    /// It waits for something that can never come.
    Stuck,
    /// It runs, but has given no sign for a while.
    Quiet,
}

impl Lamp {
    /// The verb that a person reads after the card's number.
    pub fn says(self) -> &'static str {
        match self {
            Lamp::Question => "asks",
            Lamp::Approval => "wants your approval",
            Lamp::Blocked => "is blocked",
            Lamp::Review => "waits for your review",
            Lamp::Failure => "failed",
            Lamp::Stuck => "can't move",
            Lamp::Quiet => "is quiet",
        }
    }

    /// Whether it counts as "needs you" at the top of the board (a quiet run is only a hint, a failure is
    /// counted on its own).
    pub fn needs_person(self) -> bool {
        !matches!(self, Lamp::Quiet | Lamp::Failure)
    }
}

/// The lamp of a card at `now`.
pub fn lamp(card: &Card, now: Millis) -> Option<Lamp> {
    if card.archived {
        return None;
    }
    match card.status {
        TaskStatus::Blocked if card.question.is_some() => Some(Lamp::Question),
        TaskStatus::Blocked if card.approval.is_some() => Some(Lamp::Approval),
        // What it waits for comes without a person.
        TaskStatus::Blocked if card.waiting.is_some() => None,
        TaskStatus::Blocked => Some(Lamp::Blocked),
        TaskStatus::Review => Some(Lamp::Review),
        TaskStatus::Failed => Some(Lamp::Failure),
        TaskStatus::Queued if card.predecessors.iter().any(|p| p.status == TaskStatus::Cancelled) => {
            Some(Lamp::Stuck)
        }
        TaskStatus::Running => match &card.run {
            Some(run) if now - run.active_at_ms >= QUIET_AFTER_MS && card.dispatch == Dispatch::Auto => {
                Some(Lamp::Quiet)
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::board::{Predecessor, RunBrief};
    use crate::domain::id::RunId;
    use crate::domain::wait::Question;

    fn card(status: TaskStatus) -> Card {
        Card { status, dispatch: Dispatch::Auto, ..Card::default() }
    }

    #[test]
    fn each_status_that_needs_a_person_is_lit() {
        let lit: Vec<_> = TaskStatus::ALL.iter().map(|s| lamp(&card(*s), 0)).collect();
        assert_eq!(
            lit,
            [
                None,
                None,
                None,
                Some(Lamp::Review),
                Some(Lamp::Blocked),
                Some(Lamp::Failure),
                None,
                None,
                None
            ]
        );
        let asking = Card { question: Some(Question::default()), ..card(TaskStatus::Blocked) };
        assert_eq!(lamp(&asking, 0), Some(Lamp::Question));
        let approval = Some(crate::domain::Approval::default());
        assert_eq!(lamp(&Card { approval, ..card(TaskStatus::Blocked) }, 0), Some(Lamp::Approval));
        let waiting = Some(crate::domain::Wait::default());
        assert_eq!(lamp(&Card { waiting, ..card(TaskStatus::Blocked) }, 0), None);
        assert_eq!(lamp(&Card { archived: true, ..asking }, 0), None);
    }

    #[test]
    fn a_card_behind_a_cancelled_one_is_stuck_and_a_silent_run_is_quiet() {
        let behind =
            Predecessor { id: "t_behind".into(), seq: 1, title: "x".into(), status: TaskStatus::Cancelled };
        let stuck = Card { predecessors: vec![behind], ..card(TaskStatus::Queued) };
        assert_eq!(lamp(&stuck, 0), Some(Lamp::Stuck));
        let run = RunBrief {
            id: RunId::default(),
            number: 1,
            owner: "andon".into(),
            dispatched: true,
            started_at_ms: 0,
            active_at_ms: 1,
            closing_as: None,
        };
        let running = Card { run: Some(run), ..card(TaskStatus::Running) };
        assert_eq!(lamp(&running, QUIET_AFTER_MS), None);
        assert_eq!(lamp(&running, QUIET_AFTER_MS + 1), Some(Lamp::Quiet));
    }
}
