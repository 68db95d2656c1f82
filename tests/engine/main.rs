//! The engine as a face meets it: commands and reads over a real database, with a dispatcher whose executor is a
//! fake that the test plays by hand.

#![expect(clippy::unwrap_used, reason = "what can't go on here fails, and says where")]

mod approvals;
mod boards;
mod clockwork;
mod damaged;
mod fake;
mod lessons;
mod lifecycle;
mod properties;
mod questions;
mod reconciler;
mod recovery;
mod store;
mod waits;
mod workflows;
