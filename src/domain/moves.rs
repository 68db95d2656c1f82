//! Moves: which status a card may be given by a person, what that means, and what must be asked first. Keys,
//! mouse, menus, footer, command line and HTTP all ask [`permitted`]; the engine carries out the
//! verb that it names.

use serde::Serialize;
use serde_json::json;

use super::board::Card;
use super::refusal::Refusal;
use super::status::TaskStatus;
use super::task::Dispatch;

/// The command behind a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// PENDING → QUEUED.
    Queue,
    /// Put it at the head of the queue.
    RunNext,
    /// A person takes a manual card.
    Take,
    /// FAILED → QUEUED.
    Retry,
    /// The step of a closed workflow: a new workflow that keeps what succeeded.
    Rerun,
    /// BLOCKED → QUEUED.
    Unblock,
    /// SUSPENDED → QUEUED.
    Resume,
    /// REVIEW → SUCCESS.
    Approve,
    /// REVIEW → QUEUED, with feedback.
    Reject,
    /// RUNNING → REVIEW of a manual card.
    Finish,
    /// RUNNING → BLOCKED.
    Block,
    /// RUNNING → FAILED.
    Fail,
    /// RUNNING → SUSPENDED.
    Suspend,
    /// → CANCELLED.
    Cancel,
}

/// What must be asked before a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// A yes.
    Confirmation,
    /// A text that can't be empty.
    Text,
    /// A text that may be left out.
    OptionalText,
}

/// A move that the card may make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Move {
    /// Where the card goes.
    pub to: TaskStatus,
    /// The command behind it.
    pub verb: Verb,
    /// What it means, in a few plain words.
    pub meaning: String,
    /// What is asked first.
    pub needs: Needs,
    /// The question that is asked first; empty where nothing is.
    pub asks: &'static str,
}

/// The card seen as what its moves depend on. A [`Card`] is all of it.
pub type MoveFacts = Card;

/// The moves of a card, in the order of the board.
pub fn permitted(card: &MoveFacts) -> Vec<Move> {
    if card.archived {
        return Vec::new();
    }
    card.status.successors().iter().filter_map(|to| one(card, *to)).collect()
}

/// The move of the card to `to`, or why there is none.
pub fn to(card: &MoveFacts, to: TaskStatus) -> Result<Move, Refusal> {
    let seq = card.seq;
    if card.archived {
        return Err(Refusal::state(
            "archived",
            format!("task #{seq} was put away; `andon copy {seq}` makes a fresh card"),
        ));
    }
    if !card.status.allows(to) {
        return Err(Refusal::illegal_transition(seq, card.status, to));
    }
    one(card, to).ok_or_else(|| refused(card, to))
}

/// Why a move that the table allows is not there for this card.
fn refused(card: &MoveFacts, to: TaskStatus) -> Refusal {
    let seq = card.seq;
    match (card.status, to) {
        (TaskStatus::Failed, TaskStatus::Queued) => Refusal::state(
            "retries_exhausted",
            format!(
                "task #{seq} was retried {} of {} times; `andon edit {seq} --max-retries {}` allows another",
                card.retry_count,
                card.max_retries,
                card.retry_count + 1
            ),
        ),
        (TaskStatus::Running, TaskStatus::Review) => Refusal::state(
            "run_is_live",
            format!(
                "task #{seq} is carried out by its executor, which ends it; until then it can be blocked, suspended or cancelled"
            ),
        ),
        _ if card.run.as_ref().is_some_and(|run| run.closing_as.is_some()) => Refusal::state(
            "closing",
            format!(
                "task #{seq} is being stopped already; wait until its processes are gone, then its status changes"
            ),
        ),
        _ => waits_for(card),
    }
}

