//! `andon doctor` and `andon backup`: what is wrong is found, told, and mended when asked; a copy is whole and private.

#![expect(clippy::unwrap_used, reason = "what can't go on here fails, and says where")]

use super::house::House;
use rusqlite::Connection;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

const ENDLESS: &[&str] = &["add", "endless", "--start", "--", "sleep", "600"];

fn sql(house: &House, text: &str) {
    let connection = Connection::open(house.database()).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection.execute_batch(text).unwrap();
}

/// Runs `doctor` and gives the answer to programs; it exits with `code`.
fn doctor(house: &House, args: &[&str], code: i32) -> Value {
    let said = house.andon(&[&["doctor", "--json"], args].concat());
    assert_eq!(said.code, code, "{}{}", said.out, said.err);
    let answer = said.json();
    assert_eq!(answer["healthy"], code == 0);
    answer
}

fn check<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let found = answer["checks"].as_array().unwrap().iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {answer}"))
}

/// Kills the daemon as a crash would, and waits until it is gone.
fn kill(daemon: super::house::Process) {
    daemon.signal(rustix::process::Signal::KILL);
    daemon.wait();
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_healthy_board_is_told_as_such_with_and_without_a_daemon() {
    let house = House::new();
    let config = house.file("config.toml", "[agents.shell]\ncommand = [\"sh\", \"-c\", \"true\"]\n");
    house.done(&["add", "one"]);
    let quiet = doctor(&house, &["--config", &config], 0);
    assert!(check(&quiet, "dispatcher")["said"].as_str().unwrap().starts_with("nobody"));
    let daemon = house.daemon(&["--config", &config]);
    house.done(&["add", "two", "--wait", "--", "echo", "x"]);
    let busy = doctor(&house, &["--config", &config], 0);
    assert_eq!(check(&busy, "dispatcher")["data"]["pid"], daemon.pid().as_raw_nonzero().get());
    assert_eq!(check(&busy, "logs")["data"]["runs"], 1);
    let text = house.done(&["doctor", "--config", &config]);
    assert!(text.lines().all(|line| line.starts_with('✓')), "{text}");
}

#[test]
fn a_board_that_is_not_there_is_well_and_is_not_made() {
    let house = House::new();
    doctor(&house, &[], 0);
    assert!(!house.database().exists());
}

#[test]
fn the_work_of_a_daemon_that_was_killed_is_told_and_with_fix_recovered() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    house.done(ENDLESS);
    house.until("1", "running");
    kill(daemon);
    let found = doctor(&house, &[], 1);
    let work = check(&found, "work");
    assert_eq!(work["data"]["findings"][0]["kind"], "orphaned_run");
    assert_eq!(house.status("1"), "running", "without --fix nothing is changed");
    let text = house.andon(&["doctor"]);
    assert_eq!(text.code, 1);
    assert!(text.out.contains("#1: its run is held by a dispatcher that is gone"), "{}", text.out);
    assert!(text.out.contains("would: stop what is left"), "{}", text.out);
    house.done(&["add", "queued", "--start", "--", "true"]);
    let mended = doctor(&house, &["--fix"], 0);
    assert_eq!(check(&mended, "work")["state"], "fixed");
    assert_eq!(house.status("1"), "blocked");
    assert!(house.done(&["questions"]).contains("What now?"));
    assert_eq!(house.status("2"), "queued", "mending begins no work");
    doctor(&house, &[], 0);
}

#[test]
fn rows_that_can_not_be_are_repaired_by_the_daemon_at_work_and_doctor_waits_for_that() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    house.done(&["add", "free"]);
    house.done(&["add", "waits", "--after", "1"]);
    sql(&house, "UPDATE tasks SET open_predecessors = open_predecessors + 4");
    let mended = doctor(&house, &["--fix"], 0);
    let work = check(&mended, "work");
    assert!(matches!(work["state"].as_str(), Some("fixed" | "ok")), "{work}");
    let log = house.done(&["events"]);
    assert_eq!(log.matches("repaired").count(), 2, "{log}");
    assert!(log.contains("cause=the count of open predecessors was wrong"), "{log}");
    assert_eq!(house.json(&["show", "2"])["open_predecessors"], 1);
}

