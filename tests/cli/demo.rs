//! The demo without a screen: it really runs, and says only what happened.

use super::house::House;

#[test]
fn it_tells_its_story_and_leaves_nothing_behind() {
    let house = House::new();
    let temporary = house.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let said = house.andon_with(&["demo", "--headless"], |c| {
        c.env("TMPDIR", &temporary);
    });
    assert_eq!(said.code, 0, "{said:?}");
    for words in [
        "test      ✗ failed",
        "retry 1",
        "Everything is built and tested. Where should it go?",
        "pick one: staging, production",
        "you answer: staging",
        "deployed to staging",
        "you approve it",
        "the agent scout wants to run `echo release notes written`",
        "you allow it, once",
        "an agent's command was allowed",
        "7 of 7 steps done",
        "ran side by side",
        "`test` failed and was retried",
    ] {
        assert!(said.out.contains(words), "`{words}` is missing:\n{}", said.out);
    }
    assert_eq!(said.out.matches("Where should it go?").count(), 1, "{}", said.out);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "the scratch folder is gone");
    assert!(!house.database().exists(), "one's own board is not touched");
}

#[test]
fn programs_get_the_workflow() {
    let house = House::new();
    let record = house.json(&["demo"]);
    assert_eq!((&record["status"], record["steps"].as_array().unwrap().len()), (&"success".into(), 7));
}
