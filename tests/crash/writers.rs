//! Many write at once: four processes through the real program, and many threads through one engine.

use super::house::{House, andon};
use andon::domain::{Actor, IdRef};
use andon::engine::{Command, Engine, NewTask, TaskEdit};
use std::collections::BTreeSet;
use std::process::Output;

fn done(said: Output) -> String {
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success(), "{words}");
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

#[test]
fn four_processes_write_at_once_without_an_error_and_no_write_is_lost() {
    let house = House::new();
    let rounds = 40;
    let ids: Vec<Vec<String>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let database = &house.database;
                scope.spawn(move || {
                    let run = |args: &[&str]| done(andon(database).args(args).output().unwrap());
                    (0..rounds)
                        .map(|n| {
                            let id = run(&["add", &format!("{worker}.{n}")]);
                            run(&["edit", &id, "--priority", &format!("{}", n % 10)]);
                            run(&["move", &id, "queued"]);
                            id
                        })
                        .collect()
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    let tasks = house.everything();
    let known: BTreeSet<&str> = tasks.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(tasks.len(), 4 * rounds);
    for (worker, ids) in ids.iter().enumerate() {
        for (n, id) in ids.iter().enumerate() {
            assert!(known.contains(id.as_str()));
            let task = house.engine.task(&IdRef::Full(id.clone())).unwrap();
            assert_eq!(
                (task.title, task.priority, task.status.as_str()),
                (format!("{worker}.{n}"), (n % 10) as u8, "queued")
            );
        }
    }
    let mut seqs: Vec<i64> = tasks.iter().map(|t| t.seq).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=4 * rounds as i64).collect::<Vec<_>>(), "no number twice, and none left out");
}

#[test]
fn many_processes_that_meet_a_new_database_make_it_once() {
    for _ in 0..15 {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("new/andon.db");
        std::fs::create_dir(database.parent().unwrap()).unwrap();
        let running: Vec<_> = (0..6)
            .map(|n| {
                let mut command = andon(&database);
                command.args(["add", &n.to_string()]);
                command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        for child in running {
            done(child.wait_with_output().unwrap());
        }
        let engine = Engine::open(&database).unwrap();
        assert_eq!(engine.list(&Default::default()).unwrap().items.len(), 6);
    }
}

#[test]
fn many_threads_that_meet_a_new_database_make_it_once() {
    for _ in 0..15 {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("andon.db");
        std::thread::scope(|scope| {
            for n in 0..8 {
                let database = &database;
                scope.spawn(move || {
                    let engine = Engine::open(database).unwrap();
                    let new = NewTask { title: n.to_string(), ..NewTask::default() };
                    engine.execute(Command::Create(Box::new(new)), &Actor::operator("x")).unwrap();
                });
            }
        });
        let engine = Engine::open(&database).unwrap();
        assert_eq!(engine.list(&Default::default()).unwrap().items.len(), 8);
    }
}

#[test]
fn sixty_four_threads_write_through_one_engine_and_each_is_told_the_truth() {
    let house = House::new();
    let rounds = 50;
    std::thread::scope(|scope| {
        for worker in 0..64 {
            let engine = &house.engine;
            scope.spawn(move || {
                let me = Actor::operator("x");
                for n in 0..rounds {
                    let new = NewTask { title: format!("{worker}.{n}"), ..NewTask::default() };
                    let made = engine.execute(Command::Create(Box::new(new)), &me).unwrap();
                    let id = IdRef::Full(made.task().unwrap().id.0.clone());
                    let edit = TaskEdit { priority: Some(worker % 10), ..TaskEdit::default() };
                    let edit = Command::Edit { task: id.clone(), edit: Box::new(edit), if_version: Some(1) };
                    engine.execute(edit, &me).unwrap();
                    // What was told can be read at once.
                    assert_eq!(engine.task(&id).unwrap().priority as i64, worker % 10);
                    // One that is refused takes nothing of its neighbours with it.
                    let bad = NewTask { title: String::new(), ..NewTask::default() };
                    assert!(engine.execute(Command::Create(Box::new(bad)), &me).is_err());
                }
            });
        }
    });
    let tasks = house.everything();
    assert_eq!(tasks.len(), 64 * rounds);
    let titles: BTreeSet<&str> = tasks.iter().map(|t| t.title.as_str()).collect();
    assert_eq!(titles.len(), 64 * rounds);
}
