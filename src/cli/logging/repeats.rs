//! The same fault is told once a minute: what can't be written is tried twice a second, and a log that tells of each
//! try helps nobody and fills the disk that is full already.

use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

/// How long a warning or error is not told again with the same words.
const QUIET: Duration = Duration::from_secs(60);

/// The most lines that are remembered.
const REMEMBERED: usize = 256;

/// Lets a line pass that was not told within the last minute.
#[derive(Default)]
pub struct Repeats {
    told: Mutex<HashMap<String, Instant>>,
}

impl Repeats {
    fn is_new(&self, line: String, now: Instant) -> bool {
        // Nothing that is guarded here can be left half changed by a panic.
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= REMEMBERED {
            told.retain(|_, at| now.duration_since(*at) < QUIET);
        }
        if told.len() >= REMEMBERED {
            told.clear();
        }
        match told.get(&line) {
            Some(at) if now.duration_since(*at) < QUIET => false,
            _ => {
                told.insert(line, now);
                true
            }
        }
    }
}

impl<S: Subscriber> Filter<S> for Repeats {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        if *event.metadata().level() > Level::WARN {
            return true;
        }
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        self.is_new(line.0, Instant::now())
    }
}

/// All that a line says.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing into a text can't fail.
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_are_told_once_a_minute() {
        let (repeats, now) = (Repeats::default(), Instant::now());
        assert!(repeats.is_new("full".into(), now));
        assert!(!repeats.is_new("full".into(), now + QUIET / 2));
        assert!(repeats.is_new("other".into(), now + QUIET / 2));
        assert!(repeats.is_new("full".into(), now + QUIET));
        assert!(!repeats.is_new("full".into(), now + QUIET * 3 / 2));
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let (repeats, now) = (Repeats::default(), Instant::now());
        for n in 0..10 * REMEMBERED {
            assert!(repeats.is_new(n.to_string(), now));
        }
        assert!(repeats.told.lock().unwrap().len() <= REMEMBERED);
    }
}
