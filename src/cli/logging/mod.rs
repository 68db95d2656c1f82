//! What the program tells about itself: a daemon on stderr, as lines for people or JSON lines for programs; the
//! board in a file.

mod repeats;

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;
use tracing_subscriber::filter::{EnvFilter, FilterExt, LevelFilter};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::prelude::*;

use self::repeats::Repeats;
use super::args::LogFormat;

/// Sends log lines to stderr, in colours where it takes them. A line that can't be written is lost: told on stderr
/// in turn, as is the custom of this crate, it would panic in the thread that watches over what runs. `verbose`: 0 = what an operator wants to know, 1 = why, 2 = everything.
pub fn to_stderr(format: LogFormat, verbose: u8, color: bool) {
    let level = match verbose {
        0 => LevelFilter::INFO,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let filter = chosen(level).and(Repeats::default());
    let lines = layer().with_writer(std::io::stderr).with_ansi(color).log_internal_errors(false);
    // Set once in a process; a second subscriber would be a programming error and changes nothing.
    let _ = match format {
        LogFormat::Text => {
            tracing_subscriber::registry().with(lines.with_target(false).with_filter(filter)).try_init()
        }
        LogFormat::Json => tracing_subscriber::registry()
            .with(lines.json().flatten_event(true).with_filter(filter))
            .try_init(),
    };
}

/// What is told: from this level on, or what ANDON_LOG says.
fn chosen(level: LevelFilter) -> EnvFilter {
    let filter =
        EnvFilter::builder().with_default_directive(level.into()).with_env_var("ANDON_LOG").from_env_lossy();
    // The library behind MCP tells of every session and message; an operator wants to know of its faults only.
    match ("rmcp=warn".parse(), level) {
        (Ok(quiet), LevelFilter::INFO) => filter.add_directive(quiet),
        _ => filter,
    }
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
        let lines = layer()
            .with_ansi(false)
            .with_target(false)
            .with_writer(Mutex::new(file))
            .log_internal_errors(false)
            .with_filter(chosen(level).and(Repeats::default()));
        // Set once in a process; a second subscriber would be a programming error and changes nothing.
        let _ = tracing_subscriber::registry().with(lines).try_init();
    }
}
