//! A folder that is made for one call and removed after it.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder that only its owner may enter; dropped, it is removed with all that is in it.
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes it in the system's folder for temporary files.
    pub fn new(name: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("{name}-{:016x}", random()?));
        // Fails where the name is taken, so what is removed later is what was made here.
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It lies among temporary files: what can't be removed now is cleared away by the system.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_private_and_goes_with_its_owner() {
        let scratch = Scratch::new("andon-test").unwrap();
        let path = scratch.path().to_owned();
        std::fs::write(path.join("file"), "x").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        drop(scratch);
        assert!(!path.exists());
    }
}
