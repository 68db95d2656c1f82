//! Whoever loses its parent inside a run becomes a child of ours, so it can be found, ended and reaped: on Linux
//! the dispatcher is a child subreaper (prctl(2)). This module knows which children we started ourselves; those
//! belong to their [`super::Child`] and are never reaped here.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A child that was started through [`super::Launch`] and not reaped yet.
#[derive(Debug, Clone, Copy)]
struct Known {
    serial: u64,
    start_ticks: u64,
}

static KNOWN: LazyLock<Mutex<HashMap<i32, Known>>> = LazyLock::new(Mutex::default);
static SERIAL: AtomicU64 = AtomicU64::new(1);

/// Read-locked while a child is being started: it exists before its number is known here. Whoever judges our
/// children takes the write lock, and so sees no child halfway.
static STARTING: RwLock<()> = RwLock::new(());

/// Makes this process the one that adopts orphans of its runs. Without effect outside Linux and when repeated.
///
/// # Errors
/// When the system refuses, as some sandboxes do; runs work then, but whoever leaves its group is not found.
pub fn install() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        linux::reap_in_background();
    }
    Ok(())
}

/// Held while a child is started and until it is [`Registration`]-ed.
pub(super) fn starting() -> RwLockReadGuard<'static, ()> {
    STARTING.read().unwrap_or_else(PoisonError::into_inner)
}

fn nobody_starting() -> RwLockWriteGuard<'static, ()> {
    STARTING.write().unwrap_or_else(PoisonError::into_inner)
}

fn known() -> MutexGuard<'static, HashMap<i32, Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that a child belongs to its [`super::Child`]; ends when it is dropped, which is after the child was
/// reaped.
#[derive(Debug)]
pub(super) struct Registration {
    pid: i32,
    serial: u64,
}

impl Registration {
    pub(super) fn new(pid: i32, start_ticks: u64) -> Self {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        known().insert(pid, Known { serial, start_ticks });
        Self { pid, serial }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut known = known();
        // The number may be a younger child's by now.
        if known.get(&self.pid).is_some_and(|entry| entry.serial == self.serial) {
            known.remove(&self.pid);
        }
    }
}

#[cfg(target_os = "linux")]
pub(super) use linux::{Children, nothing_escaped};

#[cfg(target_os = "linux")]
mod linux {
    use rustix::process::{Pid, WaitOptions, getpgrp, getpid, waitpid};
    use std::collections::HashMap;
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::sync::{LazyLock, Once, RwLockWriteGuard};
    use std::time::Duration;

    use super::super::identity::Stat;
    use super::super::tree::Processes;
    use super::{Known, known, nobody_starting};

    /// So many numbers are looked at one by one; where more were given out since the run began, all processes
    /// are looked at instead, which costs little beside what made so many.
    const FEW: i32 = 128;
    /// How often orphans that died inside a run that goes on are reaped.
    const REAP_EVERY: Duration = Duration::from_secs(10);

    /// Whether it is certain, at the cost of one or two system calls, that no process that started after `leader`
    /// was left to us. A descendant of the leader has a number that was given out after the leader's, and only
    /// few were given out while a short command ran.
    ///
    /// (The list of a thread's children in `/proc` would tell it too, but is not compiled into every kernel.)
    pub(in super::super) fn nothing_escaped(leader: i32) -> bool {
        let suspects = match suspects(leader) {
            None => return false,
            Some(suspects) => suspects,
        };
        if suspects.is_empty() {
            return true;
        }
        // Most suspects are children that another thread is starting right now.
        drop(nobody_starting());
        let known = known();
        suspects.iter().all(|pid| known.contains_key(pid))
    }

    /// Unknown children among the numbers after the leader's; `None` where those are too many.
    fn suspects(leader: i32) -> Option<Vec<i32>> {
        let last = last_pid()?;
        if last < leader || last - leader > FEW {
            return None;
        }
        let unknown: Vec<i32> = {
            let known = known();
            (leader + 1..=last).filter(|pid| !known.contains_key(pid)).collect()
        };
        let me = getpid().as_raw_pid();
        let our_group = getpgrp().as_raw_pid();
        let is_left_to_us =
            |pid: &i32| Stat::of(*pid).is_some_and(|stat| stat.parent == me && stat.group != our_group);
        Some(unknown.into_iter().filter(is_left_to_us).collect())
    }

    /// The process number that was given out last (proc(5), loadavg).
    fn last_pid() -> Option<i32> {
        static LOADAVG: LazyLock<Option<File>> = LazyLock::new(|| File::open("/proc/loadavg").ok());
        let mut text = [0; 128];
        let length = LOADAVG.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().next_back()?.parse().ok()
    }

    /// Our children at one moment, with no child halfway: no child is started while this is held.
    pub(in super::super) struct Children {
        _nobody_starting: RwLockWriteGuard<'static, ()>,
        known: HashMap<i32, Known>,
        me: i32,
        our_group: i32,
    }

    impl Children {
        /// Looks at all processes, and reaps the orphans that are dead.
        pub(in super::super) fn look() -> (Children, Processes) {
            let guard = nobody_starting();
            let processes = Processes::look();
            let children = Children {
                _nobody_starting: guard,
                known: known().clone(),
                me: getpid().as_raw_pid(),
                our_group: getpgrp().as_raw_pid(),
            };
            for stat in processes.iter().filter(|stat| stat.is_dead() && children.adopted(stat)) {
                if let Some(pid) = Pid::from_raw(stat.pid) {
                    // An error says that it is not our child any more, which is what was wanted.
                    let _ = waitpid(Some(pid), WaitOptions::NOHANG);
                }
            }
            (children, processes)
        }

        /// A child of ours that a run left to us. One in our own group was started by hand, such as an editor.
        pub(in super::super) fn adopted(&self, stat: &Stat) -> bool {
            stat.parent == self.me && stat.group != self.our_group && !self.known.contains_key(&stat.pid)
        }

        /// Whether a run other than the leader's has been going since before this process started.
        pub(in super::super) fn may_belong_to_another(&self, stat: &Stat, leader: i32) -> bool {
            self.known.iter().any(|(pid, other)| *pid != leader && other.start_ticks <= stat.start_ticks)
        }

        /// Whether this is a child that we started ourselves.
        pub(in super::super) fn started(&self, pid: i32) -> bool {
            self.known.contains_key(&pid)
        }
    }

    /// A run that goes on for days may leave thousands of dead orphans; each holds a process number until it is
    /// reaped. The end of any run reaps them, and this does where no run ends.
    pub(super) fn reap_in_background() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let reaper = std::thread::Builder::new().name("orphan-reaper".into()).spawn(|| {
                loop {
                    std::thread::sleep(REAP_EVERY);
                    if !known().is_empty() {
                        Children::look();
                    }
                }
            });
            // Without the thread dead orphans are reaped later, at the end of the next run.
            drop(reaper);
        });
    }
}
