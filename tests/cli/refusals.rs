//! Bad input: a clear refusal with its exit code, nothing lost, no panic.

use super::house::House;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

#[test]
fn what_is_not_there_exits_three() {
    let house = House::new();
    house.done(&["add", "x"]);
    for id in ["2", "#99", "t_zzzzzzzzzzzz", "t_zz", "nonsense", "", "t_", "99999999999999999999999"] {
        house.andon(&["show", id]).refused(3, &["andon list"]);
    }
    house.andon(&["answer", "q_zzzzzzzzzzzz", "x"]).refused(3, &["andon questions"]);
}

#[test]
fn wrong_values_exit_two_and_change_nothing() {
    let house = House::new();
    let too_long = "x".repeat(501);
    let cases: [(&[&str], &str); 12] = [
        (&["add", ""], "title"),
        (&["add", " \n\t "], "title"),
        (&["add", &too_long], "501"),
        (&["add", "x", "-p", "10"], "0 to 9"),
        (&["add", "x", "-p", "-1"], "0 to 9"),
        (&["add", "x", "-p", "high"], "high"),
        (&["add", "x", "-l", ""], "label"),
        (&["add", "x", "--at", "yesterday-ish"], "17:30"),
        (&["add", "x", "--in", "5"], "30s"),
        (&["add", "x", "--cwd", "/nowhere/at/all", "--", "ls"], "/nowhere/at/all"),
        (&["add", "x", "--timeout", "0", "--", "ls"], "0"),
        (&["add", "x", "--env", "=1", "--", "ls"], "NAME"),
    ];
    for (args, word) in cases {
        house.andon(args).refused(2, &[word]);
    }
    assert_eq!(house.done(&["list", "--all"]), "");
}

#[test]
fn usage_errors_are_short_and_exit_two() {
    let house = House::new();
    for args in [
        &["add"][..],
        &["frobnicate"],
        &["list", "--bogus"],
        &["list", "--status", "done"],
        &["move", "1"],
        &["move", "1", "nowhere"],
        &["block", "1"],
        &["answer", "1"],
        &["edit", "1"],
        &["run"],
        &["completions", "tcsh"],
        &["list", "--headless"],
        &["--headless", "list"],
    ] {
        let said = house.andon(args);
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        let lines = said.err.lines().count();
        assert!((1..=3).contains(&lines) && said.out.is_empty(), "{args:?}: {said:?}");
        let problem = house.andon(&[args, &["--json"]].concat()).problem();
        assert_eq!(problem["code"], "usage", "{args:?}");
    }
}

#[test]
fn the_state_refuses_with_four_and_names_what_is_allowed() {
    let house = House::new();
    house.done(&["add", "x"]);
    house.andon(&["approve", "1"]).refused(4, &["pending"]);
    house.andon(&["move", "1", "success"]).refused(4, &["pending", "success", "queued, cancelled"]);
    house.andon(&["retry", "1"]).refused(4, &["#1"]);
    house.andon(&["answer", "1", "x"]).refused(4, &["#1"]);
    house.done(&["cancel", "1"]);
    house.andon(&["start", "1"]).refused(4, &["andon copy 1"]);
    assert_eq!(house.status("1"), "cancelled");
}

#[test]
fn an_ambiguous_prefix_lists_what_it_could_be() {
    let house = House::new();
    // 37 ids begin with only 36 different characters.
    let titles: String = (0..37).map(|n| format!("{n}\n")).collect();
    let said = house.andon_with(&["add", "-"], |c| {
        c.write_stdin(titles);
    });
    let ids: Vec<&str> = said.out.lines().collect();
    let shared = ids
        .iter()
        .find(|id| ids.iter().filter(|other| other[..3] == id[..3]).count() > 1)
        .map(|id| &id[..3])
        .unwrap();
    house.andon(&["show", shared]).refused(2, &["could be any of", shared]);
    assert_eq!(house.json(&["show", &ids[0][..13]])["id"], ids[0]);
}

#[test]
fn a_wrong_kind_of_id_says_what_is_wanted() {
    let house = House::new();
    house.andon(&["show", "w_abcdefghijkl"]).refused(2, &["workflow", "task"]);
}

#[test]
fn arguments_that_are_no_text_are_refused() {
    let house = House::new();
    let odd = OsString::from_vec(vec![b'a', 0xff]);
    for args in [
        vec![OsString::from("add"), odd.clone()],
        vec!["add".into(), "x".into(), "--".into(), "ls".into(), odd.clone()],
        vec!["show".into(), odd.clone()],
        vec!["add".into(), "x".into(), "--env".into(), odd.clone(), "--".into(), "ls".into()],
    ] {
        house.andon_os(&args, |_| {}).refused(2, &["UTF-8"]);
    }
    assert_eq!(house.done(&["list", "--all"]), "");
    let said = house.andon_with(&["add", "-"], |c| {
        c.write_stdin(vec![b'a', 0xff, b'\n']);
    });
    said.refused(2, &["standard input"]);
}