#[cfg(target_os = "linux")]
#[test]
fn processes_of_a_run_that_has_ended_are_found_by_their_environment_and_stopped() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    house.done(&["add", "short", "--wait", "--", "true"]);
    drop(daemon);
    let run = house.json(&["show", "1"])["runs"][0]["id"].as_str().unwrap().to_owned();
    let start = |database: &std::path::Path| {
        let mut sleep = std::process::Command::new("sleep");
        sleep.arg("600").env("ANDON_RUN_ID", &run).env("ANDON_DB", database);
        sleep.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut orphan = start(&house.database());
    let mut of_another = start(&house.path().join("other.db"));
    let found = doctor(&house, &[], 1);
    let said = check(&found, "processes")["problems"][0]["what"].as_str().unwrap().to_owned();
    assert!(said.contains(&orphan.id().to_string()) && said.contains(&run), "{said}");
    assert!(!said.contains(&of_another.id().to_string()), "{said}");
    assert_eq!(orphan.try_wait().unwrap(), None, "without --fix nobody is stopped");
    // Whoever started it has to reap it, or it stays in the process table and counts as dead only then.
    let reaper = std::thread::spawn(move || orphan.wait().unwrap());
    doctor(&house, &["--fix"], 0);
    assert_eq!(reaper.join().unwrap().signal(), Some(15));
    of_another.kill().unwrap();
    of_another.wait().unwrap();
    doctor(&house, &[], 0);
}

#[test]
fn logs_without_a_run_and_sockets_without_a_process_are_removed_and_nothing_else_is() {
    let house = House::new();
    house.done(&["add", "x"]);
    let folder = house.path().join("board.db-logs");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["r_0123456789ab", "r_0123456789ab.tail", "r_0123456789ab.prompt", "notes.txt", "r_short"] {
        std::fs::write(folder.join(name), "x").unwrap();
    }
    let bells = house.path().join("board.db-bells");
    std::fs::create_dir_all(&bells).unwrap();
    drop(std::os::unix::net::UnixDatagram::bind(bells.join("1-dead")).unwrap());
    let found = doctor(&house, &[], 1);
    assert_eq!(check(&found, "logs")["state"], "fault");
    assert_eq!(check(&found, "bells")["data"]["leftover"], 1);
    doctor(&house, &["--fix"], 0);
    let mut left: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["notes.txt", "r_short"], "what is not named after a run is not ours");
    assert!(!bells.join("1-dead").exists());
}

#[test]
fn faults_of_the_configuration_and_missing_programs_of_agents_are_named() {
    let house = House::new();
    house.done(&["add", "x"]);
    let config = house.file("config.toml", "[agents.ghost]\ncommand = [\"no-such-program-anywhere\"]\n");
    let found = doctor(&house, &["--config", &config], 1);
    let said = check(&found, "agents")["problems"][0]["what"].as_str().unwrap();
    assert!(said.contains("ghost") && said.contains("no-such-program-anywhere"), "{said}");
    let broken = house.file("broken.toml", "[dispatch]\nparallel = \"many\"\n");
    let found = doctor(&house, &["--config", &broken], 1);
    assert!(check(&found, "configuration")["problems"][0]["what"].as_str().unwrap().contains("parallel"));
    assert_eq!(check(&found, "database")["state"], "ok", "the rest is looked at all the same");
}

/// Overwrites the one page of a table that nothing uses.
fn damage(house: &House) {
    let connection = Connection::open(house.database()).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let page = |sql| {
        connection
            .query_row(sql, [], |row| {
                u64::try_from(row.get::<_, i64>(0)?).map_err(|_| rusqlite::Error::InvalidQuery)
            })
            .unwrap()
    };
    let root = page("SELECT rootpage FROM sqlite_schema WHERE name = 'artifacts'");
    let size = page("PRAGMA page_size");
    drop(connection);
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new().write(true).open(house.database()).unwrap();
    file.write_all_at(&vec![0x5a; size as usize], (root - 1) * size).unwrap();
}

#[test]
fn a_damaged_database_is_told_with_what_to_do_and_is_not_written_to() {
    let house = House::new();
    house.done(&["add", "x"]);
    sql(&house, "UPDATE tasks SET open_predecessors = 4");
    damage(&house);
    let found = doctor(&house, &["--fix"], 1);
    let problems = check(&found, "database")["problems"].as_array().unwrap();
    assert!(problems.len() > 1, "{problems:?}");
    assert!(problems.last().unwrap()["what"].as_str().unwrap().contains("backup"));
    assert_eq!(check(&found, "work")["state"], "fault");
    let none = house.path().join("none.db");
    house.andon(&["backup", none.to_str().unwrap()]).refused(6, &["damaged"]);
    assert!(!none.exists(), "no copy of what is damaged");
    std::fs::write(house.database(), "this is no database, and it is long enough to look at").unwrap();
    doctor(&house, &[], 1);
}

