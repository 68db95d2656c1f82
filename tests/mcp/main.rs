//! The MCP server as its clients meet it: the real binary, JSON-RPC lines in and out, and a client that is written
//! here and knows no library.

#![expect(clippy::unwrap_used, reason = "what can't go on here fails, and says where")]

mod client;
mod faults;
mod house;
mod http;
mod inside;
mod questions;
mod resources;
mod tools;
