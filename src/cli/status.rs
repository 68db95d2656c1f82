//! The verbs that change where cards stand. Each takes several ids; a live run is stopped first, and the verb
//! waits for that unless told not to.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::output::Output;
use super::several::Several;
use super::{record, settle, words};
use crate::domain::text::one_line;
use crate::domain::{IdRef, Refusal, RunId, Task, TaskId, TaskStatus};
use crate::engine::{Command, Outcome};

/// The status verbs.
#[derive(Debug, Subcommand)]
pub enum StatusVerb {
    /// Queue cards; one without anything to run is taken by you
    Start(Ids),
    /// Settle cards as done
    Complete {
        /// What came out
        #[arg(long, value_name = "TEXT")]
        result: Option<String>,
        #[command(flatten)]
        ids: StoppingIds,
    },
    /// Settle cards as failed
    Fail {
        /// What went wrong
        #[arg(long, value_name = "TEXT")]
        error: Option<String>,
        #[command(flatten)]
        ids: StoppingIds,
    },
    /// Queue failed cards once more
    Retry(Ids),
    /// Cancel cards; final, `andon copy` makes fresh ones
    Cancel {
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        #[command(flatten)]
        ids: StoppingIds,
    },
    /// Block running cards
    Block {
        /// What they are blocked by
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        ids: StoppingIds,
    },
    /// Queue blocked cards; an open question is dropped
    Unblock(Ids),
    /// Pause running cards
    Suspend {
        #[command(flatten)]
        ids: StoppingIds,
    },
    /// Queue paused cards
    Resume(Ids),
    /// Take reviewed work
    Approve(Ids),
    /// Send reviewed work back
    Reject {
        /// What should be better
        #[arg(long, value_name = "TEXT")]
        feedback: Option<String>,
        #[command(flatten)]
        ids: Ids,
    },
    /// Move cards to a status, whatever that means for them
    Move {
        /// The cards, then the status
        #[arg(required = true, num_args = 2.., value_name = "ID… STATUS")]
        ids_and_status: Vec<String>,
        /// A reason, feedback or result, where the move takes one
        #[arg(long, visible_aliases = ["reason", "feedback"], value_name = "TEXT")]
        text: Option<String>,
        /// Don't wait until what runs is stopped
        #[arg(long)]
        no_wait: bool,
    },
    /// Put settled cards away
    Archive(Ids),
    /// Hide cards; open ones are cancelled first, running ones refused
    Delete(Ids),
}

/// The ids of a verb.
#[derive(Debug, Args)]
pub struct Ids {
    /// Cards: full ids, unique prefixes, or numbers
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
}

/// The ids of a verb that may have to stop a run.
#[derive(Debug, Args)]
pub struct StoppingIds {
    /// Cards: full ids, unique prefixes, or numbers
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Don't wait until what runs is stopped
    #[arg(long)]
    no_wait: bool,
}

/// Carries out a status verb.
pub fn run(context: &mut Context, verb: StatusVerb) -> Result<Exit, CliError> {
    use StatusVerb::*;
    let at_once =
        |context: &mut Context, ids: Ids, make: fn(IdRef) -> Command| each(context, &ids.ids, true, make);
    match verb {
        Start(ids) => at_once(context, ids, |task| Command::Start { task }),
        Retry(ids) => at_once(context, ids, |task| Command::Retry { task }),
        Unblock(ids) => at_once(context, ids, |task| Command::Unblock { task }),
        Resume(ids) => at_once(context, ids, |task| Command::Resume { task }),
        Approve(ids) => at_once(context, ids, |task| Command::Approve { task }),
        Archive(ids) => at_once(context, ids, |task| Command::Archive { task }),
        Delete(ids) => at_once(context, ids, |task| Command::Delete { task }),
        Reject { feedback, ids } => {
            each(context, &ids.ids, true, |task| Command::Reject { task, feedback: feedback.clone() })
        }
        Complete { result, ids } => {
            stopping(context, ids, |task| Command::Complete { task, result: result.clone() })
        }
        Fail { error, ids } => stopping(context, ids, |task| Command::Fail { task, error: error.clone() }),
        Cancel { reason, ids } => {
            stopping(context, ids, |task| Command::Cancel { task, reason: reason.clone() })
        }
        Block { reason, ids } => {
            stopping(context, ids, |task| Command::Block { task, reason: reason.clone() })
        }
        Suspend { ids } => stopping(context, ids, |task| Command::Suspend { task }),
        Move { mut ids_and_status, text, no_wait } => {
            let to = target(ids_and_status.pop())?;
            let make = |task| Command::Move { task, to, text: text.clone() };
            each(context, &ids_and_status, no_wait, make)
        }
    }
}

