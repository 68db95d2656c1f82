//! What a daemon tells about itself, on stderr: lines for people or JSON lines for programs.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::args::LogFormat;

/// Sends log lines to stderr. `verbose`: 0 = what an operator wants to know, 1 = why, 2 = everything.
pub fn to_stderr(format: LogFormat, verbose: u8) {
    let level = match verbose {
        0 => LevelFilter::INFO,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let filter =
        EnvFilter::builder().with_default_directive(level.into()).with_env_var("ANDON_LOG").from_env_lossy();
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Set once in a process; a second subscriber would be a programming error and changes nothing.
    let _ = match format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
