//! "Why isn't this moving?": every reason a card stands still, each with what lifts it.

use serde::Serialize;

use super::board::{Card, DispatcherState};
use super::status::{TaskStatus, WorkflowStatus};
use super::task::Dispatch;
use super::text::one_line;
use super::time::{Millis, short_age};
use super::wait::{Wait, WaitKind};

/// What is true around the card.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Whether anybody dispatches.
    pub dispatcher: DispatcherState,
    /// Whoever dispatches starts nothing, since the database was found damaged.
    pub halted: bool,
    /// Slots in use.
    pub slots_used: u32,
    /// Slots there are.
    pub slots_total: u32,
    /// Queued cards that are claimed before this one; `None` where not counted.
    pub ahead: Option<u32>,
    /// Whether the card's agent is configured; `None` where it has none or nobody knows.
    pub agent_known: Option<bool>,
}

/// One reason and its remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// A stable word for programs.
    pub code: &'static str,
    /// What holds the card, in plain words.
    pub text: String,
    /// The key or command that lifts it; empty where only time does.
    pub fix: String,
}

fn reason(code: &'static str, text: impl Into<String>, fix: impl Into<String>) -> Reason {
    Reason { code, text: text.into(), fix: fix.into() }
}

/// All reasons why the card does not move on by itself, the most direct first. A card on its way has exactly
/// one, which says so.
pub fn why(card: &Card, around: &Surroundings, now: Millis) -> Vec<Reason> {
    let seq = card.seq;
    let mut reasons = Vec::new();
    match card.status {
        TaskStatus::Success => reasons.push(reason("done", "it is done", "")),
        TaskStatus::Cancelled => reasons.push(reason(
            "cancelled",
            with_detail("it was cancelled", &card.error),
            format!("andon copy {seq} makes a fresh card with the same content"),
        )),
        TaskStatus::Failed => {
            let closed = card.workflow.as_ref().filter(|w| w.status.is_closed());
            let fix = match closed {
                Some(workflow) => {
                    format!("its workflow has ended; andon workflow rerun {} --from-failed", workflow.id)
                }
                None if card.retry_count >= card.max_retries => {
                    format!("andon edit {seq} --max-retries {}, then andon retry {seq}", card.retry_count + 1)
                }
                None => format!("press r, or andon retry {seq}"),
            };
            reasons.push(reason("failed", with_detail("it failed", &card.error), fix));
        }
        TaskStatus::Review => reasons.push(reason(
            "review",
            "its work waits for a review",
            format!("andon approve {seq}, or andon reject {seq} --feedback TEXT"),
        )),
        TaskStatus::Suspended => {
            reasons.push(reason(
                "suspended",
                format!("it was paused {} ago", short_age(now - card.since_ms)),
                format!("press s, or andon resume {seq}"),
            ));
        }
        TaskStatus::Blocked => match (&card.question, &card.approval, &card.waiting) {
            (Some(question), ..) => reasons.push(reason(
                "question",
                format!("it asks: {}", one_line(&question.text)),
                format!("press a, or andon answer {seq} TEXT"),
            )),
            (None, Some(approval), _) => reasons.push(reason(
                "approval",
                format!("waits for approval, since {} wrote it: {}", approval.asked_by, approval.label()),
                format!("press a, or andon allow {seq}, or andon deny {seq} --reason TEXT"),
            )),
            (None, None, Some(wait)) => reasons.push(waits_for(seq, wait, now)),
            (None, None, None) => reasons.push(reason(
                "blocked",
                with_detail("it is blocked", &card.blocked_reason),
                format!("andon unblock {seq}"),
            )),
        },
        TaskStatus::Running => running(card, around, now, &mut reasons),
        TaskStatus::Pending => {
            before_the_queue(card, &mut reasons);
            if reasons.is_empty() {
                match card.workflow.as_ref() {
                    Some(workflow) if workflow.status == WorkflowStatus::Pending => reasons.push(reason(
                        "workflow_not_started",
                        format!("its workflow `{}` was not started", workflow.name),
                        format!("andon workflow start {}", workflow.id),
                    )),
                    _ => reasons.push(reason(
                        "not_started",
                        "nobody has started it",
                        format!("grab it to QUEUED with space, or andon start {seq}"),
                    )),
                }
            }
        }
        TaskStatus::Queued => {
            before_the_queue(card, &mut reasons);
            in_the_queue(card, around, now, &mut reasons);
        }
    }
    reasons
}

fn waits_for(seq: i64, wait: &Wait, now: Millis) -> Reason {
    let mut text = format!("waits for {}", wait.label());
    if !wait.reason.is_empty() {
        text.push_str(&format!(": {}", one_line(&wait.reason)));
    }
    if let Some(at) = wait.expires_at_ms {
        text.push_str(&format!("; gives up in {}", short_age((at - now).max(0))));
    }
    let fix = match wait.kind {
        WaitKind::TaskResult => format!("andon why {}", wait.subject),
        WaitKind::Event => format!("andon wake {}, or andon unblock {seq}", one_line(&wait.subject)),
        _ => format!("andon unblock {seq} lets it go on without"),
    };
    reason("waits", text, fix)
}

fn running(card: &Card, around: &Surroundings, now: Millis, reasons: &mut Vec<Reason>) {
    let seq = card.seq;
    let Some(run) = &card.run else { return };
    if let Some(intent) = run.closing_as {
        reasons.push(reason("closing", format!("its processes are being stopped ({intent})"), ""));
    } else if !run.dispatched {
        reasons.push(reason(
            "taken",
            format!("{} works on it, for {}", run.owner, short_age(now - run.started_at_ms)),
            format!("andon complete {seq} when it is done"),
        ));
    } else if around.dispatcher == DispatcherState::Nobody {
        reasons.push(reason(
            "no_dispatcher",
            "the program that ran it is gone",
            "start andon, or andon --headless",
        ));
    } else {
        let quiet = now - run.active_at_ms;
        let text = match quiet >= super::lamp::QUIET_AFTER_MS {
            true => format!("it runs, but has been quiet for {}", short_age(quiet)),
            false => format!("it runs, for {}", short_age(now - run.started_at_ms)),
        };
        reasons.push(reason("running", text, format!("andon log {seq} -f shows what it does")));
    }
}

