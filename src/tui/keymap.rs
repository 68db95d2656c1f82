//! The keymap: which keys mean which action, read from data. All faults of a file are reported together.

use crokey::{KeyCombination, OneToThree};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::HashMap;
use thiserror::Error;

use super::action::{Action, Context};

/// The keys that are built in.
pub const BUILT_IN: &str = include_str!("../../assets/keymap.toml");

/// Why a keymap can't be used. Lists every fault.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the keymap has faults; fix them or remove the lines:\n  {}", .0.join("\n  "))]
pub struct KeymapError(pub Vec<String>);

/// Which keys mean which action.
#[derive(Debug, Clone)]
pub struct Keymap {
    keys: HashMap<Action, Vec<KeyCombination>>,
    actions: HashMap<(Context, KeyCombination), Action>,
}

impl Keymap {
    /// The built-in keys with a user's file, if there is one, over them.
    pub fn read(own: Option<&str>) -> Result<Keymap, KeymapError> {
        let mut faults = Vec::new();
        let mut keys = HashMap::new();
        for text in std::iter::once(BUILT_IN).chain(own) {
            overlay(text, &mut keys, &mut faults);
        }
        let mut actions: HashMap<(Context, KeyCombination), Action> = HashMap::new();
        for action in Action::ALL {
            for key in keys.get(action).into_iter().flatten() {
                let context = action.context();
                if let Some(other) = actions.insert((context, *key), *action) {
                    faults.push(format!(
                        "[{}] `{}` means both {} and {}",
                        context.name(),
                        label(*key),
                        other.name(),
                        action.name()
                    ));
                }
            }
        }
        for leave in
            [Action::TextLeave, Action::FormLeave, Action::PromptLeave, Action::FilterClear, Action::Quit]
        {
            if keys.get(&leave).is_none_or(Vec::is_empty) {
                let context = leave.context().name();
                faults.push(format!("[{context}] {} needs a key: there would be no way out", leave.name()));
            }
        }
        if faults.is_empty() { Ok(Keymap { keys, actions }) } else { Err(KeymapError(faults)) }
    }

    /// What a key means in a context.
    pub fn action(&self, context: Context, key: KeyEvent) -> Option<Action> {
        self.actions.get(&(context, combination(key))).copied()
    }

    /// The keys of an action, as a person reads them.
    pub fn labels(&self, action: Action) -> Vec<String> {
        self.keys.get(&action).into_iter().flatten().map(|key| label(*key)).collect()
    }

    /// The first key of an action, as a person reads it.
    pub fn first(&self, action: Action) -> Option<String> {
        self.keys.get(&action)?.first().map(|key| label(*key))
    }
}

fn overlay(text: &str, keys: &mut HashMap<Action, Vec<KeyCombination>>, faults: &mut Vec<String>) {
    let document = match text.parse::<toml_edit::DocumentMut>() {
        Ok(document) => document,
        Err(error) => return faults.push(error.to_string().trim_end().replace('\n', "\n  ")),
    };
    for (section, item) in document.iter() {
        let Some(context) = Context::ALL.into_iter().find(|context| context.name() == section) else {
            let known: Vec<&str> = Context::ALL.iter().map(|context| context.name()).collect();
            faults.push(format!("[{section}] is no section; there are {}", known.join(", ")));
            continue;
        };
        let Some(table) = item.as_table_like() else {
            faults.push(format!("`{section}` must be a section with actions"));
            continue;
        };
        for (name, value) in table.iter() {
            let known =
                Action::ALL.iter().find(|action| action.context() == context && action.name() == name);
            let Some(action) = known else {
                faults.push(format!("[{section}] `{name}` is no action"));
                continue;
            };
            let listed: Option<Vec<&str>> = match value.as_value() {
                Some(toml_edit::Value::Array(list)) => list.iter().map(toml_edit::Value::as_str).collect(),
                Some(value) => value.as_str().map(|one| vec![one]),
                None => None,
            };
            let Some(listed) = listed else {
                faults.push(format!(
                    "[{section}] {name} must be a key or a list of keys, such as [\"j\", \"down\"]"
                ));
                continue;
            };
            let mut bound = Vec::new();
            for raw in listed {
                match parse(raw) {
                    Some(key) if context.owns_letters() && is_text(key) => faults.push(format!(
                        "[{section}] {name}: `{raw}` is a letter of the text that is typed there; use ctrl- or alt-"
                    )),
                    Some(key) => bound.push(key),
                    None => faults.push(format!("[{section}] {name}: `{raw}` is no key")),
                }
            }
            keys.insert(*action, bound);
        }
    }
}