#[test]
fn after_an_unclean_end_the_next_daemon_checks_the_database_and_starts_nothing_where_it_is_damaged() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    house.done(&["add", "works", "--wait", "--", "true"]);
    kill(daemon);
    damage(&house);
    let daemon = house.daemon(&[]);
    until("the damage is noted", || house.done(&["events"]).contains("damaged"));
    let (code, log) = daemon.terminate();
    assert_eq!(code, Some(0));
    assert!(log.contains("the database is damaged; nothing is started any more"), "{log}");

    let again = house.daemon(&[]);
    let card = house.done(&["add", "not now", "--start", "--in", "1h", "--", "true"]);
    let why = || house.done(&["why", card.trim()]);
    until("the next one looks again, and stops", || why().contains("the database is damaged"));
    house.done(&["edit", card.trim(), "--in", "0s"]);
    house.done(&["add", "neither", "--start", "--", "true"]);
    assert_eq!(again.terminate().0, Some(0));
    let tasks = house.json(&["list", "--all"]);
    let never_ran = |task: &Value| task["started_at_ms"].is_null();
    assert!(tasks["items"].as_array().unwrap().iter().skip(1).all(never_ran), "{tasks}");
}

#[test]
fn a_daemon_whose_database_is_taken_away_says_so_and_starts_nothing() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    house.done(&["add", "works", "--wait", "--", "true"]);
    let away = house.path().join("away.db");
    for end in ["", "-wal", "-shm"] {
        let from =
            house.path().join(format!("{}{end}", house.database().file_name().unwrap().to_str().unwrap()));
        std::fs::rename(from, format!("{}{end}", away.display())).unwrap();
    }
    let halted = || {
        let moved = Connection::open(&away).unwrap();
        moved.query_row("SELECT max(draining) FROM dispatchers", [], |row| row.get::<_, i64>(0)).unwrap() == 2
    };
    until("it has noticed", halted);
    let (_, log) = daemon.terminate();
    assert!(log.contains("removed or replaced"), "{log}");
}

#[test]
fn after_a_clean_end_the_database_is_not_checked() {
    let house = House::new();
    house.daemon(&[]).terminate();
    damage(&house);
    let daemon = house.daemon(&[]);
    house.done(&["add", "works", "--wait", "--", "true"]);
    let (_, log) = daemon.terminate();
    assert!(!log.contains("damaged"), "after a clean end nobody looks: {log}");
}

#[test]
fn a_write_ahead_log_that_somebody_keeps_long_is_told_and_cut_when_that_one_has_gone() {
    let house = House::new();
    house.done(&["add", "x"]);
    let reader = Connection::open(house.database()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM tasks", [], |row| row.get::<_, i64>(0)).unwrap();
    sql(
        &house,
        "INSERT INTO sessions (id, facts, created_at_ms, updated_at_ms)
         VALUES ('x', '\"' || hex(zeroblob(36 * 1024 * 1024)) || '\"', 1, 1)",
    );
    let found = doctor(&house, &[], 1);
    assert!(check(&found, "write-ahead log")["data"]["wal_bytes"].as_u64().unwrap() > 64 << 20);
    doctor(&house, &["--fix"], 1);
    reader.execute_batch("COMMIT").unwrap();
    doctor(&house, &["--fix"], 0);
    doctor(&house, &[], 0);
}

#[test]
fn a_program_inside_a_run_may_look_and_not_mend() {
    let house = House::new();
    house.done(&["add", "x"]);
    let inside = |args: &[&str]| {
        house.andon_with(args, |command| {
            command.env("ANDON_RUN_ID", "r_0123456789ab").env("ANDON_TASK_ID", "t_0123456789ab");
        })
    };
    inside(&["doctor", "--fix"]).refused(5, &["person at the board"]);
    assert_eq!(inside(&["doctor"]).code, 0);
}

#[test]
fn a_backup_is_a_whole_private_copy_made_while_a_daemon_works() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    house.done(ENDLESS);
    house.until("1", "running");
    let copy = house.path().join("copy.db");
    let made = house.json(&["backup", copy.to_str().unwrap()]);
    assert_eq!(made["bytes"].as_u64().unwrap(), copy.metadata().unwrap().len());
    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let listed = house.json(&["list", "--db", copy.to_str().unwrap()]);
    assert_eq!(listed["items"][0]["title"], "endless");
    assert_eq!(house.status("1"), "running");
    let names: Vec<_> = std::fs::read_dir(house.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("partial")), "{names:?}");
}

#[test]
fn a_backup_overwrites_nothing_and_never_the_database() {
    let house = House::new();
    house.done(&["add", "x"]);
    let there = house.file("there", "precious");
    house.andon(&["backup", &there]).refused(4, &["there", "not overwritten"]);
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "precious");
    house.andon(&["backup", house.database().to_str().unwrap()]).refused(2, &["the database itself"]);
    let link = house.path().join("link");
    std::os::unix::fs::symlink(house.database(), &link).unwrap();
    house.andon(&["backup", link.to_str().unwrap()]).refused(2, &["the database itself"]);
    house.andon(&["backup", house.path().to_str().unwrap()]).refused(4, &["folder"]);
    house.andon(&["backup", "no/such/folder/copy.db"]).refused(6, &["no/such/folder"]);
    assert_eq!(house.status("1"), "pending");
}
