//! What a card runs with, as typed: a command after `--`, or an agent, with folder and environment. Shared by
//! `add` and `edit`.

use clap::Args;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::CliError;
use crate::domain::{Executor, Program, Work};

/// The options that describe an executor.
#[derive(Debug, Clone, Default, Args)]
pub struct WorkArgs {
    /// Give it to this agent
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub agent: Option<String>,
    /// The folder to run in; the current one unless named
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// An environment variable to run with; without a value, the dispatcher's
    #[arg(long = "env", value_name = "K[=V]")]
    pub environment: Vec<OsString>,
    /// A command to run, as an argument list; no shell reads it
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// The executor with a check: a shell line that must pass after its work.
pub fn with_check(executor: Option<Executor>, check: Option<&str>) -> Result<Option<Executor>, CliError> {
    match (executor, check) {
        (executor, None) => Ok(executor),
        (Some(executor), Some(line)) => {
            Ok(Some(Executor { check: Some(Program::Shell(line.to_owned())), ..executor }))
        }
        (None, Some(_)) => Err(CliError::Usage(
            "a check follows work that is run; add `-- COMMAND` or --agent NAME".to_owned(),
        )),
    }
}

impl WorkArgs {
    /// The executor that was described, if one was; `goal` is what an agent is asked to do.
    pub fn executor(&self, goal: impl FnOnce() -> String) -> Result<Option<Executor>, CliError> {
        let work = match (&self.agent, self.command.as_slice()) {
            (Some(name), _) if name.trim().is_empty() => {
                return Err(CliError::Usage(
                    "--agent needs a name; `andon config show` lists the agents".to_owned(),
                ));
            }
            (Some(name), _) => Work::Agent { name: name.trim().to_owned(), goal: goal() },
            (None, []) if self.cwd.is_some() || !self.environment.is_empty() => {
                return Err(CliError::Usage(
                    "--cwd and --env say how something is run; add `-- COMMAND` or --agent NAME".to_owned(),
                ));
            }
            (None, []) => return Ok(None),
            (None, [program, ..]) if program.is_empty() => {
                return Err(CliError::Usage("the command after `--` has an empty name".to_owned()));
            }
            (None, words) => Work::Command {
                command: Program::Argv(
                    words.iter().map(|word| text("the command", word)).collect::<Result<_, _>>()?,
                ),
            },
        };
        let mut executor = Executor::new(work);
        executor.cwd = Some(folder(self.cwd.as_deref())?);
        executor.env = self.variables()?;
        Ok(Some(executor))
    }

    fn variables(&self) -> Result<BTreeMap<String, Option<String>>, CliError> {
        let mut variables = BTreeMap::new();
        for given in &self.environment {
            let given = text("--env", given)?;
            let (name, value) = match given.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (given.clone(), None),
            };
            if name.is_empty() || name.contains('\0') || value.as_ref().is_some_and(|v| v.contains('\0')) {
                return Err(CliError::Usage(format!(
                    "--env `{given}` has no name; write NAME or NAME=VALUE"
                )));
            }
            variables.insert(name, value);
        }
        Ok(variables)
    }
}

/// The folder as an absolute path; the current one where none is named. It has to be there.
pub fn folder(named: Option<&Path>) -> Result<String, CliError> {
    let path = match named {
        None => std::env::current_dir(),
        Some(path) => std::path::absolute(path),
    };
    let path = path.map_err(|error| {
        CliError::Usage(format!("the current folder is gone ({error}); name another with --cwd"))
    })?;
    if named.is_some() && !path.is_dir() {
        return Err(CliError::Usage(format!(
            "there is no folder {}; make it first, or name another with --cwd",
            path.display()
        )));
    }
    text("the folder", path.as_os_str())
}

/// Arguments are stored as text, so one that is not UTF-8 is refused instead of changed.
fn text(what: &str, given: &std::ffi::OsStr) -> Result<String, CliError> {
    match given.to_str() {
        Some(text) if !text.contains('\0') => Ok(text.to_owned()),
        _ => Err(CliError::Usage(format!(
            "{what} holds `{}`, which is not UTF-8 text; put it into a script and run that",
            given.to_string_lossy()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    fn command(words: &[&str]) -> WorkArgs {
        WorkArgs { command: words.iter().map(OsString::from).collect(), ..WorkArgs::default() }
    }

    #[test]
    fn a_command_is_an_argument_list_in_the_current_folder() {
        let executor = command(&["echo", "a b", "$HOME"]).executor(String::new).unwrap().unwrap();
        let argv = ["echo", "a b", "$HOME"].map(str::to_owned).to_vec();
        assert_eq!(executor.work, Work::Command { command: Program::Argv(argv) });
        assert_eq!(executor.cwd.unwrap(), std::env::current_dir().unwrap().to_string_lossy());
        assert!(WorkArgs::default().executor(String::new).unwrap().is_none());
    }

    #[test]
    fn variables_have_a_name_and_perhaps_a_value() {
        let mut args = command(&["env"]);
        args.environment = ["A=1", "B=", "C", "D=x=y"].iter().map(OsString::from).collect();
        let env = args.executor(String::new).unwrap().unwrap().env;
        assert_eq!(env["A"].as_deref(), Some("1"));
        assert_eq!(env["B"].as_deref(), Some(""));
        assert_eq!(env["C"], None);
        assert_eq!(env["D"].as_deref(), Some("x=y"));
        args.environment = vec!["=1".into()];
        assert!(args.executor(String::new).is_err());
    }

    #[test]
    fn what_can_not_be_kept_as_text_is_refused() {
        let mut args = command(&["ls"]);
        args.command.push(OsString::from_vec(vec![0xff, 0xfe]));
        assert!(args.executor(String::new).unwrap_err().to_string().contains("UTF-8"));
        args = WorkArgs { cwd: Some("/nowhere/at/all".into()), ..command(&["ls"]) };
        assert!(args.executor(String::new).unwrap_err().to_string().contains("/nowhere/at/all"));
        args = WorkArgs { cwd: Some("/".into()), ..WorkArgs::default() };
        assert!(args.executor(String::new).is_err());
    }
}
