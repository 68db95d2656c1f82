//! A call that a person has to allow first: the call exactly as it would be made, what it could do, who wrote it,
//! and what was decided before.

use serde_json::Value;

use super::{Asks, Choice, Does, Look, Part, Writing};
use crate::domain::approval::{AGENT_TOOL, Scope};
use crate::domain::text::one_line;
use crate::domain::{Approval, Card, Program, Risk, WaitState};
use crate::engine::{ApprovalRef, Command, TaskView};

pub(super) fn asks(card: &Card) -> Asks {
    let Some(approval) = &card.approval else { return (String::new(), Vec::new(), None) };
    let which = || ApprovalRef::Id(approval.id.clone());
    let choices = vec![
        Choice::send("allow once", Command::Allow { approval: which(), for_task: false }),
        Choice::send("allow for this task", Command::Allow { approval: which(), for_task: true }),
        Choice { label: "deny, with a reason".to_owned(), does: Does::Write },
    ];
    let writing = Writing {
        asks: "Why not? (may be left empty)",
        needed: false,
        command: Box::new(Command::Deny { approval: which(), reason: String::new() }),
    };
    let who = match one_line(&approval.asked_by) {
        name if name.is_empty() => "an agent".to_owned(),
        name => format!("@{}", name.trim_start_matches('@')),
    };
    let wants = match approval.risk {
        Risk::Exec if approval.tool == AGENT_TOOL => "wants to start an agent",
        Risk::Exec => "wants to run this",
        Risk::Write => "wants to change this",
        Risk::Read => "wants to look at this",
    };
    (format!("{who} {wants}, {{ago}}:"), choices, Some(writing))
}

pub(super) fn parts(card: &Card, view: Option<&TaskView>) -> Vec<Option<Part>> {
    let Some(approval) = &card.approval else { return Vec::new() };
    let earlier = view.filter(|view| view.task.id == card.id).map_or(&[][..], |view| &view.approvals);
    let before: Vec<String> = earlier.iter().filter_map(decided).collect();
    let before = match before.is_empty() {
        true => "nothing was decided for this task so far".to_owned(),
        false => before.join("\n"),
    };
    let risk = match approval.risk {
        Risk::Exec => "exec: it runs programs, which can do whatever you can",
        Risk::Write => "write: it changes the board or files",
        Risk::Read => "read: it only looks",
    };
    vec![
        Part::new("", Look::Loud, essence(approval)),
        Part::new("risk", Look::Plain, risk),
        Part::new("the whole call", Look::Plain, whole(&approval.call, 0)),
        Part::new("before", Look::Faint, before),
    ]
}

/// What it comes down to, in full: the command, the goal, or the tool.
fn essence(approval: &Approval) -> String {
    let call = &approval.call;
    if let Some(command) = call.pointer("/params/command") {
        return match serde_json::from_value::<Program>(command.clone()) {
            Ok(Program::Shell(line)) => format!("$ {line}"),
            Ok(program) => format!("$ {}", program.label()),
            Err(_) => approval.label(),
        };
    }
    match call.get("goal").and_then(Value::as_str) {
        Some(goal) => goal.to_owned(),
        None => approval.label(),
    }
}

/// A call as indented lines, every field of it.
fn whole(value: &Value, depth: usize) -> String {
    let lead = "  ".repeat(depth);
    let Value::Object(fields) = value else { return format!("{lead}{value}") };
    let lines = fields.iter().map(|(name, value)| match value {
        Value::Object(inner) if !inner.is_empty() => format!("{lead}{name}\n{}", whole(value, depth + 1)),
        // A text of several lines reads as such; its lines stay within it.
        Value::String(text) if text.contains('\n') => {
            format!("{lead}{name}\n{}", indented(text, depth + 1))
        }
        Value::String(text) if !text.trim().is_empty() && text.trim() == text => {
            format!("{lead}{name}  {text}")
        }
        value => format!("{lead}{name}  {value}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn indented(text: &str, depth: usize) -> String {
    let lead = "  ".repeat(depth);
    text.lines().map(|line| format!("{lead}│ {line}")).collect::<Vec<_>>().join("\n")
}

/// A decision that was made before, in a line.
fn decided(approval: &Approval) -> Option<String> {
    let what = match (approval.state, approval.scope) {
        (WaitState::Denied, _) if !approval.reason.trim().is_empty() => {
            format!("denied ({})", one_line(approval.reason.trim()))
        }
        (WaitState::Denied, _) => "denied".to_owned(),
        (WaitState::Allowed | WaitState::Consumed | WaitState::Triggered, Scope::Task) => {
            "allowed for this task".to_owned()
        }
        (WaitState::Allowed | WaitState::Consumed | WaitState::Triggered, Scope::Once) => {
            "allowed once".to_owned()
        }
        _ => return None,
    };
    Some(format!("{what}: {}", approval.label()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_call_is_shown_with_every_field_and_in_full() {
        let long = format!("echo {}", "x".repeat(900));
        let call =
            json!({ "tool": "exec", "folder": "/srv/app", "params": { "command": long, "env": ["A", " "] } });
        let approval = Approval { call, ..Approval::default() };
        let card = Card { approval: Some(approval), ..Card::default() };
        let text: Vec<String> = parts(&card, None).into_iter().flatten().map(|part| part.text).collect();
        assert!(text[0].starts_with("$ echo xxx") && text[0].len() > 900);
        assert!(text[2].contains("folder  /srv/app") && text[2].contains(r#"env  ["A"," "]"#), "{}", text[2]);
    }

    #[test]
    fn only_what_a_person_decided_counts_as_decided_before() {
        let of = |state, scope| decided(&Approval { state, scope, ..Approval::default() });
        assert!(
            of(WaitState::Open, Scope::Once).is_none() && of(WaitState::Superseded, Scope::Task).is_none()
        );
        assert!(of(WaitState::Consumed, Scope::Once).unwrap().starts_with("allowed once"));
        assert!(of(WaitState::Allowed, Scope::Task).unwrap().starts_with("allowed for this task"));
    }
}
