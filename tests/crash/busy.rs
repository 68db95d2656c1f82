//! A program that is not ours holds the database's write lock, and passes no turnstile.

use super::house::{House, PATIENCE};
use andon::domain::{RunOutcome, TaskStatus};
use rusqlite::Connection;
use std::process::Output;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The write lock, held by a plain connection as any other program would. The commands and daemons that meet it
/// are processes of their own.
struct Held {
    let_go: Sender<()>,
    thread: JoinHandle<()>,
}

fn hold(house: &House) -> Held {
    let path = house.database.clone();
    let (let_go, told) = channel();
    let (holds, held) = channel();
    let thread = std::thread::spawn(move || {
        let foreign = Connection::open(path).unwrap();
        foreign.busy_timeout(PATIENCE).unwrap();
        foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
        holds.send(()).unwrap();
        // Whoever goes away without a word lets go, too.
        let _ = told.recv();
        foreign.execute_batch("COMMIT").unwrap();
    });
    held.recv().unwrap();
    Held { let_go, thread }
}

impl Held {
    fn let_go(self) {
        self.let_go.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

fn text(said: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr))
}

/// Runs commands at once, each a process, and lets go of the lock after `seconds`.
fn meanwhile(house: &House, seconds: f64, commands: &[&[&str]]) -> Vec<(Output, Duration)> {
    let held = hold(house);
    std::thread::scope(|scope| {
        let running: Vec<_> = commands
            .iter()
            .map(|args| {
                scope.spawn(move || {
                    let begun = Instant::now();
                    (house.andon(args), begun.elapsed())
                })
            })
            .collect();
        // Not a wait for something to happen: the time for which the database is held is what is tried.
        let (_never, nothing) = channel::<()>();
        assert!(nothing.recv_timeout(Duration::from_secs_f64(seconds)).is_err());
        held.let_go();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[test]
fn a_command_waits_while_another_program_writes_and_succeeds() {
    let house = House::new();
    house.andon(&["add", "first"]);
    let commands: [&[&str]; 4] =
        [&["add", "second"], &["edit", "1", "--priority", "1"], &["list"], &["show", "1"]];
    let said = meanwhile(&house, 3.0, &commands);
    for ((said, took), args) in said.iter().zip(commands) {
        assert!(said.status.success(), "{args:?}: {}", text(said));
        assert!(!text(said).contains("locked"), "{}", text(said));
        // Who only reads is not held up at all.
        let reads = matches!(args[0], "list" | "show");
        assert!(reads == (*took < Duration::from_secs(2)), "{args:?} took {took:?}");
    }
    let tasks = house.everything();
    assert_eq!((tasks.len(), tasks[0].priority), (2, 1));
}

#[test]
fn beyond_the_patience_it_is_refused_in_plain_words_and_nothing_is_written() {
    let house = House::new();
    house.andon(&["add", "first"]);
    let before = house.engine.last_seq().unwrap();
    let said = meanwhile(&house, 16.0, &[&["add", "second"], &["cancel", "1"]]);
    for (said, took) in &said {
        let words = text(said);
        assert_eq!(said.status.code(), Some(6), "{words}");
        assert!(said.stdout.is_empty());
        assert!(words.contains("was held by another process for too long"), "{words}");
        assert!(words.contains("nothing of this command was kept, try again"), "{words}");
        assert!(!words.contains("locked") && !words.contains("closed"), "{words}");
        assert!(*took < Duration::from_secs(16), "{took:?}");
    }
    assert_eq!(house.engine.last_seq().unwrap(), before);
    assert!(house.andon(&["add", "third"]).status.success());
}

#[test]
fn a_dispatcher_that_can_not_write_kills_nothing_and_goes_on_afterwards() {
    let mut house = House::new();
    let gate = house.folder.path().join("gate");
    let held_open = format!("while [ ! -e '{}' ]; do sleep 0.02; done", gate.display());
    let runs = house.add("runs", &held_open, 0);
    let mut daemon = house.daemon();
    house.wait("it runs", || house.starts().contains_key(&runs.id.0));
    let next = house.add("next", "true", 0);
    let held = hold(&house);
    // The run ends while nothing of it can be written, and for longer than the dispatcher is patient.
    std::fs::write(&gate, "").unwrap();
    let (_never, nothing) = channel::<()>();
    assert!(nothing.recv_timeout(Duration::from_secs(13)).is_err());
    assert!(!daemon.is_dead(), "the daemon survives");
    held.let_go();
    for task in [&runs, &next] {
        house.wait("it is done", || house.now(task).status == TaskStatus::Success);
        let view = house.engine.task_view(&andon::domain::IdRef::Seq(task.seq)).unwrap();
        let outcomes: Vec<_> = view.runs.iter().map(|r| r.outcome).collect();
        assert_eq!(outcomes, [Some(RunOutcome::Success)], "one run, and nobody thought it was gone");
    }
    house.check();
    daemon.kill();
}
