//! A board without a loop: events go in, the screen comes out as text.

use andon::domain::BoardSnapshot;
use andon::tui::app::App;
use andon::tui::event::{Effect, Event};
use andon::tui::theme::{Depth, Theme, ThemeChoice};
use andon::tui::update::update;
use andon::tui::{Keymap, view};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Style;
use std::collections::BTreeMap;

use crate::sample::NOW;

pub struct Screen {
    pub app: App,
    pub effects: Vec<Effect>,
}

impl Screen {
    pub fn new(width: u16, height: u16, board: BoardSnapshot) -> Screen {
        Screen::themed(width, height, board, "dark")
    }

    pub fn themed(width: u16, height: u16, board: BoardSnapshot, theme: &str) -> Screen {
        let choice = ThemeChoice::Named(theme.to_owned());
        let theme = Theme::choose(&choice, theme != "none", Depth::True, false).unwrap();
        let mut app = App::new("default", theme, Keymap::read(None).unwrap(), (width, height));
        update(&mut app, Event::Now(NOW));
        let mut screen = Screen { app, effects: Vec::new() };
        screen.event(Event::Snapshot(Box::new(board)));
        screen
    }

    pub fn event(&mut self, event: Event) {
        self.effects.extend(update(&mut self.app, event));
    }

    pub fn press(&mut self, keys: &str) {
        for key in keys_of(keys) {
            self.event(Event::Key(key));
        }
    }

    pub fn buffer(&self) -> Buffer {
        let (width, height) = self.app.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view::draw(frame, &self.app)).unwrap();
        terminal.backend().buffer().clone()
    }

    pub fn text(&self) -> String {
        text(&self.buffer())
    }

    /// The title of the selected card.
    pub fn selected(&self) -> &str {
        self.app.selected_card().map_or("", |card| &card.title)
    }
}

/// The screen as lines, without the blanks at their ends.
pub fn text(buffer: &Buffer) -> String {
    let mut lines = Vec::new();
    for y in buffer.area.top()..buffer.area.bottom() {
        let mut line = String::new();
        let mut x = buffer.area.left();
        while x < buffer.area.right() {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += (andon::tui::text::width(symbol) as u16).max(1);
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

/// The screen as a grid of letters, one for each look, with a legend.
pub fn looks(buffer: &Buffer) -> String {
    let mut legend: BTreeMap<String, char> = BTreeMap::new();
    let mut order = Vec::new();
    let mut lines = Vec::new();
    for y in buffer.area.top()..buffer.area.bottom() {
        let mut line = String::new();
        for x in buffer.area.left()..buffer.area.right() {
            let cell = &buffer[(x, y)];
            let style = Style::new().fg(cell.fg).bg(cell.bg).add_modifier(cell.modifier);
            if cell.symbol() == " " && cell.modifier.is_empty() {
                line.push(' ');
                continue;
            }
            let words = format!("{:?} on {:?} {:?}", style.fg, style.bg, style.add_modifier);
            let next = (b'a' + (legend.len() as u8)) as char;
            let letter = *legend.entry(words.clone()).or_insert_with(|| {
                order.push(format!("{next} = {words}"));
                next
            });
            line.push(letter);
        }
        lines.push(line.trim_end().to_owned());
    }
    format!("{}\n\n{}", lines.join("\n"), order.join("\n"))
}

/// Keys from a string: `j`, `<enter>`, `<ctrl-c>`, `<lt>` for `<`.
pub fn keys_of(text: &str) -> Vec<KeyEvent> {
    let mut keys = Vec::new();
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        if c != '<' {
            keys.push(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
            continue;
        }
        let mut name: String = letters.by_ref().take_while(|c| *c != '>').collect();
        let mut modifiers = KeyModifiers::NONE;
        for (prefix, modifier) in
            [("ctrl-", KeyModifiers::CONTROL), ("alt-", KeyModifiers::ALT), ("shift-", KeyModifiers::SHIFT)]
        {
            if let Some(rest) = name.strip_prefix(prefix) {
                (name, modifiers) = (rest.to_owned(), modifiers | modifier);
            }
        }
        let code = match name.as_str() {
            "enter" => KeyCode::Enter,
            "esc" => KeyCode::Esc,
            "tab" => KeyCode::Tab,
            "backtab" => KeyCode::BackTab,
            "space" => KeyCode::Char(' '),
            "lt" => KeyCode::Char('<'),
            "backspace" => KeyCode::Backspace,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "pagedown" => KeyCode::PageDown,
            one if one.chars().count() == 1 => KeyCode::Char(one.chars().next().unwrap()),
            other => panic!("no key is called {other}"),
        };
        keys.push(KeyEvent::new(code, modifiers));
    }
    keys
}
