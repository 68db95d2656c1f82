//! The board over HTTP: the real binary, real sockets.

#![expect(clippy::unwrap_used, reason = "what can't go on here fails, and says where")]

mod bad_input;
mod client;
mod contention;
mod doors;
#[expect(dead_code, reason = "the house of the command line's tests has more than is needed here")]
#[path = "../cli/house.rs"]
mod house;
mod promises;
mod stream;
mod tasks;
mod workflows;
