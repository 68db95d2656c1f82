//! The file of a session's todos, beside the database: `todos/SESSION.json`. Each change reads it, changes it and
//! puts another in its place, under the lock of a file of its own, so that several processes may do that at once
//! and a reader sees the old list or the new one.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::list::TodoList;
use crate::domain::Refusal;
use crate::domain::text::{one_line, shortened};
use crate::tools::error::ToolError;

/// The longest file that is read, in bytes; the longest list is far below.
const FILE_LIMIT: u64 = 8 * 1024 * 1024;
/// The longest name of a file, in bytes, that all file systems take together with its endings.
const NAME_LIMIT: usize = 240;

/// The todos of all sessions of a database.
#[derive(Debug, Clone)]
pub struct TodoFolder(PathBuf);

impl TodoFolder {
    /// The folder beside a database. Nothing is made before something is written.
    pub fn beside(database: &Path) -> Self {
        Self(database.parent().unwrap_or(Path::new("")).join("todos"))
    }

    /// The file of a session.
    pub fn path(&self, session: &str) -> Result<PathBuf, ToolError> {
        Ok(self.0.join(file_name(session)?))
    }

    /// The todos of a session; one that was never heard of has none.
    pub fn read(&self, session: &str) -> Result<TodoList, ToolError> {
        let path = self.path(session)?;
        let bytes = match std::fs::metadata(&path).map(|found| found.len()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(TodoList { session: session.to_owned(), items: Vec::new() });
            }
            Ok(length) if length > FILE_LIMIT => Err(io::Error::other("it is too long for a list of todos")),
            Err(error) => Err(error),
            Ok(_) => std::fs::read(&path),
        };
        let bytes = bytes.map_err(|error| unusable(&path, &error.to_string(), "correct its rights"))?;
        let mend = "mend it by hand, or move it away to begin a new list";
        let list: TodoList =
            serde_json::from_slice(&bytes).map_err(|error| unusable(&path, &error.to_string(), mend))?;
        // Where the file system does not tell letters' cases apart, another session may own the name.
        if list.session != session {
            let whose =
                format!("it is the list of the session `{}`", shortened(&one_line(&list.session), 60));
            return Err(unusable(&path, &whose, "use another name for this session"));
        }
        Ok(list)
    }

    /// Reads the todos of a session, changes them, and writes them. Once this returns `Ok`, the new list is on
    /// disk; on an error the old one still is.
    pub fn change<T>(
        &self,
        session: &str,
        change: impl FnOnce(&mut TodoList) -> Result<T, Refusal>,
    ) -> Result<T, ToolError> {
        let path = self.path(session)?;
        let failed =
            |error: io::Error| unusable(&path, &error.to_string(), "make room or correct its rights");
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(failed)?;
        // Held until the end of this call.
        let lock = self.open(".lock").map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut list = self.read(session)?;
        let given = change(&mut list)?;
        self.replace(&path, &list).map_err(failed)?;
        Ok(given)
    }

    fn replace(&self, path: &Path, list: &TodoList) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(list)?;
        text.push(b'\n');
        let mut file = self.open(".new")?;
        file.set_len(0)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(self.0.join(".new"), path)?;
        File::open(&self.0)?.sync_all()
    }

    /// A file of this folder's own housekeeping, which no session's file can be called.
    fn open(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(self.0.join(name))
    }

    /// The session that has a todo with this full id, for who may see all of them.
    pub fn session_of(&self, id: &str) -> Option<String> {
        for entry in std::fs::read_dir(&self.0).ok()?.flatten() {
            let name = entry.file_name();
            let Some(session) = name.to_str().and_then(session_of_file) else { continue };
            // One that can't be read hides nothing that anybody could be told of.
            let Ok(list) = self.read(&session) else { continue };
            if list.items.iter().any(|item| item.id == id) {
                return Some(list.session);
            }
        }
        None
    }
}

/// The name of a session's file: small letters, digits, `_`, `-` and inner dots as they are, every other byte as
/// `%XX`. So it stays in its folder, and two sessions never share one.
fn file_name(session: &str) -> Result<String, ToolError> {
    if session.trim().is_empty() {
        return Err(ToolError::invalid("invalid_session", "the session has no name; give it one"));
    }
    let mut name = String::new();
    for (at, byte) in session.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => name.push(char::from(byte)),
            b'.' if at > 0 => name.push('.'),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    if name.len() > NAME_LIMIT {
        let message = format!(
            "the name of the session is too long for a file: {} bytes where {NAME_LIMIT} fit (whatever is no \
             plain letter or digit counts three); use a shorter one",
            name.len()
        );
        return Err(ToolError::invalid("invalid_session", message));
    }
    Ok(format!("{name}.json"))
}

/// The session whose file has this name; `None` for a file that is no session's.
fn session_of_file(name: &str) -> Option<String> {
    let mut rest = name.strip_suffix(".json")?.bytes();
    let mut session = Vec::new();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                session.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            plain => session.push(plain),
        }
    }
    String::from_utf8(session).ok().filter(|session| !session.is_empty())
}

fn unusable(path: &Path, why: &str, remedy: &str) -> ToolError {
    let message =
        format!("the todos in {} can't be used ({why}); nothing was changed: {remedy}", path.display());
    ToolError::failed("todo_file", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sessions_file_stays_in_its_folder_and_is_nobody_elses() {
        let sessions =
            ["..", ".", "/etc/passwd", "a/b", "a_b", "a%2Fb", "A", "a", ".lock", ".new", "会話", "task:t_1"];
        let names: Vec<String> = sessions.iter().map(|session| file_name(session).unwrap()).collect();
        for (session, name) in sessions.iter().zip(&names) {
            assert!(!name.starts_with('.') && !name.contains('/'), "{session} {name}");
            assert_eq!(session_of_file(name).as_deref(), Some(*session));
        }
        let mut single = names.clone();
        single.sort();
        single.dedup();
        assert_eq!(single.len(), names.len());
        assert!(file_name("").is_err() && file_name(" ").is_err() && file_name(&"界".repeat(100)).is_err());
        assert_eq!(file_name("plan-1.a").unwrap(), "plan-1.a.json");
    }
}
