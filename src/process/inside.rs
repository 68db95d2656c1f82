//! How a process finds out that it is inside a run. Its own environment says so; on Linux its ancestors' do too,
//! since a program may have dropped the variables on the way down.

/// The variable that tags every process of a run.
pub const RUN_VARIABLE: &str = "ANDON_RUN_ID";
/// The variable that names the task of the run.
pub const TASK_VARIABLE: &str = "ANDON_TASK_ID";
/// The variable that names who carries the run out.
pub const AGENT_VARIABLE: &str = "ANDON_AGENT";
/// No real process tree is deeper; a loop of re-used process ids can't keep us.
const DEPTH_LIMIT: usize = 64;

/// The run that a process is inside of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// The run.
    pub run_id: String,
    /// Its task; empty where it was not told.
    pub task_id: String,
    /// Who carries it out, by name; empty where it was not told.
    pub agent: String,
}

/// The run that this process is inside of; `None` for one that a person started.
pub fn find() -> Option<Inside> {
    told(|name| std::env::var(name).ok().filter(|value| !value.is_empty())).or_else(among_ancestors)
}

/// What variables say, looked up by name; `None` where they name no run.
fn told(variable: impl Fn(&str) -> Option<String>) -> Option<Inside> {
    Some(Inside {
        run_id: variable(RUN_VARIABLE)?,
        task_id: variable(TASK_VARIABLE).unwrap_or_default(),
        agent: variable(AGENT_VARIABLE).unwrap_or_default(),
    })
}

#[cfg(not(target_os = "linux"))]
fn among_ancestors() -> Option<Inside> {
    None
}

#[cfg(target_os = "linux")]
fn among_ancestors() -> Option<Inside> {
    use super::identity::Stat;
    let mut pid = Stat::of(std::process::id().cast_signed())?.parent;
    for _ in 0..DEPTH_LIMIT {
        if pid <= 1 {
            return None;
        }
        // One that belongs to another user can't be read and is passed over.
        let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if let Some(inside) = told(|name| variable(&variables, name)) {
            return Some(inside);
        }
        pid = Stat::of(pid)?.parent;
    }
    None
}

/// The value of a variable in the text of `/proc/PID/environ`; `None` where it is absent or empty.
#[cfg(target_os = "linux")]
fn variable(environ: &[u8], name: &str) -> Option<String> {
    environ
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .map(|value| String::from_utf8_lossy(value).into_owned())
        .filter(|value| !value.is_empty())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_name_of_a_variable_counts() {
        let environ = b"NOT_ANDON_RUN_ID=r_no\0ANDON_RUN_ID=r_yes\0ANDON_TASK_ID=\0";
        assert_eq!(variable(environ, RUN_VARIABLE).as_deref(), Some("r_yes"));
        assert_eq!(variable(environ, TASK_VARIABLE), None);
    }
}
