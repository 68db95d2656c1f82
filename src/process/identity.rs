//! Which process is meant. A process id alone is given out again; together with the start time and the boot it
//! names one process for ever, so a signal goes out only where all of it still matches.

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;

/// One process, for ever.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The boot of the machine; empty where the system does not tell.
    pub boot_id: String,
    /// The process.
    pub pid: i32,
    /// When it started, in clock ticks since the boot; 0 where the system does not tell.
    pub start_ticks: u64,
    /// Its process group.
    pub pgid: i32,
}

/// What `/proc/PID/stat` says about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub pid: i32,
    pub state: u8,
    pub parent: i32,
    pub group: i32,
    pub start_ticks: u64,
}

impl Stat {
    /// Reads it for a process; `None` when there is no such process.
    pub fn of(pid: i32) -> Option<Stat> {
        // One read gives all of it; no line is longer.
        let mut line = [0; 1024];
        let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
        Stat::parse(pid, &line[..length])
    }

    /// The name in the second field is the program's own and may hold spaces and brackets, so the fields are
    /// counted from the last bracket on (proc(5)).
    fn parse(pid: i32, text: &[u8]) -> Option<Stat> {
        let name_end = text.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(&text[name_end + 1..]).ok()?.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // Field 22 of the whole line; state was field 3.
        let start_ticks = fields.nth(16)?.parse().ok()?;
        Some(Stat { pid, state, parent, group, start_ticks })
    }

    /// It has ended, and only its entry in the process table is left.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// The id of this boot of the machine; empty where the system does not tell.
pub fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|id| id.trim().to_owned())
            .unwrap_or_default()
    })
}

impl Identity {
    /// The identity of a process that exists; a dead one that was not reaped has one too.
    pub fn of(pid: i32) -> Option<Identity> {
        if cfg!(target_os = "linux") {
            return Stat::of(pid).map(Identity::from_stat);
        }
        let group = rustix::process::getpgid(Some(Pid::from_raw(pid)?)).ok()?;
        Some(Identity { boot_id: String::new(), pid, start_ticks: 0, pgid: group.as_raw_nonzero().get() })
    }

    pub(super) fn from_stat(stat: Stat) -> Identity {
        Identity {
            boot_id: boot_id().to_owned(),
            pid: stat.pid,
            start_ticks: stat.start_ticks,
            pgid: stat.group,
        }
    }

    /// Whether this very process exists and has not ended.
    pub fn still_runs(&self) -> bool {
        if cfg!(target_os = "linux") {
            return self.is_of_this_boot()
                && Stat::of(self.pid)
                    .is_some_and(|stat| stat.start_ticks == self.start_ticks && !stat.is_dead());
        }
        Pid::from_raw(self.pid)
            .is_some_and(|pid| !matches!(rustix::process::test_kill_process(pid), Err(Errno::SRCH)))
    }

    /// Whether it was started since the machine was last booted; if not, it can't run any more.
    pub fn is_of_this_boot(&self) -> bool {
        self.boot_id == boot_id()
    }

    /// Sends a signal to this very process. True when it went out, false when the process is not there any more
    /// (whoever has its number now gets nothing).
    ///
    /// # Errors
    /// When the system refuses, as for a process of another user.
    pub fn signal(&self, signal: Signal) -> io::Result<bool> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(false) };
        if !self.still_runs() {
            return Ok(false);
        }
        gone_is_false(self.send(pid, signal))
    }

    #[cfg(target_os = "linux")]
    fn send(&self, pid: Pid, signal: Signal) -> Result<(), Errno> {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        // The descriptor holds on to whoever has the number now; the second look makes sure who that is, and
        // the number can't change hands between that look and the signal.
        let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
            // Kernels before 5.3, and sandboxes: the window between look and signal stays open a crack.
            Err(Errno::NOSYS | Errno::PERM) => return rustix::process::kill_process(pid, signal),
            other => other?,
        };
        if !self.still_runs() {
            return Err(Errno::SRCH);
        }
        pidfd_send_signal(&descriptor, signal)
    }

    #[cfg(not(target_os = "linux"))]
    fn send(&self, pid: Pid, signal: Signal) -> Result<(), Errno> {
        rustix::process::kill_process(pid, signal)
    }
}

/// Sends a signal to a process group. The caller vouches that the number is still the group that it means.
pub(super) fn signal_group(pgid: i32, signal: Signal) -> io::Result<bool> {
    match Pid::from_raw(pgid) {
        Some(group) if pgid > 1 => gone_is_false(rustix::process::kill_process_group(group, signal)),
        _ => Ok(false),
    }
}

/// Whether a process group has members, dead ones that were not reaped included.
pub(super) fn group_exists(pgid: i32) -> bool {
    Pid::from_raw(pgid)
        .is_some_and(|group| !matches!(rustix::process::test_kill_process_group(group), Err(Errno::SRCH)))
}

fn gone_is_false(sent: Result<(), Errno>) -> io::Result<bool> {
    match sent {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let line = b"42 (a) R 1 (b) S 7 41 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 10 20";
        let stat = Stat::parse(42, line).unwrap();
        assert_eq!((stat.state, stat.parent, stat.group, stat.start_ticks), (b'S', 7, 41, 987_654));
    }

    #[test]
    fn this_very_process_runs() {
        let me = Identity::of(std::process::id().cast_signed()).unwrap();
        assert!(me.still_runs());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_with_the_same_number_but_another_start_is_another_process() {
        let mut me = Identity::of(std::process::id().cast_signed()).unwrap();
        me.start_ticks += 1;
        assert!(!me.still_runs());
        // Were it sent, this test would not live to say so.
        assert!(!me.signal(Signal::KILL).unwrap());
        me.start_ticks -= 1;
        me.boot_id = "an earlier boot".into();
        assert!(!me.signal(Signal::KILL).unwrap());
    }
}
