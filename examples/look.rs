#[path = "../tests/board/sample.rs"]
#[allow(dead_code, reason = "look")]
mod sample;
use andon::tui::app::App;
use andon::tui::event::Event;
use andon::tui::theme::{Depth, Theme, ThemeChoice};
use andon::tui::update::update;
use andon::tui::{keymap::Keymap, svg, view};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{Terminal, backend::TestBackend};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (w, h): (u16, u16) = (a[1].parse().unwrap(), a[2].parse().unwrap());
    let theme = Theme::choose(&ThemeChoice::Named(a[3].clone()), a[3] != "none", Depth::True, false).unwrap();
    let mut app = App::new("default", theme, Keymap::read(None).unwrap(), (w, h));
    update(&mut app, Event::Now(sample::NOW));
    let s = match a[4].as_str() {
        "busy" => sample::busy(),
        "hard" => sample::hard(),
        "empty" => sample::empty(),
        n => sample::many(n.parse().unwrap()),
    };
    update(&mut app, Event::Snapshot(Box::new(s)));
    let keys = a.get(5).cloned().unwrap_or_default();
    let mut chars = keys.chars();
    while let Some(c) = chars.next() {
        let code = match c {
            '<' => match chars.by_ref().take_while(|c| *c != '>').collect::<String>().as_str() {
                "enter" => KeyCode::Enter,
                "esc" => KeyCode::Esc,
                "tab" => KeyCode::Tab,
                "space" => KeyCode::Char(' '),
                "right" => KeyCode::Right,
                o => panic!("{o}"),
            },
            c => KeyCode::Char(c),
        };
        update(&mut app, Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
    let mut t = Terminal::new(TestBackend::new(w, h)).unwrap();
    t.draw(|f| view::draw(f, &app)).unwrap();
    let b = t.backend().buffer();
    for y in 0..h {
        let mut l = String::new();
        let mut x = 0;
        while x < w {
            let s = b[(x, y)].symbol();
            l.push_str(s);
            x += (unicode_width::UnicodeWidthStr::width(s) as u16).max(1);
        }
        println!("{}", l.trim_end());
    }
    let p = if a[3] == "light" { svg::Palette::LIGHT } else { svg::Palette::DARK };
    std::fs::write("/tmp/look.svg", svg::render(b, p)).unwrap();
}