#[test]
fn what_was_typed_can_not_steer_the_terminal() {
    let house = House::new();
    house.done(&[
        "add",
        "a\x1b[2Jb\u{202e}\x07",
        "-d",
        "x\x1b]0;t\x07\ny",
        "-l",
        "l\x1bl",
        "--assignee",
        "\u{9b}m",
    ]);
    for args in [&["list"][..], &["show", "1"], &["why", "1"], &["events"], &["start", "1"]] {
        let said = house.done(args);
        let steers = said.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}');
        assert!(!steers, "{args:?}: {said:?}");
    }
    assert_eq!(house.json(&["show", "1"])["title"], "a\x1b[2Jb\u{202e}\x07", "programs get what was typed");
    house.andon(&["show", "\x1b[2J"]).refused(3, &["␛"]);
}

#[test]
fn a_configuration_with_faults_names_all_of_them() {
    let house = House::new();
    let config = house.file("c.toml", "[dispatch]\nparalel = 2\n[board]\ntheme = 3\n");
    let said = house.andon(&["config", "check", "--config", &config]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("paralel") && said.err.contains("parallel") && said.err.contains("theme"),
        "{said:?}"
    );
    assert!(house.done(&["config", "check"]).contains("right"));
    assert_eq!(house.done(&["config", "path", "--config", &config]), config);
    assert!(house.done(&["config", "show"]).contains("parallel = 4"));
    assert_eq!(house.json(&["config", "show"])["dispatch"]["parallel"], 4);
}

#[test]
fn the_folder_to_run_in_has_to_be_there_and_is_kept_as_an_absolute_path() {
    let house = House::new();
    house
        .andon(&["add", "x", "--cwd", "/no/such", "--", "true"])
        .refused(2, &["no folder /no/such", "--cwd"]);
    house.andon(&["add", "x", "--cwd", "no/such", "--", "true"]).refused(2, &["/no/such"]);
    let file = house.file("plain", "x");
    house.andon(&["add", "x", "--cwd", &file, "--", "true"]).refused(2, &[&file]);
    assert_eq!(house.json(&["list", "--all"])["items"].as_array().unwrap().len(), 0);
    std::fs::create_dir(house.path().join("sub")).unwrap();
    house.done(&["add", "x", "--cwd", "./sub", "--", "true"]);
    let kept = house.json(&["show", "1"])["executor"]["cwd"].clone();
    assert_eq!(kept, house.path().join("sub").to_str().unwrap());
    house.andon(&["edit", "1", "--cwd", "/no/such", "--", "true"]).refused(2, &["/no/such"]);
}

#[test]
fn a_refusal_says_what_to_do_next() {
    let house = House::new();
    house.done(&["add", "by hand"]);
    house.done(&["add", "queued", "--start", "--", "true"]);
    house.andon(&["answer", "1", "yes"]).refused(4, &["#1 asks nothing", "andon questions"]);
    house.andon(&["retry", "1"]).refused(4, &["#1 is pending", "from failed to queued", "andon start 1"]);
    house.andon(&["resume", "1"]).refused(4, &["from suspended to queued", "andon start 1"]);
    house.andon(&["reject", "2"]).refused(4, &["queued already", "andon why 2"]);
    house.andon(&["approve", "2"]).refused(4, &["from queued to success", "running, cancelled"]);
    house.andon(&["depend", "1", "--on", "2", "--remove"]).refused(4, &["does not need", "andon show 1"]);
    house.done(&["depend", "1", "--on", "2"]);
    house.andon(&["depend", "2", "--on", "1"]).refused(4, &["#2 → #1 → #2", "--remove"]);
    house.done(&["boards", "create", "ideas"]);
    house.andon(&["boards", "create", "ideas"]).refused(4, &["exists already", "--board ideas"]);
    let file = house
        .file("w.yaml", "name: w\nsteps:\n  - { id: a, tool_name: exec, tool_params: { command: x } }\n");
    house.done(&["workflow", "create", &file]);
    house.andon(&["workflow", "pause", "w"]).refused(4, &["not started", "andon workflow start"]);
    house.done(&["workflow", "start", "w"]);
    house.andon(&["workflow", "start", "w"]).refused(4, &["running already", "andon workflow status"]);
    house.andon(&["workflow", "resume", "w"]).refused(4, &["not paused", "andon workflow status"]);
    house.andon(&["workflow", "rerun", "w"]).refused(4, &["goes on", "andon workflow cancel"]);
}
