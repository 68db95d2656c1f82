//! One look each: the configuration, the agents, the disk, the database, who dispatches, and what may be left behind.

use serde_json::json;
use std::path::Path;
use std::time::Duration;

use super::report::Check;
use crate::agents::{leftover, preflight};
use crate::cli::config::{Config, ConfigError, places};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::{dispatch, words};
use crate::domain::{DispatcherState, RunId};
use crate::engine::{Engine, Recovery, WAL_LIMIT};

/// With less room than this, in bytes, commits and logs will soon fail.
const LITTLE_ROOM: u64 = 128 * 1024 * 1024;
/// The most names that are told one by one.
const TOLD: usize = 20;

/// The configuration and its faults.
pub fn configuration(context: &Context, loaded: &Result<Config, ConfigError>) -> Check {
    let path = places::config_file(context.globals.config.as_deref());
    let said = match &path {
        Some(path) if path.exists() => path.display().to_string(),
        _ => "no file; the defaults hold".to_owned(),
    };
    let mut check = Check::new("configuration", said);
    if let Err(error) = loaded {
        for fault in &error.faults {
            check = check.with(fault.to_string(), None);
        }
    }
    check
}

/// The configured agents, and whether each could be started.
pub fn agents(config: &Config) -> Check {
    let names: Vec<&str> = config.agents.keys().map(String::as_str).collect();
    let said = if names.is_empty() { "none is configured".to_owned() } else { names.join(", ") };
    let missing = preflight::missing(&dispatch::agent_settings(config));
    let check = Check::new("agents", said);
    missing.into_iter().fold(check, |check, (name, why)| check.with(format!("{name}: {why}"), None))
}

/// The room on the disk of the database.
pub fn disk(database: &Path) -> Check {
    let folder = database.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let free = match rustix::fs::statvfs(folder) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
        Err(error) => return Check::new("disk", format!("its room is not known: {error}")),
    };
    let said = format!("{} free for {}", words::size(free), folder.display());
    let check = Check::new("disk", said).with_data(json!({ "free_bytes": free }));
    match free < LITTLE_ROOM {
        true => check.with("there is little room left; free some, or commits will soon fail", None),
        false => check,
    }
}

/// The database file: sound, and of the schema that this program knows.
pub fn database(engine: &Engine) -> Check {
    let path = engine.path();
    let bytes = std::fs::metadata(path).map_or(0, |found| found.len());
    let mut problems = Vec::new();
    let mut schema = 0;
    match engine.schema() {
        Ok((found, _)) => schema = found,
        Err(error) => problems.push(error.to_string()),
    }
    for checked in [engine.quick_check(), engine.foreign_key_check()] {
        match checked {
            Ok(found) => problems.extend(found),
            Err(error) => problems.push(error.to_string()),
        }
    }
    let said = format!("{}, {}, schema {schema}", path.display(), words::size(bytes));
    let data = json!({ "path": path, "bytes": bytes, "schema": schema });
    let mut check = Check::new("database", said).with_data(data);
    let damaged = !problems.is_empty();
    for problem in problems {
        check = check.with(problem, None);
    }
    if damaged {
        let advice = "end everything that uses it, keep a copy of the file, and put a backup in its place \
                      (`andon backup` makes one; `sqlite3 FILE .recover` may save what is newer)";
        check = check.with(advice, None);
    }
    check
}

/// Who dispatches.
pub fn dispatcher(engine: &Engine) -> Result<Check, CliError> {
    let pid = engine.dispatcher_pid()?;
    let somebody = engine.dispatcher_state() != DispatcherState::Nobody;
    let said = match (somebody, pid) {
        (true, Some(pid)) => format!("process {pid} dispatches"),
        (true, None) => "a process is about to dispatch".to_owned(),
        (false, Some(pid)) => {
            format!("nobody dispatches; process {pid} did, and ended without a word")
        }
        (false, None) => "nobody dispatches".to_owned(),
    };
    let data = json!({ "dispatches": somebody, "pid": pid.filter(|_| somebody) });
    Ok(Check::new("dispatcher", said).with_data(data))
}

