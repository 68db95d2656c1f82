//! `log` and `events`: raw into a pipe, followed until there is no more, and a closed pipe is no fault.

use super::house::House;
use std::process::Command;

#[test]
fn a_log_goes_into_a_pipe_byte_by_byte() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    house.andon(&["add", "x", "--wait", "--", "printf", r"a\033[2J\377\000b"]);
    assert_eq!(house.andon(&["log", "1"]).bytes, b"a\x1b[2J\xff\0b");
}

#[test]
fn of_a_flood_the_log_shows_the_beginning_and_the_end_and_says_what_is_missing() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let flood = "echo begins; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo ends";
    house.done(&["add", "x", "--", "sh", "-c", flood]);
    let mut follower = house.start(&["log", "1", "-f"]);
    house.done(&["start", "1"]);
    for log in [follower.rest(), house.done(&["log", "1"])] {
        assert!(log.starts_with("begins\nxxx") && log.trim_end().ends_with("xxx\nends"), "{}", log.len());
    }
    // Whoever follows fast enough sees it all; what is kept is bounded.
    let log = house.done(&["log", "1"]);
    assert!(log.len() < 17 << 20);
    assert!(log.lines().any(|line| line.contains("bytes were dropped here")));
}

#[test]
fn a_run_of_many_is_named_by_its_number() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let script = "if test -e x; then echo second; else touch x; echo first; exit 1; fi";
    house.andon(&["add", "x", "--retry-max", "1", "--wait", "--", "sh", "-c", script]);
    assert_eq!(house.done(&["log", "1"]), "second");
    assert_eq!(house.done(&["log", "1", "--run", "1"]), "first");
    house.andon(&["log", "1", "--run", "3"]).refused(3, &["2 runs", "3"]);
}

#[test]
fn a_followed_log_begins_before_the_run_and_ends_with_the_card() {
    let house = House::new();
    house.done(&[
        "add",
        "x",
        "--retry-max",
        "1",
        "--",
        "sh",
        "-c",
        "echo out; test -e x || { touch x; exit 1; }",
    ]);
    let mut follower = house.start(&["log", "1", "-f"]);
    let _daemon = house.daemon(&[]);
    house.done(&["start", "1"]);
    assert_eq!(follower.rest(), "out\nout\n");
    assert_eq!(follower.wait(), Some(0));
}

/// Configures the smallest cap and gives the configuration's path.
fn small_logs(house: &House) -> String {
    house.file("config.toml", "[log]\ncap_mib = 1\n")
}

/// How many bytes a log says were dropped, and what is left without the lines that say so.
fn without_gaps(log: &str) -> (usize, String) {
    let mut dropped = 0;
    let mut rest = String::new();
    for line in log.split_inclusive('\n') {
        match line.strip_prefix("[andon: ").and_then(|words| words.split(' ').next()) {
            Some(count) => dropped += count.parse::<usize>().expect("a number of bytes"),
            None => rest.push_str(line),
        }
    }
    (dropped, rest)
}

#[test]
fn a_log_over_its_cap_shows_its_head_what_was_dropped_and_its_tail() {
    let house = House::new();
    let _daemon = house.daemon(&["--config", &small_logs(&house)]);
    house.andon(&["add", "flood", "--wait", "--", "seq", "1000000", "1999999"]);
    let log = house.done(&["log", "1"]);
    assert!(log.starts_with("1000000\n1000001\n") && log.ends_with("\n1999998\n1999999"), "{}", log.len());
    let (dropped, rest) = without_gaps(&(log + "\n"));
    assert!(rest.len() <= 1024 * 1024 && rest.len() > 700_000, "{}", rest.len());
    // Where the gap cuts a line in two, a line break is added so that its words stand alone.
    assert!((8_000_000..=8_000_001).contains(&(dropped + rest.len())), "{dropped} and {}", rest.len());
}

#[test]
fn a_followed_log_goes_on_over_what_was_dropped() {
    let house = House::new();
    let _daemon = house.daemon(&["--config", &small_logs(&house)]);
    let script = "seq 1000000 1199999; until test -e go; do sleep 0.02; done; seq 1200000 1999999";
    house.done(&["add", "flood", "--start", "--", "sh", "-c", script]);
    let mut follower = house.start(&["log", "1", "-f"]);
    assert_eq!(follower.line(), "1000000");
    house.file("go", "");
    let (dropped, rest) = without_gaps(&follower.rest());
    assert!(rest.ends_with("\n1999998\n1999999\n"), "{}", rest.len());
    let (whole, gaps) = (8_000_000 - 8, 20);
    assert!((whole..whole + gaps).contains(&(dropped + rest.len())), "{dropped} and {}", rest.len());
    assert_eq!(follower.wait(), Some(0));
}

#[test]
fn a_card_that_has_not_run_has_an_empty_log() {
    let house = House::new();
    house.done(&["add", "x"]);
    let said = house.andon(&["log", "1"]);
    assert_eq!((said.code, said.out.as_str()), (0, ""));
    assert!(said.err.contains("not run yet"));
}

#[test]
fn events_are_json_lines_that_go_on_from_a_number() {
    let house = House::new();
    house.done(&["add", "x"]);
    house.done(&["start", "1"]);
    let lines: Vec<serde_json::Value> = house
        .andon(&["events", "--json"])
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["kind"], "created");
    assert!(lines[0]["at"].as_str().unwrap().ends_with('Z') && lines[0]["at_ms"].is_i64());
    let since = lines[0]["seq"].to_string();
    assert_eq!(house.andon(&["events", "--json", "--since", &since]).out.lines().count(), lines.len() - 1);
    let text = house.done(&["events"]);
    assert!(text.contains("#1") && text.contains("→ running"), "{text}");
}

#[test]
fn followed_events_come_as_they_happen() {
    let house = House::new();
    house.done(&["add", "first"]);
    let mut follower = house.start(&["events", "-f", "--json"]);
    assert!(follower.line().contains("first"));
    house.done(&["add", "second"]);
    assert!(follower.line().contains("second"));
    follower.stop_reading();
    // It notices the closed pipe when it next has something to say.
    house.done(&["add", "third"]);
    assert_eq!(follower.wait(), Some(0));
}

#[test]
fn who_reads_only_the_beginning_is_no_fault() {
    let house = House::new();
    let titles: String = (0..3000).map(|n| format!("a card with a number {n}\n")).collect();
    house.andon_with(&["add", "-"], |c| {
        c.write_stdin(titles);
    });
    for args in [&["list", "--all"][..], &["list", "--all", "--json"], &["events"], &["--help"]] {
        let mut reader = house.start(args);
        reader.stop_reading();
        assert_eq!(reader.wait(), Some(0), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_can_not_be_written_is_a_failure() {
    let house = House::new();
    house.done(&["add", "x"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let said = Command::new(env!("CARGO_BIN_EXE_andon"))
        .args(["list"])
        .env("ANDON_DB", house.database())
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(said.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&said.stderr).contains("can't write the answer"));
}
