//! What must not cost more when there is more: finished tasks beside the queue, many writers, long work.

use andon::domain::Actor;
use andon::engine::{Command, Engine, NewTask};
use std::time::{Duration, Instant};

use super::drain::{SHELL, drained_in, until_idle};
use super::scratch::{Scratch, jobs, median, memory, per_second};

/// Writes finished tasks by the million, as the engine would have left them.
fn finished(scratch: &Scratch, n: usize) {
    drop(scratch.engine());
    let mut connection = rusqlite::Connection::open(scratch.database()).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let tx = connection.transaction().unwrap();
    {
        let mut insert = tx
            .prepare(
                "INSERT INTO tasks (id, step_id, board_id, title, description, status, priority, labels, assignee,
                   source, created_by, session_id, blocked_reason, review_summary, result, error, retry_count,
                   max_retries, retry_max, dispatch, lane, review_required, worktree, worktree_state, metadata,
                   version, epoch, open_predecessors, held, run_next, since_ms, created_at_ms, updated_at_ms,
                   queued_at_ms, started_at_ms, finished_at_ms)
                 VALUES ('t_' || printf('%012d', ?1), '', 'default', 'done ' || ?1, '', 'success', 5, '[]', '', '',
                   'bench', '', '', '', 'fine', '', 0, 3, 0, 'auto', '', 0, '', 'unbound', '{}', 5, 1, 0, 0, 0,
                   ?1, ?1, ?1, ?1, ?1, ?1)",
            )
            .unwrap();
        for i in 0..n {
            insert.execute([i as i64]).unwrap();
        }
    }
    tx.commit().unwrap();
}

/// The drain of 2,000 beside a million finished tasks, against the drain in an empty file.
pub fn million() {
    let n = 2_000;
    let (mut full, mut empty) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let scratch = Scratch::new();
        empty.push(per_second(n, drained_in(&scratch, n, SHELL).0));
        let scratch = Scratch::new();
        finished(&scratch, 1_000_000);
        full.push(per_second(n, drained_in(&scratch, n, SHELL).0));
    }
    let (full, empty) = (median(full), median(empty));
    println!(
        "million: {full:.0} a second beside 1,000,000 finished tasks, {empty:.0} in an empty file, ratio {:.2}",
        full / empty
    );
}

/// 64 threads that each make cards one by one through one engine, every commit synced.
pub fn writers() {
    let scratch = Scratch::new();
    let engine = Engine::open(&scratch.database()).unwrap();
    let (threads, each) = (64, 200);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for i in 0..each {
                    let new = NewTask { title: format!("card {i}"), ..NewTask::default() };
                    engine.execute(Command::Create(Box::new(new)), &Actor::operator("bench")).unwrap();
                }
            });
        }
    });
    println!(
        "writers: {:.0} acknowledged durable commands a second from 64 threads",
        per_second(threads * each, begun.elapsed())
    );
}

/// A chain of 100 and a fan of 1 to 1,000 to 1.
pub fn workflows() {
    let chain: Vec<String> = (0..100)
        .map(|i| match i {
            0 => step(0, ""),
            i => step(i, &format!("\"s{}\"", i - 1)),
        })
        .collect();
    let begun = Instant::now();
    for _ in 0..100 {
        std::process::Command::new("/bin/sh").args(["-c", "true"]).status().unwrap();
    }
    let bare = begun.elapsed();
    let ours = median((0..5).map(|_| workflow(&chain, 2).as_secs_f64()).collect());
    println!(
        "chain of 100: {:.0} ms, bare {:.0} ms, ratio {:.2}",
        ours * 1e3,
        bare.as_secs_f64() * 1e3,
        ours / bare.as_secs_f64()
    );
    let mut fan = vec![step(0, "")];
    fan.extend((1..=1_000).map(|i| step(i, "\"s0\"")));
    let all: Vec<String> = (1..=1_000).map(|i| format!("\"s{i}\"")).collect();
    fan.push(step(1_001, &all.join(",")));
    for slots in [4, 8] {
        println!(
            "fan 1 to 1,000 to 1 with {slots} slots: {:.2} s",
            median((0..3).map(|_| workflow(&fan, slots).as_secs_f64()).collect())
        );
    }
}

fn step(n: usize, needs: &str) -> String {
    format!(
        "{{\"id\":\"s{n}\",\"tool_name\":\"exec\",\"tool_params\":{{\"command\":[\"/bin/sh\",\"-c\",\"true\"]}},\"depends_on\":[{needs}]}}"
    )
}

/// From the start of the workflow until it has ended, with an idle daemon.
fn workflow(steps: &[String], slots: u32) -> Duration {
    let scratch = Scratch::new();
    let file = scratch.folder.path().join("w.json");
    std::fs::write(&file, format!("{{\"name\":\"w\",\"steps\":[{}]}}", steps.join(","))).unwrap();
    assert!(scratch.andon(&["workflow", "create", file.to_str().unwrap()]).status().unwrap().success());
    let mut daemon = scratch.daemon(slots);
    let engine = scratch.engine();
    let begun = Instant::now();
    let start = Command::StartWorkflow { workflow: "w".into() };
    engine.execute(start, &Actor::operator("bench")).unwrap();
    while !engine.workflows(None).unwrap()[0].status.is_closed() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let took = begun.elapsed();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    took
}

/// The dispatching process with 10,000 queued, and after long work (`ANDON_BENCH_LONG` tasks, 20,000 unless set).
pub fn resident() {
    let long: usize = std::env::var("ANDON_BENCH_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let scratch = Scratch::new();
    let engine = scratch.engine();
    let me = Actor::operator("bench");
    engine.execute(Command::CreateMany(jobs(10_000, SHELL)), &me).unwrap();
    let mut daemon = scratch.daemon(2);
    let first = memory(daemon.id(), "VmRSS");
    let mut done = 10_000;
    let mut readings = Vec::new();
    loop {
        until_idle(&engine);
        readings.push(format!("{:.1}", memory(daemon.id(), "VmRSS")));
        if done >= long {
            break;
        }
        engine.execute(Command::CreateMany(jobs(10_000, SHELL)), &me).unwrap();
        done += 10_000;
    }
    println!(
        "memory: {first:.1} MiB with 10,000 queued; after each 10,000 of {done}: {} MiB",
        readings.join(", ")
    );
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}
