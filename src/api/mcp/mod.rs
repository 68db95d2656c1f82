//! The Model Context Protocol, as a server: agents find the tools of the one registry here, and the board, its
//! tasks and their logs as resources. Sees the engine's handle and the tools and decides nothing by itself. Start
//! reading at [`server`] (what is answered), then `call` (the life of one call), `ask` (how a person is asked).

mod ask;
mod call;
pub mod caller;
pub mod http;
mod lines;
mod resources;
pub mod server;
pub mod stdio;
mod watch;

pub use caller::Caller;
pub use server::{Limits, Server};
