//! The command line: one file a verb, and the files that people write for it.

pub mod config;
pub mod workflow_file;
