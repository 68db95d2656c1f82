//! What a run is handed on paper: the prompt of an agent, and files beside the log that hold texts too long for a
//! variable. They are readable for their owner only and go when the run ends.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::engine::RunSpec;

/// Everything that an agent should know: title, description, goal, and what a person said since.
pub(super) fn prompt(spec: &RunSpec, goal: &str) -> String {
    let mut text = format!("# {}\n", spec.title);
    let mut section = |heading: &str, body: &str| {
        if !body.trim().is_empty() {
            text.push_str(&format!("\n{heading}{}\n", body.trim_end()));
        }
    };
    section("", &spec.description);
    // A card whose goal is its title need not say it twice.
    if goal.trim() != spec.title.trim() && goal.trim() != spec.description.trim() {
        section("## Goal\n", goal);
    }
    if let Some(feedback) = &spec.feedback {
        section("## What the reviewer said about the work so far\n", feedback);
    }
    if let Some(given) = &spec.answer {
        section("## You asked\n", &given.question);
        section("## The answer\n", &given.answer);
    }
    text
}

/// Where the prompt of the run with this log is.
pub(super) fn prompt_file(log: &Path) -> PathBuf {
    beside(log, ".prompt")
}

/// All that a run with this log may be handed on paper, whether it is there or not.
pub(super) fn files(log: &Path) -> [PathBuf; 2] {
    [prompt_file(log), answer_file(log)]
}

fn answer_file(log: &Path) -> PathBuf {
    beside(log, ".answer")
}

/// Files that go when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Papers(Vec<PathBuf>);

impl Papers {
    /// Writes the prompt of a run.
    pub fn add_prompt(&mut self, log: &Path, text: &str) -> io::Result<PathBuf> {
        self.add(prompt_file(log), text)
    }

    /// Writes the answer that a run is started with.
    pub fn add_answer(&mut self, log: &Path, text: &str) -> io::Result<PathBuf> {
        self.add(answer_file(log), text)
    }

    fn add(&mut self, path: PathBuf, text: &str) -> io::Result<PathBuf> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        self.0.push(path.clone());
        file.write_all(text.as_bytes())?;
        Ok(path)
    }
}

impl Drop for Papers {
    fn drop(&mut self) {
        for path in &self.0 {
            // One that the run removed itself is gone, and that is what is wanted.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn beside(log: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(log);
    name.push(ending);
    name.into()
}
