//! From what went wrong to what a person reads and what a script tests: one table of exit codes, and the two
//! forms of an error, text and problem+json (RFC 9457).

use serde_json::{Map, Value, json};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

use super::config::ConfigError;
use crate::domain::Refusal;
use crate::domain::refusal::RefusalClass;
use crate::domain::text::many_lines;
use crate::engine::EngineError;
use crate::engine::StoreError;
use crate::tools::{ErrorClass, ToolError};

/// How the program ends. The whole table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Failed for a reason outside the rules: a file, a pipe, a process.
    Failed,
    /// The call itself, or a value in it, is wrong.
    Invalid,
    /// Nothing has that name.
    NotFound,
    /// The state of things does not allow it.
    State,
    /// The caller may not do it.
    NotAllowed,
    /// The database can't be used.
    Store,
    /// The work that was waited for FAILED.
    WorkFailed,
    /// The work that was waited for was CANCELLED.
    WorkCancelled,
}

impl Exit {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Invalid => 2,
            Exit::NotFound => 3,
            Exit::State => 4,
            Exit::NotAllowed => 5,
            Exit::Store => 6,
            Exit::WorkFailed => 10,
            Exit::WorkCancelled => 11,
        }
    }

    /// The ending with this code; a code that is not in the table is a failure.
    pub fn of_code(code: u8) -> Self {
        use Exit::*;
        [Done, Failed, Invalid, NotFound, State, NotAllowed, Store, WorkFailed, WorkCancelled]
            .into_iter()
            .find(|exit| exit.code() == code)
            .unwrap_or(Failed)
    }

    /// The status that HTTP has for the same thing; goes into the problem object.
    fn http_status(self) -> u16 {
        match self {
            Exit::Done => 200,
            Exit::Failed | Exit::WorkFailed | Exit::WorkCancelled => 500,
            Exit::Invalid => 422,
            Exit::NotFound => 404,
            Exit::State => 409,
            Exit::NotAllowed => 403,
            Exit::Store => 503,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Exit::Done => "Done",
            Exit::Failed | Exit::WorkFailed | Exit::WorkCancelled => "Failed",
            Exit::Invalid => "Invalid input",
            Exit::NotFound => "Not found",
            Exit::State => "Refused by the state of things",
            Exit::NotAllowed => "Not allowed",
            Exit::Store => "Database unusable",
        }
    }
}

impl From<RefusalClass> for Exit {
    fn from(class: RefusalClass) -> Self {
        match class {
            RefusalClass::Invalid => Exit::Invalid,
            RefusalClass::NotFound => Exit::NotFound,
            RefusalClass::State => Exit::State,
            RefusalClass::NotAllowed => Exit::NotAllowed,
        }
    }
}

/// Why a verb gave nothing.
#[derive(Debug, Error)]
pub enum CliError {
    /// The rules refuse it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The database can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The call is wrong: an option, an argument, a combination.
    #[error("{0}")]
    Usage(String),
    /// The configuration has faults.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A file or stream that was named can't be read.
    #[error("can't read {}: {source}; check the path", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The answer can't be written. A closed pipe is no fault: who reads has read enough.
    #[error("can't write the answer: {0}")]
    Output(#[from] io::Error),
    /// Something outside the rules went wrong.
    #[error("{0}")]
    Failed(String),
    /// Everything was said already; only the exit code is left.
    #[error("ended with exit code {}", .0.code())]
    Ended(Exit),
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused(refusal) => CliError::Refused(refusal),
            EngineError::Store(error) => CliError::Store(error),
        }
    }
}

impl From<ToolError> for CliError {
    fn from(error: ToolError) -> Self {
        let class = match error.class {
            ErrorClass::Invalid => RefusalClass::Invalid,
            ErrorClass::NotFound => RefusalClass::NotFound,
            ErrorClass::State => RefusalClass::State,
            ErrorClass::NotAllowed => RefusalClass::NotAllowed,
            ErrorClass::Failed | ErrorClass::Store => return CliError::Failed(error.message),
        };
        CliError::Refused(Refusal { class, code: error.code, message: error.message, detail: error.detail })
    }
}

