//! `$EDITOR`: a text is written to a file of its own, edited, and read back.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Opens the text in the editor and waits; gives what was left, or why there is nothing, in words.
pub fn edit(text: &str) -> Result<String, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
        .unwrap_or_else(|| "vi".to_owned());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("andon-{}-{count}.md", std::process::id()));
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("{} can't be written: {error}", path.display()))?;
    // A shell splits what the variable says, as every program that honours it does; the file is an argument.
    let status =
        Command::new("/bin/sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("andon").arg(&path).status();
    let left = match status {
        Ok(status) if status.success() => {
            fs::read_to_string(&path).map_err(|error| format!("{} can't be read: {error}", path.display()))
        }
        Ok(status) => {
            Err(format!("`{editor}` ended with {status}; nothing was changed. $EDITOR names the editor"))
        }
        Err(error) => Err(format!("`{editor}` was not started: {error}. $EDITOR names the editor")),
    };
    if let Err(error) = fs::remove_file(&path) {
        tracing::warn!(%error, path = %path.display(), "the edited file stays");
    }
    left
}
