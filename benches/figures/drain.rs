//! Draining a queue of no-op commands, beside a loop that only spawns them.

use andon::domain::{Actor, TaskStatus};
use andon::engine::{Command, Engine, TaskFilter};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::scratch::{Scratch, jobs, median, per_second};

pub const SHELL: &[&str] = &["/bin/sh", "-c", "true"];

/// Spawns the same commands two at a time, with nothing else.
pub fn bare(n: usize, argv: &'static [&'static str]) -> Duration {
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

/// Drains so many in a fresh database: how long it took, and the processor time a task, children included, in ms.
pub fn drained(n: usize, argv: &[&str]) -> (Duration, f64) {
    let scratch = Scratch::new();
    drained_in(&scratch, n, argv)
}

pub fn drained_in(scratch: &Scratch, n: usize, argv: &[&str]) -> (Duration, f64) {
    let engine = scratch.engine();
    let me = Actor::operator("bench");
    engine.execute(Command::CreateMany(jobs(n, argv)), &me).unwrap();
    let begun = Instant::now();
    let mut daemon = scratch.daemon(2);
    until_idle(&engine);
    let took = begun.elapsed();
    let cpu = cpu_ms(daemon.id()) / n as f64;
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let failed = TaskFilter { statuses: vec![TaskStatus::Failed], limit: 1, ..TaskFilter::default() };
    assert!(engine.list(&failed).unwrap().items.is_empty());
    (took, cpu)
}

/// Waits until nothing is queued or running. It looks seldom: looking takes the processor from what is measured.
pub fn until_idle(engine: &Engine) {
    let filter = TaskFilter {
        // One board: its open cards are read in order, where those of all boards are sorted at each look.
        board: Some("default".to_owned()),
        statuses: vec![TaskStatus::Queued, TaskStatus::Running],
        limit: 1,
        ..TaskFilter::default()
    };
    while !engine.list(&filter).unwrap().items.is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The processor time of a process with the children it has waited for, in ms.
pub fn cpu_ms(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11..15].iter().map(|ticks| ticks.parse::<f64>().unwrap() * 10.0).sum()
}

pub fn figure() {
    for n in [1_000, 5_000, 20_000] {
        let mut ratios = Vec::new();
        for _ in 0..3 {
            let alone = per_second(n.min(5_000), bare(n.min(5_000), SHELL));
            let (took, cpu) = drained(n, SHELL);
            let ours = per_second(n, took);
            println!(
                "drain {n}: {ours:.0} a second, bare {alone:.0}, ratio {:.2}, {cpu:.2} ms of CPU a task",
                ours / alone
            );
            ratios.push(ours / alone);
        }
        println!("drain {n}: median ratio {:.2}", median(ratios));
    }
    const SLOW: &[&str] = &["/bin/sleep", "0.05"];
    let (alone, ours) = (per_second(400, bare(400, SLOW)), per_second(400, drained(400, SLOW).0));
    println!("drain 400 of 50 ms: {ours:.1} a second, bare {alone:.1}, ratio {:.3}", ours / alone);
}
