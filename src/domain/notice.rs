//! A notice: one line that somebody wants a person to see, with nothing to be done about it.

use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use super::status::wire_enum;
use super::text::{self, TEXT_LIMIT, one_line};

/// How loud a notice is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum NoticeLevel {
    /// Good to know.
    #[default]
    Info,
    /// Better looked at.
    Warning,
    /// Something is wrong.
    Error,
}

wire_enum!(NoticeLevel { Info = "info", Warning = "warning", Error = "error" });

/// What somebody wants a person to see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// One line.
    pub title: String,
    /// Any text; may be empty.
    pub message: String,
    /// How loud it is.
    pub level: NoticeLevel,
}

impl Notice {
    /// The same with its texts checked: a title of one line, a message that is not too long.
    pub fn checked(self) -> Result<Notice, Refusal> {
        let title = one_line(&text::title(&self.title)?);
        let message = text::limited("message", self.message.trim(), TEXT_LIMIT)?;
        Ok(Notice { title, message, ..self })
    }
}