/// A key as the keymap compares it: a character carries its own shift.
fn combination(event: KeyEvent) -> KeyCombination {
    let mut event = event;
    if let KeyCode::Char(c) = event.code
        && !c.is_ascii_alphabetic()
    {
        event.modifiers.remove(KeyModifiers::SHIFT);
    }
    KeyCombination::from(KeyEvent::new(event.code, event.modifiers))
}

fn parse(raw: &str) -> Option<KeyCombination> {
    let mut letters = raw.chars();
    if let (Some(only), None) = (letters.next(), letters.next()) {
        return Some(combination(KeyEvent::new(KeyCode::Char(only), KeyModifiers::NONE)));
    }
    let key = crokey::parse(raw).ok()?;
    key.is_ansi_compatible().then(|| key.normalized())
}

/// Whether the key would write a character.
fn is_text(key: KeyCombination) -> bool {
    let bare = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER);
    bare && matches!(key.codes, OneToThree::One(KeyCode::Char(_)))
}

fn label(key: KeyCombination) -> String {
    let mut out = String::new();
    for (modifier, word) in [(KeyModifiers::CONTROL, "ctrl-"), (KeyModifiers::ALT, "alt-")] {
        if key.modifiers.contains(modifier) {
            out.push_str(word);
        }
    }
    let code = *key.codes.first();
    if key.modifiers.contains(KeyModifiers::SHIFT) && !matches!(code, KeyCode::Char(_) | KeyCode::BackTab) {
        out.push_str("shift-");
    }
    match code {
        KeyCode::Char(' ') => out.push_str("space"),
        KeyCode::Char(c) => out.push(c),
        KeyCode::Enter => out.push_str("enter"),
        KeyCode::Esc => out.push_str("esc"),
        KeyCode::Tab => out.push_str("tab"),
        KeyCode::BackTab => out.push_str("shift-tab"),
        KeyCode::Backspace => out.push_str("backspace"),
        KeyCode::Delete => out.push_str("del"),
        KeyCode::Insert => out.push_str("insert"),
        KeyCode::Home => out.push_str("home"),
        KeyCode::End => out.push_str("end"),
        KeyCode::PageUp => out.push_str("pgup"),
        KeyCode::PageDown => out.push_str("pgdn"),
        KeyCode::Left => out.push('←'),
        KeyCode::Right => out.push('→'),
        KeyCode::Up => out.push('↑'),
        KeyCode::Down => out.push('↓'),
        KeyCode::F(n) => out.push_str(&format!("f{n}")),
        other => out.push_str(&format!("{other:?}").to_lowercase()),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(c: char, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(c), modifiers)
    }

    #[test]
    fn every_action_has_a_key_and_no_two_share_one() {
        let keymap = Keymap::read(None).unwrap();
        for action in Action::ALL {
            assert!(keymap.first(*action).is_some(), "{} {}", action.context().name(), action.name());
        }
    }

    #[test]
    fn capital_letters_are_met_with_and_without_the_shift_flag() {
        let keymap = Keymap::read(None).unwrap();
        for modifiers in [KeyModifiers::NONE, KeyModifiers::SHIFT] {
            assert_eq!(keymap.action(Context::Board, key('G', modifiers)), Some(Action::Bottom));
            assert_eq!(keymap.action(Context::Board, key('?', modifiers)), Some(Action::Help));
        }
        assert_eq!(keymap.action(Context::Board, key('g', KeyModifiers::NONE)), Some(Action::Top));
        assert_eq!(keymap.action(Context::Board, key('c', KeyModifiers::CONTROL)), Some(Action::Quit));
    }

    #[test]
    fn all_faults_of_a_file_are_told_at_once() {
        let own = "[bord]\nx = 'y'\n[board]\nfly = ['f']\nhelp = ['hlp']\nquit = ['c', 'q']\n[form]\nleave = ['x']\n";
        let faults = Keymap::read(Some(own)).unwrap_err().0;
        let all = faults.join("\n");
        for part in
            ["[bord]", "`fly`", "`hlp`", "means both create and quit", "`x` is a letter", "no way out"]
        {
            assert!(all.contains(part), "{part} is missing in:\n{all}");
        }
    }

    #[test]
    fn a_file_of_ones_own_replaces_the_keys_of_what_it_names() {
        let keymap = Keymap::read(Some("[board]\nquit = 'Q'\nback = []\n")).unwrap();
        assert_eq!(keymap.action(Context::Board, key('q', KeyModifiers::NONE)), None);
        assert_eq!(keymap.labels(Action::Quit), ["Q"]);
        assert_eq!(keymap.action(Context::Board, key('j', KeyModifiers::NONE)), Some(Action::Down));
    }
}
