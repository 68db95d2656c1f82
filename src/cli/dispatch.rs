//! Dispatching in this process: the engine's dispatcher with the executors of the house, for what a verb needs.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::config::Config;
use super::context::Context;
use super::error::CliError;
use super::signals::Signals;
use crate::agents::{AgentConfig, Hooks, LocalExecutors, Protocol, RegistryTools, Settings};
use crate::domain::WorkflowId;
use crate::engine::{DispatchOptions, Dispatcher, Engine};

/// How often somebody who insists on leaving is looked for.
const TICK: Duration = Duration::from_millis(50);

/// How long "at once" may take.
const AT_ONCE: Duration = Duration::from_secs(3);

/// A dispatcher of this process.
pub struct Dispatch {
    dispatcher: Arc<Dispatcher>,
    /// End with this value, after the dispatcher.
    _hooks: Option<Hooks>,
}

/// Starts dispatching: everything, or with `only` the steps of one workflow. Where another process dispatches,
/// this one stands by and takes over when that one goes.
pub fn start(context: &mut Context, engine: &Engine, only: Option<WorkflowId>) -> Result<Dispatch, CliError> {
    let registry = super::registry::of(context)?;
    let config = context.config()?;
    let configuration = context.named_config()?;
    let settings = Settings { configuration, ..agent_settings(config) };
    let mut options = config.dispatch_options();
    options.only_workflow = only;
    if let Some(parallel) = context.globals.parallel {
        options.parallel = parallel;
    }
    let tools = Arc::new(RegistryTools::new(registry, engine.clone()));
    let executors = Arc::new(LocalExecutors::new(settings, tools));
    let hooks = Hooks::start(engine, config.hooks())?;
    let dispatcher = Arc::new(Dispatcher::start(engine, executors, options)?);
    Ok(Dispatch { dispatcher, _hooks: hooks })
}

/// Starts a dispatcher that claims nothing: it recovers and repairs what it finds at once. Who starts it ends it.
pub fn idle(engine: &Engine, config: &Config) -> Result<Dispatcher, CliError> {
    let tools = Arc::new(RegistryTools::new(config.registry(), engine.clone()));
    let executors = Arc::new(LocalExecutors::new(agent_settings(config), tools));
    let options = DispatchOptions { parallel: 0, reconcile_ms: 100, ..config.dispatch_options() };
    Ok(Dispatcher::start(engine, executors, options)?)
}

/// What the configuration says about executors.
pub fn agent_settings(config: &Config) -> Settings {
    let agents = config.agents.iter().map(|(name, agent)| {
        let settings = AgentConfig {
            name: name.clone(),
            protocol: Protocol::Command,
            command: agent.command.clone(),
            parallel: agent.parallel,
            env: agent.env.clone(),
        };
        (name.clone(), settings)
    });
    Settings {
        agents: agents.collect(),
        log_cap: u64::from(config.log.cap_mib) * 1024 * 1024,
        ..Settings::default()
    }
}

impl Dispatch {
    /// The dispatcher, for who shows and ends it.
    pub fn dispatcher(&self) -> &Arc<Dispatcher> {
        &self.dispatcher
    }

    /// Stops: what runs is suspended. After a further signal without grace. False where that did
    /// not end either.
    pub fn stop_and_wait(self, signals: &Signals) -> bool {
        self.dispatcher.stop();
        self.wait(signals)
    }

    /// Claims nothing more and waits for what runs. After a further signal without grace. False where that did
    /// not end either.
    pub fn drain_and_wait(self, signals: &Signals) -> bool {
        self.dispatcher.drain();
        self.wait(signals)
    }

    /// Stops without grace. False where that did not end soon.
    pub fn end_at_once(self) -> bool {
        self.dispatcher.stop_now();
        self.joined().recv_timeout(AT_ONCE).is_ok()
    }

    /// Rings when the dispatcher has ended.
    fn joined(&self) -> Receiver<()> {
        let (ended, end) = mpsc::channel();
        let dispatcher = self.dispatcher.clone();
        thread::spawn(move || {
            dispatcher.join();
            // Nobody listens any more where a signal was faster.
            let _ = ended.send(());
        });
        end
    }

    fn wait(self, signals: &Signals) -> bool {
        let seen = signals.insisted();
        let end = self.joined();
        while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(TICK) {
            if signals.insisted() > seen {
                self.dispatcher.stop_now();
                // Killing and proving dead takes a moment; who can't be killed is left to the next dispatcher.
                return end.recv_timeout(AT_ONCE).is_ok();
            }
        }
        true
    }
}
