//! Tools of one's own, from the configuration to a workflow's result.

use super::house::House;

const CONFIGURATION: &str = r#"
[tools.shout]
description = "Says it louder."
schema = { properties = { text = { type = "string" } }, required = ["text"] }
risk = "read"
command = ["/bin/sh", "./shout.sh"]
timeout_seconds = 2

[tools.slow]
command = ["sleep", "300"]
timeout_seconds = 1
"#;

fn house() -> House {
    let house = House::new();
    std::fs::create_dir_all(house.path().join("config/andon")).unwrap();
    house.file("config/andon/config.toml", CONFIGURATION);
    house.file("shout.sh", "sed 's/.*:\"\\(.*\\)\".*/\\1/' | tr a-z A-Z; test -z \"$FAIL\"");
    house
}

#[test]
fn a_tool_of_ones_own_is_called_and_is_a_step() {
    let house = house();
    let said = house.andon(&["tool", r#"{"tool":"shout","text":"hello"}"#]);
    assert_eq!((said.code, said.json()["result"].as_str()), (0, Some("HELLO")), "{said:?}");
    let file = house.file(
        "w.yaml",
        "name: w\nsteps:\n  - { id: a, tool_name: shout, tool_params: { text: one } }\n  \
         - { id: b, tool_name: shout, tool_params: { text: \"${steps.a.result} two\" }, depends_on: [a] }\n",
    );
    let made = house.json(&["run", &file]);
    assert_eq!(
        (&made["status"], &made["steps"][1]["result"]),
        (&"success".into(), &"ONE TWO".into()),
        "{made}"
    );
}

#[test]
fn a_step_is_checked_at_create_and_stopped_in_time() {
    let house = house();
    let file = house.file(
        "w.yaml",
        "name: w\nsteps:\n  - { id: a, tool_name: shout }\n  - { id: b, tool_name: shuot }\n",
    );
    house
        .andon(&["workflow", "create", &file])
        .refused(2, &["\"text\" is a required property", "`shuot`", "shout"]);
    let file = house.file("slow.yaml", "name: w\nsteps:\n  - { id: a, tool_name: slow }\n");
    let said = house.andon(&["run", &file, "--json"]);
    assert_eq!(said.code, 10, "{said:?}");
    let error = said.json()["steps"][0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("the 1 s of one call were over"), "{error}");
}

#[test]
fn a_name_that_is_taken_is_a_fault_of_the_configuration() {
    let house = house();
    house.file("config/andon/config.toml", "[tools.task]\ncommand = [\"x\"]\n");
    house.andon(&["config", "check"]).refused(2, &["`task` is a tool of the house"]);
}
