//! `andon approvals`, `andon allow` and `andon deny`: which calls of agents wait for a person, and what the person says.

use anstyle::Style;
use clap::Args;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::{record, words};
use crate::domain::id::IdKind;
use crate::domain::text::one_line;
use crate::domain::{ApprovalId, IdRef};
use crate::engine::{ApprovalRef, Command, Engine, OpenApproval, Outcome};

/// How many earlier decisions are shown beside a call.
const DECIDED_SHOWN: u32 = 3;

/// Options of `approvals`.
#[derive(Debug, Args)]
pub struct ApprovalsArgs {}

/// Options of `allow`.
#[derive(Debug, Args)]
pub struct AllowArgs {
    /// The card that waits for approval, or the approval
    #[arg(value_name = "ID")]
    id: String,
    /// Allow this very call as often as the card makes it, not only once
    #[arg(long)]
    for_task: bool,
}

/// Options of `deny`.
#[derive(Debug, Args)]
pub struct DenyArgs {
    /// The card that waits for approval, or the approval
    #[arg(value_name = "ID")]
    id: String,
    /// Why; the agent is told
    #[arg(long, value_name = "T", default_value = "", hide_default_value = true)]
    reason: String,
}

/// Lists the calls that wait for a decision, oldest first.
pub fn list(context: &mut Context, _: ApprovalsArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let board = context.board_filter()?;
    let open = engine.approvals(board.as_deref())?;
    if context.out.is_json() {
        let items = open.iter().map(record::open_approval).collect();
        context.out.value(&record::list(items, None))?;
        return Ok(Exit::Done);
    }
    for line in listed(context, &engine, &open)? {
        context.out.line(line)?;
    }
    if open.is_empty() && context.out.is_terminal() {
        context.out.note("nothing waits for approval");
    }
    Ok(Exit::Done)
}

/// Calls as people read them: who asks, the call exactly, its risk, and what was decided before.
fn listed(context: &Context, engine: &Engine, open: &[OpenApproval]) -> Result<Vec<String>, CliError> {
    let now = words::now_ms();
    let mut lines = Vec::new();
    for waiting in open {
        let approval = &waiting.approval;
        let unseen = if waiting.seen_by.is_empty() { "  (nobody has seen it)" } else { "" };
        let head = format!("#{} {}", waiting.seq, one_line(&waiting.title));
        lines.push(format!(
            "{}  {} asks, {}  risk {}  {}{unseen}",
            context.out.paint(Style::new().bold(), &head),
            one_line(&approval.asked_by),
            words::ago(now - approval.asked_at_ms),
            approval.risk,
            context.out.paint(Style::new().dimmed(), approval.id.as_str()),
        ));
        lines.push(format!("  {}", approval.label()));
        lines.push(format!("  {}", one_line(&approval.call.to_string())));
        for earlier in engine.decided_before(approval, DECIDED_SHOWN)? {
            let same = if earlier.hash == approval.hash { "this call" } else { "another call" };
            let decided = if earlier.reason.is_empty() {
                String::new()
            } else {
                format!(": {}", one_line(&earlier.reason))
            };
            lines.push(format!("  before: {same} was {} by {}{decided}", past(&earlier), earlier.decided_by));
        }
        lines.push(format!(
            "  andon allow {seq}, andon allow {seq} --for-task, or andon deny {seq} --reason TEXT",
            seq = waiting.seq
        ));
    }
    Ok(lines)
}

fn past(decided: &crate::domain::Approval) -> &'static str {
    match decided.state {
        crate::domain::WaitState::Denied => "denied",
        _ => "allowed",
    }
}

/// Allows a call.
pub fn allow(context: &mut Context, args: AllowArgs) -> Result<Exit, CliError> {
    let approval = reference(&args.id)?;
    decide(context, Command::Allow { approval, for_task: args.for_task })
}

/// Denies a call.
pub fn deny(context: &mut Context, args: DenyArgs) -> Result<Exit, CliError> {
    let approval = reference(&args.id)?;
    decide(context, Command::Deny { approval, reason: args.reason })
}

fn reference(id: &str) -> Result<ApprovalRef, CliError> {
    Ok(match id.starts_with(IdKind::Approval.prefix()) {
        true => ApprovalRef::Id(ApprovalId(id.to_owned())),
        false => ApprovalRef::OfTask(task_ref(id)?),
    })
}

fn decide(context: &mut Context, command: Command) -> Result<Exit, CliError> {
    let outcome = context.execute(command)?;
    let Outcome::Approval(approval) = outcome else {
        return Err(CliError::Failed(format!("the decision gave no approval: {outcome:?}")));
    };
    if context.out.is_json() {
        context.out.value(&record::approval(&approval))?;
    } else {
        let task = context.engine()?.task(&IdRef::Full(approval.task_id.0.clone()))?;
        context.out.line(super::status::headline(&context.out, &task))?;
    }
    Ok(Exit::Done)
}
