//! What agents want to run and a person allows: the verbs, and calls from inside a run that wait for the decision.

use super::house::House;

/// A card of a person's whose run puts a card with a command onto the board.
fn made_by_an_agent(house: &House, command: &str) {
    let script = format!("andon add 'Clean up' --start -- sh -c '{command}'");
    house.done(&["add", "agent", "--wait", "--", "sh", "-c", &script]);
    house.until("2", "blocked");
}

#[test]
fn a_card_that_an_agent_made_is_listed_with_its_exact_call_and_runs_once_it_is_allowed() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    made_by_an_agent(&house, "echo cleaned");
    let list = house.json(&["approvals"]);
    let item = &list["items"][0];
    assert!(item["approval_id"].as_str().unwrap().starts_with("a_"), "{item}");
    assert_eq!(item["task_id"], house.json(&["show", "2"])["id"]);
    assert_eq!(item["call"]["params"]["command"], serde_json::json!(["sh", "-c", "echo cleaned"]));
    assert_eq!(
        (&item["risk"], &item["asked_by"], &item["state"]),
        (&"exec".into(), &"command".into(), &"open".into())
    );
    assert_eq!((&item["seq"], &list["next_cursor"]), (&2.into(), &serde_json::Value::Null));
    let shown = house.done(&["approvals"]);
    for words in ["#2 Clean up", "command asks", "risk exec", "sh -c echo cleaned", "andon allow 2"] {
        assert!(shown.contains(words), "`{words}` is missing: {shown}");
    }
    let why = house.done(&["why", "2"]);
    assert!(why.contains("waits for approval") && why.contains("andon allow 2"), "{why}");

    let decided = house.json(&["allow", item["approval_id"].as_str().unwrap()]);
    assert_eq!((&decided["state"], &decided["scope"]), (&"allowed".into(), &"once".into()));
    assert_eq!(decided["decided_by"], "pat");
    assert_eq!(house.andon(&["wait", "2"]).code, 0);
    assert!(house.done(&["log", "2"]).contains("cleaned"));
    assert_eq!(house.json(&["approvals"])["items"], serde_json::json!([]));
    let waits = house.json(&["show", "2"])["waits"].clone();
    assert_eq!((&waits[0]["kind"], &waits[0]["state"]), (&"approval".into(), &"consumed".into()));
}

#[test]
fn a_denied_card_fails_with_the_reason_and_late_decisions_are_refused() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    made_by_an_agent(&house, "echo cleaned");
    let said = house.done(&["deny", "2", "--reason", "not today"]);
    assert!(said.contains("failed"), "{said}");
    assert!(house.json(&["show", "2"])["error"].as_str().unwrap().ends_with("not today"));
    house.andon(&["allow", "2"]).refused(4, &["denied already by pat", "andon approvals"]);
    house.andon(&["deny", "1"]).refused(4, &["waits for no approval"]);
    house.andon(&["allow", "99"]).refused(3, &["there is no task"]);
    house.andon(&["allow", "a_zzzzzzzzzzzz"]).refused(3, &["there is no approval"]);
    house.andon(&["allow", "q_zzzzzzzzzzzz"]).refused(2, &["question"]);
    assert_eq!(house.andon(&["log", "2"]).out, "", "nothing of it ran");
}

#[test]
fn an_agent_can_allow_nothing_not_even_its_own_call() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    made_by_an_agent(&house, "true");
    house.done(&[
        "add",
        "x",
        "--wait",
        "--",
        "sh",
        "-c",
        "andon allow 2; echo code $?; andon deny 2; echo code $?",
    ]);
    assert_eq!(house.done(&["log", "3"]).matches("code 5").count(), 2);
    assert_eq!(house.status("2"), "blocked");
}

