//! The board: screens as text, keys through the real loop. `sample` has hand-made boards, `screen` draws them,
//! `table` is the real loop over a real database with a screen in memory.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails, and says where")]

mod answers;
mod keys;
mod loops;
mod pty;
mod sample;
mod screen;
mod screens;
mod table;
