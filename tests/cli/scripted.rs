//! All that the scripted agent can do, through the real program: a daemon hands it cards, and what a person then
//! sees is looked at.

#![cfg(target_os = "linux")]

use super::house::{House, Process};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_andon");

/// A house whose daemon has the scripted agent.
struct Stage {
    house: House,
    config: String,
    _daemon: Process,
}

impl Stage {
    fn new() -> Stage {
        let house = House::new();
        let config = format!(
            "[log]\ncap_mib = 1\n[dispatch]\ngrace_seconds = 1\n\
             [agents.scripted]\ncommand = [\"{PROGRAM}\", \"scripted-agent\", \"{{goal}}\"]\n"
        );
        let config = house.file("config.toml", &config);
        let _daemon = house.daemon(&["--config", &config]);
        Stage { house, config, _daemon }
    }

    /// Gives the agent a script, line by line; the first is the title of the card.
    fn play(&self, lines: &[&str], wait: bool) -> i32 {
        let rest = lines[1..].join("\n");
        let wait = if wait { "--wait" } else { "--start" };
        let args =
            ["add", lines[0], "--description", &rest, "--agent", "scripted", wait, "--config", &self.config];
        self.house.andon(&args).code
    }

    fn show(&self) -> serde_json::Value {
        self.house.json(&["show", "1"])
    }

    fn log(&self) -> String {
        self.house.done(&["log", "1"])
    }

    /// Waits until the log says that.
    fn until_log(&self, words: &str) {
        let end = Instant::now() + Duration::from_secs(30);
        while !self.log().contains(words) {
            assert!(Instant::now() < end, "`{words}` never came: {}", self.log());
        }
    }
}

/// The processes that carry the tag of this run.
fn processes_of(run: &str) -> Vec<i32> {
    let tag = format!("ANDON_RUN_ID={run}");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("it is Linux").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // One that has just ended has nothing to read any more.
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == tag.as_bytes()) {
            found.push(pid);
        }
    }
    found
}

#[test]
fn it_succeeds_with_the_end_of_what_it_said_as_result() {
    let stage = Stage::new();
    assert_eq!(stage.play(&["say looking around", "say all done"], true), 0);
    assert_eq!(stage.show()["result"], "looking around\nall done");
    assert_eq!(stage.show()["runs"][0]["owner"], "scripted");
}

