//! Steps that are tools without a process: carried out through the one registry of tools, as the agent of their
//! run.

use super::steps::{StepCall, StepReply, StepTools};
use crate::domain::Actor;
use crate::engine::Engine;
use crate::tools::{Inside, Registry, ToolContext, names};

/// The tools of the house, for steps.
pub struct RegistryTools {
    registry: Registry,
    engine: Engine,
}

impl RegistryTools {
    /// These tools over this engine.
    pub fn new(registry: Registry, engine: Engine) -> Self {
        Self { registry, engine }
    }
}

impl StepTools for RegistryTools {
    fn names(&self) -> Vec<String> {
        names()
            .iter()
            .filter(|name| !["exec", "clarify"].contains(name))
            .map(|name| (*name).to_owned())
            .collect()
    }

    fn call(&self, call: &StepCall<'_>) -> Result<StepReply, String> {
        // The run before waited, and this one goes on with what came.
        if let ("wait_for", Some(came)) = (call.name, &call.spec.answer) {
            return Ok(StepReply::Done(came.answer.clone()));
        }
        let cwd = match call.folder {
            Some(folder) => folder.to_owned(),
            None => std::env::current_dir()
                .map_err(|error| format!("the dispatcher's folder is gone: {error}"))?,
        };
        let context = ToolContext {
            engine: self.engine.clone(),
            actor: Actor::Agent {
                run: call.spec.run.clone(),
                task: call.spec.task.clone(),
                name: format!("step {}", call.spec.seq),
            },
            inside: Some(Inside { run: call.spec.run.clone(), task: call.spec.task.clone() }),
            cwd,
            session: Some(call.spec.session.clone()),
            board: Some(call.spec.board.clone()),
        };
        let result = self.registry.call_step(call.name, call.params, &context);
        result.map(StepReply::Done).map_err(|error| error.message)
    }
}
