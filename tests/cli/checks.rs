//! Checks: what has to pass after the work and before a person is asked.

use rustix::process::{Pid, test_kill_process};
use std::time::{Duration, Instant};

use super::house::House;

#[test]
fn work_whose_check_passes_waits_for_a_person_who_reads_that_it_did() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    let check = "test -f made && echo looks good";
    let id = house.done(&[
        "add",
        "build",
        "--check",
        check,
        "--start",
        "--",
        "/bin/sh",
        "-c",
        "touch made; echo work",
    ]);
    house.until(&id, "review");
    let card = house.json(&["show", &id]);
    assert_eq!((&card["result"], &card["executor"]["check"]), (&"work".into(), &check.into()));
    assert_eq!(card["review_summary"], format!("check passed: {check}"));
    assert_eq!(card["runs"].as_array().unwrap().len(), 1);
    assert_eq!(house.done(&["log", &id]), format!("work\n\n--- check: {check}\nlooks good"));
    assert!(house.done(&["show", &id]).contains("check passed"));
    daemon.terminate();
}

#[test]
fn work_whose_check_fails_is_done_again_with_what_the_check_said() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    // It does better once it is told what was wrong.
    let work = "echo \"$ANDON_FEEDBACK\" | grep -q 'tests are missing' && touch tests; true";
    let check = "test -f tests || { echo tests are missing; exit 3; }";
    let id = house.done(&["add", "build", "--check", check, "--start", "--", "/bin/sh", "-c", work]);
    house.until(&id, "review");
    let card = house.json(&["show", &id]);
    assert_eq!(card["retry_count"], 1);
    let outcomes: Vec<&str> =
        card["runs"].as_array().unwrap().iter().map(|run| run["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["failed", "success"]);
    let never = house.done(&[
        "add",
        "never",
        "--check",
        "echo no; false",
        "--max-retries",
        "1",
        "--start",
        "--",
        "true",
    ]);
    house.until(&never, "failed");
    let card = house.json(&["show", &never]);
    assert_eq!(
        (&card["retry_count"], &card["error"]),
        (&1.into(), &"check failed: echo no; false: exit 1\n\nno".into())
    );
    daemon.terminate();
}

#[test]
fn a_check_is_part_of_its_run_and_stopped_with_it() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    let check = "echo $$ > pid; exec sleep 300";
    let id = house.done(&["add", "build", "--check", check, "--start", "--", "true"]);
    let end = Instant::now() + Duration::from_secs(60);
    let pid = loop {
        let text = std::fs::read_to_string(house.path().join("pid")).unwrap_or_default();
        if let Ok(pid) = text.trim().parse() {
            break Pid::from_raw(pid).unwrap();
        }
        assert!(Instant::now() < end);
    };
    assert_eq!(house.status(&id), "running");
    house.done(&["cancel", &id]);
    assert_eq!(house.status(&id), "cancelled");
    assert!(test_kill_process(pid).is_err(), "the check lives on");
    daemon.terminate();
}

#[test]
fn a_board_may_have_a_check_for_all_its_work_that_is_reviewed() {
    let house = House::new();
    house.configure("[boards.default]\ncheck = [\"andon-no-such-program\"]\n");
    let daemon = house.daemon(&[]);
    let reviewed = house.done(&["add", "x", "--review", "--start", "--", "true"]);
    let own = house.done(&["add", "x", "--check", "true", "--start", "--", "true"]);
    let plain = house.done(&["add", "x", "--start", "--", "true"]);
    house.until(&plain, "success");
    house.until(&own, "review");
    house.until(&reviewed, "failed");
    let error = house.json(&["show", &reviewed])["error"].as_str().unwrap().to_owned();
    assert!(error.contains("could not be run") && error.contains("andon-no-such-program"), "{error}");
    assert_eq!(house.json(&["show", &reviewed])["retry_count"], 0);
    daemon.terminate();
}

#[test]
fn a_check_is_set_changed_and_taken_away_and_the_work_stays() {
    let house = House::new();
    let id = house.done(&["add", "x", "--", "make", "all"]);
    let check = || house.json(&["show", &id])["executor"].clone();
    house.done(&["edit", &id, "--check", "make test"]);
    assert_eq!((&check()["command"][1], &check()["check"]), (&"all".into(), &"make test".into()));
    assert_eq!(house.json(&["show", &id])["review_required"], true);
    house.done(&["edit", &id, "--", "make", "some"]);
    assert_eq!((&check()["command"][1], &check()["check"]), (&"some".into(), &"make test".into()));
    house.done(&["edit", &id, "--no-check"]);
    assert_eq!((&check()["command"][1], check().get("check")), (&"some".into(), None));
    house.andon(&["add", "x", "--check", "true"]).refused(2, &["-- COMMAND"]);
    house.andon(&["add", "x", "--check", " ", "--", "true"]).refused(2, &["a check is a command"]);
    house.andon(&["add", "x", "--check", "x", "--no-review", "--", "true"]).refused(2, &["--no-review"]);
}
