//! The server for one client, on standard input and output. It ends with its input, or when it is told to.

use rmcp::ServiceExt;
use std::io;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::caller::Caller;
use super::lines::Lines;
use super::server::{Limits, Server};
use crate::engine::Engine;
use crate::tools::Registry;

/// How long calls that can't be interrupted keep the process when its client has gone.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Serves until stdin is closed, or SIGTERM or ctrl-c comes. stdout carries the protocol and nothing else.
///
/// # Errors
/// When there is no runtime or no thread to serve on.
pub fn serve(engine: Engine, registry: Registry, caller: Caller, limits: Limits) -> io::Result<()> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let served = runtime.block_on(until_gone(engine, registry, caller, limits));
    runtime.shutdown_timeout(LAST_WORDS);
    served
}

async fn until_gone(engine: Engine, registry: Registry, caller: Caller, limits: Limits) -> io::Result<()> {
    let (leave, mut gone) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let told_to_end = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    tokio::pin!(told_to_end);
    let lines = Lines::of_this_process(leave.clone())?;
    let server = Server::for_one(engine, registry, caller, limits, gone.clone());
    let service = tokio::select! {
        begun = server.serve(lines) => begun,
        () = &mut told_to_end => return Ok(()),
    };
    let service = match service {
        Ok(service) => service,
        Err(error) => {
            tracing::debug!(%error, "the client left before it began");
            return Ok(());
        }
    };
    let end = service.cancellation_token();
    let served = service.waiting();
    tokio::pin!(served);
    tokio::select! {
        // However it ended, there is nothing left to serve.
        _ = &mut served => return Ok(()),
        // An error means the same: nobody is there any more.
        _ = gone.wait_for(|gone| *gone) => {}
        () = &mut told_to_end => {
            leave.send_replace(true);
            end.cancel();
        }
    }
    // What goes on is interrupted by that, and answered where the client still reads. One that reads no more must
    // not keep the process.
    if tokio::time::timeout(LAST_WORDS, served).await.is_err() {
        tracing::debug!("the client reads no answers");
    }
    Ok(())
}
