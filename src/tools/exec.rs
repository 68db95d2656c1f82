//! The tool `exec`, called directly: runs a program in the caller's own process group and waits for it. (As a
//! workflow's step it is carried out by the room of agents, with a log, a tree to stop and a slot.) When a caller
//! that may leave has left, the program is ended with everything that it started.

use serde_json::{Value, json};
use std::io::{ErrorKind, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

use super::error::{ErrorClass, ToolError};
use super::params::Params;
use super::shape::{Action, Field, Kind, Risk, Shape};
use super::waiting::Waiting;
use crate::domain::Program;
use crate::domain::text::{one_line, shortened};
use crate::process;

/// The most of each output that is given back, in bytes; the rest is read and dropped.
pub const OUTPUT_LIMIT: usize = 64 * 1024;
/// How long output is still awaited once the program has ended; a child in the background may keep the pipe open.
const DRAIN: Duration = Duration::from_millis(500);

/// `exec`
pub const EXEC: Shape = Shape {
    name: "exec",
    about: "Runs a program and gives back exit_code, stdout and stderr (the first 64 KiB of each). An exit code \
            other than 0 is an error.",
    risk: Risk::Exec,
    fields: &[
        Field {
            name: "command",
            kind: Kind::Command,
            about: "a line for /bin/sh -c, or a list of program and arguments",
        },
        Field { name: "cwd", kind: Kind::Text, about: "the folder it runs in; the caller's unless given" },
        Field { name: "env", kind: Kind::Environment, about: "environment on top of the caller's" },
    ],
    actions: &[Action { name: "", about: "", needs: &["command"], takes: &["cwd", "env"] }],
};

/// How long a program goes on when its caller has left: what is nearly done gets done.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long it then has between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
/// The variable by which everyone that comes from one call is known again.
const CALL_VARIABLE: &str = "ANDON_CALL_ID";

/// Runs the program in the caller's folder, or in the one that the call names from there, and waits for its end.
pub fn call(folder: &Path, waiting: &Waiting, params: &Params) -> Result<Value, ToolError> {
    let Some(program) = params.command("command") else {
        return Err(ToolError::invalid("invalid_params", "exec needs a `command`"));
    };
    let mut command = prepared(&program);
    command.current_dir(folder.join(params.text_or_empty("cwd")));
    for (name, value) in params.environment("env") {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(ToolError::invalid("invalid_params", "a name in `env` can't be empty or hold `=`"));
        }
        // A name without a value passes the caller's own, which is inherited anyway.
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let tag = waiting.may_be_left().then(|| format!("{:016x}", getrandom::u64().unwrap_or_default()));
    if let Some(tag) = &tag {
        command.env(CALL_VARIABLE, tag);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| not_started(&program, &error))?;
    let (done, ended) = channel();
    let stdout = captured(child.stdout.take(), done.clone());
    let stderr = captured(child.stderr.take(), done);
    let watched = tag.map(|tag| Watched::over(tag, waiting.clone()));
    let status = child.wait();
    drop(watched);
    let status =
        status.map_err(|error| ToolError::failed("exec_failed", format!("{}: {error}", shown(&program))))?;
    let until = Instant::now() + DRAIN;
    // Either both readers say that they are through, or the time is over; both are as good.
    while ended.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok() {}
    result(&program, status, &stdout, &stderr)
}

/// Looks out for a caller that leaves, as long as it is not dropped.
struct Watched {
    _over: oneshot::Sender<()>,
}

impl Watched {
    /// Ends everyone with this tag once the caller has left.
    fn over(tag: String, waiting: Waiting) -> Self {
        let (over, is_over) = oneshot::channel();
        std::thread::spawn(move || {
            let (mut is_over, left) = waiting.left_before(is_over);
            if !left {
                return;
            }
            std::thread::sleep(LAST_WORDS);
            if matches!(is_over.try_recv(), Err(oneshot::error::TryRecvError::Empty)) {
                // Whoever could not be ended is nobody's to wait for: the caller is gone.
                let _ = process::recover(None, (CALL_VARIABLE, &tag), GRACE);
            }
        });
        Self { _over: over }
    }
}

fn prepared(program: &Program) -> Command {
    match program {
        Program::Shell(line) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(line);
            command
        }
        Program::Argv(argv) => {
            let mut command = Command::new(argv.first().map_or("", String::as_str));
            command.args(argv.iter().skip(1));
            command
        }
    }
}

/// The first bytes of an output, and whether there were more.
#[derive(Default)]
struct Captured {
    bytes: Vec<u8>,
    truncated: bool,
}

/// Reads a pipe to its end on a thread of its own; keeps the first [`OUTPUT_LIMIT`] bytes.
fn captured(pipe: Option<impl Read + Send + 'static>, done: Sender<()>) -> Arc<Mutex<Captured>> {
    let kept = Arc::new(Mutex::new(Captured::default()));
    let Some(mut pipe) = pipe else { return kept };
    let mine = Arc::clone(&kept);
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let mut kept = mine.lock().unwrap_or_else(PoisonError::into_inner);
                    let room = OUTPUT_LIMIT - kept.bytes.len();
                    kept.bytes.extend_from_slice(&buffer[..count.min(room)]);
                    kept.truncated |= count > room;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        // Nobody listens any more when the drain time is over; then the word is not needed.
        let _ = done.send(());
    });
    kept
}

