//! Who calls: the person who owns the database, or a process inside a run.

use crate::agents::inside;
use crate::domain::{Actor, RunId, TaskId};

/// The caller. The environment says whether it is inside a run: its own, or on Linux that of its ancestors.
pub fn current() -> Actor {
    match inside::find() {
        Some(found) => {
            let name = match found.agent.is_empty() {
                true => format!("run {}", found.run_id),
                false => found.agent,
            };
            Actor::Agent { run: RunId(found.run_id), task: TaskId(found.task_id), name }
        }
        None => operator(),
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
