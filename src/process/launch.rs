//! Starting a process: in a group of its own, with a complete environment, no terminal, and its output in pipes.
//!
//! The program is resolved to a path here and nothing runs between fork and exec, so that the standard library
//! can use `posix_spawn`: forking instead, which it does for a bare name with a cleared environment, reaches
//! less than a third of that rate.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use thiserror::Error;

use super::child::{Child, Stopper};
use super::environment::Environment;
use super::identity::Identity;
use super::log::{DEFAULT_CAP, Writer};
use super::stop::LEFTOVER_GRACE;
use super::subreaper::{self, Registration};

/// Where the output of a process goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// The file; its folder exists.
    pub path: PathBuf,
    /// How many bytes are kept.
    pub cap: u64,
    /// Whether it goes on after what another process of the same run has written.
    pub goes_on: bool,
}

/// All that is needed to start a process.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The working folder; `None` = ours.
    pub cwd: Option<PathBuf>,
    /// The complete environment; its PATH is where a bare program name is looked for.
    pub environment: Environment,
    /// The variable in `environment` by which everyone that comes from this process is known again.
    pub tag: Option<(String, String)>,
    /// Where its output goes; `None` = only what [`super::Exit`] remembers.
    pub log: Option<LogFile>,
    /// What it reads on standard input; `None` = nothing.
    pub stdin: Option<Vec<u8>>,
    /// How long after its exit the pipes are read on while somebody holds them open.
    pub drain: Duration,
    /// How long whoever it leaves behind has between SIGTERM and SIGKILL.
    pub leftover_grace: Duration,
}

