//! Who calls: the person who owns the database, or a process inside a run.

use crate::domain::{Actor, RunId, TaskId};

/// The caller. Inside a run, the environment that the run was given says so.
pub fn current() -> Actor {
    match (variable("ANDON_RUN_ID"), variable("ANDON_TASK_ID")) {
        (Some(run), Some(task)) => {
            let name = variable("ANDON_AGENT").unwrap_or_else(|| format!("run {run}"));
            Actor::Agent { run: RunId(run), task: TaskId(task), name }
        }
        _ => operator(),
    }
}

/// The person, by the name of their account.
fn operator() -> Actor {
    let name = variable("USER").or_else(|| variable("LOGNAME")).unwrap_or_else(|| "operator".to_owned());
    Actor::operator(name)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
