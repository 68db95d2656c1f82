//! What the end of a process means for its run.

use rustix::process::Signal;

use super::plan::ResultRule;
use crate::engine::Ending;
use crate::process::{Exit, Finished, Proof};

/// The ending of a run whose process has finished.
pub(super) fn ending(finished: &Finished, rule: ResultRule) -> Ending {
    let exit = &finished.exit;
    let mut ending = match exit.code {
        Some(0) => Ending::success(match rule {
            ResultRule::Head => exit.stdout_head.clone(),
            ResultRule::Tail => exit.stdout_tail.clone(),
        }),
        _ => Ending::failure(error(exit)),
    };
    ending.exit_code = exit.code;
    ending.exit_signal = exit.signal;
    if let Proof::Uncertain { pids } = &finished.proof {
        ending.survivors = pids.clone();
    }
    ending
}

/// `exit 2: the last line of stderr`, or `killed by SIGKILL: …`.
fn error(exit: &Exit) -> String {
    let how = match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by {}", signal_name(signal)),
        (None, None) => "ended, and nobody could tell how".to_owned(),
    };
    match exit.stderr_last_line.is_empty() {
        true => how,
        false => format!("{how}: {}", exit.stderr_last_line),
    }
}

/// `SIGKILL`, as people know it; the bare number where it has no name.
fn signal_name(number: i32) -> String {
    let named = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    match named.iter().find(|(signal, _)| signal.as_raw() == number) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(code: Option<i32>, signal: Option<i32>, stderr: &str) -> Finished {
        let exit = Exit {
            code,
            signal,
            stdout_head: "head".into(),
            stdout_tail: "tail".into(),
            stderr_last_line: stderr.into(),
            bytes: 8,
            log_error: None,
        };
        Finished { exit, proof: Proof::Dead { killed: 0 }, stopped: false }
    }

    #[test]
    fn a_command_gives_the_beginning_and_an_agent_the_end() {
        assert_eq!(ending(&finished(Some(0), None, "warning"), ResultRule::Head).result, "head");
        assert_eq!(ending(&finished(Some(0), None, ""), ResultRule::Tail).result, "tail");
    }

    #[test]
    fn a_failure_says_how_it_ended_and_what_it_said_last() {
        let error = |finished| ending(&finished, ResultRule::Head).error;
        assert_eq!(error(finished(Some(2), None, "no rule")), "exit 2: no rule");
        assert_eq!(error(finished(Some(2), None, "")), "exit 2");
        assert_eq!(error(finished(None, Some(9), "working")), "killed by SIGKILL: working");
        assert_eq!(error(finished(None, Some(40), "")), "killed by signal 40");
    }

    #[test]
    fn who_could_not_be_proven_dead_is_named() {
        let mut uncertain = finished(Some(0), None, "");
        uncertain.proof = Proof::Uncertain { pids: vec![7] };
        assert_eq!(ending(&uncertain, ResultRule::Head).survivors, [7]);
    }
}
