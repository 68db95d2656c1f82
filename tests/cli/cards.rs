//! Cards without anything to run: made, moved, shown, edited, put away.

use super::house::{House, settled};

#[test]
fn add_prints_the_full_id_alone() {
    let house = House::new();
    let said = house.andon(&["add", "Fix login page 500 error", "-p", "2"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let id = said.out.strip_suffix('\n').unwrap();
    assert!(id.len() == 14 && id.starts_with("t_"), "{id}");
    let record = house.json(&["show", id]);
    assert_eq!(record["status"], "pending");
    assert_eq!(record["priority"], 2);
    assert_eq!(record["created_by"], "pat");
}

#[test]
fn a_card_goes_from_made_to_done() {
    let house = House::new();
    house.done(&["add", "Fix login page 500 error", "-p", "2"]);
    assert_eq!(house.done(&["start", "1"]), "#1  ● running  Fix login page 500 error");
    assert_eq!(
        house.done(&["complete", "#1", "--result", "cookie path"]),
        "#1  ✓ success  Fix login page 500 error"
    );
    assert_eq!(house.json(&["show", "1"])["result"], "cookie path");
}

#[test]
fn complete_walks_a_card_that_nobody_started_through_the_legal_steps() {
    let house = House::new();
    house.done(&["add", "x"]);
    house.done(&["complete", "1"]);
    let events = house.andon(&["events", "--json"]);
    let walked: Vec<String> = events
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter_map(|event| event["patch"]["status"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(walked, ["queued", "running", "review", "success"]);
}

#[test]
fn every_verb_moves_a_manual_card_as_the_table_says() {
    let house = House::new();
    house.done(&["add", "x"]);
    let steps: [(&[&str], &str); 11] = [
        (&["start", "1"], "running"),
        (&["block", "1", "--reason", "vendor"], "blocked"),
        (&["unblock", "1"], "queued"),
        (&["start", "1"], "running"),
        (&["suspend", "1"], "suspended"),
        (&["resume", "1"], "queued"),
        (&["move", "1", "RUNNING"], "running"),
        (&["fail", "1", "--error", "no"], "failed"),
        (&["retry", "1"], "queued"),
        (&["cancel", "1", "--reason", "never mind"], "cancelled"),
        (&["archive", "1"], "cancelled"),
    ];
    for (verb, status) in steps {
        house.done(verb);
        assert_eq!(house.status("1"), status, "{verb:?}");
    }
}

#[test]
fn reviewed_work_is_approved_or_sent_back_with_feedback() {
    let house = House::new();
    house.done(&["add", "x", "--review"]);
    house.done(&["start", "1"]);
    house.done(&["complete", "1", "--result", "first"]);
    assert_eq!(house.status("1"), "review");
    house.done(&["reject", "1", "--feedback", "tests are missing"]);
    assert_eq!(house.status("1"), "queued");
    house.done(&["start", "1"]);
    house.done(&["complete", "1"]);
    house.done(&["approve", "1"]);
    assert_eq!(house.status("1"), "success");
}

#[test]
fn a_copy_is_the_way_back_from_a_mistaken_cancel() {
    let house = House::new();
    house.done(&["add", "x", "-l", "bug", "-p", "1", "-d", "long"]);
    house.done(&["cancel", "1"]);
    let id = house.done(&["copy", "1"]);
    let copy = house.json(&["show", &id]);
    assert_eq!(
        (&copy["status"], &copy["priority"], &copy["description"]),
        (&"pending".into(), &1.into(), &"long".into())
    );
    assert_ne!(copy["seq"], 1);
}

#[test]
fn edit_changes_what_was_named_and_nothing_else() {
    let house = House::new();
    house.done(&["add", "x", "-l", "bug", "-d", "text"]);
    house.done(&["edit", "1", "-p", "0", "--add-label", "api", "--assignee", "kim", "--timeout", "90"]);
    let record = house.json(&["show", "1"]);
    assert_eq!(record["labels"], serde_json::json!(["bug", "api"]));
    assert_eq!(
        (&record["priority"], &record["assignee"], &record["timeout_seconds"]),
        (&0.into(), &"kim".into(), &90.into())
    );
    assert_eq!((&record["title"], &record["description"]), (&"x".into(), &"text".into()));
    house.done(&["edit", "1", "--no-labels", "--timeout", "0", "--", "echo", "hi"]);
    let record = house.json(&["show", "1"]);
    assert_eq!(record["labels"], serde_json::json!([]));
    assert_eq!(record["timeout_seconds"], serde_json::Value::Null);
    assert_eq!(record["executor"]["command"], serde_json::json!(["echo", "hi"]));
}

#[test]
fn an_edit_of_an_old_version_does_not_overwrite_the_winner() {
    let house = House::new();
    house.done(&["add", "x"]);
    let version = house.json(&["show", "1"])["version"].to_string();
    house.done(&["edit", "1", "-t", "winner", "--if-version", &version]);
    house.andon(&["edit", "1", "-t", "loser", "--if-version", &version]).refused(4, &["version"]);
    assert_eq!(house.json(&["show", "1"])["title"], "winner");
}

#[test]
fn titles_come_line_by_line_from_standard_input_all_or_none() {
    let house = House::new();
    let said = house.andon_with(&["add", "-", "-p", "3"], |c| {
        c.write_stdin("first\n\n  second  \nthird");
    });
    assert_eq!((said.code, said.out.lines().count()), (0, 3));
    let titles: Vec<_> = house.json(&["list"])["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|card| (card["title"].as_str().unwrap().to_owned(), card["priority"].as_i64().unwrap()))
        .collect();
    assert_eq!(titles, [("first".to_owned(), 3), ("second".to_owned(), 3), ("third".to_owned(), 3)]);
    let long = format!("fine\n{}", "x".repeat(501));
    let said = house.andon_with(&["add", "-"], |c| {
        c.write_stdin(long);
    });
    said.refused(2, &["501"]);
    assert_eq!(house.json(&["list"])["items"].as_array().unwrap().len(), 3);
}

#[test]
fn a_card_behind_another_can_not_start_and_says_what_it_waits_for() {
    let house = House::new();
    house.done(&["add", "Build"]);
    house.done(&["add", "Deploy", "--after", "1"]);
    house.andon(&["start", "2"]).refused(4, &["#1 Build (pending)"]);
    insta::assert_snapshot!(house.done(&["why", "2"]), @r"
    #2  ○ pending  Deploy
      waits for #1 Build (pending)
        → andon why 1
    ");
    house.andon(&["depend", "1", "--on", "2"]).refused(4, &["#1"]);
    house.done(&["complete", "1"]);
    house.done(&["start", "2"]);
    house.done(&["add", "Third"]);
    house.done(&["depend", "3", "--on", "2"]);
    house.done(&["depend", "3", "--on", "2", "--remove"]);
    house.done(&["start", "3"]);
}

#[test]
fn the_list_is_a_table_of_open_cards() {
    let house = House::new();
    house.done(&["add", "Rotate API keys", "-p", "2", "-l", "security", "--assignee", "kim"]);
    house.done(&["add", "修复登录页面"]);
    house.done(&["add", "Old"]);
    house.done(&["cancel", "3"]);
    let list = house.done(&["list"]);
    let shown: Vec<&str> = list.lines().map(|line| line.rsplit_once("  ").unwrap().0.trim_end()).collect();
    assert_eq!(
        shown,
        ["#1  ○ pending  P2  Rotate API keys  security  @kim", "#2  ○ pending  P5  修复登录页面"]
    );
    assert_eq!(house.done(&["list", "--all"]).lines().count(), 3);
    assert_eq!(house.done(&["list", "-s", "CANCELLED"]).lines().count(), 1);
    assert_eq!(house.done(&["list", "-l", "security"]).lines().count(), 1);
    assert_eq!(house.done(&["list", "--assignee", "nobody"]), "");
    assert_eq!(house.done(&["list", "--limit", "1"]).lines().count(), 1);
}

#[test]
fn lists_stop_at_fifty_and_go_on_by_their_cursor() {
    let house = House::new();
    let titles: String = (0..120).map(|n| format!("card {n}\n")).collect();
    house.andon_with(&["add", "-"], |c| {
        c.write_stdin(titles);
    });
    let first = house.json(&["list"]);
    assert_eq!(first["items"].as_array().unwrap().len(), 50);
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = house.json(&["list", "--limit", "100", "--cursor", cursor]);
    assert_eq!(rest["items"].as_array().unwrap().len(), 70);
    assert_eq!(rest["items"][0]["title"], "card 50");
    assert_eq!(rest["next_cursor"], serde_json::Value::Null);
    assert_eq!(house.json(&["list", "--all"])["items"].as_array().unwrap().len(), 120);
}

#[test]
fn no_board_is_called_by_the_star_that_means_all() {
    let house = House::new();
    house.done(&["add", "x"]);
    house.andon(&["boards", "create", "*"]).refused(2, &["all boards"]);
    house.andon(&["edit", "1", "--to-board", " * "]).refused(2, &["all boards"]);
}

#[test]
fn boards_keep_their_cards_apart_and_a_star_means_all() {
    let house = House::new();
    house.done(&["boards", "create", "ops"]);
    house.done(&["add", "here"]);
    house.done(&["add", "there", "--board", "ops"]);
    let titles = |args: &[&str]| -> Vec<String> {
        let list = house.json(args);
        list["items"].as_array().unwrap().iter().map(|c| c["title"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(titles(&["list"]), ["here"]);
    assert_eq!(titles(&["list", "--board", "ops"]), ["there"]);
    assert_eq!(titles(&["list", "--board", "*"]), ["here", "there"]);
    house.andon(&["add", "x", "--board", "*"]).refused(2, &["one is needed"]);
    let names: Vec<_> =
        house.json(&["boards"])["items"].as_array().unwrap().iter().map(|b| b["id"].clone()).collect();
    assert_eq!(names, ["default", "ops"]);
    let said = house.andon_with(&["list"], |c| {
        c.env("ANDON_BOARD", "ops");
    });
    assert!(said.out.contains("there"));
}

#[test]
fn show_tells_the_whole_card() {
    let house = House::new();
    house.done(&["add", "Build"]);
    house.done(&[
        "add",
        "Fix login",
        "-p",
        "2",
        "-l",
        "bug",
        "-d",
        "It says 500.\nSince Monday.",
        "--after",
        "1",
    ]);
    let shown: String = house
        .done(&["show", "2"])
        .lines()
        .filter(|line| !line.trim_start().starts_with("made"))
        .map(|line| {
            if line.contains(" for ") {
                "  status    ○ pending for AGE\n".to_owned()
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    insta::assert_snapshot!(settled(&shown), @r"
    #2 Fix login
      status    ○ pending for AGE
      id        t_____________
      board     default
      priority  P2 urgent
      labels    bug
      by        pat

    description
      It says 500.
      Since Monday.

    needs
      #1  ○ pending  Build
    ");
}

#[test]
fn deleting_hides_an_open_card_and_refuses_a_running_one() {
    let house = House::new();
    house.done(&["add", "x"]);
    house.done(&["start", "1"]);
    house.andon(&["delete", "1"]).refused(4, &["#1"]);
    house.done(&["suspend", "1"]);
    house.done(&["delete", "1"]);
    assert_eq!(house.done(&["list"]), "");
    let record = house.json(&["show", "1"]);
    assert_eq!(record["status"], "cancelled");
    assert_ne!(record["archived_at"], serde_json::Value::Null);
}
