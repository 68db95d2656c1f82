//! Whether somebody looks, and what to tell who comes back: the board remembers until where it was seen, also over
//! its end, and a line says what happened since.

use crate::domain::Away;
use crate::domain::time::{Millis, short_age};

/// Without a key for so long nobody looks, even at a terminal in focus.
pub const IDLE_MS: Millis = 10 * 60 * 1_000;
/// A glance at another window is no absence.
pub const GLANCE_MS: Millis = 60 * 1_000;
/// A key puts the line away only when there was time to read it.
pub const READ_MS: Millis = 3_000;
/// Until where the board was seen is kept no more often than this.
const KEEP_EVERY_MS: Millis = 5_000;

/// Until where the board was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// The last event.
    pub seq: i64,
    /// When.
    pub at_ms: Millis,
}

/// The line for who comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Since when nobody looked.
    pub since_ms: Millis,
    /// What happened.
    pub away: Away,
    /// When the line appeared.
    pub shown_at_ms: Millis,
}

impl Line {
    /// Its words.
    pub fn says(&self) -> String {
        let age = short_age(self.shown_at_ms - self.since_ms);
        let age = if age == "now" { "a moment".to_owned() } else { age };
        format!("while you were away ({age}): {}", self.away.says())
    }
}

/// Whether somebody looks.
#[derive(Debug, Clone, Default)]
pub struct Presence {
    /// Until where the board was seen when somebody last looked.
    pub seen: Option<Mark>,
    /// The line that stands.
    pub line: Option<Line>,
    /// What is asked for: everything after this.
    pub asked: Option<Mark>,
    last_key_ms: Millis,
    kept_at_ms: Millis,
}

impl Presence {
    /// A key was pressed, with the board known up to `seq`. Gives since when to tell what happened.
    pub fn key(&mut self, now: Millis, seq: i64) -> Option<Mark> {
        let idle = self.last_key_ms > 0 && now - self.last_key_ms >= IDLE_MS;
        let since = self.seen.filter(|seen| idle && seen.seq < seq);
        self.last_key_ms = now;
        if self.line.as_ref().is_some_and(|line| now - line.shown_at_ms >= READ_MS) {
            self.line = None;
        }
        self.ask(since)
    }

    /// The terminal has the focus again.
    pub fn back(&mut self, now: Millis, seq: i64) -> Option<Mark> {
        self.last_key_ms = now;
        let since = self.seen.filter(|seen| now - seen.at_ms >= GLANCE_MS && seen.seq < seq);
        self.ask(since)
    }

    /// Until where the board was seen before the program was last closed.
    pub fn before(&mut self, mark: Option<Mark>, seq: i64) -> Option<Mark> {
        self.ask(mark.filter(|mark| mark.seq < seq))
    }

    fn ask(&mut self, since: Option<Mark>) -> Option<Mark> {
        if since.is_some() {
            self.asked = since;
        }
        since
    }

    /// What happened was read.
    pub fn told(&mut self, away: Away, now: Millis) {
        let Some(since) = self.asked.take() else { return };
        if !away.is_nothing() {
            self.line = Some(Line { since_ms: since.at_ms, away, shown_at_ms: now });
        }
    }

    /// The board was read up to `seq`: whether somebody sees that, and whether that is to be kept now. While the line
    /// stands nothing more counts as seen, so that a restart tells it again.
    pub fn sees(&mut self, now: Millis, seq: i64, focused: bool) -> Option<Mark> {
        let looks = focused && now - self.last_key_ms < IDLE_MS;
        if !looks || self.line.is_some() || self.asked.is_some() {
            return None;
        }
        let mark = Mark { seq, at_ms: now };
        let news = self.seen.is_none_or(|seen| seen.seq != seq) || now - self.kept_at_ms >= GLANCE_MS;
        self.seen = Some(mark);
        if !news || now - self.kept_at_ms < KEEP_EVERY_MS {
            return None;
        }
        self.kept_at_ms = now;
        Some(mark)
    }

    /// The program ends: what is to be kept.
    pub fn ends(&self, now: Millis, seq: i64, focused: bool) -> Option<Mark> {
        match (&self.line, &self.asked) {
            (None, None) if focused && now - self.last_key_ms < IDLE_MS => Some(Mark { seq, at_ms: now }),
            (None, None) => self.seen,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Millis = 3_600_000;

    #[test]
    fn who_comes_back_after_a_while_is_told_what_happened_since_they_last_looked() {
        let mut presence = Presence::default();
        assert_eq!(presence.key(HOUR, 5), None);
        presence.sees(HOUR, 5, true);
        assert_eq!(presence.sees(HOUR + IDLE_MS, 9, true), None, "nobody looks");
        let since = presence.key(HOUR + IDLE_MS, 9);
        assert_eq!(since.map(|mark| mark.seq), Some(5));
        presence.told(Away { finished: 2, ..Away::default() }, HOUR + IDLE_MS);
        let line = presence.line.clone().unwrap();
        assert_eq!(line.says(), "while you were away (10m): 2 finished");
        presence.key(HOUR + IDLE_MS + 1, 9);
        assert!(presence.line.is_some(), "there was no time to read it");
        assert_eq!(presence.ends(HOUR + IDLE_MS + 1, 9, true), None, "a restart tells it again");
        presence.key(HOUR + IDLE_MS + READ_MS, 9);
        assert!(presence.line.is_none());
        assert_eq!(presence.ends(HOUR + IDLE_MS + READ_MS, 9, true).map(|mark| mark.seq), Some(9));
    }

    #[test]
    fn a_glance_at_another_window_is_no_absence() {
        let mut presence = Presence::default();
        presence.key(HOUR, 5);
        presence.sees(HOUR, 5, true);
        assert_eq!(presence.back(HOUR + GLANCE_MS - 1, 9), None);
        assert_eq!(presence.back(HOUR + GLANCE_MS, 9).map(|mark| mark.seq), Some(5));
    }

    #[test]
    fn where_nothing_was_seen_before_there_is_nothing_to_tell() {
        let mut presence = Presence::default();
        assert_eq!(presence.before(None, 9), None);
        assert_eq!(presence.before(Some(Mark { seq: 9, at_ms: 1 }), 9), None);
        presence.before(Some(Mark { seq: 3, at_ms: 1 }), 9);
        presence.told(Away::default(), HOUR);
        assert!(presence.line.is_none());
    }
}
