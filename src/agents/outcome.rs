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
        _ => Ending::failure(how(exit)),
    };
    ending.exit_code = exit.code;
    ending.exit_signal = exit.signal;
    if let Proof::Uncertain { pids } = &finished.proof {
        ending.survivors = pids.clone();
    }
    ending
}

/// Why a process did not end well; `None` where it did.
pub(super) fn error_of(exit: &Exit) -> Option<String> {
    (exit.code != Some(0)).then(|| how(exit))
}

/// The last of an output, both streams in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Tail(Vec<u8>);

impl Tail {
    /// How much of an output is handed on, in characters.
    const LIMIT: usize = 4_000;

    pub fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        // Cut rarely; a character has four bytes at most.
        if self.0.len() > 16 * Self::LIMIT {
            self.0.drain(..self.0.len() - 4 * Self::LIMIT);
        }
    }

    /// The last characters, from the beginning of a line on where something is left out.
    pub fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.0);
        let text = text.trim_end();
        let Some((cut, _)) = text.char_indices().rev().nth(Self::LIMIT) else { return text.to_owned() };
        let rest = &text[cut..];
        format!("…\n{}", rest.split_once('\n').map_or(rest, |(_, lines)| lines))
    }
}

/// `exit 2: the last line of stderr`, or `killed by SIGKILL: …`.
fn how(exit: &Exit) -> String {
    let ended = match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by {}", signal_name(signal)),
        (None, None) => "ended, and nobody could tell how".to_owned(),
    };
    match exit.stderr_last_line.is_empty() {
        true => ended,
        false => format!("{ended}: {}", exit.stderr_last_line),
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
    fn of_a_long_output_the_last_whole_lines_are_handed_on() {
        let mut tail = Tail::default();
        tail.add(b"short\n\n");
        assert_eq!(tail.text(), "short");
        for line in 0..20_000 {
            tail.add(format!("line {line} \u{754c}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.starts_with("…\nline ") && text.ends_with("line 19999 \u{754c}"), "{text}");
        assert!((3_900..=4_002).contains(&text.chars().count()), "{}", text.chars().count());
    }

    #[test]
    fn who_could_not_be_proven_dead_is_named() {
        let mut uncertain = finished(Some(0), None, "");
        uncertain.proof = Proof::Uncertain { pids: vec![7] };
        assert_eq!(ending(&uncertain, ResultRule::Head).survivors, [7]);
    }
}
