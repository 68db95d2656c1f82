//! What every verb is given: the globals, the streams, and the engine once somebody asks for it.

use etcetera::BaseStrategy;
use std::path::{Path, PathBuf};

use super::args::Globals;
use super::error::CliError;
use super::output::Output;
use crate::domain::id::IdKind;
use crate::domain::task::DEFAULT_BOARD;
use crate::domain::{Actor, IdRef, Refusal};
use crate::engine::{Command, Engine, Outcome};

/// The setting of one call.
pub struct Context {
    /// The streams.
    pub out: Output,
    /// The global options.
    pub globals: Globals,
    actor: Actor,
    engine: Option<Engine>,
}

impl Context {
    /// The setting for these globals. Touches no file.
    pub fn new(globals: Globals) -> Self {
        let out = Output::new(globals.json, globals.color);
        Self { out, globals, actor: super::actor::current(), engine: None }
    }

    /// Who calls.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The database file.
    pub fn database(&self) -> Result<PathBuf, CliError> {
        match &self.globals.db {
            Some(path) if !path.as_os_str().is_empty() => Ok(path.clone()),
            _ => Ok(data_folder()?.join("andon.db")),
        }
    }

    /// The engine over that file, opened at the first call.
    pub fn engine(&mut self) -> Result<Engine, CliError> {
        if let Some(engine) = &self.engine {
            return Ok(engine.clone());
        }
        let path = self.database()?;
        if self.globals.verbose > 0 {
            self.out.note(&format!("database {}, board {}", path.display(), self.board_or_all()));
        }
        let engine = open(&path)?;
        self.engine = Some(engine.clone());
        Ok(engine)
    }

    /// Lets go of the engine; the next that asks opens it anew.
    pub fn close(&mut self) {
        self.engine = None;
    }

    /// Carries out one command as the caller.
    pub fn execute(&mut self, command: Command) -> Result<Outcome, CliError> {
        let engine = self.engine()?;
        Ok(engine.execute(command, &self.actor)?)
    }

    /// The board for what concerns one; refuses `*`.
    pub fn board(&self) -> Result<String, CliError> {
        match self.board_or_all() {
            "*" => Err(CliError::Usage("`--board '*'` means all boards, and one is needed here".to_owned())),
            name => Ok(name.to_owned()),
        }
    }

    /// The board for what may concern all; `None` = all.
    pub fn board_filter(&self) -> Option<String> {
        match self.board_or_all() {
            "*" => None,
            name => Some(name.to_owned()),
        }
    }

    fn board_or_all(&self) -> &str {
        match self.globals.board.as_deref() {
            None | Some("") => DEFAULT_BOARD,
            Some(name) => name,
        }
    }
}

/// The reference to a task that somebody typed.
pub fn task_ref(text: &str) -> Result<IdRef, Refusal> {
    IdRef::parse(text, IdKind::Task)
}

fn open(path: &Path) -> Result<Engine, CliError> {
    Ok(Engine::open(path)?)
}

/// Where data is kept unless a path is named.
pub fn data_folder() -> Result<PathBuf, CliError> {
    match etcetera::choose_base_strategy() {
        Ok(base) => Ok(base.data_dir().join("andon")),
        Err(_) => {
            Err(CliError::Failed("no home folder is known; name the database with --db or ANDON_DB".to_owned()))
        }
    }
}
