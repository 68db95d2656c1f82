//! The environment of a run: the allow-list, what the agent's configuration and the card pass on, and the
//! variables that tell a process what it works for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::settings::Settings;
use crate::engine::RunSpec;
use crate::process::Environment;
use crate::process::inside::{AGENT_VARIABLE, TASK_VARIABLE};

/// Who carries out a run without an agent.
const NO_AGENT: &str = "command";

/// What all runs have in common, read from our own environment once.
#[derive(Debug, Clone)]
pub(super) struct CommonGround {
    environment: Environment,
    program_folder: Option<PathBuf>,
    configuration: Option<PathBuf>,
}

impl CommonGround {
    pub fn new(settings: &Settings) -> Self {
        let mut environment = Environment::allowed();
        if let Some(path) = &settings.path {
            environment.set_os("PATH", path.clone());
        }
        let own_folder = || Some(std::env::current_exe().ok()?.parent()?.to_owned());
        Self {
            environment,
            program_folder: settings.program_folder.clone().or_else(own_folder),
            configuration: settings.configuration.clone(),
        }
    }

    /// What every run finds, whatever it is.
    pub fn environment(&self) -> Environment {
        let mut environment = self.environment.clone();
        self.append_program_folder(&mut environment);
        environment
    }

    /// The environment of one run. `passed` are names of our own variables, `named` what the card sets or, without
    /// a value, passes. The run's own variables come last, so that no card can pretend to be another.
    pub fn of_run(
        &self,
        spec: &RunSpec,
        passed: &[String],
        named: &[&BTreeMap<String, Option<String>>],
    ) -> Environment {
        let mut environment = self.environment.clone();
        for name in passed {
            environment.pass(name);
        }
        for (name, value) in named.iter().copied().flatten() {
            match value {
                Some(value) => environment.set(name, value),
                None => environment.pass(name),
            };
        }
        self.append_program_folder(&mut environment);
        environment
            .set(TASK_VARIABLE, spec.task.as_str())
            .set(
                AGENT_VARIABLE,
                Some(spec.executor.lane()).filter(|name| !name.is_empty()).unwrap_or(NO_AGENT),
            )
            .set("ANDON_SEQ", spec.seq.to_string())
            .set("ANDON_EPOCH", spec.epoch.to_string())
            .set("ANDON_ATTEMPT", spec.attempt.to_string())
            .set("ANDON_SESSION", &spec.session)
            .set("ANDON_BOARD", &spec.board)
            .set("ANDON_TITLE", &spec.title)
            .set_os("ANDON_DB", spec.database.clone());
        if let Some(path) = &self.configuration {
            environment.set_os("ANDON_CONFIG", path.clone());
        }
        if let Some(given) = &spec.answer {
            environment.set("ANDON_QUESTION", &given.question).set("ANDON_ANSWER", &given.answer);
        }
        if let Some(feedback) = &spec.feedback {
            environment.set("ANDON_FEEDBACK", feedback);
        }
        environment
    }

    fn append_program_folder(&self, environment: &mut Environment) {
        let Some(folder) = &self.program_folder else { return };
        let mut path = environment.get("PATH").map(OsString::from).unwrap_or_default();
        if std::env::split_paths(&path).any(|known| known == *folder) {
            return;
        }
        if !path.is_empty() {
            path.push(":");
        }
        path.push(folder);
        environment.set_os("PATH", path);
    }
}
