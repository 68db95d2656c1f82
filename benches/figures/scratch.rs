//! A database of its own for each figure, and the program as a whole process.

use andon::domain::{Executor, Program, Work};
use andon::engine::{Durability, Engine, NewTask, Options};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

pub const ANDON: &str = env!("CARGO_BIN_EXE_andon");

pub struct Scratch {
    pub folder: tempfile::TempDir,
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch { folder: tempfile::tempdir().unwrap() }
    }

    pub fn database(&self) -> PathBuf {
        self.folder.path().join("andon.db")
    }

    /// Opens it for the benchmark's own preparations, which need no syncs.
    pub fn engine(&self) -> Engine {
        let options = Options { durability: Durability::Normal, ..Options::default() };
        Engine::open_with(&self.database(), options).unwrap()
    }

    pub fn andon(&self, args: &[&str]) -> std::process::Command {
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

    pub fn daemon(&self, slots: u32) -> Child {
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

/// So many queued cards with this command.
pub fn jobs(n: usize, argv: &[&str]) -> Vec<NewTask> {
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

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

pub fn per_second(n: usize, took: std::time::Duration) -> f64 {
    n as f64 / took.as_secs_f64()
}

/// A value of a process's status file, in MiB.
pub fn memory(pid: u32, name: &str) -> f64 {
    let status =
        std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with(name)).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
