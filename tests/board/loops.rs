//! Keys through the real loop, over a real database: what a person does and then sees.

use andon::domain::{IdRef, TaskStatus};
use andon::engine::{Command, NewTask, TaskEdit, TaskFilter};
use andon::tui::Exit;
use andon::tui::event::Event;
use std::time::Duration;

use crate::table::{Table, operator};

fn full(task: &andon::domain::Task) -> IdRef {
    IdRef::Full(task.id.0.clone())
}

#[test]
fn a_title_and_enter_make_a_card_that_is_selected_and_can_be_queued_edited_and_undone() {
    let mut table = Table::new();
    table.until("This board is empty");
    table.press("cFix the roof<enter>");
    table.until("#1 Fix the roof");
    table.press("cWater the plants<enter>");
    table.until("#2 Water");
    assert_eq!(table.session.app.selected_card().unwrap().seq, 2);
    table.press("L");
    table.until("QUEUED ──");
    assert_eq!(table.engine.task(&IdRef::Seq(2)).unwrap().status, TaskStatus::Queued);
    table.press("e");
    table.until("edit #2");
    table.press(" now<ctrl-s>");
    table.until("Water the plants");
    table.wait("the edit", |t| t.engine.task(&IdRef::Seq(2)).unwrap().title == "Water the plants now");
    table.wait("the form to close", |t| t.session.app.layers.is_empty());
    table.press("KK");
    table.wait("the priority", |t| t.engine.task(&IdRef::Seq(2)).unwrap().priority == 3);
    table.press("uuu");
    table.wait("the edits to be taken back", |t| {
        let task = t.engine.task(&IdRef::Seq(2)).unwrap();
        task.priority == 5 && task.title == "Water the plants"
    });
}

#[test]
fn what_another_process_does_appears_by_itself() {
    let mut table = Table::new();
    table.until("This board is empty");
    let other = andon::engine::Engine::open(&table.folder.path().join("andon.db")).unwrap();
    let new = andon::engine::NewTask { title: "From elsewhere".into(), ..Default::default() };
    other.execute(Command::Create(Box::new(new)), &operator()).unwrap();
    table.until("From elsewhere");
}

#[test]
fn a_question_is_answered_in_place_and_the_task_goes_on() {
    let mut table = Table::dispatching();
    table.card("Migrate schema", "ask Which database?", true);
    table.until("◆ Which database?");
    table.press("a");
    table.until("last output");
    table.until("looking for databases");
    assert!(table.screen().contains("submit answer and continue"), "{}", table.screen());
    table.press("2<enter>");
    table.until("answered; nothing else needs you");
    table.wait("the result", |t| t.engine.task(&IdRef::Seq(1)).unwrap().result == "production");
    table.press("tllllllll");
    table.until("✓ production");
}

#[test]
fn an_answer_that_is_refused_keeps_its_text_and_so_does_a_restart() {
    let mut table = Table::dispatching();
    let task = table.card("Migrate schema", "ask Which database?", true);
    table.until("◆ Which database?");
    table.press("a<tab>the blue one");
    table.until("the blue one");
    let mut table = table.reopen();
    table.until("◆ Which database?");
    table.press("a");
    table.until("the blue one");
    // It is withdrawn in the same moment; the board has not heard of it when enter is pressed.
    table.execute(Command::Cancel { task: full(&task), reason: None });
    table.press("<enter>");
    table.wait("the refusal or the notice", |t| {
        let screen = t.screen();
        screen.contains("what you typed is kept") || screen.contains("What you typed stays here")
    });
    assert!(table.screen().contains("the blue one"), "{}", table.screen());
}

