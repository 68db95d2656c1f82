//! Workflows at the command line: made, run, steered, looked at.

use super::house::{House, settled};

const RELEASE: &str = "name: release
steps:
  - id: test
    tool_name: exec
    tool_params: { command: echo tests ok }
  - id: build
    tool_name: exec
    tool_params: { command: [echo, 'got ${steps.test.result}'] }
    depends_on: [test]
";

const ASKS: &str = "name: asks
steps:
  - id: target
    tool_name: clarify
    tool_params: { question: Where to?, options: [staging, production] }
  - id: deploy
    tool_name: exec
    tool_params: { command: 'echo to ${steps.target.result}' }
    depends_on: [target]
";

#[test]
fn run_shows_every_change_and_ends_as_the_workflow_does() {
    let house = House::new();
    let file = house.file("release.yaml", RELEASE);
    let said = house.andon(&["run", &file]);
    assert_eq!(said.code, 0, "{said:?}");
    let story = settled(&said.out);
    let without_lengths: Vec<&str> = story
        .lines()
        .map(|line| line.split_once("success  0.").map_or(line, |(head, _)| head).trim_end())
        .collect();
    insta::assert_snapshot!(without_lengths.join("\n"), @r"
    release  ● running  0 of 2 steps done  w_____________
    HH:MM:SS  test   ◔ queued
    HH:MM:SS  test   ● running
    HH:MM:SS  test   ✓
    HH:MM:SS  build  ◔ queued
    HH:MM:SS  build  ● running
    HH:MM:SS  build  ✓
    release  ✓ success  2 of 2 steps done  w_____________
    ");
    assert_eq!(house.json(&["show", "2"])["result"], "got tests ok");
}

#[test]
fn a_failed_step_says_why_and_run_exits_ten() {
    let house = House::new();
    let file = house.file(
        "w.yaml",
        "name: w\nsteps:\n  - {id: a, tool_name: exec, tool_params: {command: 'echo no token >&2; exit 3'}}\n  - {id: b, tool_name: exec, tool_params: {command: 'true'}, depends_on: [a]}\n",
    );
    let said = house.andon(&["run", &file]);
    assert_eq!(said.code, 10);
    assert!(
        said.out.contains("exit 3: no token") && said.out.contains("cancelled since `a`"),
        "{}",
        said.out
    );
    let said = house.andon(&["run", &file, "--json"]);
    assert_eq!((said.code, said.err.as_str()), (10, ""));
    assert_eq!(said.json()["status"], "failed");
    assert_eq!(said.json()["steps"][0]["error"], "exit 3: no token");
}

#[test]
fn run_without_input_lists_what_is_asked_and_the_answer_comes_later() {
    let house = House::new();
    let file = house.file("asks.yaml", ASKS);
    let said = house.andon(&["run", &file, "--no-input"]);
    assert_eq!(said.code, 4);
    assert!(said.out.contains("Where to?") && said.out.contains("1  staging"), "{said:?}");
    assert!(said.err.contains("andon answer 1"), "{said:?}");
    house.done(&["answer", "1", "PRODUCTION"]);
    let _daemon = house.daemon(&[]);
    let id = house.json(&["workflow", "list"])["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(house.andon(&["wait", &id]).code, 0);
    assert_eq!(house.json(&["show", "2"])["result"], "to production");
    let said = house.andon(&["run", &file, "--no-input", "--board", "default", "--json"]);
    assert_eq!((said.code, said.problem()["code"].as_str()), (4, Some("needs_person")));
    assert_eq!(said.problem()["questions"][0]["options"][1], "production");
}

#[test]
fn run_waits_for_an_answer_from_elsewhere() {
    let house = House::new();
    let file = house.file("asks.yaml", ASKS);
    std::thread::scope(|scope| {
        let ran = scope.spawn(|| house.andon(&["run", &file]));
        let question = loop {
            let open = house.json(&["questions"]);
            if let Some(question) = open["items"].get(0) {
                break question.clone();
            }
        };
        assert_eq!(question["question"], "Where to?");
        let id = question["question_id"].as_str().unwrap();
        house.done(&["answer", id, "--option", "2"]);
        assert_eq!(ran.join().unwrap().code, 0);
    });
    assert_eq!(house.json(&["show", "2"])["result"], "to production");
}

#[test]
fn run_dispatches_its_own_workflow_only() {
    let house = House::new();
    house.done(&["add", "other", "--start", "--", "true"]);
    let file = house.file("release.yaml", RELEASE);
    assert_eq!(house.andon(&["run", &file]).code, 0);
    assert_eq!(house.status("1"), "queued");
}

#[test]
fn ctrl_c_cancels_what_is_run() {
    let house = House::new();
    let file = house.file(
        "w.yaml",
        "name: w\nsteps: [{id: a, tool_name: exec, tool_params: {command: exec sleep 600}}]\n",
    );
    let ran = house.start(&["run", &file]);
    while house.json(&["list", "-s", "running"])["items"].as_array().is_none_or(Vec::is_empty) {}
    ran.signal(rustix::process::Signal::INT);
    assert_eq!(ran.wait(), Some(11));
    assert_eq!(house.status("1"), "cancelled");
}

#[test]
fn all_faults_of_a_file_are_named_with_their_places_and_nothing_is_made() {
    let house = House::new();
    let bad = "name: x\nsteps:\n  - id: a\n    tool_name: exec\n    tool_params: {command: ls}\n    retries: 2\n    depends_on: [b]\n  - id: b\n    tool_name: exce\n    depends_on: [a]\n";
    let file = house.file("bad.yaml", bad);
    for verb in [&["workflow", "create"][..], &["run"]] {
        let said = house.andon(&[verb, &[file.as_str()]].concat());
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{said:?}");
        for words in ["line 6, column 5", "retries", "exce", "a → b → a"] {
            assert!(said.err.contains(words), "`{words}` is missing: {}", said.err);
        }
    }
    let problem = house.andon(&["workflow", "create", &file, "--json"]).problem();
    assert_eq!(problem["code"], "invalid_workflow");
    assert!(problem["faults"].as_array().unwrap().len() >= 3);
    assert_eq!(house.json(&["workflow", "list"])["items"], serde_json::json!([]));
    assert_eq!(house.done(&["list", "--all"]), "");
}

#[test]
fn a_file_may_be_json_or_standard_input() {
    let house = House::new();
    let json = r#"{"name":"j","steps":[{"id":"a","tool_name":"exec","tool_params":{"command":"true"}}]}"#;
    let file = house.file("w.json", json);
    let id = house.done(&["workflow", "create", &file]);
    assert!(id.starts_with("w_") && id.len() == 14);
    let said = house.andon_with(&["workflow", "create", "-", "--json"], |c| {
        c.write_stdin(json.replace("\"j\"", "\"k\""));
    });
    let record = said.json();
    assert_eq!(
        (&record["name"], &record["status"], &record["steps"][0]["status"]),
        (&"k".into(), &"pending".into(), &"pending".into())
    );
    assert_eq!(house.andon(&["workflow", "create", "/nowhere.yaml"]).code, 2);
}

#[test]
fn a_workflow_is_paused_resumed_advanced_cancelled_and_run_again() {
    let house = House::new();
    let file = house.file("release.yaml", RELEASE);
    house.done(&["workflow", "create", &file]);
    let status = |verb: &str| house.json(&["workflow", verb, "release"])["status"].clone();
    assert_eq!(status("status"), "pending");
    assert_eq!(status("start"), "running");
    assert_eq!(status("pause"), "waiting");
    assert!(house.done(&["why", "1"]).contains("paused"));
    assert_eq!(status("resume"), "running");
    let healthy = house.json(&["workflow", "advance", "release"]);
    assert_eq!(healthy["changes"], 0);
    assert_eq!(status("cancel"), "cancelled");
    house.andon(&["workflow", "start", "release"]).refused(4, &["release"]);
    let again = house.done(&["workflow", "rerun", "release"]);
    assert!(again.starts_with("w_"));
    let listed = house.json(&["workflow", "list", "--status", "CANCELLED"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    house.andon(&["workflow", "status", "release"]).refused(2, &["w_"]);
    house.andon(&["workflow", "status", "nothing"]).refused(3, &["andon workflow list"]);
}

#[test]
fn the_graph_shows_layers() {
    let house = House::new();
    let step = |id: &str, needs: &str| {
        format!(
            "  - {{id: {id}, tool_name: exec, tool_params: {{command: 'true'}}, depends_on: [{needs}]}}\n"
        )
    };
    let file = house.file(
        "g.yaml",
        &format!(
            "name: g\nsteps:\n{}{}{}{}",
            step("fetch", ""),
            step("lint", "fetch"),
            step("test", "fetch"),
            step("ship", "lint, test")
        ),
    );
    house.done(&["workflow", "create", &file]);
    insta::assert_snapshot!(settled(&house.done(&["workflow", "graph", "g"])), @r"
    g  ○ pending  0 of 4 steps done  w_____________
      ─ ○ fetch
      │
      ┌ ○ lint  ← fetch
      └ ○ test  ← fetch
      │
      ─ ○ ship  ← lint, test
    ");
    let graph = house.json(&["workflow", "graph", "g"]);
    assert_eq!(graph["layers"], serde_json::json!([["fetch"], ["lint", "test"], ["ship"]]));
}

#[test]
fn when_nobody_reads_any_more_what_runs_is_suspended_and_not_left_behind() {
    let house = House::new();
    let file = house.file(
        "w.yaml",
        "name: w\nsteps:\n  - {id: a, tool_name: exec, tool_params: {command: 'until test -e go; do sleep 0.05; done'}}\n  - {id: b, tool_name: exec, tool_params: {command: exec sleep 600}}\n",
    );
    let mut ran = house.start(&["run", &file]);
    while !ran.line().contains("b  ● running") {}
    house.until("1", "running");
    ran.stop_reading();
    house.file("go", "");
    assert_eq!(ran.wait(), Some(0));
    assert_eq!(house.status("2"), "suspended");
}

#[test]
fn steps_that_may_be_out_of_time_in_the_queue_are_warned_of() {
    let house = House::new();
    let steps: String = (0..40)
        .map(|n| format!("  - {{id: s{n}, tool_name: exec, tool_params: {{command: 'true'}}}}\n"))
        .collect();
    let file = house.file("wide.yaml", &format!("name: wide\nsteps:\n{steps}"));
    let said = house.andon(&["workflow", "create", &file]);
    assert_eq!(said.code, 0, "{said:?}");
    for words in ["40 steps", "4 run at a time", "300 s", "longer than 30 s", "--parallel"] {
        assert!(said.err.contains(words), "`{words}` is missing: {said:?}");
    }
    assert_eq!(house.andon(&["workflow", "create", &file, "--parallel", "40"]).err, "");
}

#[test]
fn parameters_that_a_steps_tool_can_not_take_are_all_told_before_anything_is_made() {
    let house = House::new();
    let file = house.file(
        "w.yaml",
        r#"name: w
steps:
  - { tool_name: clarify }
  - { tool_name: clarify, tool_params: { question: who?, nope: 1 } }
  - { tool_name: clarify, tool_params: { question: " " } }
  - { tool_name: read_file }
  - { tool_name: task, tool_params: { action: explode } }
  - { tool_name: exec, tool_params: { command: "a\0b", cwd: 7, env: [1] } }
  - { id: good, tool_name: exec, tool_params: { command: pwd, env: { A: b } } }
  - { tool_name: write_file, tool_params: { path: x, content: '${steps.good.result}' }, depends_on: [good] }
"#,
    );
    let said = house.andon(&["workflow", "create", &file, "--json"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{said:?}");
    let faults = said.problem()["faults"].clone();
    let places: Vec<(i64, &str)> = faults
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| (fault["at"][0].as_i64().unwrap(), fault["message"].as_str().unwrap()))
        .collect();
    let expected = [
        (3, "`question` is missing"),
        (4, "unknown field `nope`"),
        (5, "question"),
        (6, "`path` is missing"),
        (7, "no action `explode`"),
        (8, "`cwd`"),
        (8, "`env`"),
        (8, "NUL"),
    ];
    assert_eq!(places.len(), expected.len(), "{places:?}");
    for ((line, message), (wanted, words)) in places.iter().zip(expected) {
        assert!(*line == wanted && message.contains(words), "{message} at {line}");
    }
    assert_eq!(house.json(&["workflow", "list"])["items"].as_array().unwrap().len(), 0);
}

#[test]
fn a_step_whose_question_can_not_be_taken_fails_and_says_why() {
    let house = House::new();
    let file = house.file(
        "w.yaml",
        r#"name: w
steps:
  - { id: long, tool_name: exec, tool_params: { command: "head -c 2000 /dev/zero | tr '\\0' x" } }
  - { id: ask, tool_name: clarify, depends_on: [long], tool_params: { question: which?, options: ['${steps.long.result}'] } }
"#,
    );
    let said = house.andon(&["run", &file]);
    assert_eq!(said.code, 10, "{said:?}");
    let error = house.json(&["show", "2"])["error"].clone();
    assert!(error.as_str().unwrap().contains("question was not taken: options has 2000"), "{error}");
}
