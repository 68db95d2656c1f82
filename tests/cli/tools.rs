//! Tools of one's own, from the configuration to a workflow's result.

use rustix::process::{Pid, Signal, test_kill_process};
use std::time::{Duration, Instant};

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
    house.configure(CONFIGURATION);
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
fn whoever_interrupts_a_call_stops_its_program_too() {
    let house = house();
    house.configure("[tools.wait]\ncommand = [\"/bin/sh\", \"-c\", \"echo $$ > pid; exec sleep 300\"]\n");
    let mut call = house.start(&["tool", r#"{"tool":"wait"}"#]);
    let end = Instant::now() + Duration::from_secs(60);
    let pid = loop {
        let text = std::fs::read_to_string(house.path().join("pid")).unwrap_or_default();
        if let Ok(pid) = text.trim().parse() {
            break Pid::from_raw(pid).unwrap();
        }
        assert!(Instant::now() < end);
    };
    call.signal(Signal::INT);
    assert!(call.rest().contains("was stopped with its caller"));
    assert_eq!(call.wait(), Some(1));
    assert!(test_kill_process(pid).is_err(), "the program lives on");
}

#[test]
fn what_an_agent_does_with_a_tool_of_ones_own_goes_by_its_risk() {
    let house = house();
    house.configure(&format!(
        "{CONFIGURATION}\n[tools.loud]\nrisk = \"exec\"\ncommand = [\"/bin/sh\", \"./shout.sh\"]\n\
         [[hooks]]\non = [\"approval\"]\ncommand = [\"/bin/sh\", \"-c\", \"cat > asked.json\"]\n"
    ));
    let daemon = house.daemon(&[]);
    let calls = "andon tool '{\"tool\":\"shout\",\"text\":\"free\"}' && andon tool '{\"tool\":\"loud\",\"text\":\"asked\"}'";
    let id = house.done(&["add", "agent", "--start", "--", "sh", "-c", calls]);
    house.until(&id, "blocked");
    let asked = house.json(&["approvals"])["items"][0].clone();
    assert_eq!((&asked["risk"], &asked["call"]["tool"]), (&"exec".into(), &"loud".into()), "{asked}");
    house.done(&["allow", &id]);
    house.until(&id, "success");
    let result = house.json(&["show", &id])["result"].as_str().unwrap().to_owned();
    assert!(result.contains("FREE") && result.contains("ASKED"), "{result}");
    // A step that an agent wrote is asked about before it starts.
    let steps = r#"[{\"id\":\"a\",\"tool_name\":\"loud\",\"tool_params\":{\"text\":\"step\"}}]"#;
    let call = format!(
        "andon tool \"{{\\\"tool\\\":\\\"workflow\\\",\\\"action\\\":\\\"create\\\",\\\"name\\\":\\\"w\\\",\\\"start\\\":true,\\\"steps\\\":{steps}}}\""
    );
    house.done(&["add", "plans", "--wait", "--", "sh", "-c", &call]);
    house.until("3", "blocked");
    house.done(&["allow", "3"]);
    house.until("3", "success");
    daemon.terminate();
    let told = std::fs::read_to_string(house.path().join("asked.json")).unwrap();
    assert!(told.contains("\"on\":\"approval\""), "{told}");
}

#[test]
fn a_name_that_is_taken_is_a_fault_of_the_configuration() {
    let house = house();
    house.configure("[tools.task]\ncommand = [\"x\"]\n");
    house.andon(&["config", "check"]).refused(2, &["`task` is a tool of the house"]);
}