/// The refusal to start a task whose predecessors are open, naming them.
pub fn waits_for(card: &MoveFacts) -> Refusal {
    let names: Vec<String> =
        card.predecessors.iter().map(|p| format!("#{} {} ({})", p.seq, p.title, p.status)).collect();
    let seqs: Vec<i64> = card.predecessors.iter().map(|p| p.seq).collect();
    Refusal::state(
        "predecessors_open",
        format!(
            "task #{} can't start: it waits for {}; finish those first, or `andon depend {} --remove --on ID`",
            card.seq,
            names.join(", "),
            card.seq
        ),
    )
    .with_detail(json!({ "predecessors": seqs }))
}

fn one(card: &MoveFacts, to: TaskStatus) -> Option<Move> {
    use TaskStatus::*;
    let manual = card.dispatch == Dispatch::Manual;
    let waiting = !card.predecessors.is_empty();
    let closing = card.run.as_ref().and_then(|run| run.closing_as);
    let make = |verb, meaning: &str, needs, asks| Move { to, verb, meaning: meaning.to_owned(), needs, asks };
    let run_it = || match manual {
        true => make(Verb::Take, "take it yourself", Needs::Nothing, ""),
        false => make(Verb::RunNext, "run it next", Needs::Nothing, ""),
    };
    Some(match (card.status, to) {
        (Running, Cancelled) if closing == Some(super::run::Intent::Cancel) => return None,
        (Running, Cancelled) if card.has_live_run() => {
            make(Verb::Cancel, "stop and cancel", Needs::Confirmation, "It is running. Stop it and cancel?")
        }
        (_, Cancelled) => make(Verb::Cancel, "cancel", Needs::Nothing, ""),
        (Running, _) if closing.is_some() => return None,
        (Pending, Queued) if waiting => return None,
        (Pending, Queued) => make(Verb::Queue, "queue it", Needs::Nothing, ""),
        (Queued | Blocked | Suspended, Running) if waiting => return None,
        (Queued | Blocked | Suspended, Running) => run_it(),
        (Blocked, Queued) if card.question.is_some() => make(
            Verb::Unblock,
            "unblock, drop the question",
            Needs::Confirmation,
            "Its question is open. Drop it?",
        ),
        (Blocked, Queued) if card.approval.is_some() => {
            make(Verb::Unblock, "queue it anew; it asks again", Needs::Nothing, "")
        }
        (Blocked, Queued) if card.waiting.is_some() => make(
            Verb::Unblock,
            "unblock, wait no longer",
            Needs::Confirmation,
            "It waits for something. Let it go on without?",
        ),
        (Blocked, Queued) => make(Verb::Unblock, "unblock", Needs::Nothing, ""),
        (Suspended, Queued) => make(Verb::Resume, "resume", Needs::Nothing, ""),
        (Review, Success) => make(Verb::Approve, "approve", Needs::Nothing, ""),
        (Review, Queued) => {
            make(Verb::Reject, "reject: asks for feedback", Needs::OptionalText, "What should be better?")
        }
        (Failed, Queued) if card.workflow.as_ref().is_some_and(|w| w.status.is_closed()) => {
            make(Verb::Rerun, "run the workflow again, keep what succeeded", Needs::Nothing, "")
        }
        (Failed, Queued) if card.retry_count >= card.max_retries => return None,
        (Failed, Queued) => {
            let meaning = format!("retry {} of {}", card.retry_count + 1, card.max_retries);
            Move { to, verb: Verb::Retry, meaning, needs: Needs::Nothing, asks: "" }
        }
        (Running, Review) if card.has_live_run() => return None,
        (Running, Review) => make(Verb::Finish, "hand it to review", Needs::OptionalText, "What was done?"),
        (Running, Blocked) => {
            make(Verb::Block, "block: asks for the reason", Needs::Text, "What is it blocked by?")
        }
        (Running, Failed) => make(Verb::Fail, "mark as failed", Needs::OptionalText, "What went wrong?"),
        (Running, Suspended) => make(Verb::Suspend, "pause", Needs::Nothing, ""),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::board::{Predecessor, RunBrief, WorkflowBrief};
    use crate::domain::id::{RunId, WorkflowId};
    use crate::domain::run::Intent;
    use crate::domain::status::WorkflowStatus;

    fn card(status: TaskStatus) -> Card {
        Card { seq: 4, status, dispatch: Dispatch::Auto, max_retries: 3, ..Card::default() }
    }

    fn run(dispatched: bool, closing_as: Option<Intent>) -> Option<RunBrief> {
        Some(RunBrief {
            id: RunId::default(),
            number: 1,
            owner: "x".into(),
            dispatched,
            started_at_ms: 0,
            active_at_ms: 0,
            closing_as,
        })
    }

    #[test]
    fn no_move_is_outside_the_table() {
        for from in TaskStatus::ALL {
            for dispatched in [true, false] {
                let card = Card { run: run(dispatched, None), ..card(*from) };
                for found in permitted(&card) {
                    assert!(from.allows(found.to), "{from} to {}", found.to);
                }
                for to_status in TaskStatus::ALL {
                    if !from.allows(*to_status) {
                        assert_eq!(to(&card, *to_status).unwrap_err().code, "illegal_transition");
                    }
                }
            }
        }
    }

    #[test]
    fn moves_mean_what_the_plan_says() {
        let verb = |card: &Card, status| to(card, status).map(|m| m.verb);
        assert_eq!(verb(&card(TaskStatus::Failed), TaskStatus::Queued), Ok(Verb::Retry));
        assert_eq!(verb(&card(TaskStatus::Review), TaskStatus::Queued), Ok(Verb::Reject));
        assert_eq!(verb(&card(TaskStatus::Review), TaskStatus::Success), Ok(Verb::Approve));
        assert_eq!(verb(&card(TaskStatus::Blocked), TaskStatus::Queued), Ok(Verb::Unblock));
        assert_eq!(verb(&card(TaskStatus::Queued), TaskStatus::Running), Ok(Verb::RunNext));
        let manual = Card { dispatch: Dispatch::Manual, ..card(TaskStatus::Queued) };
        assert_eq!(verb(&manual, TaskStatus::Running), Ok(Verb::Take));
        assert_eq!(to(&card(TaskStatus::Failed), TaskStatus::Queued).unwrap().meaning, "retry 1 of 3");
    }

    #[test]
    fn a_live_run_can_be_ended_but_not_sent_to_review() {
        let live = Card { run: run(true, None), ..card(TaskStatus::Running) };
        let targets: Vec<_> = permitted(&live).into_iter().map(|m| m.to).collect();
        use TaskStatus::*;
        assert_eq!(targets, [Blocked, Failed, Suspended, Cancelled]);
        assert_eq!(to(&live, Review).unwrap_err().code, "run_is_live");
        let by_hand = Card { run: run(false, None), ..card(Running) };
        assert!(to(&by_hand, Review).is_ok());
        let closing = Card { run: run(true, Some(Intent::Suspend)), ..card(Running) };
        assert_eq!(permitted(&closing).into_iter().map(|m| m.to).collect::<Vec<_>>(), [Cancelled]);
    }

    #[test]
    fn a_spent_budget_and_an_open_predecessor_say_so() {
        let spent = Card { retry_count: 3, ..card(TaskStatus::Failed) };
        assert_eq!(to(&spent, TaskStatus::Queued).unwrap_err().code, "retries_exhausted");
        let behind =
            Predecessor { id: "t_behind".into(), seq: 2, title: "Build".into(), status: TaskStatus::Running };
        let waiting = Card { predecessors: vec![behind], ..card(TaskStatus::Pending) };
        let refusal = to(&waiting, TaskStatus::Queued).unwrap_err();
        assert!(refusal.to_string().contains("#2 Build (running)"), "{refusal}");
    }

    #[test]
    fn a_failed_step_of_a_closed_workflow_offers_a_rerun() {
        let workflow = WorkflowBrief {
            id: WorkflowId::default(),
            name: "w".into(),
            status: WorkflowStatus::Failed,
            done: 0,
            total: 1,
        };
        let step = Card { workflow: Some(workflow), ..card(TaskStatus::Failed) };
        assert_eq!(to(&step, TaskStatus::Queued).unwrap().verb, Verb::Rerun);
    }
}
