//! What the board looks like, as text, at several sizes, with easy and hard content.

use andon::domain::BoardSnapshot;
use ratatui::style::{Color, Modifier};

use crate::sample;
use crate::screen::{Screen, looks};

#[test]
fn a_busy_board_at_three_sizes() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let screen = Screen::new(width, height, sample::busy());
        insta::assert_snapshot!(format!("busy_{width}x{height}"), screen.text());
    }
}

#[test]
fn wide_joined_and_dangerous_characters_keep_the_columns_straight() {
    for (width, height) in [(80, 24), (120, 40)] {
        let screen = Screen::new(width, height, sample::hard());
        let text = screen.text();
        assert!(!text.contains('\x1b') && !text.contains('\x07') && !text.contains('\u{202e}'));
        insta::assert_snapshot!(format!("hard_{width}x{height}"), text);
    }
}

#[test]
fn rules_between_columns_stand_at_the_same_cell_in_every_row() {
    let screen = Screen::new(120, 40, sample::hard());
    let buffer = screen.buffer();
    let rules = |y: u16| (0..120).filter(|x| buffer[(*x, y)].symbol() == "│").collect::<Vec<u16>>();
    let expected = rules(30);
    assert!(expected.len() >= 5, "{expected:?}");
    for y in 3..37 {
        assert_eq!(rules(y), expected, "row {y}\n{}", screen.text());
    }
}

#[test]
fn an_empty_board_says_in_three_lines_how_to_begin() {
    for (width, height) in [(80, 24), (120, 40), (40, 12)] {
        let screen = Screen::new(width, height, sample::empty());
        insta::assert_snapshot!(format!("empty_{width}x{height}"), screen.text());
    }
}

#[test]
fn a_board_on_which_everything_is_done_says_where_it_went() {
    let done = BoardSnapshot { closed: 3, ..sample::empty() };
    let mut screen = Screen::new(100, 20, done);
    assert!(screen.text().contains("Nothing is open here. t shows 3 closed cards."), "{}", screen.text());
    screen.press("c");
    assert!(screen.text().contains("new card"));
}

#[test]
fn a_narrow_terminal_shows_one_column_and_a_strip_of_all() {
    for (width, height) in [(58, 20), (40, 14), (30, 10), (20, 6)] {
        let mut screen = Screen::new(width, height, sample::busy());
        screen.press("ll");
        insta::assert_snapshot!(format!("narrow_{width}x{height}"), screen.text());
    }
}

#[test]
fn columns_scroll_sideways_with_the_focus_and_are_never_narrower_than_24_cells() {
    let mut screen = Screen::new(80, 24, sample::busy());
    assert!(screen.text().contains("PENDING") && !screen.text().contains("FAILED"));
    screen.press("lllll");
    let text = screen.text();
    assert!(text.contains("FAILED") && !text.contains("PENDING"), "{text}");
    let screen_area = andon::tui::layout::screen(&screen.app).board;
    for place in andon::tui::layout::places(&screen.app, screen_area) {
        assert!(place.outer.width >= 24, "{place:?}");
    }
}

#[test]
fn every_theme_has_a_look_for_the_same_screen() {
    for theme in ["dark", "light", "none"] {
        let mut screen = Screen::themed(80, 24, sample::busy(), theme);
        screen.press("ll");
        insta::assert_snapshot!(format!("looks_{theme}_80x24"), looks(&screen.buffer()));
    }
}

#[test]
fn without_colour_no_cell_has_one_and_the_selection_is_reversed() {
    let mut screen = Screen::themed(120, 40, sample::busy(), "none");
    for keys in ["", "<enter>", "<esc>a", "<esc>c<tab>", "<esc>?", "<esc>b", "<esc>q"] {
        screen.press(keys);
        let buffer = screen.buffer();
        for cell in &buffer.content {
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{keys}");
        }
    }
    screen.press("<esc>");
    let reversed = screen.buffer().content.iter().filter(|c| c.modifier.contains(Modifier::REVERSED)).count();
    assert!(reversed > 0);
}

#[test]
fn dialogues() {
    let cases = [
        ("help", 100, 44, "?"),
        ("new_card", 100, 30, "c"),
        ("new_card_all_fields", 100, 30, "cFix the roof<tab>"),
        ("answer", 110, 30, "lllla"),
        ("answer_typed", 110, 30, "lllla<tab>neither, use the copy"),
        ("answer_narrow", 60, 20, "lllla2"),
        ("boards", 80, 24, "b"),
        ("quit", 80, 24, "q"),
        ("cancel_running", 80, 24, "llx"),
        ("reject", 100, 24, "lllR"),
        ("filter", 100, 24, "/fix"),
        ("grabbed", 132, 24, "lll<space>"),
        ("refused", 100, 24, "r"),
        ("panel", 132, 34, "llll<enter>"),
    ];
    for (name, width, height, keys) in cases {
        let mut screen = Screen::new(width, height, sample::busy());
        screen.press(keys);
        insta::assert_snapshot!(format!("dialogue_{name}"), screen.text());
    }
}

#[test]
fn any_size_draws_without_a_panic() {
    let keys = [
        "",
        "<enter>",
        "z",
        "2",
        "3",
        "<esc>a",
        "<tab>x",
        "<esc>c",
        "<tab><tab>",
        "<esc>?",
        "<esc>b",
        "<esc>q",
        "<esc>w",
        "<esc>/x",
        "<esc><space>l",
        "<esc>r",
    ];
    let done = BoardSnapshot { closed: 1, ..sample::empty() };
    for board in [sample::busy(), sample::hard(), sample::empty(), done] {
        for width in [1, 2, 3, 5, 8, 12, 19, 20, 23, 24, 40, 59, 60, 84, 96, 115, 300] {
            for height in [1, 2, 3, 4, 5, 6, 7, 9, 12, 16, 28, 60] {
                let mut screen = Screen::new(width, height, board.clone());
                for press in keys {
                    screen.press(press);
                    screen.buffer();
                }
            }
        }
    }
}

#[test]
fn the_pictures_in_the_documentation_are_current() {
    use andon::tui::svg::{Palette, render};
    for (theme, palette) in [("dark", Palette::DARK), ("light", Palette::LIGHT)] {
        let mut screen = Screen::themed(132, 26, sample::busy(), theme);
        screen.press("llll");
        let path = format!("{}/assets/board-{theme}.svg", env!("CARGO_MANIFEST_DIR"));
        let drawn = render(&screen.buffer(), palette);
        if std::env::var_os("ANDON_UPDATE_PICTURES").is_some() {
            std::fs::write(&path, &drawn).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == drawn, "{path} differs; ANDON_UPDATE_PICTURES=1 draws it anew");
    }
}
