//! The figures that `benches/README.md` quotes, each as whole processes and beside a bare comparison made in the
//! same run. `cargo bench` runs them all; `cargo bench -- drain` those whose name holds the word.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "what can't go on here fails, and says where")]

use andon::domain::{Actor, Executor, Program, TaskStatus, Work};
use andon::engine::{Command, Durability, Engine, NewTask, Options, TaskFilter};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const ANDON: &str = env!("CARGO_BIN_EXE_andon");

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let figures: [(&str, fn()); 4] =
        [("drain", drain), ("start", start), ("verbs", verbs), ("first-frame", first_frame)];
    for (name, figure) in figures {
        if words.is_empty() || words.iter().any(|w| name.contains(w.as_str())) {
            figure();
        }
    }
}

struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Scratch {
        Scratch { folder: tempfile::tempdir().unwrap() }
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("andon.db")
    }

    /// Opens it for the benchmark's own preparations, which need no syncs.
    fn engine(&self) -> Engine {
        let options = Options { durability: Durability::Normal, ..Options::default() };
        Engine::open_with(&self.database(), options).unwrap()
    }

    fn andon(&self, args: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(ANDON);
        command
            .arg("--db")
            .arg(self.database())
            .arg("--config")
            .arg(self.folder.path().join("none.toml"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn daemon(&self, slots: u32) -> Child {
        let mut child = self
            .andon(&["--headless", "--http", "off", "--parallel", &slots.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        child
    }
}

fn jobs(n: usize, argv: &[&str]) -> Vec<NewTask> {
    let argv: Vec<String> = argv.iter().map(|a| (*a).to_owned()).collect();
    (0..n)
        .map(|i| NewTask {
            title: format!("no-op {i}"),
            executor: Some(Executor::new(Work::Command { command: Program::Argv(argv.clone()) })),
            start: true,
            ..NewTask::default()
        })
        .collect()
}

/// Spawns the same commands two at a time, with nothing else.
fn bare(n: usize, argv: &'static [&'static str]) -> Duration {
    let begun = Instant::now();
    let workers: Vec<_> = (0..2)
        .map(|_| {
            std::thread::spawn(move || {
                for _ in 0..n / 2 {
                    std::process::Command::new(argv[0])
                        .args(&argv[1..])
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .status()
                        .unwrap();
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    begun.elapsed()
}

fn drained(n: usize, argv: &[&str]) -> Duration {
    let scratch = Scratch::new();
    let engine = scratch.engine();
    let me = Actor::operator("bench");
    engine.execute(Command::CreateMany(jobs(n, argv)), &me).unwrap();
    let begun = Instant::now();
    let mut daemon = scratch.daemon(2);
    let filter = TaskFilter {
        statuses: vec![TaskStatus::Queued, TaskStatus::Running],
        limit: 1,
        ..Default::default()
    };
    loop {
        let seen = engine.last_seq().unwrap();
        if engine.list(&filter).unwrap().items.is_empty() {
            break;
        }
        // Looking at every change would take the processor from what is measured.
        engine.wait_for_change(seen + n as i64, Duration::from_millis(20)).unwrap();
    }
    let took = begun.elapsed();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let failed = TaskFilter { statuses: vec![TaskStatus::Failed], limit: 1, ..Default::default() };
    assert!(engine.list(&failed).unwrap().items.is_empty());
    took
}

fn per_second(n: usize, took: Duration) -> f64 {
    n as f64 / took.as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn drain() {
    const SHELL: &[&str] = &["/bin/sh", "-c", "true"];
    for n in [1_000, 5_000] {
        let mut ratios = Vec::new();
        for _ in 0..3 {
            let alone = per_second(n, bare(n, SHELL));
            let ours = per_second(n, drained(n, SHELL));
            println!("drain {n}: {ours:.0} a second, bare {alone:.0}, ratio {:.2}", ours / alone);
            ratios.push(ours / alone);
        }
        println!("drain {n}: median ratio {:.2}", median(ratios));
    }
    const SLOW: &[&str] = &["/bin/sleep", "0.05"];
    let (alone, ours) = (per_second(200, bare(200, SLOW)), per_second(200, drained(200, SLOW)));
    println!("drain 200 of 50 ms: {ours:.1} a second, bare {alone:.1}, ratio {:.3}", ours / alone);
}

/// From `add --start` in another process until the command has started.
fn start() {
    let scratch = Scratch::new();
    let mut daemon = scratch.daemon(2);
    let mark = scratch.folder.path().join("mark");
    let mut times = Vec::new();
    for _ in 0..200 {
        let script = format!("date +%s%N > '{0}.new'; mv '{0}.new' '{0}'", mark.display());
        let begun = std::time::SystemTime::now();
        scratch.andon(&["add", "x", "--start", "--", "/bin/sh", "-c", &script]).status().unwrap();
        let said = loop {
            match std::fs::read_to_string(&mark) {
                Ok(text) => break text,
                Err(_) => std::thread::yield_now(),
            }
        };
        std::fs::remove_file(&mark).unwrap();
        let started: u128 = said.trim().parse().unwrap();
        let since = begun.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
        times.push(started.saturating_sub(since) as f64 / 1e6);
    }
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    times.sort_by(f64::total_cmp);
    println!(
        "start: median {:.1} ms, p99 {:.1} ms from the call of `add --start` to the command's own clock",
        times[100], times[198]
    );
}

fn whole(scratch: &Scratch, args: &[&str]) -> f64 {
    let times = (0..21)
        .map(|_| {
            let begun = Instant::now();
            assert!(scratch.andon(args).status().unwrap().success());
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    median(times)
}

fn filled(n: usize) -> Scratch {
    let scratch = Scratch::new();
    let engine = scratch.engine();
    let me = Actor::operator("bench");
    let cards = (0..n).map(|i| NewTask {
        title: format!("Card {i}: look into the flaky login test 登录"),
        labels: vec!["bug".into(), format!("team-{}", i % 7)],
        priority: Some((i % 10) as i64),
        ..NewTask::default()
    });
    engine.execute(Command::CreateMany(cards.collect()), &me).unwrap();
    scratch
}

fn verbs() {
    let empty = Scratch::new();
    println!("verbs: --version {:.1} ms", whole(&empty, &["--version"]));
    for n in [1_000, 10_000, 100_000] {
        let scratch = filled(n);
        println!(
            "verbs at {n} cards: add {:.1} ms, list {:.1} ms",
            whole(&scratch, &["add", "one more"]),
            whole(&scratch, &["list"])
        );
    }
}

fn resident(pid: u32) -> f64 {
    let status =
        std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// From the start of the process until the first card is on the screen.
fn first_frame() {
    for n in [1_000, 10_000] {
        let scratch = filled(n);
        let (mut times, mut memory) = (Vec::new(), 0.0f64);
        for _ in 0..9 {
            let size = PtySize { rows: 45, cols: 160, pixel_width: 0, pixel_height: 0 };
            let pair = native_pty_system().openpty(size).unwrap();
            let mut command = CommandBuilder::new(ANDON);
            command.args([
                "--db",
                scratch.database().to_str().unwrap(),
                "--config",
                "/nonexistent/none.toml",
            ]);
            command.env("TERM", "xterm-256color");
            command.env("COLORFGBG", "15;0");
            let mut reader = pair.master.try_clone_reader().unwrap();
            let mut writer = pair.master.take_writer().unwrap();
            let begun = Instant::now();
            let mut child = pair.slave.spawn_command(command).unwrap();
            drop(pair.slave);
            let mut seen = Vec::new();
            let mut buffer = [0u8; 65_536];
            loop {
                let read = reader.read(&mut buffer).unwrap();
                assert!(read > 0, "the board ended");
                // It asks the terminal for its colours, and a terminal answers.
                if buffer[..read].windows(5).any(|w| w == b"\x1b]11;") {
                    std::io::Write::write_all(&mut writer, b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;c")
                        .unwrap();
                }
                seen.extend_from_slice(&buffer[..read]);
                if String::from_utf8_lossy(&seen).contains("flaky") {
                    break;
                }
            }
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            memory = memory.max(resident(child.process_id().unwrap()));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        println!("first frame at {n} cards: {:.0} ms, {memory:.0} MiB", median(times));
    }
}
