//! Ending what is left of a run whose holder died: its processes were adopted by somebody else, so they are found
//! by what was recorded and by the tag in their environment.

use std::time::{Duration, Instant};

use super::identity::Identity;
use super::stop::{Hunt, Proof, Step};
use super::tree::Scope;

/// Stops every process of a run and proves it dead: the recorded process where it still is that very one, its
/// group, its descendants, and everyone with the tag (`name`, `value`) in its environment. Blocks for the grace
/// and some seconds at most. What was started before the last boot is dead at once.
pub fn recover(identity: Option<&Identity>, tag: (&str, &str), grace: Duration) -> Proof {
    if identity.is_some_and(|identity| !identity.is_of_this_boot()) {
        return Proof::Dead { killed: 0 };
    }
    let scope = Scope { leader: identity.cloned(), tag: Some(format!("{}={}", tag.0, tag.1)), held: false };
    let mut hunt = Hunt::new(scope, Instant::now(), grace);
    loop {
        match hunt.step(Instant::now()) {
            Step::Over(proof) => return proof,
            Step::Pause(pause) => std::thread::sleep(pause),
        }
    }
}
