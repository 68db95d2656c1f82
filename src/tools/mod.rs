//! What an agent may call: one registry for workflow steps, `andon tool`, MCP and the model loop. A tool sees
//! the domain and the engine's handle, and through them changes only what its caller may change; it knows no
//! store, no screen and no agent. Start reading at [`registry`], then [`shape`].

pub mod error;
pub mod files;
pub mod folder;
pub mod params;
pub mod shape;

use serde_json::{Map, Value};
use std::path::Path;

pub use error::{ErrorClass, ToolError};
pub use shape::{Risk, Shape};

use folder::Folder;
use params::Params;

/// The names of all tools, which are those that a workflow's step may use.
pub fn names() -> &'static [&'static str] {
    &["exec", "read_file", "write_file", "clarify", "task", "workflow"]
}

/// Runs a step's tool that needs no engine (`read_file`, `write_file`) in the step's folder and gives its result
/// as text. `exec` and `clarify` are carried out by the room of agents, which has processes and questions.
pub fn run_step(name: &str, params: &Map<String, Value>, folder: &Path) -> Result<String, ToolError> {
    let inside = Folder::new(folder, folder)?;
    match name {
        "read_file" => {
            let result = files::read(&inside, &Params::read(&files::READ, params)?)?;
            Ok(result["content"].as_str().unwrap_or_default().to_owned())
        }
        "write_file" => {
            let result = files::write(&inside, &Params::read(&files::WRITE, params)?)?;
            Ok(format!("wrote {} bytes to {}", result["bytes"], result["path"].as_str().unwrap_or_default()))
        }
        _ => Err(ToolError::invalid("unknown_tool", format!("the tool {name} can't be run as a step here"))),
    }
}
