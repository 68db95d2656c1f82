//! What the runs of the card print, one after the other, as text that can only colour itself.

use serde_json::json;

use super::super::context::Context;
use super::super::error::CliError;
use super::super::harmless::Harmless;
use super::answers::Answers;
use crate::agents::log::Follow;
use crate::domain::RunId;
use crate::engine::{Engine, TaskView};

/// Of what was printed before one attached, so many bytes are shown.
const BEFORE: u64 = 64 * 1024;

/// The output of a card.
pub struct Output {
    engine: Engine,
    color: bool,
    reading: Option<Reading>,
}

/// The run whose log is read.
struct Reading {
    run: RunId,
    number: u32,
    log: Follow,
    harmless: Harmless,
    /// Something was printed since the last line of ours.
    open: bool,
}

impl Output {
    /// The output, from the run that goes on when one attaches.
    pub fn new(engine: Engine, color: bool) -> Self {
        Self { engine, color, reading: None }
    }

    /// Prints what was added, run by run.
    pub fn tell(
        &mut self,
        context: &mut Context,
        view: &TaskView,
        answers: &mut Answers,
    ) -> Result<(), CliError> {
        if self.reading.is_none() {
            let Some(run) = view.runs.last() else { return Ok(()) };
            self.open(&run.id, run.number, true)?;
        }
        self.drain(context, answers)?;
        let next = |number| view.runs.iter().find(|run| run.number > number);
        while let Some(run) = self.reading.as_ref().and_then(|reading| next(reading.number)) {
            self.end(context)?;
            self.open(&run.id, run.number, false)?;
            self.drain(context, answers)?;
        }
        Ok(())
    }

    fn open(&mut self, run: &RunId, number: u32, from_end: bool) -> Result<(), CliError> {
        let path = self.engine.log_path(run);
        let log = match from_end {
            true => Follow::from_end(path.clone(), BEFORE)
                .map_err(|source| CliError::Unreadable { path, source })?,
            false => Follow::from_start(path),
        };
        let harmless = Harmless::new(self.color);
        self.reading = Some(Reading { run: run.clone(), number, log, harmless, open: false });
        Ok(())
    }

    fn drain(&mut self, context: &mut Context, answers: &mut Answers) -> Result<(), CliError> {
        let Some(reading) = &mut self.reading else { return Ok(()) };
        loop {
            let bytes = reading.log.next().map_err(|source| CliError::Unreadable {
                path: self.engine.log_path(&reading.run),
                source,
            })?;
            if bytes.is_empty() {
                return Ok(());
            }
            let text = reading.harmless.push(&bytes);
            if text.is_empty() {
                continue;
            }
            if context.out.is_json() {
                let line = json!({ "type": "output", "run_id": reading.run, "text": text });
                context.out.value(&line)?;
                continue;
            }
            answers.interrupted(context)?;
            reading.open = true;
            context.out.bytes(text.as_bytes())?;
        }
    }

    /// Ends the line that was begun, and the colours, before something else is said.
    pub fn end(&mut self, context: &mut Context) -> Result<(), CliError> {
        let Some(reading) = &mut self.reading else { return Ok(()) };
        if !std::mem::take(&mut reading.open) {
            return Ok(());
        }
        let rest = std::mem::replace(&mut reading.harmless, Harmless::new(self.color)).end();
        context.out.bytes(rest.as_bytes())
    }
}
