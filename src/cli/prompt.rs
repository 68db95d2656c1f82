//! Questions answered on the spot: shown when they are asked, answered by a typed line.

use std::io::BufRead;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use super::context::Context;
use super::error::CliError;
use super::questions;
use crate::domain::QuestionId;
use crate::engine::{AnswerText, Command, OpenQuestion, QuestionRef};

/// The open questions of what is being watched, and the lines that a person types.
pub struct Prompt {
    asks: bool,
    shown: Vec<QuestionId>,
    waiting: Vec<OpenQuestion>,
    typed: Option<Receiver<String>>,
}

impl Prompt {
    /// A prompt; with `asks` false it only says how to answer from elsewhere.
    pub fn new(asks: bool) -> Self {
        Self { asks, shown: Vec::new(), waiting: Vec::new(), typed: None }
    }

    /// Shows the questions that are new.
    pub fn show(&mut self, context: &mut Context, open: &[OpenQuestion]) -> Result<(), CliError> {
        for asked in open {
            if self.shown.contains(&asked.question.id) {
                continue;
            }
            self.shown.push(asked.question.id.clone());
            if context.out.is_json() {
                continue;
            }
            for line in questions::listed(context, std::slice::from_ref(asked)) {
                context.out.line(line)?;
            }
            match self.asks {
                true => self.waiting.push(asked.clone()),
                false => context.out.note(&format!("answer it with: andon answer {} TEXT", asked.seq)),
            }
        }
        self.invite(context)?;
        context.out.flush()
    }

    /// Hands what was typed to the oldest question that waits.
    pub fn take_answers(&mut self, context: &mut Context) -> Result<(), CliError> {
        while let Some(line) = self.typed.as_ref().and_then(|typed| typed.try_recv().ok()) {
            let Some(asked) = self.waiting.first() else { continue };
            let question = &asked.question;
            let answer = match line.trim().parse::<usize>() {
                Ok(number) if (1..=question.options.len()).contains(&number) => AnswerText::Option(number),
                _ => AnswerText::Text(line),
            };
            let command = Command::Answer { question: QuestionRef::Id(question.id.clone()), answer };
            match context.execute(command) {
                Ok(_) => {
                    self.waiting.remove(0);
                }
                Err(error @ CliError::Refused(_)) => {
                    context.out.error(&error);
                    // A wrong answer may be corrected; a question that is no longer open can't be.
                    if error.exit() != super::error::Exit::Invalid {
                        self.waiting.remove(0);
                    }
                }
                Err(error) => return Err(error),
            }
            self.invite(context)?;
            context.out.flush()?;
        }
        Ok(())
    }

    fn invite(&mut self, context: &mut Context) -> Result<(), CliError> {
        let Some(asked) = self.waiting.first() else { return Ok(()) };
        let how = match asked.question.options.is_empty() {
            true => format!("answer #{}> ", asked.seq),
            false => format!("answer #{}, a number or words> ", asked.seq),
        };
        context.out.bytes(how.as_bytes())?;
        if self.typed.is_none() {
            self.typed = Some(lines_of_stdin()?);
        }
        Ok(())
    }
}

/// The lines that are typed from now on. The thread ends with the program: a read can't be called off.
fn lines_of_stdin() -> Result<Receiver<String>, CliError> {
    let (typed, lines) = mpsc::channel();
    let reads = move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if typed.send(line).is_err() {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("typed lines".to_owned())
        .spawn(reads)
        .map_err(|error| CliError::Failed(format!("can't read what is typed: {error}")))?;
    Ok(lines)
}