impl CliError {
    /// How the program ends with it.
    pub fn exit(&self) -> Exit {
        match self {
            CliError::Refused(refusal) => refusal.class.into(),
            CliError::Store(_) => Exit::Store,
            CliError::Usage(_) | CliError::Config(_) | CliError::Unreadable { .. } => Exit::Invalid,
            CliError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            CliError::Output(_) | CliError::Failed(_) => Exit::Failed,
            CliError::Ended(exit) => *exit,
        }
    }

    /// The stable word for programs.
    pub fn code(&self) -> &str {
        match self {
            CliError::Refused(refusal) => refusal.code,
            CliError::Store(_) => "store_unusable",
            CliError::Usage(_) => "usage",
            CliError::Config(_) => "invalid_configuration",
            CliError::Unreadable { .. } => "unreadable",
            CliError::Output(_) => "output",
            CliError::Failed(_) => "failed",
            CliError::Ended(_) => "ended",
        }
    }

    /// What a person reads; `None` where there is nothing to say.
    pub fn text(&self) -> Option<String> {
        match self {
            CliError::Ended(_) => None,
            CliError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => None,
            error => Some(many_lines(&error.to_string())),
        }
    }

    /// The problem object (RFC 9457), with what the refusal has to say for programs as further members.
    pub fn problem(&self) -> Map<String, Value> {
        let mut problem = Map::new();
        if let CliError::Refused(refusal) = self
            && let Value::Object(detail) = &refusal.detail
        {
            problem.extend(detail.clone());
        }
        if let CliError::Config(error) = self {
            problem.insert("faults".to_owned(), json!(error.faults));
        }
        let exit = self.exit();
        problem.insert("type".to_owned(), json!(format!("urn:andon:problem:{}", self.code())));
        problem.insert("title".to_owned(), json!(exit.title()));
        problem.insert("status".to_owned(), json!(exit.http_status()));
        problem.insert("code".to_owned(), json!(self.code()));
        problem.insert("detail".to_owned(), json!(self.to_string()));
        problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TaskStatus;

    #[test]
    fn every_class_of_refusal_has_its_exit_code() {
        let code = |refusal: Refusal| CliError::from(refusal).exit().code();
        assert_eq!(code(Refusal::invalid("title", "no")), 2);
        assert_eq!(code(Refusal::not_found("task", "9")), 3);
        assert_eq!(code(Refusal::state("closed", "no")), 4);
        assert_eq!(code(Refusal::not_allowed("no")), 5);
        assert_eq!(CliError::Usage("no".into()).exit().code(), 2);
        assert_eq!(CliError::Failed("no".into()).exit().code(), 1);
        assert_eq!((Exit::Store.code(), Exit::WorkFailed.code(), Exit::WorkCancelled.code()), (6, 10, 11));
    }

    #[test]
    fn a_closed_pipe_is_no_fault_and_says_nothing() {
        let closed = CliError::Output(io::ErrorKind::BrokenPipe.into());
        assert_eq!((closed.exit(), closed.text()), (Exit::Done, None));
        assert_eq!(CliError::Output(io::ErrorKind::StorageFull.into()).exit(), Exit::Failed);
    }

    #[test]
    fn a_problem_carries_the_detail_for_programs() {
        let refusal = Refusal::illegal_transition(3, TaskStatus::Pending, TaskStatus::Success);
        let problem = CliError::from(refusal).problem();
        assert_eq!(problem["code"], "illegal_transition");
        assert_eq!(problem["status"], 409);
        assert_eq!(problem["allowed"], json!(["queued", "cancelled"]));
        assert!(problem["detail"].as_str().unwrap().contains("pending"));
    }
}
