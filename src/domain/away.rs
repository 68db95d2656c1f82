//! What happened on a board while nobody looked, as counts and in words.

use serde::Serialize;

/// What happened since some event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Away {
    /// Tasks that succeeded.
    pub finished: u32,
    /// Tasks that failed and still stand there.
    pub failed: u32,
    /// Questions that were asked and calls that want approval, answered meanwhile or not.
    pub asked: u32,
    /// Tokens that the runs that ended have used.
    pub tokens: u64,
}

impl Away {
    /// Whether there is nothing to tell.
    pub fn is_nothing(&self) -> bool {
        *self == Away::default()
    }

    /// The counts in words, the empty ones left out: `3 finished, 1 failed, 2 asked, 48k tokens spent`.
    pub fn says(&self) -> String {
        let counts = [(self.finished, "finished"), (self.failed, "failed"), (self.asked, "asked")];
        let mut parts: Vec<String> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        if self.tokens > 0 {
            parts.push(format!("{} tokens spent", short(self.tokens)));
        }
        parts.join(", ")
    }
}

/// A large number with few digits: `812`, `48k`, `3.1M`.
fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_said() {
        assert!(Away::default().is_nothing());
        let away = Away { finished: 3, asked: 1, tokens: 48_700, ..Away::default() };
        assert_eq!(away.says(), "3 finished, 1 asked, 48k tokens spent");
        assert_eq!(
            Away { tokens: 3_140_000, failed: 2, ..Away::default() }.says(),
            "2 failed, 3.1M tokens spent"
        );
    }
}
