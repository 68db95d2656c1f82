//! The daemon, and cards that it runs.

use super::house::House;
use std::time::{Duration, Instant};

const ENDLESS: &[&str] = &["add", "endless", "--start", "--", "sh", "-c", "echo started; exec sleep 600"];

#[test]
fn one_line_says_when_it_serves_and_a_term_ends_it_cleanly() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    assert!(
        daemon.ready.trim_end() == "ready -" || daemon.ready.starts_with("ready http://"),
        "{}",
        daemon.ready
    );
    let (code, log) = daemon.terminate();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("stopped") && !log.contains('\x1b'), "{log}");
}

#[test]
fn a_second_one_says_that_it_stands_by_and_takes_over() {
    let house = House::new();
    let first = house.daemon(&[]);
    house.andon(&["add", "x", "--wait", "--", "true"]);
    let second = house.daemon(&[]);
    house.andon(&["add", "by the first", "--wait", "--", "true"]);
    assert_eq!(first.terminate().0, Some(0));
    house.andon(&["add", "by the second", "--wait", "--", "true"]);
    let (_, log) = second.terminate();
    assert!(log.contains("another andon dispatches") && log.contains("the other one is gone"), "{log}");
}

#[test]
fn a_daemon_whose_log_can_not_be_written_works_on_and_stops_what_it_runs() {
    let house = House::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut daemon = house.start_with(&["--headless"], full.into());
    assert!(daemon.line().starts_with("ready "));
    house.done(ENDLESS);
    house.until("1", "running");
    let (code, _) = daemon.terminate();
    assert_eq!(code, Some(0));
    assert_eq!(house.status("1"), "suspended");
}

#[test]
fn it_can_log_in_json_lines() {
    let house = House::new();
    let (_, log) = house.daemon(&["--log-format", "json"]).terminate();
    for line in log.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(line["level"].is_string() && line["timestamp"].is_string(), "{line}");
    }
    assert!(log.lines().count() >= 2);
}

#[test]
fn waiting_for_a_card_ends_as_its_work_ended() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    assert_eq!(house.andon(&["add", "good", "--wait", "--", "true"]).code, 0);
    assert_eq!(house.andon(&["add", "bad", "--wait", "--", "sh", "-c", "echo no >&2; exit 7"]).code, 10);
    assert_eq!(house.json(&["show", "2"])["error"], "exit 7: no");
    house.done(ENDLESS);
    house.until("3", "running");
    house.done(&["cancel", "3"]);
    assert_eq!(house.andon(&["wait", "3"]).code, 11);
    assert_eq!(house.andon(&["wait", "1"]).code, 0);
    assert_eq!(house.andon(&["wait", "1", "3", "2"]).code, 10);
}

#[test]
fn a_command_is_an_argument_list_in_the_callers_folder_with_what_it_was_given() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let folder = house.path().join("some where");
    std::fs::create_dir(&folder).unwrap();
    let script = r#"pwd; printf '%s|' "$@"; printf '%s' "$COLOR""#;
    let said = house.andon_with(
        &["add", "x", "--wait", "--env", "COLOR=red", "--", "sh", "-c", script, "sh", "a b", "$HOME", "*"],
        |c| {
            c.current_dir(&folder);
        },
    );
    assert_eq!(said.code, 0, "{said:?}");
    let expected = format!("{}\na b|$HOME|*|red", folder.display());
    assert_eq!(house.done(&["log", "1"]), expected);
    assert_eq!(house.json(&["show", "1"])["result"], expected.as_str());
}

#[test]
fn cancelling_a_live_run_waits_until_its_processes_are_gone() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    house.done(ENDLESS);
    let pid = loop {
        if let Some(pid) = house.json(&["show", "1"])["runs"][0]["process"]["pid"].as_i64() {
            break i32::try_from(pid).unwrap();
        }
    };
    assert!(house.done(&["cancel", "1"]).contains("cancelled"));
    assert_eq!(house.json(&["show", "1"])["runs"][0]["outcome"], "cancelled");
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    assert!(rustix::process::test_kill_process(pid).is_err(), "the process still lives");
}

#[test]
fn no_wait_comes_back_at_once_and_the_end_follows() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let stubborn = "trap '' TERM; echo started; while :; do sleep 1; done";
    house.done(&["add", "stubborn", "--start", "--", "sh", "-c", stubborn]);
    house.until("1", "running");
    let asked = Instant::now();
    assert!(house.done(&["suspend", "1", "--no-wait"]).contains("running"));
    assert!(asked.elapsed() < Duration::from_secs(3));
    assert!(
        house.done(&["cancel", "1", "--no-wait"]).contains("running"),
        "cancel beats what was asked first"
    );
    assert_eq!(house.andon(&["wait", "1"]).code, 11);
}

#[test]
fn every_way_out_of_a_live_run_settles_as_asked() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let ways: [(&[&str], &str); 4] = [
        (&["complete", "--result", "enough"], "success"),
        (&["fail", "--error", "wrong"], "failed"),
        (&["suspend"], "suspended"),
        (&["block", "--reason", "vendor"], "blocked"),
    ];
    for (number, (verb, status)) in (1..).zip(ways) {
        house.done(ENDLESS);
        let number = number.to_string();
        house.until(&number, "running");
        let answer = house.done(&[verb, &[number.as_str()]].concat());
        assert!(answer.contains(status), "{answer}");
        assert_eq!(house.status(&number), status);
    }
}

