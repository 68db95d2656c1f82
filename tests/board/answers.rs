//! Answer mode over every kind of lamp: what is shown, what a key sends, and what is kept.

use andon::domain::{IdRef, TaskStatus};
use andon::engine::{AnswerText, Command, Outcome};
use andon::tui::event::{Effect, Event};

use crate::sample;
use crate::screen::Screen;

fn commands(screen: &Screen) -> Vec<&Command> {
    let sent = screen.effects.iter().filter_map(|effect| match effect {
        Effect::Execute { command, .. } => Some(&**command),
        _ => None,
    });
    sent.collect()
}

fn done(screen: &mut Screen) {
    let request = screen.app.last_request;
    screen.event(Event::Executed { request, result: Ok(Box::new(Outcome::Board(String::new()))) });
}

fn refused(screen: &mut Screen, why: &str) {
    let request = screen.app.last_request;
    screen.event(Event::Executed { request, result: Err(why.into()) });
}

#[test]
fn every_kind_of_lamp_at_three_sizes() {
    let kinds = ["failure", "review", "question", "approval", "blocked", "stuck", "quiet"];
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let mut screen = Screen::new(width, height, sample::lamps());
        screen.press("a");
        for kind in kinds {
            insta::assert_snapshot!(format!("answer_{kind}_{width}x{height}"), screen.text());
            screen.press("<ctrl-n>");
        }
        assert!(screen.app.layers.is_empty(), "all were walked");
    }
}

