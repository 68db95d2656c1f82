//! `andon log`: the output of a run. Raw bytes into a pipe; on a terminal, text that can only colour itself.

use clap::Args;
use std::time::Duration;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::harmless::Harmless;
use crate::agents::log::Follow;
use crate::domain::{IdRef, Refusal, Run, RunId, TaskId, TaskStatus};
use crate::engine::{Engine, TaskView};

/// How often a followed log is looked at; output rings no bell.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Options of `log`.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// The card
    #[arg(value_name = "ID")]
    id: String,
    /// Go on with what is written, until the card is settled
    #[arg(short, long)]
    follow: bool,
    /// The run with this number; the newest unless named
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    run: Option<u32>,
}

/// Prints the log of one run, and with `--follow` of the runs after it.
pub fn run(context: &mut Context, args: LogArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let view = engine.task_view(&task_ref(&args.id)?)?;
    let first = match args.run {
        None => view.runs.last(),
        Some(number) => Some(numbered(&view, number)?),
    };
    let mut follower = Follower {
        harmless: context.out.is_terminal().then(|| Harmless::new(context.out.has_color())),
        engine,
        reading: None,
    };
    if !args.follow {
        match first {
            Some(run) => follower.drain(context, &run.id)?,
            None => context.out.note(&format!("#{} has not run yet", view.task.seq)),
        }
    } else {
        let task = view.task.id.clone();
        follower.follow(context, &task, first.map(|run| run.number), args.run.is_some())?;
    }
    follower.end(context)?;
    Ok(Exit::Done)
}

fn numbered(view: &TaskView, number: u32) -> Result<&Run, CliError> {
    view.runs.iter().find(|run| run.number == number).ok_or_else(|| {
        CliError::Refused(Refusal {
            message: format!(
                "#{} has {} runs, and none with number {number}",
                view.task.seq,
                view.runs.len()
            ),
            ..Refusal::not_found("run", &number.to_string())
        })
    })
}

struct Follower {
    engine: Engine,
    harmless: Option<Harmless>,
    /// The run whose log is read, and how far.
    reading: Option<(RunId, Follow)>,
}

impl Follower {
    /// Follows the run with this number, or the first there will be, and unless `only` the ones after it.
    fn follow(
        &mut self,
        context: &mut Context,
        task: &TaskId,
        number: Option<u32>,
        only: bool,
    ) -> Result<(), CliError> {
        let reference = IdRef::Full(task.0.clone());
        let mut number = number;
        loop {
            let seen = self.engine.last_seq()?;
            let view = self.engine.task_view(&reference)?;
            let current = match number {
                Some(number) => view.runs.iter().find(|run| run.number == number),
                None => view.runs.first(),
            };
            // Whether the run is over is read before its log, so that nothing it wrote is missed.
            if let Some(run) = current {
                self.drain(context, &run.id)?;
                if !run.is_active() {
                    match view.runs.iter().find(|later| later.number > run.number) {
                        Some(later) if !only => {
                            number = Some(later.number);
                            continue;
                        }
                        _ if only || !goes_on(view.task.status) => return Ok(()),
                        _ => {}
                    }
                }
            } else if !goes_on(view.task.status) {
                return Ok(());
            }
            context.out.flush()?;
            self.engine.wait_for_change(seen, LOOK_AGAIN)?;
        }
    }

    /// Prints what the log has gained; of a log over its cap the head, a line for what was dropped, the tail.
    fn drain(&mut self, context: &mut Context, run: &RunId) -> Result<(), CliError> {
        let path = self.engine.log_path(run);
        let mut log = match self.reading.take() {
            Some((read, log)) if read == *run => log,
            _ => Follow::from_start(path.clone()),
        };
        loop {
            let bytes = log.next().map_err(|source| CliError::Unreadable { path: path.clone(), source })?;
            if bytes.is_empty() {
                self.reading = Some((run.clone(), log));
                return Ok(());
            }
            match &mut self.harmless {
                None => context.out.bytes(&bytes)?,
                Some(harmless) => {
                    let text = harmless.push(&bytes);
                    context.out.bytes(text.as_bytes())?;
                }
            }
        }
    }

    fn end(&mut self, context: &mut Context) -> Result<(), CliError> {
        match &mut self.harmless {
            None => Ok(()),
            Some(harmless) => {
                let rest = harmless.end();
                context.out.bytes(rest.as_bytes())
            }
        }
    }
}

/// Whether more output may come without a person bringing it about, or after one answers.
fn goes_on(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Pending | TaskStatus::Queued | TaskStatus::Running | TaskStatus::Blocked)
}