fn result(
    program: &Program,
    status: ExitStatus,
    stdout: &Mutex<Captured>,
    stderr: &Mutex<Captured>,
) -> Result<Value, ToolError> {
    let text = |captured: &Mutex<Captured>| {
        let captured = captured.lock().unwrap_or_else(PoisonError::into_inner);
        (String::from_utf8_lossy(&captured.bytes).into_owned(), captured.truncated)
    };
    let (stdout, stdout_truncated) = text(stdout);
    let (stderr, stderr_truncated) = text(stderr);
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).map(one_line).unwrap_or_default();
    let mut value = json!({ "exit_code": status.code(), "stdout": stdout, "stderr": stderr });
    if let Some(signal) = status.signal() {
        value["signal"] = json!(signal);
    }
    for (name, truncated) in [("stdout_truncated", stdout_truncated), ("stderr_truncated", stderr_truncated)]
    {
        if truncated {
            value[name] = json!(true);
        }
    }
    if status.success() {
        return Ok(value);
    }
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended without an exit code".to_owned(),
    };
    let message = match last.is_empty() {
        true => format!("{how}: {}", shown(program)),
        false => format!("{how}: {}", shortened(&last, 500)),
    };
    Err(ToolError::failed("exec_failed", message).with_detail(value))
}

fn shown(program: &Program) -> String {
    shortened(&program.label(), 200)
}

fn not_started(program: &Program, error: &std::io::Error) -> ToolError {
    let class = match error.kind() {
        ErrorKind::NotFound => ErrorClass::NotFound,
        ErrorKind::PermissionDenied => ErrorClass::NotAllowed,
        _ => ErrorClass::Failed,
    };
    let message = format!(
        "{} can't be started ({error}); is the program installed, and the folder there?",
        shown(program)
    );
    ToolError::new(class, "not_started", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(call_: Value) -> Result<Value, ToolError> {
        let folder = tempfile::tempdir().unwrap();
        call(folder.path(), &Waiting::default(), &Params::read(&EXEC, call_.as_object().unwrap())?)
    }

    #[test]
    fn a_line_goes_to_the_shell_and_a_list_does_not() {
        let result = run(json!({ "command": "echo $((1+1)); echo oops >&2" })).unwrap();
        assert_eq!(result, json!({ "exit_code": 0, "stdout": "2\n", "stderr": "oops\n" }));
        assert_eq!(run(json!({ "command": ["echo", "$((1+1))"] })).unwrap()["stdout"], "$((1+1))\n");
    }

    #[test]
    fn another_exit_code_is_an_error_that_keeps_the_output() {
        let error = run(json!({ "command": "echo out; echo first >&2; echo last >&2; exit 3" })).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), ("exec_failed", "exit 3: last"));
        assert_eq!((&error.detail["exit_code"], &error.detail["stdout"]), (&json!(3), &json!("out\n")));
        let error = run(json!({ "command": "kill -9 $$" })).unwrap_err();
        assert_eq!((error.detail["signal"].as_i64(), error.class.exit_code()), (Some(9), 1));
    }

    #[test]
    fn a_flood_is_cut_and_read_to_its_end() {
        let result =
            run(json!({ "command": "head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2" })).unwrap();
        assert_eq!(result["stdout"].as_str().unwrap().len(), OUTPUT_LIMIT);
        assert_eq!((&result["stdout_truncated"], &result["stderr"]), (&json!(true), &json!("end\n")));
    }

    #[test]
    fn a_child_in_the_background_does_not_hold_the_call() {
        let begun = Instant::now();
        let result = run(json!({ "command": "sleep 300 & echo $!" })).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60));
        let pid = result["stdout"].as_str().unwrap().trim().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn a_program_whose_caller_has_left_ends_with_everything_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let (waiting, hold) = Waiting::of_call(Duration::from_secs(3_600));
        hold.leave();
        let call_ = json!({ "command": "setsid sleep 600 & echo $!; exec sleep 600" });
        let params = Params::read(&EXEC, call_.as_object().unwrap()).unwrap();
        let error = call(folder.path(), &waiting, &params).unwrap_err();
        assert_eq!(error.detail["signal"], json!(15), "{error:?}");
        let pid = error.detail["stdout"].as_str().unwrap().trim().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        while rustix::process::test_kill_process(pid).is_ok() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn folder_and_environment_are_the_calls_own() {
        let call = json!({ "command": "mkdir -p a && cd a && pwd && echo $X $HOME", "env": { "X": "$Y", "HOME": null } });
        let result = run(call).unwrap();
        let home = std::env::var("HOME").unwrap_or_default();
        assert!(
            result["stdout"].as_str().unwrap().ends_with(format!("/a\n$Y {home}\n").as_str()),
            "{result}"
        );
        assert_eq!(run(json!({ "command": "true", "cwd": "absent" })).unwrap_err().code, "not_started");
        assert_eq!(run(json!({ "command": ["andon-no-such-program"] })).unwrap_err().class.exit_code(), 3);
        assert!(run(json!({ "command": "true", "env": { "A=B": "x" } })).is_err());
    }
}