#[test]
fn the_log_of_a_running_card_is_live_and_its_history_is_in_words() {
    let mut table = Table::dispatching();
    let task = table.card("Hold", "hold", true);
    table.until("RUNNING ─");
    table.press("<enter>2");
    table.until("holding on");
    let run = table.engine.task_view(&full(&task)).unwrap().runs[0].id.clone();
    let log = table.engine.log_path(&run);
    let mut file = std::fs::OpenOptions::new().append(true).open(log).unwrap();
    std::io::Write::write_all(&mut file, "second \x1b[32mgreen\x1b[0m 界\n".as_bytes()).unwrap();
    table.until("second green 界");
    assert!(table.screen().contains("following the end"));
    table.press("3");
    table.until("mara made the card");
    table.until("the dispatcher claimed it");
    table.press("1");
    table.until("runs");
    assert!(table.screen().contains(" is going"), "{}", table.screen());
}

#[test]
fn a_log_over_its_cap_says_what_was_dropped_between_its_head_and_its_tail() {
    let mut table = Table::dispatching();
    let task = table.card("Flood", "hold", true);
    table.until("RUNNING ─");
    let run = table.engine.task_view(&full(&task)).unwrap().runs[0].id.clone();
    let mut log = andon::process::log::Writer::new(table.engine.log_path(&run), 100_000);
    let lines =
        |numbers: std::ops::Range<u32>| -> String { numbers.map(|n| format!("line {n:06}\n")).collect() };
    log.write(lines(0..20_000).as_bytes()).unwrap();
    table.press("<enter>2");
    table.until("line 019999");
    table.until("KiB dropped");
    table.press("g");
    table.until("line 000000");
    let gap = table.session.app.log.lines.iter().position(|line| line.contains("bytes were dropped here"));
    assert!(gap.is_some_and(|at| at > 4_000), "{gap:?}");
    log.write(lines(20_000..40_000).as_bytes()).unwrap();
    table.press("G");
    table.until("line 039999");
}

#[test]
fn a_running_card_is_suspended_and_resumed_with_one_key() {
    let mut table = Table::dispatching();
    table.card("Hold", "hold", true);
    table.until("RUNNING ─");
    table.press("s");
    table.until("SUSPENDED ─");
    table.press("s");
    table.wait("it to run again", |t| t.engine.task(&IdRef::Seq(1)).unwrap().status == TaskStatus::Running);
    table.until("RUNNING ─");
}

#[test]
fn a_failed_card_says_why_is_retried_and_put_away() {
    let mut table = Table::dispatching();
    table.card("Publish", "fail no token", true);
    table.until("✗ no token");
    table.press("w");
    table.until("it failed: no token");
    table.press("<esc>r");
    table.until("1 of 3");
    table.press("Xy");
    table.until("was put away");
    table.wait("the card to go", |t| !t.screen().contains("✗ no token"));
}

#[test]
fn quitting_lets_the_runs_finish_or_stops_them() {
    let mut table = Table::dispatching();
    table.card("Hold", "hold", true);
    table.until("RUNNING ─");
    table.press("q");
    table.until("a run is going");
    table.press("<esc>q");
    table.until("a run is going");
    table.press("s");
    table.wait("the end", |t| t.exit.is_some());
    assert_eq!(table.exit, Some(Exit::Stopped));
    assert_eq!(table.engine.task(&IdRef::Seq(1)).unwrap().status, TaskStatus::Suspended);

    let mut idle = Table::dispatching();
    idle.press("q");
    assert_eq!(idle.exit, Some(Exit::Idle));
}

#[test]
fn a_filter_narrows_the_board_while_it_is_typed() {
    let mut table = Table::new();
    for title in ["Fix login", "Fix logout", "Write docs"] {
        table.card(title, "", false);
    }
    table.until("Write docs");
    table.press("/login");
    table.until("1 shown");
    assert!(!table.screen().contains("Write docs"));
    table.press("<enter><esc>");
    table.until("Write docs");
}

#[test]
fn boards_are_made_and_switched() {
    let mut table = Table::new();
    table.card("On the first board", "", false);
    table.until("On the first board");
    table.press("bc");
    table.until("What is it called?");
    table.press("ideas<enter>");
    table.until("andon ▸ ideas");
    table.press("cA new idea<enter>");
    table.until("A new idea");
    assert!(!table.screen().contains("On the first board"));
    let filter = TaskFilter { board: Some("ideas".into()), ..TaskFilter::default() };
    assert_eq!(table.engine.list(&filter).unwrap().items.len(), 1);
    table.press("bk<enter>");
    table.until("On the first board");
}