#[test]
fn it_fails_with_its_exit_code_and_its_last_words() {
    let stage = Stage::new();
    assert_eq!(stage.play(&["say trying", "err the door is shut", "fail 7"], true), 10);
    assert_eq!(stage.show()["error"], "exit 7: the door is shut");
    // They come by two pipes, so either may be first.
    assert!(stage.log().contains("trying") && stage.log().contains("the door is shut"));
    stage.house.done(&["retry", "1"]);
    assert_eq!(stage.house.andon(&["wait", "1"]).code, 10);
    assert_eq!(stage.show()["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn its_question_appears_and_the_answer_resumes_the_same_attempt() {
    let stage = Stage::new();
    stage.play(&["say let me see", "ask Which one?|red|blue", "say going on"], false);
    stage.house.until("1", "blocked");
    let asked = &stage.house.json(&["questions"])["items"][0];
    assert_eq!((&asked["question"], &asked["options"]), (&"Which one?".into(), &["red", "blue"][..].into()));
    assert_eq!(asked["asked_by"], "scripted");
    assert!(stage.house.done(&["questions"]).contains("Which one?"));
    stage.house.done(&["answer", "1", "--option", "2"]);
    assert_eq!(stage.house.andon(&["wait", "1"]).code, 0);
    assert!(
        stage.log().contains("the answer is: blue") && stage.log().ends_with("going on"),
        "{}",
        stage.log()
    );
    let runs = &stage.show()["runs"];
    let of_run = |at: usize, name: &str| runs[at][name].clone();
    assert_eq!((of_run(0, "attempt"), of_run(1, "attempt")), (1.into(), 1.into()));
    assert_eq!((of_run(0, "outcome"), of_run(1, "outcome")), ("parked".into(), "success".into()));
    assert_eq!(stage.show()["retry_count"], 0);
}

#[test]
fn one_that_hangs_is_cancelled_and_gone() {
    let stage = Stage::new();
    stage.play(&["say thinking", "hang"], false);
    stage.until_log("thinking");
    let run = stage.show()["runs"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(processes_of(&run).len(), 1);
    assert!(stage.house.done(&["cancel", "1", "--reason", "no need"]).contains("cancelled"));
    assert_eq!(processes_of(&run), Vec::<i32>::new());
    assert_eq!(stage.show()["error"], "no need");
}

#[test]
fn one_that_ignores_the_polite_word_is_killed_after_the_grace() {
    let stage = Stage::new();
    stage.play(&["say no", "stubborn"], false);
    stage.until_log("no");
    let run = stage.show()["runs"][0]["id"].as_str().unwrap().to_owned();
    stage.house.done(&["cancel", "1"]);
    assert_eq!(stage.house.status("1"), "cancelled");
    assert_eq!(processes_of(&run), Vec::<i32>::new());
}

#[test]
fn a_flood_is_kept_at_its_head_and_its_tail_and_harms_nothing() {
    let stage = Stage::new();
    assert_eq!(stage.play(&["say begin", "flood 5000000", "say end"], true), 0);
    let log = stage.log();
    assert!(log.len() < 1024 * 1024 + 200, "{}", log.len());
    assert!(log.starts_with("begin\n000000000000000\n") && log.ends_with("end"));
    assert!(log.contains(" bytes were dropped here"));
    assert!(stage.show()["result"].as_str().unwrap().ends_with("end"));
}

#[test]
fn a_process_that_it_leaves_behind_does_not_hold_the_run_and_ends_with_it() {
    let stage = Stage::new();
    let begun = Instant::now();
    assert_eq!(stage.play(&["fork", "say done"], true), 0);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let run = stage.show()["runs"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(processes_of(&run), Vec::<i32>::new());
    assert_eq!(stage.show()["result"], "done");
}

#[test]
fn a_daemon_that_left_group_and_session_is_found_and_ended() {
    let stage = Stage::new();
    assert_eq!(stage.play(&["daemon", "say done"], true), 0);
    let run = stage.show()["runs"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(processes_of(&run), Vec::<i32>::new());
    // So it is where the run is cancelled while it goes on.
    stage.play(&["daemon", "say up", "hang"], false);
    let run = loop {
        let second = stage.house.json(&["show", "2"]);
        if let Some(run) = second["runs"][0]["id"].as_str()
            && stage.house.done(&["log", "2"]).contains("up")
        {
            break run.to_owned();
        }
    };
    assert_eq!(processes_of(&run).len(), 2);
    stage.house.done(&["cancel", "2"]);
    assert_eq!(processes_of(&run), Vec::<i32>::new());
}

#[test]
fn a_crash_is_told_by_the_name_of_its_signal() {
    let stage = Stage::new();
    assert_eq!(stage.play(&["err all at sea", "crash"], true), 10);
    assert_eq!(stage.show()["error"], "killed by SIGABRT: all at sea");
    assert_eq!(stage.show()["runs"][0]["exit_signal"], 6);
    assert!(stage.house.done(&["show", "1"]).contains("signal 6"));
}

#[test]
fn wide_text_and_emoji_come_through_whole() {
    let stage = Stage::new();
    assert_eq!(stage.play(&["say 修复", "cjk", "emoji"], true), 0);
    let said = "修复\n漢字かな交じり文と한국어를 한 줄에，全角标点也在内。\n🏮 🧑‍🔧 👍🏽 🇯🇵 ✅ ⚠️ e\u{301}";
    assert_eq!(stage.log(), said);
    assert_eq!(stage.show()["result"], said);
    assert_eq!(stage.show()["title"], "say 修复");
}

#[test]
fn bytes_that_are_no_text_are_kept_as_they_are_and_shown_harmlessly() {
    let stage = Stage::new();
    assert_eq!(stage.play(&["say before", "garbage", "say after"], true), 0);
    let raw = stage.house.andon(&["log", "1"]).bytes;
    assert_eq!(raw, b"before\n\xff\xfe\x80 \x1b[2J\x1b]0;title\x07 \xe6\xbc\nafter\n");
    let result = stage.show()["result"].as_str().unwrap().to_owned();
    assert!(result.contains("\u{fffd}\u{fffd}\u{fffd} "), "{result}");
    let shown = stage.house.done(&["show", "1"]);
    assert!(!shown.contains('\x1b') && !shown.contains('\x07'), "{shown:?}");
}

#[test]
fn a_line_that_it_does_not_know_is_told() {
    let stage = Stage::new();
    assert_eq!(stage.play(&["say well", "dance"], true), 10);
    assert_eq!(stage.show()["error"], "exit 2: `dance` is no line of a script");
}
