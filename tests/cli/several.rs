//! One verb on several cards: each refusal is named, the rest is done.

use super::house::House;

#[test]
fn the_rest_is_done_and_the_first_refusal_decides() {
    let house = House::new();
    for title in ["a", "b", "c"] {
        house.done(&["add", title]);
    }
    house.done(&["cancel", "2"]);
    let said = house.andon(&["start", "1", "2", "99", "3"]);
    assert_eq!(said.code, 4);
    assert_eq!(said.out, "#1  ● running  a\n#3  ● running  c\n");
    assert_eq!(said.err.lines().count(), 2);
    assert!(said.err.contains("#2") && said.err.contains("#99"), "{said:?}");
    assert_eq!(house.andon(&["start", "99", "2"]).code, 3);
}

#[test]
fn programs_get_what_was_done_and_what_was_refused() {
    let house = House::new();
    house.done(&["add", "a"]);
    house.done(&["add", "b"]);
    let said = house.andon(&["cancel", "1", "99", "2", "--json"]);
    assert_eq!(said.code, 3);
    let answer = said.json();
    assert_eq!(answer["done"][0]["status"], "cancelled");
    assert_eq!(answer["done"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&answer["refused"][0]["id"], &answer["refused"][0]["code"]),
        (&"99".into(), &"not_found".into())
    );
    assert!(answer["refused"][0]["message"].as_str().unwrap().contains("#99"));
    assert_eq!(said.problem()["code"], "not_found");
    let all_well = house.json(&["archive", "1", "2"]);
    assert_eq!(all_well["refused"], serde_json::json!([]));
}

#[test]
fn many_cards_move_at_once() {
    let house = House::new();
    house.done(&["add", "a"]);
    house.done(&["add", "b"]);
    assert_eq!(house.done(&["move", "1", "2", "Queued"]).lines().count(), 2);
    assert_eq!((house.status("1"), house.status("2")), ("queued".to_owned(), "queued".to_owned()));
}
