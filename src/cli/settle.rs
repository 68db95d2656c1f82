//! Waiting: until a run that is being ended is over, and until work is settled.

use std::time::{Duration, Instant};

use super::error::{CliError, Exit};
use super::output::Output;
use crate::domain::{IdRef, RunId, Task, TaskId, TaskStatus, WorkflowStatus};
use crate::engine::Engine;

/// How long to sleep where nothing rings; changes ring earlier.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long nobody may dispatch before a run that is being ended is left to whoever dispatches next.
const NOBODY_DISPATCHES: Duration = Duration::from_secs(3);

/// Waits until `run` of `task` is over; gives the task as it is then. Where nobody dispatches, the intent is
/// kept for whoever does so next, and the task is given as it is.
pub fn until_run_over(engine: &Engine, task: &TaskId, run: &RunId, out: &Output) -> Result<Task, CliError> {
    let reference = IdRef::Full(task.0.clone());
    let mut alone_since: Option<Instant> = None;
    loop {
        let seen = engine.last_seq()?;
        let now = engine.task(&reference)?;
        if now.current_run_id.as_ref() != Some(run) {
            return Ok(now);
        }
        if engine.has_dispatcher() {
            alone_since = None;
        } else if alone_since.get_or_insert_with(Instant::now).elapsed() >= NOBODY_DISPATCHES {
            out.note(&format!(
                "#{}: nobody dispatches now; its run is stopped when andon is started again",
                now.seq
            ));
            return Ok(now);
        }
        engine.wait_for_change(seen, LOOK_AGAIN)?;
    }
}

/// Waits until the task is settled.
pub fn until_settled(engine: &Engine, task: &IdRef) -> Result<Task, CliError> {
    loop {
        let seen = engine.last_seq()?;
        let now = engine.task(task)?;
        if now.status.is_settled() {
            return Ok(now);
        }
        engine.wait_for_change(seen, LOOK_AGAIN)?;
    }
}

/// How a verb ends that waited for a task.
pub fn exit_of_task(status: TaskStatus) -> Exit {
    match status {
        TaskStatus::Failed => Exit::WorkFailed,
        TaskStatus::Cancelled => Exit::WorkCancelled,
        _ => Exit::Done,
    }
}

/// How a verb ends that waited for a workflow.
pub fn exit_of_workflow(status: WorkflowStatus) -> Exit {
    match status {
        WorkflowStatus::Failed => Exit::WorkFailed,
        WorkflowStatus::Cancelled => Exit::WorkCancelled,
        _ => Exit::Done,
    }
}

/// The worse of two endings: FAILED beats CANCELLED beats done.
pub fn worse(one: Exit, other: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::WorkFailed => 2,
        Exit::WorkCancelled => 1,
        _ => 0,
    };
    match rank(other) > rank(one) {
        true => other,
        false => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_among_many_decides() {
        let all = [Exit::Done, Exit::WorkCancelled, Exit::WorkFailed, Exit::Done];
        assert_eq!(all.into_iter().fold(Exit::Done, worse), Exit::WorkFailed);
        assert_eq!(worse(Exit::Done, Exit::WorkCancelled), Exit::WorkCancelled);
    }
}
