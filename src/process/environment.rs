//! The environment of a process that we start: cleared, then what an allow-list lets through from our own, then
//! what the run names. A key that lies about in our environment reaches nobody who was not meant to have it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Variables that every process gets from us.
pub const ALLOWED: [&str; 11] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "SSH_AUTH_SOCK"];
/// Beginnings of names that every process gets from us.
pub const ALLOWED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// The most bytes that one variable may have, its name included: Linux refuses to start a program with a string
/// of 128 KiB or more (execve(2), MAX_ARG_STRLEN).
const STRING_LIMIT: usize = 120 * 1024;

/// A complete environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// What the allow-list lets through from our own environment.
    pub fn allowed() -> Self {
        Self::allowed_from(std::env::vars_os())
    }

    /// What the allow-list lets through from these variables.
    pub fn allowed_from(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().filter(|(name, _)| is_allowed(name)).collect() }
    }

    /// Sets a variable. NUL characters, which no environment can hold, are left out, and a value that the system
    /// would refuse for its length is cut at a character.
    pub fn set(&mut self, name: &str, value: impl AsRef<str>) -> &mut Self {
        let mut value = value.as_ref().replace('\0', "");
        let mut end = value.len().min(STRING_LIMIT.saturating_sub(name.len()));
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        value.truncate(end);
        self.set_os(name, value)
    }

    /// Sets a variable to something that need not be text, such as a path.
    pub fn set_os(&mut self, name: &str, value: impl Into<OsString>) -> &mut Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Passes a variable of our own; without effect where we don't have it.
    pub fn pass(&mut self, name: &str) -> &mut Self {
        if let Some(value) = std::env::var_os(name) {
            self.set_os(name, value);
        }
        self
    }

    /// A variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// All of it.
    pub fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.variables.iter()
    }
}

fn is_allowed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        ALLOWED.contains(&name) || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_passed_and_the_language_is() {
        let ours = [("PATH", "/bin"), ("API_KEY", "secret"), ("LC_ALL", "C"), ("XDG_RUNTIME_DIR", "/run")];
        let environment = Environment::allowed_from(ours.map(|(name, value)| (name.into(), value.into())));
        let names: Vec<_> = environment.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["LC_ALL", "PATH", "XDG_RUNTIME_DIR"]);
    }

    #[test]
    fn a_value_that_no_program_could_be_started_with_is_cut_between_characters() {
        let mut environment = Environment::default();
        environment.set("TEXT", format!("a\0{}", "界".repeat(100_000)));
        let value = environment.get("TEXT").unwrap().to_str().unwrap();
        assert!(value.len() < 128 * 1024 && value.starts_with("a界") && value.ends_with('界'));
    }
}
