//! One card, followed live: what it asks is answered on the spot, once, and leaving leaves it waiting.

use super::house::House;
use super::terminal::Terminal;
use std::time::{Duration, Instant};

/// A card that prints, asks, and prints its answer.
fn asks(house: &House) {
    let script = r#"if [ -n "$ANDON_ANSWER" ]; then echo "got $ANDON_ANSWER"; exit; fi
        printf 'look \033[2J here\n'
        andon tool '{"tool":"clarify","question":"Which one?","options":["red","blue"],"wait":false}' >/dev/null"#;
    house.done(&["add", "Paint the roof", "--start", "--", "sh", "-c", script]);
}

#[test]
fn a_card_is_followed_to_its_end_and_answered_by_number_on_the_spot() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    asks(&house);
    let mut terminal = Terminal::open(&house, &["attach", "1"]);
    terminal.shows("look ␛[2J here");
    terminal.shows("2  blue");
    terminal.shows("a number or words>");
    terminal.types("2\n");
    terminal.shows("→ blue");
    terminal.shows("got blue");
    terminal.shows("success");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn an_answer_that_is_typed_while_the_question_is_on_its_way_is_kept_and_sent() {
    let house = House::new();
    house.done(&["add", "by hand"]);
    house.done(&["start", "1"]);
    // All of the input is there, and at its end, before the question is.
    let (input, typed) = std::io::pipe().expect("a pipe");
    let mut attached = std::process::Command::new(env!("CARGO_BIN_EXE_andon"));
    attached.args(["attach", "1", "--db"]).arg(house.database());
    attached.current_dir(house.path()).env("HOME", house.path()).env("TZ", "UTC");
    attached.stdin(input).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let attached = attached.spawn().expect("it starts");
    {
        use std::io::Write;
        let mut typed = typed;
        typed.write_all("neither,\\\nthe 绿色 one\n".as_bytes()).expect("somebody reads");
    }
    house.done(&["tool", r#"{"tool":"clarify","task_id":"1","question":"Which one?","wait":false}"#]);
    let said = attached.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success() && text.contains("Which one?"), "{text}");
    let answer = house.json(&["show", "1"])["waits"][0]["answer"].clone();
    assert_eq!(answer, "neither,\nthe 绿色 one");
}

#[test]
fn of_two_that_answer_the_second_is_told() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    asks(&house);
    house.until("1", "blocked");
    let mut first = Terminal::open(&house, &["attach", "1"]);
    let mut second = Terminal::open(&house, &["attach", "1"]);
    first.shows("a number or words>");
    second.shows("a number or words>");
    first.types("red\n");
    first.shows("→ red");
    second.shows("answered elsewhere: red");
    // What is typed after that answers nothing.
    second.types("blue\n");
    second.shows("got red");
    assert_eq!((first.ends(), second.ends()), (0, 0));
    let waits = house.json(&["show", "1"])["waits"].clone();
    assert_eq!((waits.as_array().map(Vec::len), &waits[0]["answer"]), (Some(1), &"red".into()));
}

#[test]
fn a_wrong_answer_is_refused_and_can_be_corrected() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    asks(&house);
    let mut terminal = Terminal::open(&house, &["attach", "1"]);
    terminal.shows("a number or words>");
    terminal.types("\n");
    terminal.shows("an answer can't be empty");
    terminal.types("BLUE\n");
    terminal.shows("→ blue");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn leaving_leaves_the_card_waiting_unless_the_session_owns_it() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    asks(&house);
    house.until("1", "blocked");
    for leave in ["\u{3}", "\u{4}"] {
        let mut terminal = Terminal::open(&house, &["attach", "1"]);
        terminal.shows("a number or words>");
        terminal.types(leave);
        terminal.shows("#1 keeps waiting");
        assert_eq!(terminal.ends(), 0);
        assert_eq!(house.status("1"), "blocked");
    }
    let mut terminal = Terminal::open(&house, &["attach", "1", "--own"]);
    terminal.shows("a number or words>");
    terminal.types("\u{3}");
    terminal.shows("#1 is cancelled");
    assert_eq!(terminal.ends(), 0);
    let shown = house.json(&["show", "1"]);
    assert_eq!((&shown["status"], &shown["waits"][0]["state"]), (&"cancelled".into(), &"cancelled".into()));
}

#[test]
fn a_running_card_that_is_owned_is_suspended_when_the_terminal_closes() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    house.done(&["add", "long", "--start", "--", "sh", "-c", "echo begun; exec sleep 1000"]);
    let mut terminal = Terminal::open(&house, &["attach", "1", "--own"]);
    terminal.shows("begun");
    drop(terminal);
    house.until("1", "suspended");
}

#[test]
fn programs_get_json_lines_and_the_question_at_once() {
    let house = House::new();
    house.done(&["add", "by hand"]);
    house.done(&["start", "1"]);
    let (input, _typed) = std::io::pipe().expect("a pipe");
    let mut attached = std::process::Command::new(env!("CARGO_BIN_EXE_andon"));
    attached.args(["attach", "1", "--json", "--db"]).arg(house.database());
    attached.current_dir(house.path()).env("HOME", house.path());
    let mut attached = attached.stdin(input).stdout(std::process::Stdio::piped()).spawn().expect("it starts");
    let lines = std::io::BufReader::new(attached.stdout.take().expect("its stdout"));
    let mut lines = std::io::BufRead::lines(lines).map(|line| {
        let line = line.expect("a line");
        serde_json::from_str::<serde_json::Value>(&line).expect("every line is JSON")
    });
    assert_eq!(lines.next().expect("the card")["task"]["seq"], 1);
    let engine = andon::engine::Engine::open(&house.database()).expect("the database");
    let ask = andon::engine::Command::Ask {
        task: andon::domain::IdRef::Seq(1),
        question: "Which one?".into(),
        options: Vec::new(),
        waits: false,
        expires_at_ms: None,
    };
    engine.execute(ask, &andon::domain::Actor::operator("pat")).expect("it asks");
    let asked = Instant::now();
    let status = lines.next().expect("a status");
    assert_eq!((&status["type"], &status["status"]), (&"status".into(), &"blocked".into()));
    let question = lines.next().expect("a question");
    assert_eq!(
        (&question["type"], &question["question"]["question"]),
        (&"question".into(), &"Which one?".into())
    );
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    house.done(&["answer", "1", "the green one"]);
    let rest: Vec<_> = lines.by_ref().take(2).collect();
    assert!(rest.iter().any(|line| line["question"]["answer"] == "the green one"), "{rest:?}");
    house.done(&["complete", "1"]);
    assert!(lines.any(|line| line["type"] == "end" && line["task"]["status"] == "success"));
    assert!(attached.wait().expect("it ends").success());
}

#[test]
fn a_process_inside_a_run_is_refused() {
    let house = House::new();
    let _daemon = house.daemon(&[]);
    house.done(&["add", "x", "--wait", "--", "sh", "-c", r#"andon attach 1 </dev/null; echo "code $?""#]);
    assert!(house.done(&["log", "1"]).contains("code 5"));
}
