//! What every verb is given: the globals, the streams, and the engine once somebody asks for it.

use std::cell::OnceCell;
use std::path::PathBuf;

use super::args::Globals;
use super::config::{self, Config, places};
use super::error::CliError;
use super::output::Output;
use crate::domain::id::IdKind;
use crate::domain::{Actor, IdRef, Refusal, Task, TaskStatus};
use crate::engine::{Command, Engine, Outcome, StoreError};

/// The setting of one call.
pub struct Context {
    /// The streams.
    pub out: Output,
    /// The global options.
    pub globals: Globals,
    actor: OnceCell<Actor>,
    engine: Option<Engine>,
    config: OnceCell<Config>,
    hinted: bool,
}

impl Context {
    /// The setting for these globals. Touches no file.
    pub fn new(globals: Globals) -> Self {
        let out = Output::new(globals.json, globals.color);
        Self { out, globals, actor: OnceCell::new(), engine: None, config: OnceCell::new(), hinted: false }
    }

    /// Who calls; found out at the first call.
    pub fn actor(&self) -> &Actor {
        self.actor.get_or_init(super::actor::current)
    }

    /// The configuration, read at the first call.
    pub fn config(&self) -> Result<&Config, CliError> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let config = config::load(self.globals.config.as_deref()).map_err(CliError::Config)?;
        Ok(self.config.get_or_init(|| config))
    }

    /// The configuration file where one was named, absolute.
    pub fn named_config(&self) -> Result<Option<PathBuf>, CliError> {
        let named = self.globals.config.as_deref().filter(|path| !path.as_os_str().is_empty());
        let absolute = named.map(std::path::absolute).transpose();
        absolute.map_err(|error| {
            CliError::Usage(format!(
                "the current folder is gone ({error}); name the configuration by its full path"
            ))
        })
    }

    /// The database file. The usual folder is made where it is not there; the folder of one that was named is not.
    pub fn database(&self) -> Result<PathBuf, CliError> {
        let named = self.globals.db.as_deref().filter(|path| !path.as_os_str().is_empty());
        let path = places::database(named).ok_or_else(|| {
            CliError::Failed("no home folder is known; name the database with --db or ANDON_DB".to_owned())
        })?;
        if let (None, Some(folder)) = (named, path.parent()) {
            places::make_private_folder(folder)
                .map_err(|source| StoreError::File { path: folder.to_owned(), source })?;
        }
        Ok(path)
    }

    /// The engine over that file, opened at the first call.
    pub fn engine(&mut self) -> Result<Engine, CliError> {
        if let Some(engine) = &self.engine {
            return Ok(engine.clone());
        }
        let path = self.database()?;
        if self.globals.verbose > 0 {
            self.out.note(&format!("database {}, board {}", path.display(), self.board_or_all()?));
        }
        let engine = Engine::open_with(&path, self.config()?.engine_options())?;
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
        Ok(engine.execute(command, self.actor())?)
    }

    /// Says once, to a person at a terminal, when a card has been queued and nobody is there to run it.
    pub fn hint_at_dispatcher(&mut self, task: &Task) -> Result<(), CliError> {
        let waits = task.status == TaskStatus::Queued && task.has_executor();
        if waits && !self.hinted && self.out.is_terminal() && !self.engine()?.has_dispatcher() {
            self.hinted = true;
            self.out.note("nobody dispatches now; start andon, or andon --headless");
        }
        Ok(())
    }

    /// The board for what concerns one; refuses `*`.
    pub fn board(&self) -> Result<String, CliError> {
        match self.board_or_all()? {
            "*" => Err(CliError::Usage("`--board '*'` means all boards, and one is needed here".to_owned())),
            name => Ok(name.to_owned()),
        }
    }

    /// The board for what may concern all; `None` = all.
    pub fn board_filter(&self) -> Result<Option<String>, CliError> {
        match self.board_or_all()? {
            "*" => Ok(None),
            name => Ok(Some(name.to_owned())),
        }
    }

    fn board_or_all(&self) -> Result<&str, CliError> {
        match self.globals.board.as_deref() {
            None | Some("") => Ok(&self.config()?.board.default),
            Some(name) => Ok(name),
        }
    }
}

/// The reference to a task that somebody typed.
pub fn task_ref(text: &str) -> Result<IdRef, Refusal> {
    IdRef::parse(text, IdKind::Task)
}
