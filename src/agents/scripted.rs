//! An agent that does what a script says, for tests and the demo: it talks, asks, hangs, floods, forks, crashes.
//! It is a real program, a mode of `andon` itself: `andon scripted-agent LINE…`.
//!
//! | line | what it does |
//! | --- | --- |
//! | `say TEXT`, `err TEXT` | a line on stdout, on stderr |
//! | `env NAME` | the value of a variable on stdout |
//! | `write FILE TEXT` | a file with one line |
//! | `sleep MS` | waits |
//! | `ask QUESTION \| OPTION \| …` | prints the answer where the run has one; else asks through `andon tool` and ends |
//! | `cjk`, `emoji`, `garbage` | wide text, emoji, bytes that are no text |
//! | `flood BYTES` | so many bytes in numbered lines |
//! | `fork` | leaves a process in the background that holds the output open |
//! | `daemon` | leaves one that left group and session |
//! | `hang`, `stubborn` | never ends; ignores SIGTERM besides |
//! | `once-fail FILE` | fails the first time, that is, while there is no such file, which it makes |
//! | `fail N` | ends with exit code N |
//! | `crash` | ends by SIGABRT |

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The argument by which `andon` becomes this agent.
pub const MODE: &str = "scripted-agent";

/// Does what the lines of a script say, and gives the exit code: 0 at its end, 2 for a line that says nothing.
pub fn run(script: &str) -> i32 {
    let mut actor = Actor { out: io::stdout(), err: io::stderr() };
    // An error says that whoever read our output went away; nobody is left to be told.
    actor.perform(script).unwrap_or(1)
}

struct Actor<O, E> {
    out: O,
    err: E,
}

impl<O: Write, E: Write> Actor<O, E> {
    fn perform(&mut self, script: &str) -> io::Result<i32> {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
            if let Some(code) = self.act(verb, rest.trim())? {
                return Ok(code);
            }
        }
        Ok(0)
    }

    /// Carries out one line; gives the exit code where it is the last.
    fn act(&mut self, verb: &str, rest: &str) -> io::Result<Option<i32>> {
        match verb {
            "say" => self.say(rest)?,
            "err" => writeln!(self.err, "{rest}")?,
            "env" => self.say(&std::env::var(rest).unwrap_or_default())?,
            "write" => {
                let (file, text) = rest.split_once(' ').unwrap_or((rest, ""));
                std::fs::write(file, format!("{text}\n"))?;
            }
            "sleep" => match rest.parse() {
                Ok(milliseconds) => std::thread::sleep(Duration::from_millis(milliseconds)),
                Err(_) => return self.nonsense("sleep needs a number of milliseconds"),
            },
            "ask" => return self.ask(rest),
            "cjk" => self.say("漢字かな交じり文と한국어를 한 줄에，全角标点也在内。")?,
            "emoji" => self.say("🏮 🧑‍🔧 👍🏽 🇯🇵 ✅ ⚠️ e\u{301}")?,
            "garbage" => {
                self.out.write_all(b"\xff\xfe\x80 \x1b[2J\x1b]0;title\x07 \xe6\xbc\n")?;
                self.out.flush()?;
            }
            "flood" => match rest.parse() {
                Ok(bytes) => self.flood(bytes)?,
                Err(_) => return self.nonsense("flood needs a number of bytes"),
            },
            "fork" => drop(myself("hang").spawn()?),
            "daemon" => _ = myself("detach").stdout(Stdio::null()).stderr(Stdio::null()).status()?,
            // The other half of `daemon`: a process between that goes at once.
            "detach" => {
                leave_the_session()?;
                drop(myself("hang").spawn()?);
            }
            "hang" => hang(),
            "stubborn" => ignore_sigterm_for_ever()?,
            "once-fail" => return self.once_fail(Path::new(rest)),
            "fail" => return Ok(Some(rest.parse().unwrap_or(1))),
            "crash" => std::process::abort(),
            _ => return self.nonsense(&format!("`{verb}` is no line of a script")),
        }
        Ok(None)
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    fn nonsense(&mut self, why: &str) -> io::Result<Option<i32>> {
        writeln!(self.err, "{why}")?;
        Ok(Some(2))
    }

    fn ask(&mut self, line: &str) -> io::Result<Option<i32>> {
        if let Ok(answer) = std::env::var("ANDON_ANSWER") {
            self.say(&format!("the answer is: {answer}"))?;
            return Ok(None);
        }
        let mut parts = line.split('|').map(str::trim);
        let question = parts.next().unwrap_or_default();
        let options: Vec<&str> = parts.collect();
        // We end instead of waiting, so the answer comes with the next run.
        let call =
            serde_json::json!({ "tool": "clarify", "question": question, "options": options, "wait": false });
        let status =
            Command::new(program()).arg("tool").arg(call.to_string()).stdin(Stdio::null()).status()?;
        Ok(Some(status.code().unwrap_or(1)))
    }

    fn flood(&mut self, bytes: u64) -> io::Result<()> {
        let mut left = bytes;
        for number in 0u64.. {
            let line = format!("{number:015}\n");
            if left < line.len() as u64 {
                break;
            }
            self.out.write_all(line.as_bytes())?;
            left -= line.len() as u64;
        }
        self.out.write_all(&vec![b'.'; usize::try_from(left).unwrap_or(0)])?;
        self.out.flush()
    }

    fn once_fail(&mut self, file: &Path) -> io::Result<Option<i32>> {
        if file.exists() {
            return Ok(None);
        }
        std::fs::write(file, "failed once\n")?;
        writeln!(self.err, "this fails the first time")?;
        Ok(Some(1))
    }
}

