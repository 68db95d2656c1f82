//! Who carries out runs: command lines, tool steps and agents, each as processes of this machine, behind the
//! engine's trait [`crate::engine::Executors`]; and the hooks, commands that hear of events. Knows domain, the engine's outside and `process`; knows no store
//! and writes nothing to the board but reports. Start reading at [`local`], then `plan` (what a spec
//! means) and `outcome` (what an exit means).

pub mod hooks;
pub mod leftover;
pub mod local;
mod outcome;
mod papers;
mod plan;
pub mod preflight;
mod registry;
pub mod scripted;
pub mod settings;
pub mod steps;
mod variables;

/// For faces, which hand over paths of logs and ask whether they are inside a run, and see no other process.
pub use crate::process::{inside, log};
pub use hooks::{Hook, Hooks};
pub use local::LocalExecutors;
pub use registry::RegistryTools;
pub use settings::{AgentConfig, Protocol, Settings};
pub use steps::{NoTools, StepCall, StepProgram, StepReply, StepTools};
