//! Andon: a Kanban board in the terminal that does the work on it.
pub mod domain;