/// The program that we are a mode of; another one where `ANDON_BIN` says so.
fn program() -> OsString {
    std::env::var_os("ANDON_BIN")
        .or_else(|| Some(std::env::current_exe().ok()?.into_os_string()))
        .unwrap_or_else(|| "andon".into())
}

fn myself(line: &str) -> Command {
    let mut command = Command::new(program());
    command.args([MODE, line]).stdin(Stdio::null());
    command
}

fn hang() {
    loop {
        std::thread::park();
    }
}

fn leave_the_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

fn ignore_sigterm_for_ever() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        loop {
            terminate.recv().await;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn perform(script: &str) -> (i32, Vec<u8>, String) {
        let mut actor = Actor { out: Vec::new(), err: Vec::new() };
        let code = actor.perform(script).unwrap();
        (code, actor.out, String::from_utf8(actor.err).unwrap())
    }

    #[test]
    fn lines_are_done_in_order_until_one_ends_it() {
        let (code, out, err) = perform("say one\n\n  err two\nfail 7\nsay never");
        assert_eq!((code, out, err), (7, b"one\n".to_vec(), "two\n".to_owned()));
        assert_eq!(perform("say hello  world").0, 0);
    }

    #[test]
    fn a_flood_has_exactly_the_bytes_that_were_asked_for() {
        for bytes in [0, 5, 16, 1_000_003] {
            assert_eq!(perform(&format!("flood {bytes}")).1.len(), bytes);
        }
    }

    #[test]
    fn garbage_is_no_text() {
        assert!(String::from_utf8(perform("garbage").1).is_err());
        assert!(String::from_utf8(perform("cjk\nemoji").1).is_ok());
    }

    #[test]
    fn a_line_that_says_nothing_is_told() {
        let (code, _, err) = perform("dance");
        assert_eq!(code, 2);
        assert!(err.contains("`dance`"), "{err}");
        assert_eq!(perform("sleep long").0, 2);
    }

    #[test]
    fn what_fails_once_works_the_second_time() {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("once-fail {}\nsay fine", folder.path().join("mark").display());
        assert_eq!(perform(&script).0, 1);
        assert_eq!(perform(&script), (0, b"fine\n".to_vec(), String::new()));
    }
}