#[test]
fn the_terminal_is_told_what_it_must_know() {
    let mut table = Table::new();
    let task = table.card("Copy me", "", false);
    table.until("Copy me");
    table.press("y");
    table.press("<ctrl-z>");
    table.wait("the board to come back", |t| t.session.host.calls.last().is_some_and(|call| call == "enter"));
    let calls = table.session.host.calls.clone();
    assert!(calls.contains(&format!("clipboard {}", task.id)), "{calls:?}");
    assert!(calls.contains(&"title andon ▸ default".to_owned()), "{calls:?}");
    let stop = calls.iter().position(|call| call == "stop").unwrap();
    assert_eq!(calls[stop - 1], "leave", "{calls:?}");
    assert!(table.screen().contains("Copy me"));
}

#[test]
fn a_resize_leaves_no_old_cells() {
    let mut table = Table::new();
    table.card("Stay in shape", "", false);
    table.until("Stay in shape");
    for (width, height) in [(60, 20), (30, 8), (160, 45), (80, 24)] {
        table.session.terminal.backend_mut().resize(width, height);
        table.send(Event::Resize(width, height));
        table.wait("the new size", |t| {
            t.screen().lines().count() == usize::from(height)
                && t.session.app.size == (width, height)
                && !t.session.app.dirty
        });
        let shown = table.screen();
        let fresh = crate::screen::text(&{
            let mut terminal =
                ratatui::Terminal::new(ratatui::backend::TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| andon::tui::view::draw(frame, &table.session.app)).unwrap();
            terminal.backend().buffer().clone()
        });
        assert_eq!(shown, fresh);
    }
}

#[test]
fn many_events_make_few_frames_and_an_idle_board_makes_none() {
    let mut table = Table::new();
    table.until("This board is empty");
    table.turn(Duration::from_millis(50));
    let before = table.session.frames;
    table.turn(Duration::from_millis(300));
    assert_eq!(table.session.frames, before, "nothing happened, nothing is drawn");
    for _ in 0..200 {
        table.send(Event::Key(crate::screen::keys_of("l")[0]));
    }
    table.turn(Duration::from_millis(50));
    let drawn = table.session.frames - before;
    assert!((1..=4).contains(&drawn), "{drawn} frames for 200 keys at once");
}

#[test]
fn a_card_that_changed_elsewhere_while_its_form_is_open_keeps_both_changes() {
    let mut table = Table::new();
    let task = table.card("Fix login", "", false);
    table.until("Fix login");
    table.press("e");
    table.until("edit #1");
    let edit = TaskEdit { description: Some("from elsewhere".into()), ..TaskEdit::default() };
    table.execute(Command::Edit { task: full(&task), edit: Box::new(edit), if_version: None });
    table.press(" page<enter>");
    table.wait("the form to close", |t| !t.screen().contains("edit #1"));
    let now = table.engine.task(&full(&task)).unwrap();
    assert_eq!((now.title.as_str(), now.description.as_str()), ("Fix login page", "from elsewhere"));
}

#[test]
fn a_field_that_was_changed_on_both_sides_is_shown_and_kept_when_sent_again() {
    let mut table = Table::new();
    let task = table.card("Fix login", "", false);
    table.until("Fix login");
    table.press("e");
    table.until("edit #1");
    let edit = TaskEdit { title: Some("Theirs".into()), ..TaskEdit::default() };
    table.execute(Command::Edit { task: full(&task), edit: Box::new(edit), if_version: None });
    table.press(" page<enter>");
    table.until("title is `Theirs` by now");
    assert!(table.screen().contains("Fix login page"), "{}", table.screen());
    assert_eq!(table.engine.task(&full(&task)).unwrap().title, "Theirs");
    table.press("<enter>");
    table.wait("the form to close", |t| !t.screen().contains("edit #1"));
    assert_eq!(table.engine.task(&full(&task)).unwrap().title, "Fix login page");
}

