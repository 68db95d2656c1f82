//! What keys do, seen without a loop: pure events in, state and effects out.

use andon::domain::board::Predecessor;
use andon::domain::{TaskStatus, moves};
use andon::engine::Command;
use andon::tui::event::{Effect, Event};
use andon::tui::layout;
use andon::tui::update::{SPIN_MS, next_wake};

use crate::sample::{self, NOW, card};
use crate::screen::Screen;

fn commands(screen: &Screen) -> Vec<&Command> {
    let mut found = Vec::new();
    for effect in &screen.effects {
        if let Effect::Execute { command, .. } = effect {
            found.push(&**command);
        }
    }
    found
}

#[test]
fn the_selection_follows_its_card_whatever_changes_around_it() {
    let mut screen = Screen::new(120, 40, sample::busy());
    screen.press("j");
    let title = screen.selected().to_owned();
    let mut changed = sample::busy();
    changed.cards.insert(0, card(99, TaskStatus::Pending, "A new one above"));
    screen.event(Event::Snapshot(Box::new(changed.clone())));
    assert_eq!(screen.selected(), title);
    let place = changed.cards.iter().position(|card| card.title == title).unwrap();
    changed.cards[place].status = TaskStatus::Failed;
    screen.event(Event::Snapshot(Box::new(changed.clone())));
    assert_eq!((screen.selected(), screen.app.focus), (title.as_str(), TaskStatus::Failed));
    changed.cards.remove(place);
    screen.event(Event::Snapshot(Box::new(changed)));
    assert_eq!(screen.app.focus, TaskStatus::Failed);
    assert!(!screen.selected().is_empty() && screen.selected() != title);
}

#[test]
fn a_held_card_jumps_only_between_the_columns_it_may_enter() {
    let mut board = sample::empty();
    for (seq, status) in TaskStatus::ALL.iter().enumerate() {
        board.cards.push(card(seq as i64 + 1, *status, status.as_str()));
    }
    for status in TaskStatus::ALL.iter().filter(|status| !status.is_closed()) {
        let mut screen = Screen::new(200, 40, board.clone());
        let id = board.cards.iter().find(|card| card.status == *status).unwrap().clone();
        assert!(andon::tui::select::select(&mut screen.app, &id.id));
        screen.press("<space>hhhhhhhhh");
        let mut visited = vec![screen.app.focus];
        for _ in 0..9 {
            screen.press("l");
            visited.push(screen.app.focus);
        }
        visited.sort();
        visited.dedup();
        let mut expected: Vec<TaskStatus> = moves::permitted(&id).into_iter().map(|found| found.to).collect();
        expected.push(*status);
        expected.sort();
        assert_eq!(visited, expected, "from {status}");
        screen.press("<esc>");
        assert_eq!(screen.app.focus, *status, "esc puts it back");
        assert!(commands(&screen).is_empty());
    }
}

#[test]
fn dropping_a_card_sends_the_move_and_the_footer_says_what_it_means() {
    let mut screen = Screen::new(160, 40, sample::busy());
    screen.press("lllll<space>h");
    assert_eq!(screen.app.focus, TaskStatus::Queued);
    assert!(screen.text().contains("enter retry 3 of 3"), "{}", screen.text());
    screen.press("<enter>");
    assert!(matches!(commands(&screen)[..], [Command::Move { to: TaskStatus::Queued, .. }]));
    assert_eq!(screen.app.focus, TaskStatus::Queued, "it is shown there until the board is read again");
}

