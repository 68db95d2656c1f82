//! `andon attach`: one card, followed live. What it prints and what becomes of it appears as it comes; what it asks is
//! answered on the spot. Leaving only leaves: the card keeps waiting, unless the session owns it.

mod answers;
mod output;

use clap::Args;
use serde_json::{Value, json};
use std::time::Duration;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::signals::{self, Signals};
use super::{record, settle, status, words};
use crate::domain::text::{one_line, shortened};
use crate::domain::time::rfc3339;
use crate::domain::{Approval, ApprovalId, Event, IdRef, Refusal, TaskId, TaskStatus};
use crate::engine::{Command, Engine, TaskView};
use answers::Answers;
use output::Output;

/// Output rings no bell, and neither do keys: they are looked at this often. A question does ring.
const TICK: Duration = Duration::from_millis(100);
/// How many events are read at a time.
const PAGE: usize = 500;

/// Options of `attach`.
#[derive(Debug, Args)]
#[command(
    after_help = "A line that is typed answers what the card asks: a number or a label picks an option, anything \
                  else is the answer itself. A line that ends with `\\` goes on in the next one. Ctrl-c or the end \
                  of the input leaves."
)]
pub struct AttachArgs {
    /// The card
    #[arg(value_name = "ID")]
    id: String,
    /// Leaving interrupts the card: it is suspended where it runs, and cancelled where it waits for an answer
    #[arg(long)]
    own: bool,
}

/// Follows the card until it is settled or somebody leaves.
pub fn run(context: &mut Context, args: AttachArgs) -> Result<Exit, CliError> {
    if !context.actor().is_operator() {
        return Err(CliError::Refused(Refusal::not_allowed(
            "attach is the operator's, and this is a process inside a run; a run asks with the tool clarify, and \
             reads a card with `andon show`",
        )));
    }
    let engine = context.engine()?;
    let signals = signals::watch().map_err(|e| CliError::Failed(format!("can't watch for ctrl-c: {e}")))?;
    let since = engine.last_seq()?;
    let view = engine.task_view(&task_ref(&args.id)?)?;
    let mut session = Session {
        reference: IdRef::Full(view.task.id.0.clone()),
        task: view.task.id.clone(),
        seq: view.task.seq,
        output: Output::new(engine.clone(), context.out.has_color()),
        answers: Answers::begin()?,
        approval: None,
        engine,
        since,
    };
    match context.out.is_json() {
        true => context.out.value(&json!({ "type": "task", "task": record::task_view(&view) }))?,
        false => context.out.line(status::headline(&context.out, &view.task))?,
    }
    match session.follow(context, &signals) {
        Ok(Some(settled)) => Ok(settle::exit_of_task(settled)),
        // Where nobody reads any more, somebody has left too.
        Ok(None) | Err(CliError::Output(_)) => session.leave(context, args.own),
        Err(error) => Err(error),
    }
}

struct Session {
    engine: Engine,
    reference: IdRef,
    task: TaskId,
    seq: i64,
    /// The last event that was told.
    since: i64,
    output: Output,
    answers: Answers,
    /// The approval that was told.
    approval: Option<ApprovalId>,
}

impl Session {
    /// Tells what happens; gives the status when the card is settled, nothing when somebody leaves.
    fn follow(&mut self, context: &mut Context, signals: &Signals) -> Result<Option<TaskStatus>, CliError> {
        loop {
            let seen = self.engine.last_seq()?;
            let view = self.engine.task_view(&self.reference)?;
            self.output.tell(context, &view, &mut self.answers)?;
            self.tell_changes(context, seen)?;
            self.tell_approval(context, view.card.approval.as_ref())?;
            self.answers.ask(context, &view)?;
            self.answers.send(context)?;
            if view.task.status.is_settled() {
                self.output.end(context)?;
                self.tell_end(context, &view)?;
                return Ok(Some(view.task.status));
            }
            context.out.flush()?;
            if signals.count() > 0 || self.answers.are_over() {
                self.output.end(context)?;
                return Ok(None);
            }
            self.engine.wait_for_change(seen, TICK)?;
        }
    }

