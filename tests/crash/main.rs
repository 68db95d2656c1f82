//! Whatever dies, fills up or is held: real processes that are killed at any moment and at each commit and effect,
//! disks without room, databases that others hold. Nothing acknowledged is lost, nothing runs twice without leave,
//! nothing is stuck, no process stays behind.

#![expect(clippy::unwrap_used, reason = "what can't go on here fails, and says where")]

mod busy;
mod faults;
mod full;
mod house;
mod kill;
mod locks;
mod writers;
