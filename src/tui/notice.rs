//! Notices: lines that say what happened, for a while.

use crate::domain::time::Millis;

/// How long a line stands that says what was done.
pub const SAID_FOR_MS: Millis = 4_000;
/// How long a line stands that says what went wrong.
pub const TROUBLE_FOR_MS: Millis = 12_000;

/// What kind of notice it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something was done.
    Done,
    /// Something was refused or went wrong.
    Trouble,
}

/// One notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What kind.
    pub kind: Kind,
    /// The words.
    pub text: String,
    /// When it goes.
    pub until: Millis,
}

/// The notice that stands; a newer one takes its place.
#[derive(Debug, Clone, Default)]
pub struct Notices {
    current: Option<Notice>,
}

impl Notices {
    /// Says what was done.
    pub fn say(&mut self, text: impl Into<String>, now: Millis) {
        self.current = Some(Notice { kind: Kind::Done, text: text.into(), until: now + SAID_FOR_MS });
    }

    /// Says what was refused or went wrong.
    pub fn trouble(&mut self, text: impl Into<String>, now: Millis) {
        self.current = Some(Notice { kind: Kind::Trouble, text: text.into(), until: now + TROUBLE_FOR_MS });
    }

    /// The notice that stands.
    pub fn current(&self) -> Option<&Notice> {
        self.current.as_ref()
    }

    /// Takes it away; true when there was one.
    pub fn clear(&mut self) -> bool {
        self.current.take().is_some()
    }

    /// Takes away what has stood long enough.
    pub fn expire(&mut self, now: Millis) {
        self.current.take_if(|notice| notice.until <= now);
    }
}