    /// What became of the card, up to the event that was looked at.
    fn tell_changes(&mut self, context: &mut Context, until: i64) -> Result<(), CliError> {
        loop {
            let page = self.engine.events(self.since, Some(&self.task), PAGE)?;
            let full = page.len() == PAGE;
            for event in page.iter().take_while(|event| event.seq <= until) {
                self.since = event.seq;
                if let Some(status) = status_of(event) {
                    self.output.end(context)?;
                    self.answers.interrupted(context)?;
                    tell_change(context, event, status)?;
                }
            }
            if !full || page.last().is_some_and(|event| event.seq > until) {
                return Ok(());
            }
        }
    }

    /// A call that waits for a decision is told once; it is decided elsewhere, where all of it is seen.
    fn tell_approval(&mut self, context: &mut Context, approval: Option<&Approval>) -> Result<(), CliError> {
        let id = approval.map(|approval| approval.id.clone());
        if id == self.approval {
            return Ok(());
        }
        self.approval = id;
        let Some(approval) = approval else { return Ok(()) };
        if context.out.is_json() {
            return context.out.value(&json!({ "type": "approval", "approval": record::approval(approval) }));
        }
        context.out.line(format!("{} wants to run: {}", one_line(&approval.asked_by), approval.label()))?;
        context.out.note(&format!(
            "andon allow {seq}, andon allow {seq} --for-task, or andon deny {seq} --reason TEXT",
            seq = self.seq
        ));
        Ok(())
    }

    fn tell_end(&self, context: &mut Context, view: &TaskView) -> Result<(), CliError> {
        match context.out.is_json() {
            true => context.out.value(&json!({ "type": "end", "task": record::task_view(view) }))?,
            false => context.out.line(status::headline(&context.out, &view.task))?,
        }
        context.out.flush()
    }

    /// Leaves. What the session owns is interrupted as anybody would: suspended where it runs, cancelled where it waits.
    fn leave(self, context: &mut Context, own: bool) -> Result<Exit, CliError> {
        let now = self.engine.task(&self.reference)?.status;
        let task = self.reference;
        let (command, becomes) = match now {
            TaskStatus::Running if own => (Some(Command::Suspend { task }), "is suspended"),
            TaskStatus::Blocked if own => {
                let reason = Some("the session that it was attached to ended".to_owned());
                (Some(Command::Cancel { task, reason }), "is cancelled")
            }
            TaskStatus::Blocked => (None, "keeps waiting"),
            _ => (None, "goes on without you"),
        };
        if let Some(command) = command {
            context.execute(command)?;
        }
        match context.out.is_json() {
            true => context.out.value(&json!({ "type": "left", "seq": self.seq, "task": becomes }))?,
            false => context.out.note(&format!("left; #{} {becomes}", self.seq)),
        }
        context.out.flush()?;
        Ok(Exit::Done)
    }
}

/// The status that an event brought, where it brought one.
fn status_of(event: &Event) -> Option<TaskStatus> {
    TaskStatus::parse(event.patch.get("status").and_then(Value::as_str)?)
}

fn tell_change(context: &mut Context, event: &Event, status: TaskStatus) -> Result<(), CliError> {
    let said = ["error", "blocked_reason", "result"];
    let said = said.iter().find_map(|name| event.patch.get(*name)?.as_str().filter(|text| !text.is_empty()));
    if context.out.is_json() {
        return context.out.value(&json!({
            "type": "status",
            "seq": event.seq,
            "at": rfc3339(event.at_ms),
            "status": status,
            "why": event.kind,
            "by": event.actor,
            "text": said,
        }));
    }
    let mut line = format!(
        "{}  {}",
        context.out.paint(anstyle::Style::new().dimmed(), &words::clock_time(event.at_ms)),
        context.out.paint(words::style(status), &format!("{} {status}", words::glyph(status))),
    );
    // The question itself is shown in full below.
    if let Some(said) = said.filter(|_| status != TaskStatus::Blocked) {
        line.push_str(&format!("  {}", shortened(&one_line(said), 200)));
    }
    context.out.line(line)
}
