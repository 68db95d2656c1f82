//! One verb on several ids: each refusal is named, the rest is done, and the first refusal decides the exit
//! code.

use serde_json::{Value, json};

use super::context::Context;
use super::error::{CliError, Exit};

/// What became of each id.
pub struct Several {
    asked: usize,
    done: Vec<Value>,
    refused: Vec<(String, CliError)>,
}

impl Several {
    /// For so many ids.
    pub fn new(asked: usize) -> Self {
        Self { asked, done: Vec::new(), refused: Vec::new() }
    }

    /// Notes what became of `id`: a line for people with a record for programs, or a refusal. What would meet
    /// every other id as well (the database, a closed pipe) ends the verb.
    pub fn note(
        &mut self,
        context: &mut Context,
        id: &str,
        ended: Result<(String, Value), CliError>,
    ) -> Result<(), CliError> {
        match ended {
            Ok((line, record)) => {
                if !context.out.is_json() {
                    context.out.line(line)?;
                    context.out.flush()?;
                }
                self.done.push(record);
                Ok(())
            }
            Err(error @ CliError::Refused(_)) => {
                if self.asked > 1 && !context.out.is_json() {
                    context.out.error(&error);
                }
                self.refused.push((id.to_owned(), error));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// The answer to programs, and how the verb ends; `exit` where nothing was refused.
    pub fn finish(self, context: &mut Context, exit: Exit) -> Result<Exit, CliError> {
        let Several { asked, mut done, mut refused } = self;
        if asked == 1 {
            return match refused.pop() {
                Some((_, error)) => Err(error),
                None => {
                    if let (true, Some(record)) = (context.out.is_json(), done.pop()) {
                        context.out.value(&record)?;
                    }
                    Ok(exit)
                }
            };
        }
        if context.out.is_json() {
            let named: Vec<Value> = refused
                .iter()
                .map(|(id, error)| json!({ "id": id, "code": error.code(), "message": error.to_string() }))
                .collect();
            context.out.value(&json!({ "done": done, "refused": named }))?;
            if let Some((_, first)) = refused.first() {
                context.out.error(first);
            }
        }
        match refused.first() {
            None => Ok(exit),
            Some((_, first)) => Err(CliError::Ended(first.exit())),
        }
    }
}
