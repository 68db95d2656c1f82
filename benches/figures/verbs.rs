//! Verbs as whole processes.

use andon::domain::Actor;
use andon::engine::{Command, NewTask};
use std::time::Instant;

use super::scratch::{Scratch, median};

/// From `add --start` in another process until the command has started.
pub fn start() {
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

pub fn filled(n: usize) -> Scratch {
    let scratch = Scratch::new();
    let engine = scratch.engine();
    let me = Actor::operator("bench");
    let cards = (0..n).map(|i| NewTask {
        title: format!("Card {i}: look into the flaky login test 登录"),
        labels: vec!["bug".into(), format!("team-{}", i % 7)],
        priority: Some((i % 10) as i64),
        ..NewTask::default()
    });
    let cards: Vec<NewTask> = cards.collect();
    let begun = Instant::now();
    engine.execute(Command::CreateMany(cards), &me).unwrap();
    println!("verbs: {n} cards made in one call in {:.3} s", begun.elapsed().as_secs_f64());
    scratch
}

pub fn figure() {
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