#[test]
fn all_lamps_are_walked_oldest_first_and_each_choice_sends_what_it_says() {
    let mut screen = Screen::new(120, 40, sample::lamps());
    screen.press("a1<enter>");
    done(&mut screen);
    screen.press("1<enter>");
    done(&mut screen);
    screen.press("2<enter>");
    done(&mut screen);
    screen.press("3not on a Friday<enter>");
    done(&mut screen);
    screen.press("1<enter>");
    done(&mut screen);
    screen.press("1<enter>");
    done(&mut screen);
    screen.press("3<enter>");
    done(&mut screen);
    assert!(screen.app.layers.is_empty());
    assert!(screen.text().contains("answered; nothing else needs you"), "{}", screen.text());
    match commands(&screen)[..] {
        [
            Command::Move { to: TaskStatus::Queued, .. },
            Command::Approve { task: IdRef::Full(reviewed) },
            Command::Answer { answer: AnswerText::Option(2), .. },
            Command::Deny { reason, .. },
            Command::Unblock { .. },
            Command::Undepend { on: IdRef::Full(on), .. },
            Command::Cancel { .. },
        ] => {
            assert_eq!((reviewed.as_str(), on.as_str()), ("t_000000000009", "t_behind"));
            assert_eq!(reason, "not on a Friday");
        }
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_stray_enter_sends_nothing_and_says_what_is_missing() {
    let mut screen = Screen::new(120, 40, sample::lamps());
    screen.press("a<enter><enter>");
    assert!(commands(&screen).is_empty());
    assert!(screen.text().contains("nothing is picked yet"), "{}", screen.text());
}

#[test]
fn words_that_are_typed_where_none_are_taken_are_not_read_as_keys() {
    let mut screen = Screen::new(120, 40, sample::lamps());
    screen.press("aplease retry it, slowly<enter>");
    let text = screen.text();
    assert!(text.contains("answer 1 of 7") && text.contains("#18 Publish crate"), "{text}");
    assert!(commands(&screen).is_empty());
    screen.press("1<enter>");
    assert_eq!(commands(&screen).len(), 1);
}

#[test]
fn a_review_is_sent_back_with_what_was_typed_and_in_a_text_letters_are_letters() {
    let mut screen = Screen::new(120, 40, sample::lamps());
    screen.press("as2skip q? 1l<alt-enter>second line<enter>");
    match commands(&screen)[..] {
        [Command::Reject { feedback: Some(text), .. }] => assert_eq!(text, "skip q? 1l\nsecond line"),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_typed_is_kept_over_a_refusal_over_leaving_and_is_dropped_when_taken() {
    let mut screen = Screen::new(120, 40, sample::lamps());
    screen.press("as2more tests<enter>");
    refused(&mut screen, "the disk is full");
    let text = screen.text();
    assert!(text.contains("more tests") && text.contains("the disk is full"), "{text}");
    screen.press("<esc>");
    screen.press("lll<enter><esc>a");
    assert!(screen.text().contains("more tests"), "{}", screen.text());
    screen.press("<enter>");
    done(&mut screen);
    let dropped = screen.effects.iter().any(
        |effect| matches!(effect, Effect::KeepDraft(key, text) if key.0.starts_with("review-t_") && text.is_empty()),
    );
    assert!(dropped && screen.app.drafts.is_empty());
}

#[test]
fn keys_that_come_while_an_answer_is_sent_are_for_the_next_lamp() {
    let mut screen = Screen::new(120, 40, sample::lamps());
    screen.press("a1<enter>2add a test q? s l<enter>");
    assert_eq!(commands(&screen).len(), 1);
    done(&mut screen);
    match commands(&screen)[..] {
        [Command::Move { .. }, Command::Reject { feedback: Some(text), .. }] => {
            assert_eq!(text, "add a test q? s l")
        }
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn keys_that_were_meant_for_the_next_lamp_do_nothing_to_one_that_was_refused() {
    let mut screen = Screen::new(120, 40, sample::lamps());
    screen.press("a1<enter>2<enter>");
    refused(&mut screen, "it is busy");
    assert_eq!(commands(&screen).len(), 1, "the second choice would have put it away");
    assert!(screen.text().contains("it is busy"));
}

#[test]
fn a_lamp_that_went_out_meanwhile_is_told_and_never_answered() {
    let mut screen = Screen::new(120, 40, sample::lamps());
    screen.press("as2more te");
    let mut later = sample::lamps();
    let review = later.cards.iter_mut().find(|card| card.seq == 9).unwrap();
    review.status = TaskStatus::Queued;
    screen.event(Event::Snapshot(Box::new(later)));
    let text = screen.text();
    assert!(text.contains("settled elsewhere: #9 is queued now") && text.contains("more te"), "{text}");
    screen.press("<enter>");
    let text = screen.text();
    assert!(text.contains("more te") && text.contains("what you typed is kept"), "{text}");
    screen.press("<enter>");
    assert!(commands(&screen).is_empty());
    let text = screen.text();
    assert!(text.contains("nothing was sent") && text.contains("哪个数据库"), "{text}");
}

#[test]
fn a_review_that_is_asked_for_again_is_not_taken_for_the_one_that_was_read() {
    let mut screen = Screen::new(120, 40, sample::lamps());
    screen.press("as1");
    let mut later = sample::lamps();
    let review = later.cards.iter_mut().find(|card| card.seq == 9).unwrap();
    review.since_ms = sample::NOW;
    screen.event(Event::Snapshot(Box::new(later)));
    screen.press("<enter>");
    assert!(commands(&screen).is_empty(), "what was read is not what waits now");
}

#[test]
fn a_draft_that_arrives_late_is_taken_up_by_an_open_dialogue() {
    let mut screen = Screen::new(120, 40, sample::lamps());
    screen.press("ass");
    let key = andon::tui::lamps::LampKey("q_000000000001".into());
    screen.event(Event::Drafts(vec![(key, "from before the crash".into())]));
    assert!(screen.text().contains("from before the crash"), "{}", screen.text());
}

#[test]
fn a_long_text_is_read_on_with_the_page_keys() {
    let mut board = sample::lamps();
    let lines: Vec<String> = (1..=60).map(|n| format!("line {n} of the summary")).collect();
    board.cards.iter_mut().find(|card| card.seq == 9).unwrap().review_summary = lines.join("\n");
    let mut screen = Screen::new(100, 30, board);
    screen.press("as");
    let text = screen.text();
    assert!(text.contains("line 1 of") && text.contains("more lines  pgdn"), "{text}");
    for _ in 0..40 {
        screen.press("<pagedown>");
    }
    let text = screen.text();
    assert!(text.contains("changed 6 files") && text.contains("1  approve"), "{text}");
}
