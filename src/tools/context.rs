//! Who calls, from where: what a tool knows about its caller.

use std::path::{Path, PathBuf};

use super::error::ToolError;
use super::folder::Folder;
use super::waiting::Waiting;
use crate::domain::{Actor, IdRef, RunId, TaskId, WaitId};
use crate::engine::{Command, Engine};

/// The run that a caller is inside of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// The run.
    pub run: RunId,
    /// Its task.
    pub task: TaskId,
}

/// A caller, and what it calls on.
#[derive(Clone)]
pub struct ToolContext {
    /// The engine.
    pub engine: Engine,
    /// Who calls.
    pub actor: Actor,
    /// The run that the caller is a part of, if it is.
    pub inside: Option<Inside>,
    /// The caller's folder, absolute.
    pub cwd: PathBuf,
    /// The session, where one is named.
    pub session: Option<String>,
    /// The caller's board; `None` = the default board.
    pub board: Option<String>,
    /// How long the caller waits for a person.
    pub waiting: Waiting,
}

impl ToolContext {
    /// The folder that file tools stay inside: that of the caller's task, else the caller's own.
    pub fn folder(&self) -> Result<Folder, ToolError> {
        let Some(inside) = &self.inside else { return Folder::new(&self.cwd, &self.cwd) };
        let task = self.engine.task(&IdRef::Full(inside.task.0.clone()))?;
        let of_task = match task.worktree.starts_with('/') {
            true => Some(task.worktree),
            false => task.executor.and_then(|executor| executor.cwd),
        };
        Folder::new(of_task.as_ref().map_or(&self.cwd, |path| Path::new(path)), &self.cwd)
    }

    /// Whether the caller waits for this (a question, an approval, any wait) in its run. It may be over already.
    pub fn attend(&self, wait: &str, waits: bool) -> Result<(), ToolError> {
        let command = Command::Attend { wait: WaitId(wait.to_owned()), waits };
        self.engine.execute(command, &self.actor)?;
        Ok(())
    }

    /// Whether this is the caller's own task.
    pub fn is_own(&self, task: &IdRef) -> Result<bool, ToolError> {
        match &self.inside {
            None => Ok(false),
            Some(inside) if *task == IdRef::Full(inside.task.0.clone()) => Ok(true),
            Some(inside) => Ok(self.engine.task(task)?.id == inside.task),
        }
    }

    /// The caller's own task, if it is inside a run.
    pub fn own_task(&self) -> Option<IdRef> {
        self.inside.as_ref().map(|inside| IdRef::Full(inside.task.0.clone()))
    }
}
