//! What a dispatching process tells about itself: a daemon on stderr, in lines for people or JSON lines for
//! programs; a board, whose terminal is taken, in a file.

use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::args::LogFormat;
use super::config::places;

/// How many days of a board's log are kept.
const DAYS: usize = 7;

/// Sends log lines to stderr, in colours where it takes them. `verbose`: 0 = what an operator wants to know,
/// 1 = why, 2 = everything.
pub fn to_stderr(format: LogFormat, verbose: u8, color: bool) {
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter(LevelFilter::INFO, verbose))
        .with_writer(std::io::stderr)
        .with_ansi(color);
    // Set once in a process; a second subscriber would be a programming error and changes nothing.
    let _ = match format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}

/// Sends log lines to a file a day in the state folder. Without a place for it the board goes unlogged.
pub fn to_file(verbose: u8) {
    let Some(folder) = places::state_folder() else { return };
    if places::make_private_folder(&folder).is_err() {
        return;
    }
    let file = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("andon")
        .filename_suffix("log")
        .max_log_files(DAYS)
        .build(folder);
    if let Ok(file) = file {
        // As above.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter(LevelFilter::WARN, verbose))
            .with_writer(std::sync::Mutex::new(file))
            .with_ansi(false)
            .try_init();
    }
}

fn filter(usual: LevelFilter, verbose: u8) -> EnvFilter {
    let level = match verbose {
        0 => usual,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    EnvFilter::builder().with_default_directive(level.into()).with_env_var("ANDON_LOG").from_env_lossy()
}
