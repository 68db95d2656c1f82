//! What an agent may call: one registry for workflow steps, `andon tool`, MCP and the model loop. A tool sees
//! the domain and the engine's handle, and through them changes only what its caller may change; it knows no
//! store, no screen and no agent. Start reading at [`registry`], then [`shape`].

pub mod clarify;
pub mod context;
pub mod error;
pub mod exec;
pub mod files;
pub mod folder;
pub mod notify;
pub mod own;
pub mod params;
pub mod permission;
pub mod record;
pub mod registry;
pub mod shape;
pub mod task;
pub mod timer;
pub mod todo;
pub mod wait_for;
pub mod waiting;
pub mod web;
pub mod wire;
pub mod workflow;
pub mod workflow_file;

use serde_json::{Map, Value};
use std::path::Path;

pub use context::{Inside, ToolContext};
pub use error::{ErrorClass, ToolError};
pub use own::OwnTool;
pub use registry::{Answer, Registry, reply};
pub use shape::{Risk, Shape};
pub use waiting::Waiting;

use folder::Folder;
use params::Params;

/// The names of the tools of the house; a registry may have others beside them ([`own`]).
pub fn names() -> &'static [&'static str] {
    &[
        "exec",
        "read_file",
        "write_file",
        "clarify",
        "task",
        "workflow",
        "wait_for",
        "timer",
        "todo",
        "notify",
        "web_fetch",
    ]
}

/// Runs a step's tool that needs no engine (`read_file`, `write_file`) in the step's folder and gives its result
/// as text. `exec` and `clarify` are carried out by the room of agents, which has processes and questions;
/// `task` and `workflow` go through [`Registry::call_step`].
pub fn run_step(name: &str, params: &Map<String, Value>, folder: &Path) -> Result<String, ToolError> {
    let inside = Folder::new(folder, folder)?;
    let result = match name {
        "read_file" => files::read(&inside, &Params::read(&files::READ, params)?)?,
        "write_file" => files::write(&inside, &Params::read(&files::WRITE, params)?)?,
        _ => {
            let message =
                format!("the tool {name} needs more than a folder; it can't be run as a plain step");
            return Err(ToolError::invalid("not_a_plain_step", message));
        }
    };
    Ok(registry::as_text(name, result))
}
