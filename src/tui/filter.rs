//! The filter: a few words that say which cards are shown. Free words match titles fuzzily; the rest is exact.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::domain::lamp::{Lamp, lamp};
use crate::domain::time::Millis;
use crate::domain::{Card, TaskStatus};

/// Which cards are shown.
#[derive(Clone, Default)]
pub struct Filter {
    text: String,
    terms: Vec<Term>,
    title: Option<Pattern>,
    faults: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Term {
    Label(String),
    Assignee(String),
    Source(String),
    Status(TaskStatus),
    Priority(Compare, u8),
    Seq(i64),
    Stalled,
    Lit,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Compare {
    AtMost,
    AtLeast,
    Is,
}

impl Filter {
    /// Reads a filter. Words that look like a condition but are none are kept as [`Filter::faults`].
    pub fn parse(text: &str) -> Filter {
        let mut filter = Filter { text: text.to_owned(), ..Filter::default() };
        let mut words = Vec::new();
        for word in text.split_whitespace() {
            match term(word) {
                Ok(Some(found)) => filter.terms.push(found),
                Ok(None) => words.push(word),
                Err(fault) => filter.faults.push(fault),
            }
        }
        if !words.is_empty() {
            filter.title = Some(Pattern::parse(&words.join(" "), CaseMatching::Smart, Normalization::Smart));
        }
        filter
    }

    /// What was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it holds any card back.
    pub fn is_active(&self) -> bool {
        self.title.is_some() || !self.terms.is_empty()
    }

    /// What was not understood, in words.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// A matcher for a pass over many cards.
    pub fn pass(&self, now: Millis) -> Pass<'_> {
        Pass { filter: self, now, matcher: Matcher::new(Config::DEFAULT), buffer: Vec::new() }
    }
}

/// One pass of a filter over many cards.
pub struct Pass<'a> {
    filter: &'a Filter,
    now: Millis,
    matcher: Matcher,
    buffer: Vec<char>,
}

impl Pass<'_> {
    /// Whether the card is shown.
    pub fn shows(&mut self, card: &Card) -> bool {
        self.filter.terms.iter().all(|term| holds(term, card, self.now))
            && self.filter.title.as_ref().is_none_or(|pattern| {
                pattern.score(Utf32Str::new(&card.title, &mut self.buffer), &mut self.matcher).is_some()
            })
    }
}

fn term(word: &str) -> Result<Option<Term>, String> {
    if let Some(name) = word.strip_prefix('@') {
        return Ok(Some(Term::Assignee(name.to_lowercase())));
    }
    if let Some(number) = word.strip_prefix('#') {
        return match number.parse() {
            Ok(seq) => Ok(Some(Term::Seq(seq))),
            Err(_) if number.is_empty() => Ok(None),
            Err(_) => Err(format!("`{word}` is no number")),
        };
    }
    if let Some(rest) = word.strip_prefix(['p', 'P']) {
        let compare = [("<=", Compare::AtMost), (">=", Compare::AtLeast), ("=", Compare::Is)];
        for (sign, compare) in compare {
            if let Some(number) = rest.strip_prefix(sign) {
                let value = number.parse().map_err(|_| format!("`{word}`: a priority is 0 to 9"))?;
                return Ok(Some(Term::Priority(compare, value)));
            }
        }
    }
    let Some((name, value)) = word.split_once(':') else { return Ok(None) };
    let value = value.to_lowercase();
    match name {
        "label" => Ok(Some(Term::Label(value))),
        "source" => Ok(Some(Term::Source(value))),
        "status" => match TaskStatus::parse(&value) {
            Some(status) => Ok(Some(Term::Status(status))),
            None => Err(format!("`{value}` is no status")),
        },
        "is" => match value.as_str() {
            "stalled" => Ok(Some(Term::Stalled)),
            "lit" => Ok(Some(Term::Lit)),
            _ => Err(format!("`is:{value}` is neither is:stalled nor is:lit")),
        },
        _ => Ok(None),
    }
}

fn holds(term: &Term, card: &Card, now: Millis) -> bool {
    match term {
        Term::Label(label) => card.labels.iter().any(|own| own.to_lowercase().starts_with(label)),
        Term::Assignee(name) => {
            let agent = card.agent.as_deref().unwrap_or_default();
            [card.assignee.as_str(), agent]
                .iter()
                .any(|own| !own.is_empty() && own.trim_start_matches('@').to_lowercase().starts_with(name))
        }
        Term::Source(source) => card.source.to_lowercase().starts_with(source),
        Term::Status(status) => card.status == *status,
        Term::Priority(Compare::AtMost, p) => card.priority <= *p,
        Term::Priority(Compare::AtLeast, p) => card.priority >= *p,
        Term::Priority(Compare::Is, p) => card.priority == *p,
        Term::Seq(seq) => card.seq == *seq,
        Term::Stalled => matches!(lamp(card, now), Some(Lamp::Quiet | Lamp::Stuck)),
        Term::Lit => lamp(card, now).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(filter: &str, card: &Card) -> bool {
        Filter::parse(filter).pass(0).shows(card)
    }

    #[test]
    fn words_match_titles_fuzzily_and_conditions_all_hold() {
        let card = Card {
            seq: 12,
            title: "Fix the login page".into(),
            labels: vec!["bug".into(), "API".into()],
            assignee: "claude".into(),
            source: "github".into(),
            priority: 2,
            status: TaskStatus::Running,
            ..Card::default()
        };
        for yes in [
            "",
            "fxlogin",
            "login fix",
            "label:bug",
            "label:api",
            "@cla",
            "p<=2",
            "p=2",
            "status:RUNNING",
            "source:git",
            "#12",
            "login label:bug @claude p>=1",
        ] {
            assert!(shown(yes, &card), "{yes}");
        }
        for no in ["logout", "label:ui", "@codex", "p<=1", "status:failed", "#1", "is:stalled", "login #13"] {
            assert!(!shown(no, &card), "{no}");
        }
    }

    #[test]
    fn what_is_not_understood_is_said_and_holds_nothing_back() {
        let filter = Filter::parse("status:done p<=x is:odd #1x");
        assert_eq!(filter.faults().len(), 4);
        assert!(!filter.is_active());
    }

    #[test]
    fn a_stalled_card_is_found() {
        use crate::domain::board::Predecessor;
        let behind =
            Predecessor { id: "t_behind".into(), seq: 1, title: "x".into(), status: TaskStatus::Cancelled };
        let stuck = Card { status: TaskStatus::Queued, predecessors: vec![behind], ..Card::default() };
        assert!(shown("is:stalled", &stuck) && shown("is:lit", &stuck));
    }
}
