//! `andon purge`: what ended long ago goes for good and as a whole, is written down first, and nothing that somebody
//! may still need goes with it.

#![expect(clippy::unwrap_used, reason = "what can't go on here fails, and says where")]

use super::house::House;
use rusqlite::Connection;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

const DAY: i64 = 24 * 3_600 * 1_000;

/// Makes everything that happened lie so many days in the past.
fn age(house: &House, days: i64, seqs: &str) {
    let connection = Connection::open(house.database()).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    let back = days * DAY;
    let tasks = format!(
        "UPDATE tasks SET finished_at_ms = finished_at_ms - {back}, archived_at_ms = archived_at_ms - {back} WHERE seq IN ({seqs})"
    );
    connection.execute_batch(&tasks).unwrap();
    let workflows = format!(
        "UPDATE workflows SET finished_at_ms = finished_at_ms - {back}
        WHERE id IN (SELECT workflow_id FROM tasks WHERE seq IN ({seqs}))"
    );
    connection.execute_batch(&workflows).unwrap();
}

fn left(house: &House) -> Vec<i64> {
    let listed = house.json(&["list", "--all"]);
    let mut seqs: Vec<i64> =
        listed["items"].as_array().unwrap().iter().map(|task| task["seq"].as_i64().unwrap()).collect();
    seqs.sort_unstable();
    seqs
}

