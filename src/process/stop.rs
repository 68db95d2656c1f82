//! The one way to end processes: SIGTERM to everyone who belongs, a grace, SIGKILL, and a last look that proves
//! that nobody is left. `Hunt` decides and sends; whoever drives it only waits as long as it says.

use rustix::process::Signal;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::identity::{Identity, signal_group};
use super::tree::Scope;

/// How long processes that an ended run left behind have between SIGTERM and SIGKILL.
pub const LEFTOVER_GRACE: Duration = Duration::from_millis(500);
/// How long killed processes may take to go; one in uninterruptible sleep can take for ever.
const DEATH_LIMIT: Duration = Duration::from_secs(5);
/// The first and the longest pause between two looks. There is no notification for "the last member of a tree
/// is gone", so one looks.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// What could be proven about a tree of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// None of them runs.
    Dead {
        /// How many had to be ended for that.
        killed: u32,
    },
    /// These may belong to it, and run.
    Uncertain {
        /// Their process ids.
        pids: Vec<i32>,
    },
}

/// What the driver of a hunt does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Wait so long, then step again.
    Pause(Duration),
    /// It is over.
    Over(Proof),
}

/// Ends everyone within a scope.
#[derive(Debug)]
pub(super) struct Hunt {
    scope: Scope,
    kill_at: Instant,
    /// When SIGKILL went out first.
    killed_at: Option<Instant>,
    /// Who was found, by process id.
    known: HashMap<i32, Identity>,
    /// How many were found in all.
    count: u32,
    pause: Duration,
}

impl Hunt {
    /// Begins to end everyone within `scope`; nothing is sent before the first step.
    pub fn new(scope: Scope, now: Instant, grace: Duration) -> Self {
        Self {
            scope,
            kill_at: now.checked_add(grace).unwrap_or(now + Duration::from_secs(86_400)),
            killed_at: None,
            known: HashMap::new(),
            count: 0,
            pause: PAUSES[0],
        }
    }

    /// Shortens the grace; a longer one changes nothing.
    pub fn hasten(&mut self, now: Instant, grace: Duration) {
        if let Some(sooner) = now.checked_add(grace) {
            self.kill_at = self.kill_at.min(sooner);
        }
    }

    /// Looks, sends what is due, and says what comes next.
    pub fn step(&mut self, now: Instant) -> Step {
        self.known.retain(|_, identity| identity.still_runs());
        let turns_to_force = self.killed_at.is_none() && now >= self.kill_at;
        if turns_to_force {
            self.killed_at = Some(now);
            self.pause = PAUSES[0];
        }
        // While one that was told to go is still there, who else is there need not be known.
        if self.known.is_empty() || turns_to_force || self.scope.leader.is_none() {
            let found = self.scope.look();
            if found.is_empty() {
                return Step::Over(match found.doubtful.is_empty() {
                    true => Proof::Dead { killed: self.count },
                    false => Proof::Uncertain { pids: found.doubtful },
                });
            }
            self.tell(found.members, found.group, turns_to_force);
        }
        if self.killed_at.is_some_and(|at| now.saturating_duration_since(at) > DEATH_LIMIT) {
            return Step::Over(Proof::Uncertain { pids: self.remaining() });
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(PAUSES[1]);
        match self.killed_at {
            Some(_) => Step::Pause(pause),
            None => Step::Pause(pause.min(self.kill_at.saturating_duration_since(now))),
        }
    }

    /// Sends the signal that is due to those who did not get it yet.
    fn tell(&mut self, members: Vec<Identity>, group: Option<i32>, everyone: bool) {
        let forced = self.killed_at.is_some();
        let signal = if forced { Signal::KILL } else { Signal::TERM };
        let new: Vec<&Identity> =
            members.iter().filter(|member| everyone || !self.known.contains_key(&member.pid)).collect();
        // To the group at once, so that nobody in it can fork away between two signals. A stopped process acts
        // on SIGTERM only once it goes on.
        let group_is_told = group.is_some_and(|pgid| {
            let is_news = new.iter().any(|member| member.pgid == pgid) || members.is_empty();
            let told = is_news && signal_group(pgid, signal).unwrap_or(false);
            if told && !forced {
                // Whether it was stopped does not matter, nor whether it just went.
                let _ = signal_group(pgid, Signal::CONT);
            }
            told
        });
        for member in new {
            if !(group_is_told && Some(member.pgid) == group) {
                // Who refuses our signal is still there at the end, and then reported.
                let _ = member.signal(signal);
                if !forced {
                    // As above.
                    let _ = member.signal(Signal::CONT);
                }
            }
        }
        for member in members {
            if self.known.insert(member.pid, member).is_none() {
                self.count += 1;
            }
        }
    }

    fn remaining(&self) -> Vec<i32> {
        let mut pids: Vec<i32> = self.known.keys().copied().collect();
        pids.sort_unstable();
        pids
    }
}