#[test]
fn a_call_from_inside_a_run_waits_for_the_decision_and_is_made_or_refused() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let script = r#"call='{"tool":"exec","command":"echo inside"}'
        andon tool "$call"; echo "code $?"; andon tool "$call"; echo "code $?""#;
    house.done(&["add", "x", "--start", "--", "sh", "-c", script]);
    house.until("1", "blocked");
    let open = house.json(&["approvals"])["items"][0].clone();
    assert_eq!((&open["tool"], &open["call"]["params"]["command"]), (&"exec".into(), &"echo inside".into()));
    house.done(&["allow", "1"]);
    house.wait_for("the second call asks", || {
        let items = house.json(&["approvals"])["items"].clone();
        items[0]["approval_id"].is_string() && items[0]["approval_id"] != open["approval_id"]
    });
    house.done(&["deny", "1", "--reason", "once is enough"]);
    assert_eq!(house.andon(&["wait", "1"]).code, 0);
    let log = house.done(&["log", "1"]);
    for words in ["code 0", "code 5", "inside", "once is enough", "\"code\":\"denied\""] {
        assert!(log.contains(words), "`{words}` is missing: {log}");
    }
    assert_eq!(house.json(&["show", "1"])["runs"].as_array().unwrap().len(), 1, "in one and the same run");
}

#[test]
fn the_configuration_says_what_agents_may_do() {
    let house = House::new();
    let config = "[approvals]\nexec = \"deny\"\n[approvals.tools]\nwrite_file = \"deny\"\n\
                  [approvals.agents.scribe]\nexec = \"allow\"\n[agents.scribe]\ncommand = [\"sh\", \"-c\", \"{goal}\"]\n";
    let config = house.file("own.toml", config);
    let _daemon = house.daemon(&["--config", &config]);
    let script = r#"andon add other --start -- true; echo "code $?"
        andon tool '{"tool":"write_file","path":"x","content":"y"}'; echo "code $?""#;
    house.done(&["add", "command", "--wait", "--config", &config, "--", "sh", "-c", script]);
    let log = house.done(&["log", "1"]);
    assert_eq!(log.matches("code 5").count(), 2, "{log}");
    assert!(log.contains("[approvals]") && log.contains("denied_by_policy"), "{log}");
    assert!(!house.path().join("x").exists());
    let goal = r#"andon add other --start -- true; andon tool '{"tool":"exec","command":"echo trusted"}'"#;
    house.done(&["add", goal, "--agent", "scribe", "--wait", "--config", &config]);
    assert!(house.done(&["log", "2"]).contains("trusted"));
    assert_eq!(house.andon(&["wait", "3"]).code, 0, "a trusted agent's card asks nobody");

    let wrong = house.file(
        "wrong.toml",
        "[approvals]\nexec = \"maybe\"\nrun = \"ask\"\n[approvals.tools]\nexecc = \"ask\"\n",
    );
    let said = house.andon(&["config", "check", "--config", &wrong]);
    assert_ne!(said.code, 0);
    for words in [
        "approvals.exec: \"maybe\" is not one of allow, ask, deny",
        "unknown key `run`",
        "there is no tool `execc`",
    ] {
        assert!(said.err.contains(words) || said.out.contains(words), "`{words}` is missing: {said:?}");
    }
}

#[test]
fn what_a_persons_step_puts_onto_the_board_runs_and_what_an_agents_step_puts_there_asks() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let flow = |name: &str| {
        let text = format!(
            "name: {name}\nsteps:\n  - id: a\n    tool_name: task\n    \
             tool_params: {{ action: create, title: of {name}, command: \"true\", start: true }}\n"
        );
        house.file(&format!("{name}.yaml"), &text)
    };
    assert_eq!(house.andon(&["run", &flow("mine")]).code, 0);
    assert_eq!(house.andon(&["wait", "2"]).code, 0, "a person wrote it");
    let agents = format!("andon run {} >/dev/null", flow("its"));
    house.done(&["add", "agent", "--wait", "--", "sh", "-c", &agents]);
    house.until("5", "blocked");
    assert_eq!(house.json(&["approvals"])["items"][0]["title"], "of its");
}
