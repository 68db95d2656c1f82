//! Chance and time, owned by the simulation: a seed gives the same story again.

use andon::engine::clock::{Clock, Randomness};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A small generator whose whole state is its seed.
pub struct Dice(pub AtomicU64);

impl Dice {
    pub fn roll(&self) -> u64 {
        let mut x =
            self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// 0 to n - 1.
    pub fn below(&self, n: usize) -> usize {
        (self.roll() % n.max(1) as u64) as usize
    }

    pub fn one_in(&self, n: u64) -> bool {
        self.roll().is_multiple_of(n)
    }

    pub fn pick<'a, T>(&self, list: &'a [T]) -> Option<&'a T> {
        if list.is_empty() { None } else { Some(&list[self.below(list.len())]) }
    }
}

impl Randomness for Dice {
    fn next(&self) -> u64 {
        self.roll()
    }
}

/// A clock that stands still until it is moved.
pub struct FakeClock(pub AtomicI64);

impl Clock for FakeClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}
