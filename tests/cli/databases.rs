//! Databases that can't be used: exit 6, and they stay as they are.

use super::house::House;

#[test]
fn a_damaged_file_is_left_alone() {
    let house = House::new();
    std::fs::write(house.database(), "this is no database, and it is long enough to look at").unwrap();
    house.andon(&["list"]).refused(6, &["board.db", "--db"]);
    house.andon(&["add", "x"]).refused(6, &["board.db"]);
    assert!(std::fs::read_to_string(house.database()).unwrap().starts_with("this is no database"));
    assert_eq!(house.andon(&["list", "--json"]).problem()["code"], "store_unusable");
}

#[test]
fn a_database_of_a_newer_program_is_refused_as_such() {
    let house = House::new();
    house.done(&["add", "x"]);
    let database = rusqlite::Connection::open(house.database()).unwrap();
    database.pragma_update(None, "user_version", 9_999).unwrap();
    drop(database);
    house.andon(&["list"]).refused(6, &["newer"]);
}

#[test]
fn a_database_of_another_program_is_not_touched() {
    let house = House::new();
    let database = rusqlite::Connection::open(house.database()).unwrap();
    database.execute_batch("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup');").unwrap();
    house.andon(&["add", "x"]).refused(6, &["board.db"]);
    let left: String = database.query_row("SELECT name FROM recipes", [], |row| row.get(0)).unwrap();
    assert_eq!(left, "soup");
}

#[test]
fn a_path_that_can_not_be_a_file_is_named() {
    let house = House::new();
    let folder = house.path().to_str().unwrap();
    house.andon(&["list", "--db", folder]).refused(6, &[folder]);
    let behind_a_file = house.file("plain", "x") + "/board.db";
    house.andon(&["list", "--db", &behind_a_file]).refused(6, &["plain"]);
}

#[test]
fn the_folder_of_a_named_database_has_to_be_there() {
    let house = House::new();
    let folder = house.path().join("mistyped");
    let path = folder.join("board.db").display().to_string();
    let name = folder.to_str().unwrap();
    for args in [&["list"][..], &["add", "x"], &["--headless"], &["tool", "{}"]] {
        house.andon(&[args, &["--db", &path]].concat()).refused(6, &[name, "make it first", "--db"]);
    }
    house
        .andon_with(&["list"], |c| {
            c.env("ANDON_DB", &path);
        })
        .refused(6, &[name]);
    assert!(!folder.exists());
    house.andon(&["list", "--db", "here.db"]);
    assert!(house.path().join("here.db").exists(), "the current folder is there");
}

#[cfg(target_os = "linux")]
#[test]
fn a_place_that_takes_no_files_is_named() {
    let house = House::new();
    house.andon(&["add", "x", "--db", "/proc/andon/board.db"]).refused(6, &["/proc"]);
}

#[test]
fn the_usual_place_is_in_the_data_folder_and_private() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    let said = house.andon_with(&["add", "x"], |c| {
        c.env_remove("ANDON_DB");
    });
    assert_eq!(said.code, 0, "{said:?}");
    let folder = house.path().join("data/andon");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&folder.join("andon.db"))), (0o700, 0o600));
}
