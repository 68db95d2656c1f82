//! Where the program's own files are, after the XDG Base Directory specification.

use etcetera::BaseStrategy;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The configuration file: the named one, else the usual one. `None` where no home folder is known.
pub fn config_file(named: Option<&Path>) -> Option<PathBuf> {
    match named {
        Some(path) if !path.as_os_str().is_empty() => Some(path.to_owned()),
        _ => Some(base()?.config_dir().join("andon").join("config.toml")),
    }
}

/// The folder for data. `None` where no home folder is known.
pub fn data_folder() -> Option<PathBuf> {
    Some(base()?.data_dir().join("andon"))
}

/// The database: the named one, else the usual one. `None` where no home folder is known.
pub fn database(named: Option<&Path>) -> Option<PathBuf> {
    match named {
        Some(path) if !path.as_os_str().is_empty() => Some(path.to_owned()),
        _ => Some(data_folder()?.join("andon.db")),
    }
}

/// Makes a folder that only its owner may look into, with those above it. One that is there stays as it is:
/// somebody else chose its permissions.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn base() -> Option<impl BaseStrategy> {
    etcetera::base_strategy::choose_base_strategy().ok()
}