impl Launch {
    /// A launch with nothing but a program and an environment.
    pub fn new(argv: impl IntoIterator<Item = impl Into<OsString>>, environment: Environment) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            environment,
            tag: None,
            log: None,
            stdin: None,
            drain: Duration::from_millis(200),
            leftover_grace: LEFTOVER_GRACE,
        }
    }

    /// Sets the variable by which everyone that comes from this process is known again.
    pub fn tagged(mut self, name: &str, value: &str) -> Self {
        self.environment.set(name, value);
        self.tag = Some((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the output to a log with the default cap.
    pub fn logged(mut self, path: PathBuf) -> Self {
        self.log = Some(LogFile { path, cap: DEFAULT_CAP, goes_on: false });
        self
    }

    /// Starts it. Needs a tokio runtime around it, and takes as long as the system takes to load a program.
    ///
    /// # Errors
    /// [`LaunchError`] when nothing was started.
    pub fn spawn(self) -> Result<Child, LaunchError> {
        self.spawn_stopped_by(Stopper::new())
    }

    /// Starts it under a stopper that was made before, so that a stop may be asked for before the start.
    ///
    /// # Errors
    /// [`LaunchError`] when nothing was started.
    pub fn spawn_stopped_by(mut self, stopper: Stopper) -> Result<Child, LaunchError> {
        // The program's path is read after the folder was changed into, so it must not depend on ours.
        if let Some(folder) = &mut self.cwd
            && let Ok(absolute) = std::path::absolute(&*folder)
        {
            *folder = absolute;
        }
        let name = self.argv.first().ok_or(LaunchError::Empty)?;
        let program = self.resolve(name)?;
        let mut command = Command::new(&program);
        command
            .arg0(name)
            .args(&self.argv[1..])
            .env_clear()
            .envs(self.environment.iter())
            .stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }

        let starting = subreaper::starting();
        let child = spawn(command).map_err(|error| self.explain(&program, error))?;
        let pid = child.id().unwrap_or_default().cast_signed();
        // It can't be gone: a child that ended stays in the process table until it is reaped.
        let identity = Identity::of(pid).unwrap_or_else(|| Identity {
            boot_id: super::identity::boot_id().to_owned(),
            pid,
            start_ticks: 0,
            pgid: pid,
        });
        // The group is its own whenever we look; the child may not have said so to the kernel yet.
        let identity = Identity { pgid: pid, ..identity };
        let registration = Registration::new(pid, identity.start_ticks);
        drop(starting);
        make_way();

        let log = self.log.map(|log| match log.goes_on {
            // Where that can't be looked at it can't be written either, and the writer says why.
            true => {
                Writer::resume(log.path.clone(), log.cap).unwrap_or_else(|_| Writer::new(log.path, log.cap))
            }
            false => Writer::new(log.path, log.cap),
        });
        let tag = self.tag.map(|(name, value)| format!("{name}={value}"));
        Ok(Child::new(
            child,
            identity,
            registration,
            stopper,
            tag,
            log,
            self.stdin,
            self.drain,
            self.leftover_grace,
        ))
    }

    /// The program that would be started, found without starting it.
    ///
    /// # Errors
    /// [`LaunchError`] when there is none, or it may not be run.
    pub fn program(&self) -> Result<PathBuf, LaunchError> {
        let path = self.resolve(self.argv.first().ok_or(LaunchError::Empty)?)?;
        match may_be_run(&path) {
            Some(true) => Ok(path),
            Some(false) => Err(LaunchError::NotExecutable { path }),
            None => Err(LaunchError::Missing { path }),
        }
    }

    /// The path of the program, by the rules of execvp(3) and the folder and PATH that the process will have.
    fn resolve(&self, name: &OsStr) -> Result<PathBuf, LaunchError> {
        if name.is_empty() {
            return Err(LaunchError::Empty);
        }
        let folder = self.cwd.as_deref().unwrap_or(Path::new(""));
        if name.as_encoded_bytes().contains(&b'/') {
            return Ok(folder.join(name));
        }
        let path = self.environment.get("PATH").unwrap_or(OsStr::new("/usr/bin:/bin"));
        if let Some(found) = search::remembered(path, name) {
            return Ok(found);
        }
        let mut refused = None;
        for place in std::env::split_paths(path) {
            let candidate = folder.join(place).join(name);
            match may_be_run(&candidate) {
                Some(true) => {
                    search::remember(path, name, &candidate);
                    return Ok(candidate);
                }
                Some(false) => refused = refused.or(Some(candidate)),
                None => {}
            }
        }
        match refused {
            Some(path) => Err(LaunchError::NotExecutable { path }),
            None => {
                let path = path.to_string_lossy().into_owned();
                Err(LaunchError::NotFound { program: name.to_string_lossy().into_owned(), path })
            }
        }
    }

    /// Says why the system did not start it. Looked at only now, so that a start that works pays nothing for it.
    fn explain(&self, program: &Path, error: io::Error) -> LaunchError {
        let path = program.to_owned();
        if let Some(folder) = &self.cwd {
            match std::fs::metadata(folder) {
                Err(gone) if gone.kind() == io::ErrorKind::NotFound => {
                    return LaunchError::FolderGone { folder: folder.clone() };
                }
                Ok(found) if !found.is_dir() => return LaunchError::NotAFolder { folder: folder.clone() },
                _ => {}
            }
        }
        match error.kind() {
            io::ErrorKind::NotFound if program.exists() => LaunchError::InterpreterMissing { path },
            io::ErrorKind::NotFound => LaunchError::Missing { path },
            io::ErrorKind::PermissionDenied if may_be_run(program) != Some(true) => {
                LaunchError::NotExecutable { path }
            }
            io::ErrorKind::ArgumentListTooLong => LaunchError::TooLong,
            io::ErrorKind::InvalidInput => LaunchError::Nul,
            _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
                LaunchError::NotAProgram { path }
            }
            _ => LaunchError::Refused { path, source: error },
        }
    }
}

/// Steps aside once, for the shortest time that can be slept. The system wakes whoever started a program on the
/// processor where that program just begins; two that go on there wait for each other while another processor is
/// idle. Whoever wakes from a sleep is put on an idle one. (Measured: it is worth a tenth of the rate at which a
/// queue of tiny commands is drained.)
fn make_way() {
    std::thread::sleep(Duration::from_nanos(1));
}

