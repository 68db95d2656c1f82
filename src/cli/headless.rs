//! `andon --headless`: dispatches without a screen until it is told to stop.

use std::time::Duration;

use super::args::Serve;
use super::context::Context;
use super::error::{CliError, Exit};
use super::{dispatch, http, logging, signals};

/// Serves until SIGTERM or ctrl-c; then what runs is suspended, or with `--drain` waited for.
pub fn run(context: &mut Context, serve: &Serve) -> Result<Exit, CliError> {
    let signals = signals::watch().map_err(|e| CliError::Failed(format!("can't watch for signals: {e}")))?;
    logging::to_stderr(serve.log_format, context.globals.verbose, context.out.has_color_errors());
    let engine = context.engine()?;
    let dispatcher = dispatch::start(context, &engine, None)?;
    tracing::info!(database = %engine.path().display(), "serving");
    let server = match http::serve(context, &engine, true) {
        Ok(server) => server,
        Err(error) => {
            dispatcher.stop_and_wait(&signals);
            return Err(error);
        }
    };
    let ready = match &server {
        Some(server) => format!("ready {}", server.url()),
        None => "ready -".to_owned(),
    };
    match context.out.line(ready).and_then(|()| context.out.flush()) {
        // Nobody needs to read that line for the work to be done.
        Err(CliError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        told => told?,
    }
    while signals.wait(0, Duration::from_secs(3_600)) == 0 {}
    if let Some(server) = server {
        server.stop();
    }
    let ended = match serve.drain {
        true => {
            tracing::info!("waiting for what runs; a second signal ends at once");
            dispatcher.drain_and_wait(&signals)
        }
        false => {
            tracing::info!("stopping; what runs is suspended");
            dispatcher.stop_and_wait(&signals)
        }
    };
    tracing::info!(clean = ended, "stopped");
    Ok(if ended { Exit::Done } else { Exit::Failed })
}
