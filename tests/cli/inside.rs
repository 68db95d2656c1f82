//! Called from inside a run: the caller is the agent, and what is the operator's is refused to it.

use super::house::House;

#[test]
fn a_process_inside_a_run_may_not_answer_for_the_person() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let ask = r#"andon tool '{"tool":"clarify","question":"Which?","options":["a","b"],"wait":false}' >/dev/null
        andon answer "$ANDON_TASK_ID" a; echo "code $?""#;
    house.done(&["add", "asks", "--start", "--", "sh", "-c", ask]);
    house.until("1", "blocked");
    let said = loop {
        let log = house.done(&["log", "1"]);
        if log.contains("code") {
            break log;
        }
    };
    assert!(said.contains("code 5"), "{said}");
    assert_eq!(house.json(&["questions"])["items"][0]["question"], "Which?");
}

#[test]
fn the_same_holds_for_one_that_dropped_its_environment() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let script = r#"env -u ANDON_RUN_ID -u ANDON_TASK_ID andon approve 1; echo "code $?""#;
    house.done(&["add", "x", "--wait", "--", "sh", "-c", script]);
    let log = house.done(&["log", "1"]);
    assert!(log.contains("code 5") || log.contains("code 4"), "{log}");
    let created = r#"env -u ANDON_RUN_ID -u ANDON_TASK_ID andon add child >/dev/null"#;
    house.done(&["add", "y", "--wait", "--", "sh", "-c", created]);
    let made_by = house.json(&["show", "3"])["created_by"].clone();
    assert_ne!(made_by, "pat", "an agent can't pass for the person");
}

#[test]
fn a_run_may_settle_itself_and_does_not_wait_for_its_own_end() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let script = r#"andon complete "$ANDON_TASK_ID" --result "by itself"; echo "code $?""#;
    house.done(&["add", "x", "--wait", "--", "sh", "-c", script]);
    assert!(house.done(&["log", "1"]).contains("code 0"));
    assert_eq!(house.json(&["show", "1"])["result"], "by itself");
}

#[test]
fn a_script_waits_for_the_answer_to_what_it_asked() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    let script = r#"andon tool '{"tool":"clarify","question":"Which?"}'"#;
    house.done(&["add", "x", "--start", "--", "sh", "-c", script]);
    house.until("1", "blocked");
    house.done(&["answer", "1", "the blue one"]);
    assert_eq!(house.andon(&["wait", "1"]).code, 0);
    assert!(house.done(&["log", "1"]).contains("the blue one"));
    assert_eq!(house.json(&["show", "1"])["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn what_a_run_makes_and_asks_carries_the_name_of_who_did_it() {
    let house = House::new();
    // Named by a relative path, as a person would.
    let agent = "[agents.scribe]\ncommand = [\"sh\", \"-c\", \"{goal}\"]\n";
    house.file("own.toml", agent);
    let _daemon = house.daemon(&["--config", "own.toml"]);
    let ask = r#"andon tool '{"tool":"clarify","question":"Which?","wait":false}'"#;
    // It works in another folder, and may itself name the agent: it reads the same configuration.
    let script = format!("cd /; andon add child --agent scribe; {ask}");
    house.done(&["add", &script, "--agent", "scribe", "--start", "--config", "own.toml"]);
    house.until("1", "blocked");
    assert_eq!(house.json(&["show", "2"])["created_by"], "scribe");
    assert_eq!(house.json(&["questions"])["items"][0]["asked_by"], "scribe");

    let unset = "env -u ANDON_AGENT -u ANDON_RUN_ID -u ANDON_TASK_ID andon add grandchild";
    house.done(&["add", "plain", "--start", "--", "sh", "-c", &format!("andon add child; {unset}; {ask}")]);
    house.until("3", "blocked");
    assert_eq!(house.json(&["show", "4"])["created_by"], "command");
    assert_eq!(house.json(&["show", "5"])["created_by"], "command");
    assert_eq!(house.json(&["questions"])["items"][1]["asked_by"], "command");
}
