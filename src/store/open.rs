//! Opening: the file is ours alone (0600), in a folder that exists, on a local file system, of a schema that we
//! know; older ones are migrated forward in one transaction.

use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::error::StoreError;

/// "Andn": marks the file as ours.
const APPLICATION_ID: i64 = 0x416e_646e;

const MIGRATIONS: &[&str] = &[
    include_str!("../../assets/migrations/0001_first.sql"),
    include_str!("../../assets/migrations/0002_purge.sql"),
    include_str!("../../assets/migrations/0003_definitions.sql"),
    include_str!("../../assets/migrations/0004_waits.sql"),
    include_str!("../../assets/migrations/0005_http.sql"),
];

/// The newest schema that this program knows.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Device and number of a file.
pub(super) fn file_number(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// How long a lock of another process is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How soon opening is tried again.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// What a commit promises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// What anybody was told survives a power cut.
    #[default]
    Full,
    /// Faster; the last moments may be lost to a power cut, never to a crash of the program.
    Normal,
}

/// How to open a store.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// What a commit promises.
    pub durability: Durability,
}

/// The databases that this process has had open.
static OPENED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Whether a file is part of a database that this process has open. Nobody here may open such a file in any other
/// way than through SQLite: closing any descriptor of it drops the locks that SQLite holds for the whole process.
pub fn is_of_a_database(device: u64, inode: u64) -> bool {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |path: &Path| path.metadata().is_ok_and(|m| (m.dev(), m.ino()) == (device, inode));
    opened.iter().any(|path| is_it(path) || ["-wal", "-shm"].iter().any(|s| is_it(&beside(path, s))))
}

/// The path of a companion of the database, such as `andon.db-turn`.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes the file where there is none, and answers with a connection to a database of the present schema.
pub(super) fn open(path: &Path, options: Options) -> Result<Connection, StoreError> {
    make_file(path)?;
    refuse_network(path)?;
    OPENED.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    let begun = Instant::now();
    loop {
        match connect_and_migrate(path, options) {
            // Several that meet a new file at once make it a WAL database together, and there SQLite says BUSY
            // without having waited, so that they don't wait for each other for ever.
            Err(StoreError::Busy(_)) if begun.elapsed() < PATIENCE => std::thread::sleep(TRY_AGAIN_AFTER),
            other => return other,
        }
    }
}

fn connect_and_migrate(path: &Path, options: Options) -> Result<Connection, StoreError> {
    let mut connection = connect(path, options)?;
    if !is_present(&connection, path).map_err(|error| error.at(path))? {
        migrate(&mut connection, path).map_err(|error| error.at(path))?;
    }
    Ok(connection)
}

/// Another connection for writing.
fn connect(path: &Path, options: Options) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|e| StoreError::from(e).at(path))?;
    connection.busy_timeout(PATIENCE).map_err(|e| StoreError::from(e).at(path))?;
    // Before anything is changed: another program's database is not even made a WAL database.
    is_present(&connection, path).map_err(|error| error.at(path))?;
    prepare(&connection).map_err(|e| StoreError::from(e).at(path))?;
    set_synchronous(&connection, options.durability).map_err(|e| StoreError::from(e).at(path))?;
    Ok(connection)
}

/// A read-only connection.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|e| StoreError::from(e).at(path))?;
    connection.busy_timeout(PATIENCE).map_err(|e| StoreError::from(e).at(path))?;
    stable_plans(&connection).map_err(|e| StoreError::from(e).at(path))?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.execute_batch("PRAGMA mmap_size = 268435456;").map_err(|e| StoreError::from(e).at(path))?;
    Ok(connection)
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    stable_plans(connection)?;
    connection.set_prepared_statement_cache_capacity(128);
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode != "wal" {
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    }
    connection
        .execute_batch("PRAGMA foreign_keys = ON; PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY;")
}

/// Bound values don't change a plan: without this, statements over partial indexes are prepared anew at each use.
fn stable_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(|_| ())
}

/// Can only change between transactions.
pub(super) fn set_synchronous(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    connection.execute_batch(match durability {
        Durability::Full => "PRAGMA synchronous = FULL",
        Durability::Normal => "PRAGMA synchronous = NORMAL",
    })
}

fn make_file(path: &Path) -> Result<(), StoreError> {
    let fault = |source| StoreError::File { path: path.to_owned(), source };
    if path.is_dir() {
        return Err(fault(std::io::Error::other("it is a folder")));
    }
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty() && !f.exists()) {
        return Err(StoreError::NoFolder(folder.to_owned()));
    }
    // Only a file that this call makes is ever opened here: closing a descriptor of one that SQLite has open, by
    // another thread that was quicker, would drop SQLite's locks.
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(fault(error)),
        _ => Ok(()),
    }
}

fn refuse_network(path: &Path) -> Result<(), StoreError> {
    #[cfg(target_os = "linux")]
    {
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Where it can't be told, SQLite itself will say what is wrong with the file.
        if let Ok(found) = rustix::fs::statfs(folder) {
            let kind = match found.f_type as u64 & 0xffff_ffff {
                0x6969 => "NFS",
                0xff53_4d42 | 0xfe53_4d42 | 0x517b => "SMB",
                0x0102_1997 => "9P",
                0x5346_414f => "AFS",
                0x0bd0_0bd0 => "Lustre",
                0x00c3_6400 => "Ceph",
                _ => return Ok(()),
            };
            return Err(StoreError::Network { path: path.to_owned(), kind: kind.to_owned() });
        }
    }
    Ok(())
}

/// Whether it is a database of ours with the present schema; false where it is new or older. In one snapshot: another
/// process may be making it just now.
fn is_present(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let snapshot = connection.unchecked_transaction()?;
    let version = checked_version(&snapshot, path)?;
    snapshot.commit()?;
    Ok(version == SCHEMA_VERSION)
}

/// The version of the schema, 0 where there is none yet; refused where it is newer or of another program.
fn checked_version(snapshot: &Connection, path: &Path) -> Result<i64, StoreError> {
    let version = user_version(snapshot)?;
    let application: i64 = snapshot.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if application != APPLICATION_ID && (application != 0 || version != 0 || has_tables(snapshot)?) {
        return Err(StoreError::Foreign(path.to_owned()));
    }
    if version > SCHEMA_VERSION {
        return Err(StoreError::Newer { path: path.to_owned(), found: version, known: SCHEMA_VERSION });
    }
    Ok(version)
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have migrated while this one waited for its turn.
    let version = checked_version(&tx, path)?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
        tx.execute_batch(migration)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    tx.commit()?;
    Ok(())
}

pub(super) fn user_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

fn has_tables(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}