#[test]
fn what_was_written_in_an_editor_is_kept_where_it_is_not_taken() {
    let mut table = Table::new();
    let task = table.card("Fix login", "", false);
    table.until("Fix login");
    let edit = TaskEdit { title: Some("Theirs".into()), ..TaskEdit::default() };
    table.execute(Command::Edit { task: full(&task), edit: Box::new(edit), if_version: None });
    let text = Ok("Fix the login page\n\nAll that I wrote".to_owned());
    table.send(Event::Edited { task: Box::new(task.clone()), text });
    table.until("title is `Theirs` by now");
    assert!(table.screen().contains("All that I wrote"), "{}", table.screen());
}

#[test]
fn saving_a_form_leaves_values_alone_that_it_can_not_show() {
    let mut table = Table::new();
    let labels = vec!["two words".to_owned()];
    let new = NewTask { title: "Tab\there".into(), labels: labels.clone(), ..NewTask::default() };
    table.execute(Command::Create(Box::new(new)));
    table.until("Tab");
    table.press("e");
    table.until("edit #1");
    table.press("<tab>more<ctrl-s>");
    table.wait("the form to close", |t| !t.screen().contains("edit #1"));
    let now = table.engine.task(&IdRef::Seq(1)).unwrap();
    assert_eq!((now.title.as_str(), now.description.as_str()), ("Tab\there", "more"));
    assert_eq!(now.labels, labels);
}

#[test]
fn what_was_begun_on_a_review_is_there_after_a_restart_of_the_board() {
    let mut table = Table::new();
    let task = table.card("Paint", "", false);
    table.execute(Command::Start { task: full(&task) });
    table.execute(Command::Move {
        task: full(&task),
        to: TaskStatus::Review,
        text: Some("two coats".into()),
    });
    table.until("two coats");
    table.press("a2a third coat, 请");
    table.until("a third coat, 请");
    let mut table = table.reopen();
    table.until("two coats");
    table.press("a");
    table.until("a third coat, 请");
    table.press("<enter>");
    table.until("nothing else needs you");
    let task = table.engine.task(&full(&task)).unwrap();
    assert_eq!((task.status, task.review_summary.as_str()), (TaskStatus::Queued, "a third coat, 请"));
}

#[test]
fn who_comes_back_is_told_what_happened_and_a_restart_tells_it_again() {
    let mut table = Table::new();
    table.until("This board is empty");
    let seen = table.folder.path().join("andon.db-drafts/seen.json");
    table.wait("what was seen to be kept", |_| seen.exists());
    let done = table.card("Done meanwhile", "", true);
    table.execute(Command::Complete { task: full(&done), result: None });
    let asks = table.card("Asks meanwhile", "", false);
    table.execute(Command::Start { task: full(&asks) });
    let question = "Which one?".to_owned();
    table.execute(Command::Ask {
        task: full(&asks),
        question,
        options: Vec::new(),
        waits: false,
        expires_at_ms: None,
    });
    for _ in 0..2 {
        table = table.reopen();
        table.until("while you were away (a moment): 1 finished, 1 asked");
    }
    // A key at once is not yet somebody who has read it.
    table.press("j");
    assert!(table.screen().contains("while you were away"), "{}", table.screen());
}

#[test]
fn every_suspended_card_is_resumed_with_one_key() {
    let mut table = Table::dispatching();
    for title in ["One", "Two"] {
        table.card(title, "hold", true);
    }
    table.wait("both to run", |t| t.screen().contains("2 running"));
    for seq in [1, 2] {
        table.execute(Command::Suspend { task: IdRef::Seq(seq) });
    }
    table.until("SUSPENDED");
    table.wait("both to be suspended", |t| t.session.app.snapshot.cards.iter().all(|c| c.run.is_none()));
    table.press("S");
    table.until("2 running");
}
