//! What one command may not do to the others in its group.

use super::*;
use crate::domain::Refusal;
use std::sync::Barrier;

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("x.db"), Options::default()).unwrap();
    (folder, store)
}

fn add(tx: &Tx<'_>, name: &str) -> Result<(), Failure> {
    tx.ensure_board(name, 0).map(|_| ())
}

fn boards(store: &Store) -> Vec<String> {
    store.read(|view| view.boards()).unwrap().into_iter().map(|board| board.id).collect()
}

type Work = Box<dyn FnOnce(&Tx<'_>) -> Result<(), Failure> + Send>;

/// Runs all of `works` in one group: the first job keeps the writer busy until the others are queued.
fn grouped(store: &Store, works: Vec<Work>) -> Vec<Result<(), Failure>> {
    let busy = Arc::new(Barrier::new(2));
    let hold = busy.clone();
    let first = store.enqueue(Manner::Told, move |_| {
        hold.wait();
        hold.wait();
        Ok(())
    });
    busy.wait();
    let queued: Vec<_> = works.into_iter().map(|work| store.enqueue(Manner::Told, work).unwrap()).collect();
    busy.wait();
    first.unwrap().recv().unwrap().unwrap();
    queued.into_iter().map(|answer| answer.recv().unwrap()).collect()
}

#[test]
fn a_refused_command_and_one_that_panics_leave_the_others_of_their_group_alone() {
    let (_folder, store) = store();
    let told = grouped(
        &store,
        vec![
            Box::new(|tx| add(tx, "before")),
            Box::new(|tx| {
                add(tx, "refused")?;
                Err(Refusal::state("no", "no".to_owned()).into())
            }),
            Box::new(|tx| {
                add(tx, "panicked")?;
                panic!("a fault of the program")
            }),
            Box::new(|tx| add(tx, "after")),
        ],
    );
    let ok: Vec<bool> = told.iter().map(Result::is_ok).collect();
    assert_eq!(ok, [true, false, false, true]);
    assert_eq!(boards(&store), ["after", "before", "default"]);
}

#[test]
fn when_the_database_gives_up_a_transaction_nobody_of_the_group_is_told_yes_and_nothing_is_kept() {
    let (_folder, store) = store();
    let told = grouped(
        &store,
        vec![
            Box::new(|tx| add(tx, "before")),
            Box::new(|tx| {
                add(tx, "here")?;
                // As SQLite does by itself on a full disk.
                tx.connection.execute_batch("ROLLBACK")?;
                Err(StoreError::Full("x".into()).into())
            }),
            Box::new(|tx| add(tx, "after")),
        ],
    );
    for one in told {
        assert!(one.unwrap_err().to_string().contains("the disk is full"));
    }
    assert_eq!(boards(&store), ["default"]);
    store.write(|tx| add(tx, "later")).unwrap();
    assert_eq!(boards(&store), ["default", "later"]);
}

#[test]
fn a_failed_renewal_leaves_the_next_commands_as_durable_as_before() {
    let (_folder, store) = store();
    let failed: Result<(), Failure> = store.write_relaxed(|tx| {
        add(tx, "x")?;
        Err(StoreError::Row("no".into()).into())
    });
    assert!(failed.is_err());
    let mode = store
        .write(|tx| Ok(tx.connection.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0))?));
    assert_eq!(mode.unwrap(), 2, "FULL");
}
