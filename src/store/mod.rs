//! The only SQL. A [`Store`] is one database file: one connection that commits groups of commands, read-only
//! connections for whoever looks, and a bell that tells other processes. What a row means is decided in
//! `domain`, when it changes in `engine`; this room only keeps it. Start reading at [`writer`] and [`pen`], then [`tasks`].

mod answers;
mod approvals;
mod bell;
mod boards;
mod cards;
mod dependencies;
mod error;
mod events;
pub(crate) mod fault;
mod findings;
mod health;
mod open;
mod pen;
mod purge;
mod queue;
mod rows;
mod runs;
mod tasks;
mod triggers;
mod turnstile;
mod waits;
mod workflows;
mod writer;

pub use answers::KeptAnswer;
pub use bell::Bell;
pub use error::{Failure, StoreError};
pub use findings::Window;
pub use health::Backup;
pub use open::{Durability, Options, SCHEMA_VERSION, is_of_a_database};
pub use purge::{Fingerprint, PurgeCursor, PurgeUnit, Remains, Removed, TaskRemains};
pub use runs::Delivery;
pub use tasks::{Page, TaskFilter};
pub use writer::{Store, Tx, View};
