//! Time and randomness, handed to the core, so that a simulation can own both.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::domain::time::Millis;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970, UTC.
    fn now(&self) -> Millis;
}

/// Gives random numbers for ids and jitter.
pub trait Randomness: Send + Sync {
    /// The next number.
    fn next(&self) -> u64;
}

/// The clock of the machine.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
    }
}

/// The randomness of the machine, drawn in blocks.
#[derive(Debug, Default)]
pub struct SystemRandomness {
    block: Mutex<Vec<u64>>,
}

impl Randomness for SystemRandomness {
    fn next(&self) -> u64 {
        let mut block = self.block.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = block.pop() {
            return number;
        }
        let mut bytes = [0u8; 8 * 32];
        if getrandom::fill(&mut bytes).is_err() {
            // A machine without randomness: the time and the process tell two ids apart well enough.
            let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            return (nanos as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                ^ (u64::from(std::process::id()) << 32);
        }
        block.extend(
            bytes
                .chunks_exact(8)
                .map(|c| u64::from_le_bytes([c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]])),
        );
        block.pop().unwrap_or_default()
    }
}
