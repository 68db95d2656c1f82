//! The direction of imports, read from the sources: an arrow that goes up or sideways fails. Each room also has
//! a `mod.rs` that says what lives there.

#![expect(clippy::unwrap_used, reason = "what can't go on here fails, and says where")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What each room may see of the others.
fn may_see() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("domain", &[] as &[&str]),
        ("process", &[]),
        ("store", &["domain"]),
        ("engine", &["domain", "store"]),
        ("tools", &["domain", "engine", "process"]),
        ("agents", &["domain", "engine", "tools", "process"]),
        ("tui", &["domain", "engine"]),
        ("api", &["domain", "engine", "tools"]),
        ("cli", &["domain", "engine", "tools", "agents", "tui", "api"]),
    ])
}

/// The one part of a room that another may see beside those: the board and HTTP read log files, and that
/// touches no process.
const PARTS: [(&str, &str); 2] = [("tui", "crate::process::log::"), ("api", "crate::process::log::")];

/// Words of crates that a room must not know.
fn absent() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        (
            "domain",
            &["tokio::", "rusqlite::", "std::fs", "std::process", "std::thread", "SystemTime", "Instant"]
                as &[&str],
        ),
        ("store", &["ratatui", "crossterm", "std::process::Command", "tokio::process"]),
        ("engine", &["rusqlite", "ratatui", "crossterm", "tokio::process", "std::process::Command"]),
        ("process", &["rusqlite", "ratatui", "crossterm"]),
        ("tools", &["rusqlite", "ratatui", "crossterm"]),
        ("agents", &["rusqlite", "ratatui", "crossterm", "crate::store"]),
        ("tui", &["rusqlite", "crate::store"]),
        ("api", &["rusqlite", "crate::store", "ratatui", "crossterm", "std::process", "tokio::process"]),
        ("cli", &["rusqlite", "crate::store"]),
    ])
}

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// The code of a file: without comments, and without its own tests, which may look further.
fn code(path: &Path) -> Vec<(usize, String)> {
    let text = std::fs::read_to_string(path).unwrap();
    let before_tests = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("").to_owned();
    before_tests
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.split("//").next().unwrap_or("").to_owned()))
        .collect()
}

fn rooms() -> Vec<(String, PathBuf)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found: Vec<(String, PathBuf)> = std::fs::read_dir(&src)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    found.sort();
    found
}