fn lines(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn events_of(house: &House) -> Vec<Value> {
    house.done(&["events", "--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn integrity(house: &House) {
    let said = house.andon(&["doctor", "--json"]);
    assert_eq!(said.code, 0, "{}", said.out);
}

#[test]
fn what_closed_long_ago_is_written_down_and_removed_with_its_runs_events_and_logs() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    house.done(&["add", "old", "--wait", "--", "echo", "said once"]);
    house.done(&["add", "young", "--wait", "--", "echo", "said too"]);
    drop(daemon);
    house.done(&["add", "open"]);
    age(&house, 40, "1");
    let last = house.done(&["events"]).lines().count();
    let run = house.json(&["show", "1"])["runs"][0]["id"].as_str().unwrap().to_owned();
    let logs = house.path().join("board.db-logs");
    assert!(logs.join(&run).exists());

    let dry = house.json(&["purge", "--older-than", "30d", "--dry-run"]);
    assert_eq!((&dry["tasks"], &dry["export"]), (&1.into(), &Value::Null));
    assert_eq!(left(&house), [1, 2, 3]);

    let removed = house.json(&["purge", "--older-than", "30d"]);
    assert_eq!((&removed["tasks"], &removed["runs"]), (&1.into(), &1.into()));
    assert_eq!(removed["events"], dry["events"]);
    assert_eq!(left(&house), [2, 3]);
    assert!(!logs.join(&run).exists());
    assert_eq!(std::fs::read_dir(&logs).unwrap().count(), 1, "the log of the other run stays");

    let export = removed["export"].as_str().unwrap();
    assert!(export.starts_with(house.database().to_str().unwrap()), "{export}");
    assert_eq!(std::fs::metadata(export).unwrap().permissions().mode() & 0o777, 0o600);
    let written = lines(export);
    assert_eq!(written[0]["task"]["title"], "old");
    assert_eq!(written[0]["runs"][0]["id"], run.as_str());
    assert_eq!(written[0]["events"].as_array().unwrap().len() as i64, removed["events"].as_i64().unwrap());
    assert_eq!(written[1]["log"]["text"], "said once\n");

    let events = events_of(&house);
    assert_eq!(events.last().unwrap()["kind"], "purged");
    assert!(events.last().unwrap()["seq"].as_i64().unwrap() as usize > last, "numbers are never used again");
    house.done(&["add", "next"]);
    assert_eq!(left(&house), [2, 3, 4], "nor are those of cards");
    house.andon(&["show", "1"]).refused(3, &["#1"]);
    integrity(&house);
}

#[test]
fn nothing_that_something_open_needs_is_removed_and_failed_cards_only_once_they_are_put_away() {
    let house = House::new();
    for title in ["needed", "whole", "part", "failed", "put away", "free"] {
        house.done(&["add", title]);
    }
    house.done(&["add", "needs it", "--after", "1"]);
    house.done(&["complete", "1", "6"]);
    for seq in ["4", "5"] {
        house.done(&["start", seq]);
        house.done(&["fail", seq]);
    }
    house.done(&["archive", "5"]);
    age(&house, 40, "1,2,3,4,5,6");
    let removed = house.json(&["purge", "--older-than", "30d"]);
    assert_eq!(removed["tasks"], 2);
    assert_eq!(left(&house), [1, 2, 3, 4, 7]);
    house.done(&["complete", "7"]);
    assert_eq!(house.json(&["purge", "--older-than", "30d"])["tasks"], 1, "now nothing open needs it");
    assert_eq!(left(&house), [2, 3, 4, 7]);
    assert_eq!(house.json(&["show", "7"])["dependencies"], Value::Array(Vec::new()));
    integrity(&house);
}

const CHAIN: &str = "name: chain\nsteps:\n  - {id: a, name: First, tool_name: exec, tool_params: {command: 'echo one'}}\n  - {id: b, name: Second, tool_name: exec, tool_params: {command: 'true'}, depends_on: [a]}\n";

#[test]
fn a_workflow_goes_as_a_whole_or_not_at_all() {
    let house = House::new();
    let file = house.file("chain.yaml", CHAIN);
    assert_eq!(house.andon(&["run", &file]).code, 0);
    assert_eq!(house.andon(&["run", &file]).code, 0);
    house.done(&["workflow", "create", &file]);
    age(&house, 40, "1,2,3");
    let removed = house.json(&["purge", "--older-than", "30d"]);
    assert_eq!((&removed["tasks"], &removed["workflows"]), (&2.into(), &1.into()), "{removed}");
    assert_eq!(left(&house), [3, 4, 5, 6], "one with a young step stays whole, and so does an open one");
    assert_eq!(house.json(&["workflow", "list"])["items"].as_array().unwrap().len(), 2);
    let written = lines(removed["export"].as_str().unwrap());
    assert_eq!(written[0]["definition"]["steps"].as_array().unwrap().len(), 2);
    assert_eq!(written[0]["events"][0]["kind"], "workflow_created");
    assert_eq!(written[1]["task"]["step_id"], "a");
    integrity(&house);
}

#[test]
fn where_nothing_is_old_nothing_is_removed_and_no_file_is_made() {
    let house = House::new();
    house.done(&["add", "x"]);
    house.done(&["complete", "1"]);
    let before = house.done(&["events"]);
    let said = house.done(&["purge", "--older-than", "1d"]);
    assert_eq!(said, "removed 0 cards and 0 workflows, with 0 runs and 0 events");
    assert_eq!(house.done(&["events"]), before);
    assert_eq!(
        std::fs::read_dir(house.path())
            .unwrap()
            .filter(|e| { e.as_ref().unwrap().file_name().to_string_lossy().contains("purged") })
            .count(),
        0
    );
}

#[test]
fn what_can_not_be_written_down_is_not_removed() {
    let house = House::new();
    house.done(&["add", "x"]);
    house.done(&["complete", "1"]);
    age(&house, 40, "1");
    let there = house.file("there", "precious");
    house.andon(&["purge", "--older-than", "30d", "--export", &there]).refused(4, &["not overwritten"]);
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "precious");
    house.andon(&["purge", "--older-than", "30d", "--export", "no/folder/x"]).refused(6, &["no/folder"]);
    assert_eq!(left(&house), [1]);
}

#[test]
fn a_board_can_be_named_and_the_length_has_a_unit() {
    let house = House::new();
    house.done(&["add", "here"]);
    house.done(&["boards", "create", "side"]);
    house.done(&["add", "there", "--board", "side"]);
    house.done(&["complete", "1", "2"]);
    age(&house, 40, "1,2");
    assert_eq!(house.json(&["purge", "--older-than", "30d", "--board", "side"])["tasks"], 1);
    assert_eq!(left(&house), [1]);
    house.andon(&["purge", "--older-than", "30"]).refused(2, &["30d"]);
    house.andon(&["purge"]).refused(2, &["--older-than"]);
}

#[test]
fn a_program_inside_a_run_removes_nothing() {
    let house = House::new();
    house.done(&["add", "x"]);
    let said = house.andon_with(&["purge", "--older-than", "1d"], |command| {
        command.env("ANDON_RUN_ID", "r_0123456789ab").env("ANDON_TASK_ID", "t_0123456789ab");
    });
    said.refused(5, &["person at the board"]);
}

#[test]
fn more_than_one_batch_goes_while_a_daemon_works() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let titles: String = (0..450).map(|n| format!("card {n}\n")).collect();
    let said = house.andon_with(&["add", "-"], |command| {
        command.write_stdin(titles);
    });
    assert_eq!(said.code, 0, "{said:?}");
    let ids: Vec<String> = (1..=450).map(|n| n.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    house.done(&[&["complete"], &ids[..]].concat());
    let all = ids.join(",");
    age(&house, 40, &all);
    let removed = house.json(&["purge", "--older-than", "30d"]);
    assert_eq!(removed["tasks"], 450);
    assert_eq!(lines(removed["export"].as_str().unwrap()).len(), 450);
    house.done(&["add", "works on", "--wait", "--", "true"]);
    integrity(&house);
}
