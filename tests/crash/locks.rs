//! SQLite's locks are POSIX locks: they belong to the whole process, and closing any descriptor of the file drops
//! them all. Nothing that this program does beside SQLite may do that.

use andon::domain::Actor;
use andon::engine::{Command, DispatchOptions, Dispatcher, Engine, NewTask, TaskFilter};
use andon::store::{Options, Store};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::{Arc, Barrier};

const DATABASE: &str = "ANDON_TEST_LOCKED_DATABASE";

/// Not a test of its own: another process that tries to get the write lock, at once or not at all.
#[test]
fn helper_that_tries_the_lock() {
    let Some(path) = std::env::var_os(DATABASE) else { return };
    let other = rusqlite::Connection::open(path).unwrap();
    other.busy_timeout(std::time::Duration::ZERO).unwrap();
    let got = other.execute_batch("BEGIN IMMEDIATE").is_ok();
    println!("the lock is {}", if got { "FREE" } else { "HELD" });
}

/// Whether another process finds the write lock held.
fn is_held(database: &Path) -> bool {
    let said = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "locks::helper_that_tries_the_lock", "--nocapture"])
        .env(DATABASE, database)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_ne!(words.contains("is FREE"), words.contains("is HELD"), "{words}");
    words.contains("is HELD")
}

type Deed<'t> = Box<dyn Fn() + 't>;

fn call(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[test]
fn the_lock_of_a_transaction_holds_whatever_else_this_process_does() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("andon.db");
    let store = Store::open(&database, Options::default()).unwrap();
    let engine = Engine::open(&database).unwrap();
    let new = NewTask { title: "x".into(), ..NewTask::default() };
    let made = engine.execute(Command::Create(Box::new(new)), &Actor::operator("me")).unwrap();
    let task = made.task().unwrap().clone();
    assert!(!is_held(&database), "nobody writes yet");

    let hold = Arc::new(Barrier::new(2));
    std::thread::scope(|scope| {
        let (inside, store) = (hold.clone(), &store);
        let writes = scope.spawn(move || {
            store.write(move |_| {
                inside.wait();
                inside.wait();
                Ok(())
            })
        });
        hold.wait();
        assert!(is_held(&database));

        let logs = folder.path().join("andon.db-logs");
        std::fs::create_dir_all(&logs).unwrap();
        std::os::unix::fs::symlink(&database, folder.path().join("link")).unwrap();
        std::fs::hard_link(&database, folder.path().join("twin")).unwrap();
        let tool = |name: &str, file: &str| {
            let params = match name {
                "read_file" => json!({ "path": file }),
                _ => json!({ "path": file, "content": "gone" }),
            };
            let refused = andon::tools::run_step(name, &call(params), folder.path()).unwrap_err();
            assert_eq!(refused.code, "own_database", "{name} {file}: {refused}");
        };
        let deeds: Vec<(&str, Deed<'_>)> = vec![
            ("reading", Box::new(|| drop(engine.list(&TaskFilter::default()).unwrap()))),
            ("the board", Box::new(|| drop(engine.board("default", true).unwrap()))),
            ("one card", Box::new(|| drop(engine.task_view(&andon::domain::IdRef::Seq(task.seq)).unwrap()))),
            ("events", Box::new(|| drop(engine.events(0, None, 100).unwrap()))),
            ("why", Box::new(|| drop(engine.why(&andon::domain::IdRef::Seq(task.seq)).unwrap()))),
            ("who dispatches", Box::new(|| assert!(!engine.has_dispatcher()))),
            ("the bell", Box::new(|| drop(engine.changes()))),
            (
                "listening until a change",
                Box::new(|| {
                    let seen = engine.last_seq().unwrap();
                    engine.wait_for_change(seen, std::time::Duration::from_millis(700)).unwrap();
                }),
            ),
            ("a second engine that comes and goes", Box::new(|| drop(Engine::open(&database).unwrap()))),
            (
                "many engines at once",
                Box::new(|| {
                    std::thread::scope(|scope| {
                        for _ in 0..4 {
                            scope.spawn(|| Engine::open(&database).unwrap().last_seq().unwrap());
                        }
                    });
                }),
            ),
            ("checking it", Box::new(|| assert!(engine.quick_check().unwrap().is_empty()))),
            ("cutting its log, which waits", Box::new(|| assert!(!engine.truncate_wal().unwrap()))),
            (
                "a backup, and one refused",
                Box::new(|| {
                    let copy = folder.path().join("copy.db");
                    engine.backup(&copy).unwrap();
                    assert!(engine.backup(&copy).is_err() && engine.backup(&database).is_err());
                    assert!(engine.backup(&folder.path().join("twin")).is_err());
                }),
            ),
            ("all that doctor looks for", Box::new(|| assert!(engine.findings().unwrap().is_empty()))),
            ("a log that is not there", Box::new(|| drop(std::fs::read(engine.log_path(&run()))))),
            ("looking at the files", Box::new(|| assert!(std::fs::metadata(&database).unwrap().is_file()))),
            ("reading it as a file", Box::new(|| tool("read_file", "andon.db"))),
            ("reading its log as a file", Box::new(|| tool("read_file", "andon.db-wal"))),
            ("reading its index as a file", Box::new(|| tool("read_file", "andon.db-shm"))),
            ("reading it by a link", Box::new(|| tool("read_file", "link"))),
            ("reading it by another name", Box::new(|| tool("read_file", "twin"))),
            ("writing it as a file", Box::new(|| tool("write_file", "andon.db"))),
            (
                "a process of ours that reads it",
                Box::new(|| {
                    let read = std::process::Command::new("cat").arg(&database).output().unwrap();
                    assert!(read.status.success());
                }),
            ),
            (
                "a dispatcher that waits for its turn to write",
                Box::new(|| {
                    let other = Engine::open(&database).unwrap();
                    let executors = Arc::new(andon::agents::LocalExecutors::new(
                        andon::agents::Settings::default(),
                        Arc::new(andon::agents::RegistryTools::new(
                            andon::tools::Registry::new(None),
                            other.clone(),
                        )),
                    ));
                    let dispatcher =
                        Dispatcher::start(&other, executors, DispatchOptions::default()).unwrap();
                    let until = std::time::Instant::now() + super::house::PATIENCE;
                    while !other.has_dispatcher() {
                        assert!(std::time::Instant::now() < until);
                        std::thread::yield_now();
                    }
                    // It ends when its first transaction can be written: after this test's own.
                    dispatcher.stop_now();
                }),
            ),
        ];
        for (what, deed) in deeds {
            deed();
            assert!(is_held(&database), "{what} dropped the lock");
        }
        hold.wait();
        writes.join().unwrap().unwrap();
    });
    assert_eq!(engine.task(&andon::domain::IdRef::Seq(task.seq)).unwrap(), task);
}

fn run() -> andon::domain::RunId {
    andon::domain::RunId("r_000000000000".into())
}