/// Processes of runs that have ended, or that nobody knows.
pub fn processes(engine: &Engine, config: &Config, fix: bool) -> Result<Check, CliError> {
    let found = leftover::processes(engine.path());
    let known = engine.known_runs(found.iter().map(|one| one.run.clone()).collect())?;
    let is_active = |run: &RunId| known.iter().any(|(id, active)| id == run && *active);
    // Looked at again: one that was just ending when its run was read is gone now.
    let orphans = found.iter().filter(|one| !is_active(&one.run) && !one.pids().is_empty());
    let running: usize = found.iter().filter(|one| is_active(&one.run)).map(|one| one.pids().len()).sum();
    let mut check = Check::new("processes", format!("{running} of runs that go on"));
    for one in orphans {
        let pids: Vec<String> = one.pids().iter().map(i32::to_string).collect();
        let what = format!("processes of run {}, which has ended: {}", one.run, pids.join(", "));
        let mended = fix.then(|| leftover::stop(&one.run, grace(config)));
        let mended = match mended {
            Some(Recovery::Dead { killed }) => Some(format!("stopped {killed}")),
            Some(Recovery::Uncertain { .. }) | None => None,
        };
        check = check.with_mended(what, "stop them", mended);
    }
    Ok(check)
}

fn grace(config: &Config) -> Duration {
    Duration::from_secs(config.dispatch.grace_seconds.into())
}

/// The logs of runs: how much they are, and those whose run is not there.
pub fn logs(engine: &Engine, fix: bool) -> Result<Check, CliError> {
    let folder = engine.logs();
    // The files first: a run is written before its log is made.
    let files = match leftover::files(&folder) {
        Ok(files) => files,
        Err(error) => {
            let check = Check::new("logs", folder.display().to_string());
            return Ok(check.with(format!("the folder can't be read: {error}"), None));
        }
    };
    let known = engine.known_runs(files.iter().map(|one| one.run.clone()).collect())?;
    let known: std::collections::HashSet<RunId> = known.into_iter().map(|(run, _)| run).collect();
    let total: u64 = files.iter().map(|one| one.bytes).sum();
    let largest = files.iter().max_by_key(|one| one.bytes);
    let said = match largest {
        Some(most) => format!(
            "of {} runs, {}; the longest {} ({})",
            files.len(),
            words::size(total),
            words::size(most.bytes),
            most.run
        ),
        None => "none".to_owned(),
    };
    let data =
        json!({ "runs": files.len(), "bytes": total, "largest_bytes": largest.map(|most| most.bytes) });
    let mut check = Check::new("logs", said).with_data(data);
    let stray: Vec<&leftover::Files> = files.iter().filter(|one| !known.contains(&one.run)).collect();
    if stray.is_empty() {
        return Ok(check);
    }
    let bytes = stray.iter().map(|one| one.bytes).sum();
    let names: Vec<&str> = stray.iter().take(TOLD).map(|one| one.run.as_str()).collect();
    let more = if stray.len() > TOLD { ", …" } else { "" };
    let what = format!("{} without a run, {}: {}{more}", stray.len(), words::size(bytes), names.join(", "));
    let removed = fix && stray.iter().all(|one| leftover::remove_files(&folder, &one.run).is_ok());
    check = check.with_mended(what, "remove them", removed.then(|| "removed".to_owned()));
    Ok(check)
}

/// Sockets of the bell that nobody listens at any more. They do no harm: whoever rings next sweeps them.
pub fn bells(engine: &Engine, fix: bool) -> Check {
    let left = match engine.leftover_bells() {
        Ok(left) => left,
        Err(error) => {
            return Check::new("bells", "sockets that tell of changes")
                .with(format!("their folder can't be read: {error}"), None);
        }
    };
    // Another process may have swept one meanwhile.
    let gone = |socket: &std::path::PathBuf| std::fs::remove_file(socket).is_ok() || !socket.exists();
    let said = match (left.len(), fix) {
        (0, _) => "no socket of a process that is gone".to_owned(),
        (n, false) => format!("{n} of processes that are gone; the next change sweeps them"),
        (n, true) => {
            format!("{} of {n} of processes that are gone swept", left.iter().filter(|s| gone(s)).count())
        }
    };
    Check::new("bells", said).with_data(json!({ "leftover": left.len() }))
}

/// The write-ahead log, which grows as long as somebody reads.
pub fn write_ahead_log(engine: &Engine, fix: bool) -> Check {
    let bytes = engine.wal_bytes();
    let check = Check::new("write-ahead log", words::size(bytes)).with_data(json!({ "wal_bytes": bytes }));
    if bytes <= WAL_LIMIT {
        return check;
    }
    let cut = fix && matches!(engine.truncate_wal(), Ok(true));
    let what = "it has grown long: a process has been reading the database for long; end that one";
    check.with_mended(what, "copy it into the database and cut it", cut.then(|| "cut".to_owned()))
}