#[test]
fn moves_that_need_a_word_or_a_yes_ask_first_and_can_be_left() {
    let mut screen = Screen::new(120, 40, sample::busy());
    screen.press("llx");
    assert!(commands(&screen).is_empty());
    screen.press("n");
    assert!(commands(&screen).is_empty());
    screen.press("xy");
    assert!(matches!(commands(&screen)[..], [Command::Move { to: TaskStatus::Cancelled, .. }]));
    let mut screen = Screen::new(120, 40, sample::busy());
    screen.press("lllRmore tests? q!<enter>");
    match commands(&screen)[..] {
        [Command::Move { to: TaskStatus::Queued, text: Some(text), .. }] => {
            assert_eq!(text, "more tests? q!")
        }
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn an_action_that_is_not_possible_says_why() {
    let mut board = sample::empty();
    let behind =
        Predecessor { id: "t_behind".into(), seq: 7, title: "Build".into(), status: TaskStatus::Running };
    board
        .cards
        .push(andon::domain::Card { predecessors: vec![behind], ..card(3, TaskStatus::Pending, "Ship") });
    let mut screen = Screen::new(100, 30, board);
    screen.press("L");
    assert!(screen.text().contains("waits for #7 Build"), "{}", screen.text());
    screen.press("r");
    assert!(screen.text().contains("only a failed card is retried"));
    assert!(commands(&screen).is_empty());
}

#[test]
fn text_fields_own_the_keyboard() {
    let mut screen = Screen::new(100, 30, sample::busy());
    screen.press("cq? jk/<esc>");
    assert!(screen.app.layers.is_empty() && commands(&screen).is_empty());
    screen.press("cWhat? q/<enter>");
    match commands(&screen)[..] {
        [Command::Create(new)] => assert_eq!(new.title, "What? q/"),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_paste_is_text_in_a_field_and_nothing_on_the_board() {
    let mut screen = Screen::new(100, 30, sample::busy());
    screen.event(Event::Paste("xqx\n".into()));
    assert!(screen.app.layers.is_empty() && commands(&screen).is_empty());
    screen.press("c");
    screen.event(Event::Paste("two\nlines".into()));
    screen.press("<enter>");
    match commands(&screen)[..] {
        [Command::Create(new)] => assert_eq!(new.title, "two lines"),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn the_form_makes_commands_agents_and_predecessors() {
    use andon::domain::{IdRef, Program, Work};
    let mut screen = Screen::new(100, 40, sample::busy());
    screen.app.cwd = Some("/somewhere".into());
    screen.press(
        "cBuild<tab>all of it<tab>make -j2 <lt>x<tab><space><tab>2<tab>a, b<tab>mara<tab>#3 t_abc<ctrl-s>",
    );
    match commands(&screen)[..] {
        [Command::Create(new)] => {
            assert_eq!(
                (new.title.as_str(), new.description.as_str(), new.priority),
                ("Build", "all of it", Some(2))
            );
            assert_eq!(
                (new.labels.join("+"), new.assignee.as_str(), new.start),
                ("a+b".into(), "mara", true)
            );
            assert_eq!(new.after, [IdRef::Seq(3), IdRef::Prefix("t_abc".into())]);
            let executor = new.executor.as_ref().unwrap();
            assert_eq!(executor.cwd.as_deref(), Some("/somewhere"));
            assert_eq!(executor.work, Work::Command { command: Program::Shell("make -j2 <x".into()) });
        }
        ref other => panic!("{other:?}"),
    }
    let mut screen = Screen::new(100, 40, sample::busy());
    screen.press("cWrite notes<tab><tab>@claude<ctrl-s>");
    match commands(&screen)[..] {
        [Command::Create(new)] => {
            let agent = Work::Agent { name: "claude".into(), goal: "Write notes".into() };
            assert_eq!(new.executor.as_ref().unwrap().work, agent);
        }
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_refused_form_stays_open_with_what_was_typed() {
    let mut screen = Screen::new(100, 30, sample::busy());
    screen.press("c <enter>");
    assert!(screen.text().contains("a title can't be empty"), "{}", screen.text());
    screen.press("Roof<enter>");
    let request = screen.app.last_request;
    screen.event(Event::Executed { request, result: Err("the board is closed for today".into()) });
    let text = screen.text();
    assert!(text.contains("closed for today") && text.contains("Roof"), "{text}");
    screen.press("<enter>");
    assert_eq!(screen.app.last_request, request + 1, "it can be sent again");
}

#[test]
fn priorities_are_raised_and_lowered_at_once_and_stop_at_the_ends() {
    let mut screen = Screen::new(120, 40, sample::busy());
    screen.press("KKK");
    assert_eq!(commands(&screen).len(), 2, "from 2 to 0");
    assert!(screen.text().contains("0 is the highest"));
}

#[test]
fn lamps_are_walked_around_the_board() {
    let mut screen = Screen::new(120, 40, sample::busy());
    let mut seen = Vec::new();
    for _ in 0..5 {
        screen.press("n");
        seen.push(screen.app.selected_card().unwrap().seq);
    }
    assert_eq!(seen, [21, 9, 22, 18, 21]);
    screen.press("N");
    assert_eq!(screen.app.selected_card().unwrap().seq, 18);
}

#[test]
fn of_five_thousand_cards_only_the_visible_ones_are_built() {
    let mut screen = Screen::new(120, 40, sample::many(5_000));
    screen.press("G");
    assert_eq!(screen.selected(), "Task number 4998");
    assert!(screen.text().contains("#4998"), "{}", screen.text());
    assert!(layout::cards_in_view(&screen.app).len() < 100);
    screen.press("g");
    assert!(screen.text().contains("Task number 6\n") || screen.text().contains("Task number 6 "));
}

#[test]
fn an_idle_board_never_wakes_and_a_running_one_five_times_a_second() {
    let mut idle = Screen::new(120, 40, sample::empty());
    idle.press("j");
    assert_eq!(next_wake(&idle.app), None);
    let mut busy = Screen::new(120, 40, sample::busy());
    assert_eq!(next_wake(&busy.app), Some(NOW + SPIN_MS));
    // With no running card in view only ages are left, and those change by the minute.
    busy.press("/status:pending<enter>");
    let wake = next_wake(&busy.app).unwrap();
    assert!(wake - NOW > 10_000, "{}", wake - NOW);
}

#[test]
fn reads_of_the_board_are_one_under_way_and_one_wanted() {
    let mut screen = Screen::new(120, 40, sample::busy());
    for _ in 0..10 {
        screen.event(Event::Changed);
    }
    let reads = |screen: &Screen| {
        screen.effects.iter().filter(|effect| matches!(effect, Effect::LoadBoard { .. })).count()
    };
    assert_eq!(reads(&screen), 1);
    screen.event(Event::Snapshot(Box::new(sample::busy())));
    assert_eq!(reads(&screen), 2);
    screen.event(Event::Snapshot(Box::new(sample::busy())));
    assert_eq!(reads(&screen), 2);
}

#[test]
fn the_help_lists_the_keys_that_the_handler_uses() {
    let mut screen = Screen::new(100, 30, sample::busy());
    let own = "[board]\ngrab = ['f5']\n";
    screen.app.keymap = andon::tui::Keymap::read(Some(own)).unwrap();
    assert!(screen.text().contains("f5 grab"), "the footer");
    screen.press("?");
    assert!(screen.text().contains("f5"), "the help");
    screen.press("?<space>");
    assert!(screen.app.grab.is_none(), "the old key means nothing");
}

#[test]
fn the_answer_dialogue_goes_from_question_to_question_and_keeps_text_that_was_not_taken() {
    let mut board = sample::busy();
    let older = sample::question(2, "Which colour?", &[], 300 * 60_000);
    let asking = card(40, TaskStatus::Blocked, "Paint");
    board.cards.push(andon::domain::Card { question: Some(older), ..asking });
    let mut screen = Screen::new(120, 40, board);
    screen.press("a");
    assert!(
        screen.text().contains("answer 1 of 5") && screen.text().contains("Which colour?"),
        "oldest first"
    );
    screen.press("amber? yes<enter>");
    let request = screen.app.last_request;
    screen.event(Event::Executed { request, result: Err("the disk is full".into()) });
    let text = screen.text();
    assert!(text.contains("amber? yes") && text.contains("the disk is full"), "{text}");
    screen.press("<enter>");
    let request = screen.app.last_request;
    screen.event(Event::Executed {
        request,
        result: Ok(Box::new(andon::engine::Outcome::Board(String::new()))),
    });
    let text = screen.text();
    assert!(text.contains("answer 2 of 5") && text.contains("exit 101: no token"), "{text}");
}

#[test]
fn on_a_small_screen_what_has_the_keyboard_in_the_answer_dialogue_is_seen() {
    for (width, height) in [(60, 10), (30, 8), (20, 6)] {
        let mut board = sample::busy();
        let long = "which of these long names is meant, and why was it chosen at all? ".repeat(9);
        let asks = sample::question(2, &long, &["one", "two", "three", "last"], 300 * 60_000);
        let asking = card(40, TaskStatus::Blocked, "Paint");
        board.cards.push(andon::domain::Card { question: Some(asks), ..asking });
        let mut screen = Screen::new(width, height, board);
        screen.press("a<down><down><down><down>");
        assert!(screen.text().contains("▌ 4  last"), "{}", screen.text());
        screen.press("<tab>seen");
        assert!(screen.text().contains("▌ seen"), "{}", screen.text());
    }
}

#[test]
fn a_skipped_question_does_not_come_again_and_a_closed_dialogue_keeps_its_text() {
    let mut screen = Screen::new(120, 40, sample::busy());
    screen.press("lllla<tab>half an ans<esc>");
    assert!(screen.app.layers.is_empty());
    screen.press("a");
    assert!(screen.text().contains("half an ans"), "{}", screen.text());
    screen.press("<ctrl-n>sss");
    assert!(screen.app.layers.is_empty(), "all four were skipped");
}

#[test]
fn quitting_asks_only_while_runs_of_this_process_go() {
    let quits = |screen: &Screen| screen.effects.iter().any(|effect| matches!(effect, Effect::Quit(_)));
    let mut idle = Screen::new(80, 24, sample::empty());
    idle.press("q");
    assert!(quits(&idle));
    let mut busy = Screen::new(80, 24, sample::busy());
    busy.press("<ctrl-c>");
    assert!(!quits(&busy) && busy.text().contains("3 runs are going"), "{}", busy.text());
    busy.press("d");
    assert!(matches!(busy.effects.last(), Some(Effect::Drain)));
    let mut later = sample::busy();
    later.slots_used = 0;
    busy.event(Event::Snapshot(Box::new(later)));
    assert!(quits(&busy));
    let mut attached = sample::busy();
    attached.dispatcher = andon::domain::DispatcherState::Elsewhere;
    let mut screen = Screen::new(80, 24, attached);
    screen.press("q");
    assert!(quits(&screen), "another process's runs go on");
}

#[test]
fn only_who_was_away_for_more_than_a_glance_is_told_and_the_desktop_only_meanwhile() {
    let mut screen = Screen::new(120, 40, sample::busy());
    screen.event(Event::SeenBefore(None));
    screen.app.notify = true;
    let mut later = sample::busy();
    later.seq += 5;
    later.cards.push(card(50, TaskStatus::Review, "Look at this"));
    let notices = |screen: &Screen| screen.effects.iter().filter(|e| matches!(e, Effect::Notify(_))).count();
    let asked =
        |screen: &Screen| screen.effects.iter().filter(|e| matches!(e, Effect::LoadAway { .. })).count();
    screen.event(Event::Snapshot(Box::new(later.clone())));
    assert_eq!(notices(&screen), 0, "the terminal has the focus");
    screen.event(Event::Focus(false));
    later.seq += 1;
    later.cards.push(card(51, TaskStatus::Review, "And at this"));
    screen.event(Event::Snapshot(Box::new(later.clone())));
    assert_eq!(notices(&screen), 1, "one lamp, one notice");
    screen.event(Event::Now(NOW + 30_000));
    screen.event(Event::Focus(true));
    assert_eq!(asked(&screen), 0, "that was a glance");
    screen.event(Event::Focus(false));
    later.seq += 1;
    screen.event(Event::Snapshot(Box::new(later)));
    screen.event(Event::Now(NOW + 200_000));
    screen.event(Event::Focus(true));
    assert_eq!(asked(&screen), 1);
    let away = andon::domain::Away { finished: 3, failed: 1, asked: 2, tokens: 48_000 };
    screen.event(Event::Away(away));
    let text = screen.text();
    assert!(text.contains("3 finished, 1 failed, 2 asked, 48k tokens spent"), "{text}");
    screen.event(Event::Now(NOW + 204_000));
    screen.press("j");
    assert!(!screen.text().contains("while you were away"));
}

#[test]
fn the_title_of_the_terminal_carries_the_count() {
    let screen = Screen::new(120, 40, sample::busy());
    let title = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::Title(title) => Some(title.as_str()),
        _ => None,
    });
    assert_eq!(title, Some("◆ 2 andon ▸ default"));
}