fn before_the_queue(card: &Card, reasons: &mut Vec<Reason>) {
    for needed in &card.predecessors {
        let (code, text, fix) = match needed.status {
            TaskStatus::Cancelled => (
                "predecessor_cancelled",
                format!("waits for #{}, which was cancelled", needed.seq),
                format!("andon depend {} --remove --on {}", card.seq, needed.seq),
            ),
            TaskStatus::Failed => (
                "predecessor_failed",
                format!("waits for #{}, which failed", needed.seq),
                format!("andon retry {}", needed.seq),
            ),
            status => (
                "predecessor",
                format!("waits for #{} {} ({status})", needed.seq, one_line(&needed.title)),
                format!("andon why {}", needed.seq),
            ),
        };
        reasons.push(reason(code, text, fix));
    }
    if let Some(workflow) = &card.workflow
        && (card.held || workflow.status == WorkflowStatus::Waiting)
    {
        reasons.push(reason(
            "workflow_paused",
            format!("its workflow `{}` is paused", workflow.name),
            format!("andon workflow resume {}", workflow.id),
        ));
    }
}

fn in_the_queue(card: &Card, around: &Surroundings, now: Millis, reasons: &mut Vec<Reason>) {
    let seq = card.seq;
    if card.dispatch == Dispatch::Manual {
        reasons.push(reason(
            "manual",
            "it has nothing to run by itself: a person takes it",
            format!("grab it to RUNNING, or andon start {seq}"),
        ));
        return;
    }
    if let Some(at) = card.not_before_ms
        && at > now
    {
        reasons.push(reason("not_before", format!("it starts in {}", short_age(at - now)), ""));
    }
    if let (Some(false), Some(agent)) = (around.agent_known, &card.agent) {
        reasons.push(reason(
            "unknown_agent",
            format!("no agent named `{agent}` is configured"),
            format!("add [agents.{agent}] to the file that andon config path names, and start andon anew"),
        ));
    }
    match around.dispatcher {
        DispatcherState::Nobody => {
            reasons.push(reason("no_dispatcher", "nobody dispatches", "start andon, or andon --headless"));
        }
        _ if around.halted => reasons.push(reason(
            "damaged",
            "the database is damaged, so nothing is started",
            "andon doctor names the damage; end andon, put a backup in its place, start it again",
        )),
        DispatcherState::Draining => {
            reasons.push(reason("draining", "the dispatcher is stopping", "start andon again"));
        }
        _ if around.slots_total > 0 && around.slots_used >= around.slots_total => reasons.push(reason(
            "no_slot",
            match around.ahead {
                Some(n) if n > 0 => format!("all {} slots are busy, {n} before it", around.slots_total),
                _ => format!("all {} slots are busy", around.slots_total),
            },
            "wait, or start andon with more --parallel",
        )),
        _ => {}
    }
    if reasons.is_empty() {
        reasons.push(reason("next", "it is next", ""));
    }
}

fn with_detail(text: &str, detail: &str) -> String {
    match detail.trim() {
        "" => text.to_owned(),
        detail => format!("{text}: {}", one_line(detail)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::board::{Predecessor, WorkflowBrief};
    use crate::domain::id::WorkflowId;

    fn codes(card: &Card, around: &Surroundings) -> Vec<&'static str> {
        why(card, around, 0).into_iter().map(|r| r.code).collect()
    }

    fn here() -> Surroundings {
        Surroundings {
            dispatcher: DispatcherState::Here,
            halted: false,
            slots_used: 0,
            slots_total: 4,
            ..Default::default()
        }
    }

    #[test]
    fn every_status_has_a_reason_with_words() {
        for status in TaskStatus::ALL {
            let card = Card { status: *status, ..Card::default() };
            let reasons = why(&card, &here(), 0);
            assert!(*status == TaskStatus::Running || !reasons.is_empty(), "{status}");
        }
    }

    #[test]
    fn a_queued_card_names_all_that_holds_it() {
        let mut card = Card { status: TaskStatus::Queued, dispatch: Dispatch::Auto, ..Card::default() };
        assert_eq!(codes(&card, &here()), ["next"]);
        let busy = Surroundings { slots_used: 4, ..here() };
        assert_eq!(codes(&card, &busy), ["no_slot"]);
        assert_eq!(codes(&card, &Surroundings::default()), ["no_dispatcher"]);
        card.not_before_ms = Some(5);
        card.predecessors = vec![Predecessor {
            id: "t_behind".into(),
            seq: 26,
            title: "Build".into(),
            status: TaskStatus::Running,
        }];
        card.workflow = Some(WorkflowBrief {
            id: WorkflowId::default(),
            name: "release".into(),
            status: WorkflowStatus::Waiting,
            done: 0,
            total: 2,
        });
        assert_eq!(codes(&card, &busy), ["predecessor", "workflow_paused", "not_before", "no_slot"]);
        assert_eq!(why(&card, &busy, 0)[0].text, "waits for #26 Build (running)");
    }

    #[test]
    fn a_manual_card_waits_for_a_person_and_not_for_a_dispatcher() {
        let card = Card { status: TaskStatus::Queued, ..Card::default() };
        assert_eq!(codes(&card, &Surroundings::default()), ["manual"]);
    }
}
