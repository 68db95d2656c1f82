//! What runs may leave behind on this machine when everything around them died: processes and files. Who asks knows
//! which runs have ended; nothing here decides that.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::papers;
use crate::domain::id::IdKind;
use crate::domain::{IdRef, RunId};
use crate::engine::Recovery;
use crate::process::inside::RUN_VARIABLE;
use crate::process::{self, Proof, census};

/// The processes of one run.
#[derive(Debug, Clone)]
pub struct Processes {
    /// The run.
    pub run: RunId,
    found: Vec<census::Tagged>,
}

impl Processes {
    /// Those that still run.
    pub fn pids(&self) -> Vec<i32> {
        let running = self.found.iter().filter(|process| process.identity.still_runs());
        running.map(|process| process.identity.pid).collect()
    }
}

/// All processes of runs of this database, by run.
pub fn processes(database: &Path) -> Vec<Processes> {
    let ours = real(database);
    let mut by_run: BTreeMap<RunId, Vec<census::Tagged>> = BTreeMap::new();
    for process in census::tagged(RUN_VARIABLE) {
        let theirs = process.variable("ANDON_DB").map(|path| real(Path::new(&path)));
        if theirs.as_ref() == Some(&ours) {
            by_run.entry(RunId(process.value.clone())).or_default().push(process);
        }
    }
    by_run.into_iter().map(|(run, found)| Processes { run, found }).collect()
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Stops the processes of a run and proves them dead. Blocks for the grace and some seconds at most.
pub fn stop(run: &RunId, grace: Duration) -> Recovery {
    match process::recover(None, (RUN_VARIABLE, run.as_str()), grace) {
        Proof::Dead { killed } => Recovery::Dead { killed },
        Proof::Uncertain { pids } => Recovery::Uncertain { pids },
    }
}

/// The files of one run: its log, and what it was handed on paper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The run.
    pub run: RunId,
    /// How long all of them are, in bytes.
    pub bytes: u64,
}

/// The files of all runs in the folder of logs, by run. What is not named after a run is not ours and not told.
pub fn files(logs: &Path) -> io::Result<Vec<Files>> {
    let entries = match std::fs::read_dir(logs) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut by_run: BTreeMap<RunId, u64> = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(run) = name.to_str().and_then(|name| name.split('.').next()) else { continue };
        // One that went just now has no length any more.
        let Ok(found) = entry.metadata() else { continue };
        if found.is_file() && matches!(IdRef::parse(run, IdKind::Run), Ok(IdRef::Full(id)) if id == run) {
            *by_run.entry(RunId(run.to_owned())).or_default() += found.len();
        }
    }
    Ok(by_run.into_iter().map(|(run, bytes)| Files { run, bytes }).collect())
}

/// Removes the files of a run; without effect where there are none.
pub fn remove_files(logs: &Path, run: &RunId) -> io::Result<()> {
    let log = logs.join(run.as_str());
    process::log::remove(&log)?;
    for paper in papers::files(&log) {
        match std::fs::remove_file(paper) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