fn target(word: Option<String>) -> Result<TaskStatus, CliError> {
    let word = word.unwrap_or_default();
    read_status(&word).map_err(CliError::Usage)
}

/// Reads a status in any case; names all nine where it is none.
pub fn read_status(word: &str) -> Result<TaskStatus, String> {
    TaskStatus::parse(word.trim()).ok_or_else(|| {
        let known: Vec<&str> = TaskStatus::ALL.iter().map(|status| status.as_str()).collect();
        format!("`{}` is no status; there are {}", one_line(word), known.join(", "))
    })
}

fn stopping(
    context: &mut Context,
    ids: StoppingIds,
    make: impl Fn(IdRef) -> Command,
) -> Result<Exit, CliError> {
    each(context, &ids.ids, ids.no_wait, make)
}

/// What a command gave for one id, before anybody waited.
enum Given {
    Settled(Box<Task>),
    Stopping(TaskId, RunId),
    Workflow(Box<crate::domain::Workflow>),
}

/// Asks for all of them first, so that runs stop side by side, and then waits for each.
fn each(
    context: &mut Context,
    ids: &[String],
    no_wait: bool,
    make: impl Fn(IdRef) -> Command,
) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    // Who calls from inside a run can't wait for its own end.
    let no_wait = no_wait || !context.actor().is_operator();
    let mut given = Vec::with_capacity(ids.len());
    for id in ids {
        let outcome = task_ref(id)
            .map_err(CliError::from)
            .and_then(|task| context.execute(make(task)))
            .and_then(|outcome| read_outcome(outcome, no_wait));
        given.push((id, outcome));
    }
    let mut several = Several::new(ids.len());
    for (id, outcome) in given {
        let ended = match outcome {
            Ok(Given::Workflow(workflow)) => {
                let line = super::workflow::headline(&context.out, &workflow);
                Ok((line, record::workflow_row(&workflow)))
            }
            Ok(Given::Settled(task)) => described(context, &engine, &task),
            Ok(Given::Stopping(task, run)) => settle::until_run_over(&engine, &task, &run, &context.out)
                .and_then(|task| described(context, &engine, &task)),
            Err(error) => Err(error),
        };
        several.note(context, id, ended)?;
    }
    several.finish(context, Exit::Done)
}

fn read_outcome(outcome: Outcome, no_wait: bool) -> Result<Given, CliError> {
    match outcome {
        Outcome::Accepted { task, run } if !no_wait => Ok(Given::Stopping(task.id, run)),
        Outcome::Accepted { task, .. } | Outcome::Task(task) => Ok(Given::Settled(task)),
        Outcome::Workflow(workflow) => Ok(Given::Workflow(workflow)),
        other => Err(CliError::Refused(Refusal::state(
            "unexpected_answer",
            format!("the engine gave an answer that this verb does not expect: {other:?}"),
        ))),
    }
}

fn described(
    context: &mut Context,
    engine: &crate::engine::Engine,
    task: &Task,
) -> Result<(String, Value), CliError> {
    context.hint_at_dispatcher(task)?;
    Ok((headline(&context.out, task), record::task(engine, task)?))
}

/// A card in one line: number, status, title.
pub fn headline(out: &Output, task: &Task) -> String {
    let status = format!("{} {}", words::glyph(task.status), task.status);
    format!("#{}  {}  {}", task.seq, out.paint(words::style(task.status), &status), one_line(&task.title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_read_in_any_case_and_all_are_named() {
        assert_eq!(read_status("ReView"), Ok(TaskStatus::Review));
        let refused = read_status("done\x1b[2J").unwrap_err();
        assert!(refused.contains("suspended") && !refused.contains('\x1b'), "{refused}");
    }
}
