use super::fake::{House, runnable};
use andon::domain::event::replay;
use andon::domain::{Actor, IdRef};
use andon::engine::{Command, Engine, NewTask, StoreError, TaskFilter};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

#[test]
fn what_was_told_is_there_after_a_restart() {
    let house = House::new();
    let task = house.card("Fix login page 500 error");
    let again = Engine::open(&house.path()).unwrap();
    assert_eq!(again.task(&IdRef::Seq(1)).unwrap(), task);
}

#[test]
fn the_database_is_for_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("andon.db");
    Engine::open(&path).unwrap();
    let mode = |p: &std::path::Path| p.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_folder_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let error = Engine::open(&folder.path().join("mistyped/andon.db")).err().unwrap();
    assert!(matches!(error, StoreError::NoFolder(path) if path == folder.path().join("mistyped")));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn concurrent_writers_of_several_handles_lose_nothing() {
    let house = House::new();
    let before = |_| Engine::open(&house.path()).unwrap();
    let engines: Vec<Arc<Engine>> = (0..4).map(before).map(Arc::new).collect();
    std::thread::scope(|scope| {
        for (n, engine) in engines.iter().enumerate() {
            for worker in 0..4 {
                scope.spawn(move || {
                    for i in 0..25 {
                        let new = NewTask { title: format!("{n} {worker} {i}"), ..NewTask::default() };
                        engine.execute(Command::Create(Box::new(new)), &Actor::operator("x")).unwrap();
                    }
                });
            }
        }
    });
    let all = house.engine.list(&TaskFilter { all: true, ..TaskFilter::default() }).unwrap().items;
    let mut seqs: Vec<i64> = all.iter().map(|t| t.seq).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=400).collect::<Vec<_>>());
}

#[test]
fn the_events_of_a_task_give_its_row() {
    let house = House::new();
    let new = NewTask { description: "d\u{1b}[31m".into(), labels: vec!["修复".into()], ..runnable("x") };
    let task = house.task(Command::Create(Box::new(new)));
    house.task(Command::Start { task: IdRef::Seq(1) });
    house.task(Command::Cancel { task: IdRef::Seq(1), reason: Some("no".into()) });
    let events = house.engine.events(0, Some(&task.id), 100).unwrap();
    assert_eq!(replay(events.iter().map(|e| &e.patch)).unwrap(), house.now(&task));
}

fn refused(prepare: impl FnOnce(&std::path::Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("andon.db");
    prepare(&path);
    let before = std::fs::read(&path).ok();
    let said = match Engine::open(&path) {
        Ok(_) => panic!("it was taken"),
        Err(error) => error.to_string(),
    };
    assert!(before == std::fs::read(&path).ok(), "it was changed: {said}");
    said
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    let said = refused(|path| {
        drop(Engine::open(path).unwrap());
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.pragma_update(None, "user_version", 999).unwrap();
    });
    assert!(said.contains("newer andon (schema 999") && said.contains("update andon"), "{said}");
}

#[test]
fn what_is_no_database_or_anothers_is_refused_and_left_alone() {
    let said =
        refused(|path| std::fs::write(path, "this is a text, and quite a long one".repeat(100)).unwrap());
    assert!(said.contains("is damaged or is not a database"), "{said}");
    let said = refused(|path| {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.execute_batch("CREATE TABLE notes (x)").unwrap();
    });
    assert!(said.contains("of another program"), "{said}");
    let said = refused(|path| std::fs::create_dir(path).unwrap());
    assert!(said.contains("it is a folder"), "{said}");
}

#[test]
fn a_damaged_row_is_told_and_the_rest_can_be_read() {
    let house = House::new();
    house.card("good");
    let connection = rusqlite::Connection::open(house.path()).unwrap();
    connection
        .execute_batch("PRAGMA ignore_check_constraints = 1; UPDATE tasks SET labels = '{' WHERE seq = 1")
        .unwrap();
    let error = house.engine.task(&IdRef::Seq(1)).unwrap_err();
    assert!(matches!(error, andon::engine::EngineError::Store(StoreError::Damaged { .. })), "{error}");
    house.card("another");
    assert_eq!(house.engine.task(&IdRef::Seq(2)).unwrap().title, "another");
}

/// Every schema that was ever in use, as the files that made it.
const SCHEMAS: &[&str] = &[include_str!("../../assets/migrations/0001_first.sql")];

#[test]
fn a_database_of_every_earlier_schema_is_migrated_and_keeps_what_is_in_it() {
    for version in 1..=SCHEMAS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("andon.db");
        let connection = rusqlite::Connection::open(&path).unwrap();
        for schema in &SCHEMAS[..version] {
            connection.execute_batch(schema).unwrap();
        }
        connection.execute_batch("INSERT INTO boards (id, created_at_ms) VALUES ('kept', 1)").unwrap();
        connection.pragma_update(None, "application_id", 0x416e_646e).unwrap();
        connection.pragma_update(None, "user_version", version as i64).unwrap();
        drop(connection);
        let engine = andon::engine::Engine::open(&path).unwrap();
        let boards: Vec<String> = engine.boards().unwrap().into_iter().map(|board| board.id).collect();
        assert_eq!(boards, ["default", "kept"]);
        let (found, known) = engine.schema().unwrap();
        assert_eq!(found, known);
        assert_eq!(engine.quick_check().unwrap(), Vec::<String>::new());
    }
}
