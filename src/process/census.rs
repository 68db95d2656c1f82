//! Who runs on this machine with a tag of ours in its environment, whoever started it and whatever became of that.
//! Only Linux tells; elsewhere the answer is nobody.

use std::ffi::OsString;

use super::identity::Identity;

/// A process with the tag.
#[derive(Debug, Clone)]
pub struct Tagged {
    /// Which process.
    pub identity: Identity,
    /// The value of the tag.
    pub value: String,
    environ: Vec<u8>,
}

impl Tagged {
    /// Another variable of its environment, as it was when it was started.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        variable(&self.environ, name)
    }
}

fn variable(environ: &[u8], name: &str) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;
    let found = environ
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(OsString::from_vec(found.to_vec()))
}

/// All processes that carry `tag` in their environment, but for this one and those above it. Processes of other users
/// can't be looked into and are passed over.
#[cfg(target_os = "linux")]
pub fn tagged(tag: &str) -> Vec<Tagged> {
    use super::identity::Stat;
    let mut ourselves = Vec::new();
    let mut pid = std::process::id().cast_signed();
    while let Some(stat) = Stat::of(pid).filter(|stat| stat.pid > 0 && !ourselves.contains(&stat.pid)) {
        ourselves.push(stat.pid);
        pid = stat.parent;
    }
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let others = pids.filter(|pid| !ourselves.contains(pid));
    others
        .filter_map(|pid| {
            let identity = Identity::of(pid)?;
            let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
            let value = variable(&environ, tag)?.to_string_lossy().into_owned();
            Some(Tagged { identity, value, environ })
        })
        .collect()
}

/// All processes that carry `tag` in their environment; nobody can tell here.
#[cfg(not(target_os = "linux"))]
pub fn tagged(_tag: &str) -> Vec<Tagged> {
    Vec::new()
}
