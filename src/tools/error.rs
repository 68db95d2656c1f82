//! Why a tool gave nothing: a class for the exit code, a stable code for programs, words for people.

use serde_json::{Value, json};
use thiserror::Error;

use crate::domain::Refusal;
use crate::domain::refusal::RefusalClass;
use crate::engine::EngineError;

/// What kind of error it is; decides the exit code of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// The tool ran and what it was asked to do went wrong.
    Failed,
    /// The call itself is wrong.
    Invalid,
    /// Nothing has that name.
    NotFound,
    /// The state of things does not allow it.
    State,
    /// The caller may not do it.
    NotAllowed,
    /// The database can't be used.
    Store,
}

impl ErrorClass {
    /// The exit code that goes with it.
    pub fn exit_code(self) -> u8 {
        match self {
            ErrorClass::Failed => 1,
            ErrorClass::Invalid => 2,
            ErrorClass::NotFound => 3,
            ErrorClass::State => 4,
            ErrorClass::NotAllowed => 5,
            ErrorClass::Store => 6,
        }
    }
}

/// A tool's error.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{message}")]
pub struct ToolError {
    /// What kind it is.
    pub class: ErrorClass,
    /// A stable word for programs, such as `unknown_field`.
    pub code: &'static str,
    /// What happened, why, and what to do.
    pub message: String,
    /// More for programs; `Null` where there is nothing more.
    pub detail: Value,
}

impl ToolError {
    /// An error of a class, with its code.
    pub fn new(class: ErrorClass, code: &'static str, message: impl Into<String>) -> Self {
        Self { class, code, message: message.into(), detail: Value::Null }
    }

    /// A call that can't be taken.
    pub fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Invalid, code, message)
    }

    /// Work that went wrong.
    pub fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Failed, code, message)
    }

    /// Adds detail for programs.
    pub fn with_detail(mut self, detail: Value) -> Self {
        self.detail = detail;
        self
    }

    /// The error as it stands in a reply.
    pub fn to_json(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if !self.detail.is_null() {
            error["detail"] = self.detail.clone();
        }
        error
    }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        let class = match refusal.class {
            RefusalClass::Invalid => ErrorClass::Invalid,
            RefusalClass::NotFound => ErrorClass::NotFound,
            RefusalClass::State => ErrorClass::State,
            RefusalClass::NotAllowed => ErrorClass::NotAllowed,
        };
        Self { class, code: refusal.code, message: refusal.message, detail: refusal.detail }
    }
}

impl From<EngineError> for ToolError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused(refusal) => refusal.into(),
            EngineError::Store(store) => Self::new(ErrorClass::Store, "store_unusable", store.to_string()),
        }
    }
}
