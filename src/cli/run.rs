//! `andon run`: makes and starts a workflow, and shows it until it ends.

use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

use super::context::Context;
use super::error::{CliError, Exit};
use super::prompt::Prompt;
use super::signals::{self, Signals};
use super::watch::{self, Watch};
use super::{definition_file, dispatch, questions, record, settle, workflow};
use crate::domain::{IdRef, Refusal, TaskStatus, Workflow, WorkflowId, WorkflowStatus};
use crate::engine::{Command, Engine, OpenApproval, OpenQuestion, Outcome};

/// Signals and typed answers are looked at this often.
const TICK: Duration = Duration::from_millis(100);

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The workflow file, YAML or JSON; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only lines: nothing is asked on the terminal
    #[arg(long)]
    headless: bool,
    /// When only a person can go on, exit 4 and list what is asked, instead of waiting
    #[arg(long)]
    no_input: bool,
}

/// Runs the workflow.
pub fn run(context: &mut Context, args: RunArgs, headless: bool) -> Result<Exit, CliError> {
    let command = definition_file::command(context, &args.file, true)?;
    let engine = context.engine()?;
    let since = engine.last_seq()?;
    let signals = signals::watch().map_err(|e| CliError::Failed(format!("can't watch for ctrl-c: {e}")))?;
    let outcome = context.execute(command)?;
    let Outcome::Workflow(made) = outcome else {
        return Err(CliError::Failed(format!("making a workflow gave none: {outcome:?}")));
    };
    // Where somebody dispatches already this one only stands by, should that one go.
    let dispatcher = dispatch::start(context, &engine, Some(made.id.clone()))?;
    let shown = Show {
        prompts: !args.headless && !headless && args.file.as_os_str() != "-",
        no_input: args.no_input,
    };
    let ended = shown.until_the_end(context, &engine, &made, since, &signals);
    if matches!(ended, Ok(Ended::Left)) {
        return Ok(Exit::Failed);
    }
    // Also where nobody reads any more: what runs here must not outlive this process.
    let stopped = dispatcher.stop_and_wait(&signals);
    let ended = ended?;
    if !stopped {
        return Ok(Exit::Failed);
    }
    let view = engine.workflow(made.id.as_str())?;
    match context.out.is_json() {
        true => context.out.value(&record::workflow(&view))?,
        false => {
            let line = workflow::headline(&context.out, &view.workflow);
            context.out.line(line)?;
        }
    }
    match ended {
        Ended::NeedsPerson(open) => Err(needs_person(context, &view.workflow, &open)?),
        _ => Ok(settle::exit_of_workflow(view.workflow.status)),
    }
}

/// How the showing ended.
enum Ended {
    /// The workflow is closed.
    Closed,
    /// Only a person can go on, and none is to be asked.
    NeedsPerson(Vec<OpenQuestion>),
    /// Somebody insisted on leaving.
    Left,
}

/// How a workflow is shown.
struct Show {
    prompts: bool,
    no_input: bool,
}

impl Show {
    fn until_the_end(
        &self,
        context: &mut Context,
        engine: &Engine,
        made: &Workflow,
        since: i64,
        signals: &Signals,
    ) -> Result<Ended, CliError> {
        let view = engine.workflow(made.id.as_str())?;
        let width = watch::step_width(&view);
        let mut watch = Watch::new(engine.clone(), &view, since);
        let mut prompt = Prompt::new(self.prompts && !self.no_input && crate::tui::terminal::is_terminal());
        let mut cancelled = false;
        if !context.out.is_json() {
            let line = workflow::headline(&context.out, &view.workflow);
            context.out.line(line)?;
        }
        loop {
            let changes = watch.changes()?;
            let asks = changes.iter().any(|change| change.status == TaskStatus::Blocked);
            if !context.out.is_json() {
                for change in &changes {
                    let line = change.line(&context.out, width);
                    context.out.line(line)?;
                    if change.status == TaskStatus::Review {
                        context.out.note(&format!("waits for a review: andon approve {}", change.seq));
                    }
                }
                context.out.flush()?;
            }
            if watch.is_over() {
                return Ok(Ended::Closed);
            }
            if asks && !context.out.is_json() {
                for waiting in open_approvals(engine, &watch)? {
                    let (call, seq) = (waiting.approval.label(), waiting.seq);
                    context.out.note(&format!("waits for approval of `{call}`: andon allow {seq}"));
                }
            }
            if asks && !self.no_input {
                prompt.show(context, &open_questions(engine, &watch)?)?;
            }
            if self.no_input
                && watch.status() == WorkflowStatus::Blocked
                && !goes_on_by_itself(engine, &made.id)?
            {
                return Ok(Ended::NeedsPerson(open_questions(engine, &watch)?));
            }
            prompt.take_answers(context)?;
            match signals.count() {
                0 => {}
                1 if !cancelled => {
                    cancelled = true;
                    context.out.note("cancelling; ctrl-c once more leaves it to itself");
                    cancel(context, made)?;
                }
                1 => {}
                _ => return Ok(Ended::Left),
            }
            watch.wait(TICK)?;
        }
    }
}

fn cancel(context: &mut Context, made: &Workflow) -> Result<(), CliError> {
    match context.execute(Command::CancelWorkflow { workflow: made.id.to_string() }) {
        // It has ended by itself in the meantime; the loop sees that.
        Ok(_) | Err(CliError::Refused(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

fn open_questions(engine: &Engine, watch: &Watch) -> Result<Vec<OpenQuestion>, CliError> {
    let mut open = engine.questions(None)?;
    open.retain(|asked| watch.has(&asked.question.task_id));
    Ok(open)
}

fn open_approvals(engine: &Engine, watch: &Watch) -> Result<Vec<OpenApproval>, CliError> {
    let mut open = engine.approvals(None)?;
    open.retain(|waiting| watch.has(&waiting.approval.task_id));
    Ok(open)
}

/// Whether something that its steps wait for (a timer, an event, the end of a task) comes without a person.
fn goes_on_by_itself(engine: &Engine, id: &WorkflowId) -> Result<bool, CliError> {
    let view = engine.workflow(id.as_str())?;
    for step in view.steps.iter().filter(|step| step.status == TaskStatus::Blocked) {
        if engine.task_view(&IdRef::Seq(step.seq))?.card.waiting.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lists what is asked, and makes the refusal that ends the verb.
fn needs_person(
    context: &mut Context,
    workflow: &Workflow,
    open: &[OpenQuestion],
) -> Result<CliError, CliError> {
    if !context.out.is_json() {
        for line in questions::listed(context, open) {
            context.out.line(line)?;
        }
    }
    let steps = context.engine()?.workflow(workflow.id.as_str())?.steps;
    let mut approvals = context.engine()?.approvals(None)?;
    approvals.retain(|waiting| steps.iter().any(|step| step.seq == waiting.seq));
    let fix = match (open.first(), approvals.first()) {
        (Some(asked), _) => format!("andon answer {} TEXT", asked.seq),
        (None, Some(waiting)) => format!("andon allow {}", waiting.seq),
        (None, None) => format!("andon workflow status {}", workflow.id),
    };
    let message = format!("workflow {} waits for a person; `{fix}`, then it goes on", workflow.id);
    let questions: Vec<Value> = open.iter().map(record::open_question).collect();
    let approvals: Vec<Value> = approvals.iter().map(record::open_approval).collect();
    let detail = json!({ "workflow_id": workflow.id, "questions": questions, "approvals": approvals });
    Ok(CliError::Refused(Refusal::state("needs_person", message).with_detail(detail)))
}
