//! What the program tells about itself: a daemon on stderr, as lines for people or JSON lines for programs; the
//! board in a file.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::args::LogFormat;

/// Sends log lines to stderr, in colours where it takes them. A line that can't be written is lost: told on stderr
/// in turn, as is the custom of this crate, it would panic in the thread that watches over what runs. `verbose`: 0 = what an operator wants to know, 1 = why, 2 = everything.
pub fn to_stderr(format: LogFormat, verbose: u8, color: bool) {
    let level = match verbose {
        0 => LevelFilter::INFO,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let filter =
        EnvFilter::builder().with_default_directive(level.into()).with_env_var("ANDON_LOG").from_env_lossy();
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(color)
        .log_internal_errors(false);
    // Set once in a process; a second subscriber would be a programming error and changes nothing.
    let _ = match format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}

/// The board's own log beside the database: what would tear the screen goes here. Beyond this size the old one
/// is kept as `….1`, in bytes.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;

/// Sends log lines to a file; where that can't be written, nothing is logged, and the board works all the same.
pub fn to_file(path: &Path, verbose: u8) {
    let level = if verbose > 0 { LevelFilter::DEBUG } else { LevelFilter::INFO };
    if path.metadata().is_ok_and(|file| file.len() > FILE_LIMIT) {
        // Where the old one can't be moved, it only grows on.
        let _ = std::fs::rename(path, path.with_added_extension("1"));
    }
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    if let Ok(file) = opened {
        let filter = EnvFilter::builder()
            .with_default_directive(level.into())
            .with_env_var("ANDON_LOG")
            .from_env_lossy();
        let lines = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(false)
            .with_writer(Mutex::new(file))
            .log_internal_errors(false);
        // Set once in a process; a second subscriber would be a programming error and changes nothing.
        let _ = lines.with_target(false).try_init();
    }
}
