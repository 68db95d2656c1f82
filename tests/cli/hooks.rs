//! Hooks: commands that are run when something happens.

use serde_json::Value;
use std::time::{Duration, Instant};

use super::house::House;

/// A house whose hooks append what they read to `told.jsonl`.
fn house(hooks: &str) -> House {
    let house = House::new();
    house.configure(hooks);
    house.file("tell.sh", "line=$(cat); echo \"$line\" >> told.jsonl\n");
    house
}

fn told(house: &House) -> Vec<Value> {
    let text = std::fs::read_to_string(house.path().join("told.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn until_told(house: &House, count: usize) -> Vec<Value> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let told = told(house);
        if told.len() >= count {
            return told;
        }
        assert!(Instant::now() < end, "{told:?}");
        std::thread::yield_now();
    }
}

const TELL: &str = "command = [\"/bin/sh\", \"./tell.sh\"]\n";

#[test]
fn a_hook_hears_what_needs_a_person_and_what_is_done() {
    let house = house(&format!(
        "[[hooks]]\non = [\"question\", \"review\", \"failed\", \"done\", \"notice\"]\n{TELL}"
    ));
    let before = house.done(&["add", "before", "--start", "--", "true"]);
    house.done(&["tool", r#"{"tool":"notify","title":"nobody listens yet"}"#]);
    let daemon = house.daemon(&[]);
    house.until(&before, "success");
    let ask = r#"andon tool '{"tool":"clarify","question":"Which?","wait":false}'"#;
    house.done(&["add", "asks", "--start", "--", "/bin/sh", "-c", ask]);
    assert_eq!(until_told(&house, 2)[1]["data"]["text"], "Which?");
    house.done(&["add", "looked at", "--review", "--start", "--", "true"]);
    house.done(&["tool", r#"{"tool":"notify","title":"news","level":"warning"}"#]);
    let told = until_told(&house, 4);
    house.done(&["add", "fails twice", "--retry-max", "1", "--start", "--", "false"]);
    let all = until_told(&house, 5);
    daemon.terminate();
    let mut words: Vec<(&str, &str)> = told
        .iter()
        .map(|told| (told["on"].as_str().unwrap(), told["task"]["title"].as_str().unwrap_or("")))
        .collect();
    words.sort_unstable();
    assert_eq!(words, [("done", "before"), ("notice", ""), ("question", "asks"), ("review", "looked at")]);
    // The failure that was retried by itself is not told, and nothing is told twice.
    assert_eq!(
        (&all[4]["on"], &all[4]["task"]["retry_count"]),
        (&"failed".into(), &1.into()),
        "{:?}",
        all[4]
    );
    assert_eq!(self::told(&house).len(), 5);
}

#[test]
fn hooks_may_listen_to_one_board_and_to_any_kind_of_event() {
    let house = house(&format!("[[hooks]]\non = [\"created\"]\nboards = [\"work\"]\n{TELL}"));
    let daemon = house.daemon(&[]);
    house.done(&["add", "elsewhere"]);
    house.done(&["add", "here", "--board", "work"]);
    assert_eq!(until_told(&house, 1)[0]["task"]["title"], "here");
    daemon.terminate();
    assert_eq!(told(&house).len(), 1);
}

#[test]
fn a_hook_that_fails_or_hangs_harms_nobody_and_is_logged() {
    let hooks = "[[hooks]]\non = [\"done\"]\ncommand = [\"sleep\", \"300\"]\ntimeout_seconds = 1\n\
                 [[hooks]]\non = [\"done\"]\ncommand = [\"/bin/sh\", \"-c\", \"echo odd >&2; exit 3\"]\n\
                 [[hooks]]\non = [\"done\"]\ncommand = [\"andon-no-such-program\"]\n";
    let house = house(&format!("{hooks}[[hooks]]\non = [\"done\"]\n{TELL}"));
    let mut daemon = house.start_with(&["--headless"], std::process::Stdio::piped());
    assert!(daemon.line().starts_with("ready "));
    let ids: Vec<String> = (0..6).map(|_| house.done(&["add", "x", "--start", "--", "true"])).collect();
    for id in &ids {
        house.until(id, "success");
    }
    until_told(&house, 6);
    let begun = Instant::now();
    let (code, log) = daemon.terminate();
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(code, Some(0), "{log}");
    for words in ["a hook failed", "odd", "could not be started", "andon-no-such-program", "too long"] {
        assert!(log.contains(words), "`{words}` is missing: {log}");
    }
}

#[test]
fn what_happens_last_is_still_told_when_a_run_ends() {
    let house = house(&format!("[[hooks]]\non = [\"done\", \"workflow_changed\"]\n{TELL}"));
    let file = house.file(
        "w.yaml",
        "name: w\nsteps:\n  - { id: a, tool_name: exec, tool_params: { command: \"true\" } }\n",
    );
    house.done(&["run", &file]);
    let kinds: Vec<String> =
        told(&house).iter().map(|told| told["kind"].as_str().unwrap().to_owned()).collect();
    assert!(
        kinds.contains(&"succeeded".to_owned()) && kinds.contains(&"workflow_changed".to_owned()),
        "{kinds:?}"
    );
}