#[test]
fn a_term_suspends_what_runs_and_the_next_daemon_takes_it_up_when_resumed() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    house.done(&[
        "add",
        "x",
        "--start",
        "--",
        "sh",
        "-c",
        "test -e again && exit 0; touch again; exec sleep 600",
    ]);
    house.until("1", "running");
    while !house.path().join("again").exists() {
        house.status("1");
    }
    assert_eq!(daemon.terminate().0, Some(0));
    assert_eq!(house.status("1"), "suspended");
    let _daemon = house.daemon(&[]);
    house.done(&["resume", "1"]);
    assert_eq!(house.andon(&["wait", "1"]).code, 0);
    assert_eq!(house.json(&["show", "1"])["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn drain_waits_for_what_runs_and_claims_nothing_more() {
    let house = House::new();
    let daemon = house.daemon(&["--drain", "--parallel", "1"]);
    house.done(&["add", "x", "--start", "--", "sh", "-c", "until test -e go; do sleep 0.05; done"]);
    house.done(&["add", "later", "--start", "--", "true"]);
    house.until("1", "running");
    daemon.signal(rustix::process::Signal::TERM);
    house.file("go", "");
    assert_eq!(daemon.wait(), Some(0));
    assert_eq!((house.status("1"), house.status("2")), ("success".to_owned(), "queued".to_owned()));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let house = House::new();
    let daemon = house.daemon(&["--drain"]);
    house.done(ENDLESS);
    house.until("1", "running");
    let asked = Instant::now();
    daemon.signal(rustix::process::Signal::TERM);
    // The same signal twice in a row may arrive as one, so it is repeated until it was heard.
    let pid = daemon.pid();
    let ended = std::thread::spawn(move || daemon.wait());
    while !ended.is_finished() {
        assert!(asked.elapsed() < Duration::from_secs(20), "it went on");
        // Gone already: that is what is wanted.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        house.status("1");
    }
    assert!(ended.join().unwrap().is_some());
}

#[test]
fn a_card_for_later_waits_in_the_queue() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    house.done(&["add", "later", "--start", "--in", "1h", "--", "true"]);
    house.done(&["add", "now", "--wait", "--", "true"]);
    assert_eq!(house.status("1"), "queued");
    assert!(house.done(&["why", "1"]).contains("it starts in"));
    house.done(&["edit", "1", "--now"]);
    assert_eq!(house.andon(&["wait", "1"]).code, 0);
}

#[test]
fn a_command_is_retried_by_itself_as_often_as_it_was_told() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let said = house.andon(&[
        "add",
        "flaky",
        "--retry-max",
        "1",
        "--wait",
        "--",
        "sh",
        "-c",
        "test -e x && exit 0; touch x; exit 1",
    ]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(house.json(&["show", "1"])["retry_count"], 1);
}

#[test]
fn an_agent_of_the_configuration_gets_the_goal() {
    let house = House::new();
    let script = "[agents.script]\nprotocol = \"command\"\ncommand = [\"sh\", \"-c\", \"echo got: $1\", \"sh\", \"{goal}\"]\n";
    let config = house.file("config.toml", script);
    let _daemon = house.daemon(&["--config", &config]);
    let said = house.andon(&["add", "Write notes", "--agent", "script", "--wait", "--config", &config]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(house.json(&["show", "1"])["result"].as_str().unwrap().contains("got: Write notes"));
}

#[test]
fn the_work_of_an_agent_waits_for_a_review_where_its_configuration_says_so() {
    let house = House::new();
    let agent = |name: &str, review| format!("[agents.{name}]\ncommand = [\"true\"]\nreview = {review}\n");
    let config = house.file("config.toml", &(agent("junior", true) + &agent("senior", false)));
    let _daemon = house.daemon(&["--config", &config]);
    let add = |more: &[&str]| house.done(&[&["add", "x", "--start", "--config", &config], more].concat());
    add(&["--agent", "junior"]);
    house.until("1", "review");
    add(&["--agent", "junior", "--no-review"]);
    house.until("2", "success");
    add(&["--agent", "senior"]);
    house.until("3", "success");
    add(&["--agent", "senior", "--review"]);
    house.until("4", "review");
    let steps = "name: w\nsteps:\n  - { id: a, agent: junior, goal: x }\n  \
                 - { id: b, agent: junior, goal: x, review_required: false }\n";
    let file = house.file("w.yaml", steps);
    house.done(&["workflow", "create", &file, "--start", "--config", &config]);
    house.until("5", "review");
    house.until("6", "success");
}

#[test]
fn a_hangup_ends_it_as_a_term_does() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    house.done(ENDLESS);
    house.until("1", "running");
    daemon.signal(rustix::process::Signal::HUP);
    assert_eq!(daemon.wait(), Some(0));
    assert_eq!(house.status("1"), "suspended");
}
