//! What programs read: the shapes of interfaces and their stable names.

use super::house::House;

#[test]
fn one_record_is_printed_bare() {
    let house = House::new();
    let made = house.json(&["add", "x", "-l", "bug"]);
    for field in [
        "id",
        "seq",
        "title",
        "status",
        "priority",
        "labels",
        "owner",
        "lease_until_ms",
        "created_at",
        "created_at_ms",
        "version",
    ] {
        assert!(made.get(field).is_some(), "{field}");
    }
    assert!(made.get("runs").is_none());
    let shown = house.json(&["show", "1"]);
    for field in ["runs", "waits", "dependencies"] {
        assert!(shown[field].is_array(), "{field}");
    }
    house.done(&["start", "1"]);
    let taken = house.json(&["show", "1"]);
    assert_eq!((&taken["owner"], &taken["lease_until_ms"]), (&"pat".into(), &serde_json::Value::Null));
    assert_eq!(taken["runs"][0]["number"], 1);
    let done = house.json(&["complete", "1"]);
    assert_eq!((&done["status"], &done["owner"]), (&"success".into(), &"".into()));
}

#[test]
fn dependencies_name_their_cards() {
    let house = House::new();
    let first = house.done(&["add", "first"]);
    house.done(&["add", "second", "--after", "1"]);
    let shown = house.json(&["show", "2"]);
    assert_eq!(shown["dependencies"][0]["id"], first.as_str());
    assert_eq!(shown["dependencies"][0]["status"], "pending");
    assert_eq!(house.json(&["show", "1"])["dependents"][0]["seq"], 2);
    assert_eq!(house.json(&["show", "1"])["dependents"][0]["id"], house.json(&["show", "2"])["id"]);
}

#[test]
fn an_error_is_a_problem_object() {
    let house = House::new();
    house.done(&["add", "x"]);
    let said = house.andon(&["move", "1", "success", "--json"]);
    assert_eq!((said.code, said.out.as_str()), (4, ""));
    let problem = said.problem();
    assert_eq!(problem["type"], "urn:andon:problem:illegal_transition");
    assert_eq!((&problem["status"], &problem["code"]), (&409.into(), &"illegal_transition".into()));
    assert_eq!(problem["allowed"], serde_json::json!(["queued", "cancelled"]));
    assert!(problem["title"].is_string() && problem["detail"].as_str().unwrap().contains("#1"));
    assert_eq!(house.andon(&["show", "9", "--json"]).problem()["status"], 404);
}

#[test]
fn reasons_carry_a_code_and_what_lifts_them() {
    let house = House::new();
    house.done(&["add", "x", "--start", "--", "true"]);
    let why = house.json(&["why", "1"]);
    assert_eq!(why["reasons"][0]["code"], "no_dispatcher");
    assert!(why["reasons"][0]["fix"].as_str().unwrap().contains("andon --headless"));
}

#[test]
fn a_tools_reply_is_one_line_a_call() {
    let house = House::new();
    let said = house.andon(&["tool", r#"{"tool":"task","action":"create","title":"x"}"#]);
    assert_eq!(said.code, 0);
    assert_eq!((&said.json()["ok"], &said.json()["result"]["status"]), (&true.into(), &"pending".into()));
    let calls = concat!(
        r#"{"tool":"task","action":"list"}"#,
        "\n",
        r#"{"tool":"task","action":"get","task_id":"99"}"#,
        "\n\n",
        "not json\n",
        r#"{"tool":"task","action":"list","colour":"red"}"#,
        "\n",
    );
    let said = house.andon_with(&["tool", "-"], |c| {
        c.write_stdin(calls);
    });
    let replies: Vec<serde_json::Value> =
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ok: Vec<_> = replies.iter().map(|reply| reply["ok"].as_bool().unwrap()).collect();
    assert_eq!(ok, [true, false, false, false]);
    assert_eq!(replies[1]["error"]["code"], "not_found");
    assert!(replies[3]["error"]["message"].as_str().unwrap().contains("colour"));
    assert_eq!(said.code, 3, "the first failure decides");
}

#[test]
fn completions_are_there_for_the_usual_shells() {
    let house = House::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(house.done(&["completions", shell]).contains("andon"));
    }
}

#[test]
fn json_too_holds_nothing_that_a_terminal_would_interpret() {
    let house = House::new();
    let title = "a\u{9b}31m\u{202e}b\u{2066}\x1b[31m\u{7f}";
    house.done(&["add", title]);
    let calls: [&[&str]; 4] = [
        &["list", "--json"],
        &["events", "--json"],
        &["tool", r#"{"tool":"task","action":"list"}"#],
        &["show", "\u{9b}31m\u{202e}", "--json"],
    ];
    for call in calls {
        let said = house.andon(call);
        let bad = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2066}".contains(c);
        assert!(!said.out.contains(bad) && !said.err.contains(bad), "{said:?}");
    }
    assert_eq!(house.json(&["show", "1"])["title"], title);
}
