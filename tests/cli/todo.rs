//! The light list of a session, by its verbs.

use super::house::House;

#[test]
fn items_are_made_listed_and_done() {
    let house = House::new();
    let made = house.done(&["todo", "create", "--session", "s1", "read", "think"]);
    let ids: Vec<&str> = made.lines().collect();
    assert!(ids.len() == 2 && ids[0].starts_with("t_"), "{made}");
    house.done(&["todo", "update", "--session", "s1", ids[1], "in_progress"]);
    house.done(&["todo", "complete", ids[0], "--session", "s1"]);
    let list = house.done(&["todo", "list", "--session", "s1"]);
    assert_eq!(list, format!("[x] {}  read\n[~] {}  think", ids[0], ids[1]));
    assert_eq!(house.json(&["todo", "list", "--session", "s1"])["items"][0]["status"], "done");
    assert_eq!(house.json(&["todo", "list", "--session", "s2"])["items"].as_array().unwrap().len(), 0);
    house.done(&["todo", "delete", "--session", "s1", ids[0], ids[1]]);
    assert_eq!(house.done(&["todo", "list", "--session", "s1"]), "");
    assert_eq!(house.done(&["list", "--all"]), "");
    assert!(house.path().join("todos/s1.json").is_file());
}

#[test]
fn one_item_is_one_record_and_a_wrong_call_says_what_is_right() {
    let house = House::new();
    let one = house.json(&["todo", "create", "--session", "s1", "read"]);
    assert_eq!((&one["title"], &one["status"]), (&"read".into(), &"pending".into()));
    house.andon(&["todo", "list"]).refused(2, &["--session"]);
    let id = one["id"].as_str().unwrap();
    house
        .andon(&["todo", "update", "--session", "s1", id, "odd"])
        .refused(2, &["pending, in_progress, done"]);
    house.andon(&["todo", "complete", "--session", "s2", id]).refused(3, &["no todo"]);
    let task = house.done(&["add", "card"]);
    house.andon(&["todo", "complete", "--session", "s1", &task]).refused(3, &["tool `task`"]);
}

#[test]
fn inside_a_run_the_list_is_the_runs() {
    let house = House::new();
    let daemon = house.daemon(&[]);
    let line = "andon todo create mine && andon todo list --session other; echo $?";
    let id = house.done(&["add", "x", "--start", "--", "/bin/sh", "-c", line]);
    house.until(&id, "success");
    let result = house.json(&["show", &id])["result"].as_str().unwrap().to_owned();
    assert!(result.ends_with("\n5"), "{result}");
    let session = format!("task:{id}");
    assert_eq!(house.json(&["todo", "list", "--session", &session])["items"][0]["title"], "mine");
    daemon.terminate();
}
