//! What a look gave: one check with what it says, and the problems that it found.

use serde_json::{Value, json};

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing is wrong.
    Well,
    /// Something was wrong and is not any more.
    Mended,
    /// Something is wrong.
    Fault,
}

/// One thing that is wrong.
#[derive(Debug, Clone)]
pub struct Problem {
    /// What.
    pub what: String,
    /// What would be done about it; `None` where a person has to.
    pub would: Option<String>,
    /// What was done about it.
    pub mended: Option<String>,
}

/// One look.
#[derive(Debug, Clone)]
pub struct Check {
    /// At what.
    pub name: &'static str,
    /// What it saw.
    pub said: String,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// Numbers for programs.
    pub data: Value,
}

impl Check {
    /// A look that found nothing wrong so far.
    pub fn new(name: &'static str, said: impl Into<String>) -> Self {
        Check { name, said: said.into(), problems: Vec::new(), data: Value::Null }
    }

    /// With a problem.
    pub fn with(mut self, what: impl Into<String>, would: Option<&str>) -> Self {
        let would = would.map(str::to_owned);
        self.problems.push(Problem { what: what.into(), would, mended: None });
        self
    }

    /// With something that was wrong and was mended, or would be.
    pub fn with_mended(mut self, what: impl Into<String>, would: &str, mended: Option<String>) -> Self {
        self.problems.push(Problem { what: what.into(), would: Some(would.to_owned()), mended });
        self
    }

    /// With numbers for programs.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// How it ended.
    pub fn state(&self) -> State {
        match self.problems.iter().filter(|problem| problem.mended.is_none()).count() {
            0 if self.problems.is_empty() => State::Well,
            0 => State::Mended,
            _ => State::Fault,
        }
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let state = match self.state() {
            State::Well => "ok",
            State::Mended => "fixed",
            State::Fault => "fault",
        };
        let problems = self.problems.iter().map(|problem| {
            json!({ "what": problem.what, "would": problem.would, "fixed": problem.mended.is_some() })
        });
        let problems: Vec<Value> = problems.collect();
        json!({ "name": self.name, "state": state, "said": self.said, "problems": problems, "data": self.data })
    }
}
