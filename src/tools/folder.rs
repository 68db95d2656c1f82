//! Opening files inside one folder and nowhere else. The path is resolved first (links within the folder are
//! followed, a link that leaves is refused); then every component is opened on its own without following links,
//! so that a link put there between the check and the opening is refused too. POSIX only: openat(2), O_NOFOLLOW.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use super::error::{ErrorClass, ToolError};
use crate::domain::text::{one_line, shortened};

/// A folder that calls stay inside, and the place in it that relative paths start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Absolute, without links.
    root: PathBuf,
    /// Inside `root`, without links.
    from: PathBuf,
}

/// A file's place: its open folder, its name in it, and its path as errors show it.
#[derive(Debug)]
pub struct Place {
    /// The folder that holds it.
    pub folder: OwnedFd,
    /// Its name.
    pub name: OsString,
    /// Its path from the root of the folder.
    pub shown: String,
}

/// What to do about folders on the way that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Refuse.
    Refuse,
    /// Make them.
    Make,
}

impl Folder {
    /// A folder; relative paths start from `from` where that is inside it, else from its root.
    pub fn new(root: &Path, from: &Path) -> Result<Folder, ToolError> {
        let canonical = root.canonicalize().map_err(|error| {
            ToolError::failed(
                "no_folder",
                format!("the task's folder {} can't be opened: {error}", root.display()),
            )
        })?;
        let from = match from.canonicalize() {
            Ok(from) if from.starts_with(&canonical) => from,
            _ => canonical.clone(),
        };
        Ok(Folder { root: canonical, from })
    }

    /// Finds the place of a file inside the folder. The file itself need not exist.
    pub fn place(&self, path: &str, missing: Missing) -> Result<Place, ToolError> {
        let relative = self.resolve(path)?;
        let shown = one_line(&relative.to_string_lossy());
        let mut names: Vec<&OsStr> = relative.iter().collect();
        let Some(name) = names.pop() else {
            return Err(is_a_folder(path));
        };
        let failed = |error: Errno| from_errno(error, &shown);
        let mut folder = rustix::fs::open(&self.root, folder_flags(), Mode::empty()).map_err(failed)?;
        for part in names {
            folder = match open_folder(&folder, part) {
                Err(Errno::NOENT) if missing == Missing::Make => {
                    match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                        // Somebody else made it meanwhile: as good.
                        Ok(()) | Err(Errno::EXIST) => open_folder(&folder, part),
                        Err(error) => Err(error),
                    }
                }
                other => other,
            }
            .map_err(failed)?;
        }
        Ok(Place { folder, name: name.to_owned(), shown })
    }

    /// The path from the root, without links and `..`; what does not exist yet is kept as written.
    fn resolve(&self, path: &str) -> Result<PathBuf, ToolError> {
        if path.is_empty() || path.contains('\0') {
            return Err(ToolError::invalid("invalid_path", "a path can't be empty or hold a NUL character"));
        }
        let given = Path::new(path);
        if given.components().any(|part| part == Component::ParentDir) {
            return Err(outside(path, "`..` is not taken"));
        }
        let mut existing = self.from.join(given);
        if path.ends_with('/') {
            return Err(is_a_folder(path));
        }
        let mut missing: Vec<OsString> = Vec::new();
        let resolved = loop {
            match existing.canonicalize() {
                Ok(resolved) => break resolved,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match (existing.file_name().map(OsStr::to_owned), existing.parent()) {
                        (Some(name), Some(parent)) => {
                            missing.push(name);
                            existing = parent.to_owned();
                        }
                        _ => return Err(from_io(&error, path)),
                    }
                }
                Err(error) => return Err(from_io(&error, path)),
            }
        };
        let inside = resolved
            .strip_prefix(&self.root)
            .map_err(|_| outside(path, &format!("it leads to {}", one_line(&resolved.to_string_lossy()))))?;
        let mut relative = inside.to_owned();
        relative.extend(missing.into_iter().rev());
        Ok(relative)
    }
}

#[cfg(target_os = "linux")]
fn folder_flags() -> OFlags {
    OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

#[cfg(not(target_os = "linux"))]
fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn open_folder(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(folder, name, folder_flags(), Mode::empty())
}

fn short(path: &str) -> String {
    shortened(&one_line(path), 200)
}

fn outside(path: &str, why: &str) -> ToolError {
    ToolError::new(
        ErrorClass::NotAllowed,
        "outside_folder",
        format!("{} is outside the task's folder ({why}); name a file inside it", short(path)),
    )
}

fn is_a_folder(path: &str) -> ToolError {
    ToolError::invalid("not_a_file", format!("{} is a folder; name a file", short(path)))
}

/// The error of a system call about a file.
pub fn from_errno(error: Errno, path: &str) -> ToolError {
    from_io(&io::Error::from(error), path)
}

/// The error of reading or writing a file.
pub fn from_io(error: &io::Error, path: &str) -> ToolError {
    let path = short(path);
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) => ToolError::new(
            ErrorClass::NotFound,
            "no_such_file",
            format!("there is no file {path} in the task's folder"),
        ),
        Some(Errno::LOOP) => ToolError::new(
            ErrorClass::NotAllowed,
            "outside_folder",
            format!(
                "{path} goes over a link that leads nowhere or was just changed; links out are not followed"
            ),
        ),
        Some(Errno::NOTDIR) => {
            ToolError::invalid("not_a_file", format!("{path} goes through something that is not a folder"))
        }
        Some(Errno::ISDIR) => is_a_folder(&path),
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => ToolError::new(
            ErrorClass::NotAllowed,
            "no_permission",
            format!("{path} can't be opened: {error}"),
        ),
        _ => ToolError::failed("file_error", format!("{path}: {error}")),
    }
}
