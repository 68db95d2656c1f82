//! Steps that are tools without a process: carried out through the one registry of tools, as the agent of their
//! run.

use super::steps::{StepCall, StepProgram, StepReply, StepTools};
use crate::domain::Actor;
use crate::engine::Engine;
use crate::tools::own::TOOL_VARIABLE;
use crate::tools::{Inside, Registry, ToolContext, Waiting};

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
        let names = self.registry.names().into_iter();
        names.filter(|name| !["exec", "clarify", "todo"].contains(name)).map(str::to_owned).collect()
    }

    fn call(&self, call: &StepCall<'_>) -> Result<StepReply, String> {
        // The run before waited, and this one goes on with what came.
        if let ("wait_for", Some(came)) = (call.name, &call.spec.answer) {
            return Ok(StepReply::Done(came.answer.clone()));
        }
        let program = self.registry.program_of_step(call.name, call.params).map_err(|error| error.message)?;
        if let Some((tool, stdin)) = program {
            return Ok(StepReply::Program(StepProgram {
                argv: tool.command.clone(),
                stdin,
                named: [(TOOL_VARIABLE.to_owned(), tool.name.clone())].into(),
                passed: tool.env.clone(),
                limit: Some(tool.timeout),
            }));
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
            waiting: Waiting::default(),
        };
        let result = self.registry.call_step(call.name, call.params, &context);
        result.map(StepReply::Done).map_err(|error| error.message)
    }
}