/// Where programs were found a moment ago: a queue of small commands names the same one again and again, and a long
/// PATH costs each of them as much as its start.
mod search {
    use std::ffi::{OsStr, OsString};
    use std::path::{Path, PathBuf};
    use std::sync::{Mutex, PoisonError};
    use std::time::{Duration, Instant};

    use super::may_be_run;

    /// As long as a place is believed; a program that comes into an earlier folder is found after that.
    const BELIEVED: Duration = Duration::from_secs(1);

    struct Found {
        path: OsString,
        name: OsString,
        at: PathBuf,
        when: Instant,
    }

    /// One program at a time: where the next one is another, it is searched for.
    static LAST: Mutex<Option<Found>> = Mutex::new(None);

    pub(super) fn remembered(path: &OsStr, name: &OsStr) -> Option<PathBuf> {
        let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let found = last.as_ref().filter(|found| found.name == name && found.path == path)?;
        (found.when.elapsed() < BELIEVED && may_be_run(&found.at) == Some(true)).then(|| found.at.clone())
    }

    pub(super) fn remember(path: &OsStr, name: &OsStr, at: &Path) {
        // What is found through a relative folder of PATH depends on where the run stands.
        if std::env::split_paths(path).all(|place| place.is_absolute()) {
            let found = Found {
                path: path.to_owned(),
                name: name.to_owned(),
                at: at.to_owned(),
                when: Instant::now(),
            };
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        }
    }
}

/// Whether a file can be run; `None` where there is no file.
fn may_be_run(path: &Path) -> Option<bool> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata.is_file().then(|| metadata.permissions().mode() & 0o111 != 0)
}

/// A script that was written a moment ago may still be open for writing in a process that another thread is just
/// starting; that passes in no time.
fn spawn(command: Command) -> io::Result<tokio::process::Child> {
    let mut command = tokio::process::Command::from(command);
    for _ in 0..20 {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(2));
            }
            done => return done,
        }
    }
    command.spawn()
}

/// Why nothing was started.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// No program was named.
    #[error("there is no program to run; name one")]
    Empty,
    /// A bare name that is in no folder of PATH.
    #[error(
        "there is no program `{program}` in any folder of PATH ({path}); install it, or give its full path"
    )]
    NotFound {
        /// The name.
        program: String,
        /// The PATH that was searched.
        path: String,
    },
    /// A path where no file is.
    #[error("there is no file {}; correct the path, or put the program there", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file that may not be run.
    #[error("{} may not be run; make it executable with `chmod +x`", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
    /// A script whose interpreter is missing.
    #[error(
        "{} can't be run because the interpreter in its `#!` line, or its loader, is missing; install it or \
         correct that line",
        path.display()
    )]
    InterpreterMissing {
        /// The script.
        path: PathBuf,
    },
    /// Neither a program nor a script with a `#!` line.
    #[error(
        "{} is neither a program for this machine nor a script that says what runs it; begin it with a line such \
         as `#!/bin/sh`",
        path.display()
    )]
    NotAProgram {
        /// The file.
        path: PathBuf,
    },
    /// The working folder is gone.
    #[error("the folder {} is gone; make it again, or give the card another one", folder.display())]
    FolderGone {
        /// The folder.
        folder: PathBuf,
    },
    /// The working folder is a file.
    #[error("{} is not a folder; give the card a folder to work in", folder.display())]
    NotAFolder {
        /// What is there.
        folder: PathBuf,
    },
    /// Arguments and environment are too long for the system.
    #[error(
        "the arguments are longer than the system takes; hand the text over in a file (`{{prompt_file}}`)"
    )]
    TooLong,
    /// An argument or a variable holds a NUL character.
    #[error("an argument or a variable holds a NUL character, which no program can be given; remove it")]
    Nul,
    /// Anything else that the system says.
    #[error("the system did not start {}: {source}", path.display())]
    Refused {
        /// The program.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}