#[test]
fn imports_go_only_downward() {
    let allowed = may_see();
    let names: Vec<String> = rooms().into_iter().map(|(name, _)| name).collect();
    let mut faults = Vec::new();
    for (room, folder) in rooms() {
        let may = allowed
            .get(room.as_str())
            .unwrap_or_else(|| panic!("room `{room}` is not in the plan of the house"));
        let mut files = Vec::new();
        sources(&folder, &mut files);
        for file in files {
            for (line, mut text) in code(&file) {
                for (_, part) in PARTS.iter().filter(|(who, _)| *who == room) {
                    text = text.replace(part, "");
                }
                for other in &names {
                    let reaches = text.contains(&format!("crate::{other}::"))
                        || text.contains(&format!("crate::{{{other}"))
                        || text.contains(&format!("use crate::{other};"));
                    if reaches && *other != room && !may.contains(&other.as_str()) {
                        faults.push(format!("{}:{line}: {room} must not see {other}", file.display()));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_room_is_free_of_what_must_be_absent() {
    let absent = absent();
    let mut faults = Vec::new();
    for (room, folder) in rooms() {
        let mut files = Vec::new();
        sources(&folder, &mut files);
        for file in files {
            for (line, text) in code(&file) {
                for word in absent.get(room.as_str()).copied().unwrap_or_default() {
                    if text.contains(word) {
                        faults.push(format!("{}:{line}: {room} must not know {word}", file.display()));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_folder_says_what_lives_there() {
    let mut silent = Vec::new();
    for (_, folder) in rooms() {
        let mut files = Vec::new();
        sources(&folder, &mut files);
        for file in files.iter().filter(|f| f.ends_with("mod.rs")) {
            let text = std::fs::read_to_string(file).unwrap();
            if !text.starts_with("//!") {
                silent.push(file.display().to_string());
            }
        }
    }
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn sql_is_written_out_and_only_in_the_store() {
    let mut faults = Vec::new();
    for (room, folder) in rooms() {
        let mut files = Vec::new();
        sources(&folder, &mut files);
        for file in files {
            for (line, text) in code(&file) {
                let sql = ["SELECT ", "INSERT INTO", "UPDATE tasks", "DELETE FROM", "PRAGMA "]
                    .iter()
                    .any(|w| text.contains(w));
                if sql && (room != "store" || text.contains("format!")) {
                    faults.push(format!("{}:{line}: {}", file.display(), text.trim()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Every place that opens a file by hand, with the reason why that can't be the database, its -wal or its -shm:
/// closing any descriptor of those drops the locks that SQLite holds for the process.
fn opens() -> BTreeMap<&'static str, (usize, &'static str)> {
    BTreeMap::from([
        ("agents/papers.rs", (1, "a paper beside a run's log")),
        ("agents/scripted.rs", (2, "what a script of the demo and of tests names")),
        ("api/token.rs", (2, "the tokens, beside the database under names of their own")),
        ("cli/board.rs", (1, "the keymap")),
        ("cli/config/mod.rs", (1, "the configuration, before the database is opened")),
        ("cli/definition_file.rs", (1, "the workflow's file, before the database is opened")),
        ("cli/logging/mod.rs", (1, "the board's own log")),
        ("cli/purge.rs", (2, "a file that this call makes: create_new; its folder")),
        ("cli/signals.rs", (1, "/proc")),
        ("engine/handle.rs", (2, "the dispatcher's lock file")),
        ("process/census.rs", (1, "/proc")),
        ("process/identity.rs", (2, "/proc")),
        ("process/inside.rs", (1, "/proc")),
        ("process/log/reader.rs", (1, "a run's log")),
        ("process/log/writer.rs", (1, "a run's log")),
        ("process/subreaper.rs", (1, "/proc")),
        ("process/tree.rs", (2, "/proc")),
        ("store/bell.rs", (3, "the folder of the bells")),
        ("store/health.rs", (2, "a copy that this call makes: create_new; its folder")),
        ("store/open.rs", (1, "a file that this call makes: create_new, before SQLite has it")),
        ("store/turnstile.rs", (1, "the turnstile's own file")),
        ("tools/files.rs", (3, "a task's file; one of an open database is refused (refuse_database)")),
        ("tools/folder.rs", (2, "folders")),
        ("tools/todo/file.rs", (3, "a session's todos, in a folder of their own")),
        ("tui/drafts.rs", (2, "drafts")),
        ("tui/editor.rs", (2, "a text that it made for the editor")),
        ("tui/terminal.rs", (1, "the terminal")),
    ])
}

#[test]
fn no_file_is_opened_by_hand_where_it_could_be_the_database() {
    let ways = [
        "File::open(",
        "File::create(",
        "File::options(",
        "File::create_new(",
        "OpenOptions::new(",
        "fs::read(",
        "fs::read_to_string(",
        "fs::write(",
        "fs::copy(",
        "openat(",
        "fs::open(",
    ];
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let known = opens();
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut faults = Vec::new();
    for file in files.iter().filter(|f| !f.ends_with("tests.rs")) {
        let name = file.strip_prefix(&src).unwrap().to_str().unwrap();
        let found = code(file).iter().filter(|(_, text)| ways.iter().any(|way| text.contains(way))).count();
        let allowed = known.get(name).map_or(0, |(times, _)| *times);
        if found != allowed {
            faults.push(format!(
                "{name} opens files in {found} places, {allowed} are known: see that none can be the database, \
                 then write it down here"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_process_is_tied_to_the_life_of_a_thread_and_no_write_begins_as_a_read() {
    // A parent-death signal comes when the thread ends that started the process, and pools end threads. A
    // transaction that reads first and writes then fails under load with BUSY, whatever the patience.
    let words = ["pdeathsig", "PDEATHSIG", "BEGIN DEFERRED", ".transaction()"];
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut faults = Vec::new();
    for file in files {
        for (line, text) in code(&file) {
            if words.iter().any(|word| text.contains(word)) {
                faults.push(format!("{}:{line}: {}", file.display(), text.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
