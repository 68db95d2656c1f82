//! Andon: a Kanban board in the terminal that does the work on it.
//!
//! ```text
//! domain ← store ← engine ← tools ← agents ← tui, api, cli
//!                     process ←┘──────┘
//! ```
//!
//! Imports go only downward (to the left); `tests/architecture.rs` fails on any other arrow.
pub mod agents;
pub mod api;
pub mod cli;
pub mod domain;
pub mod engine;
pub mod process;
pub mod store;
pub mod tools;
pub mod tui;
