//! `andon events`: the log of everything that happened, and what happens from now on.

use clap::Args;
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::{record, words};
use crate::domain::text::{one_line, shortened};
use crate::domain::{Event, IdRef, TaskId};
use crate::engine::Engine;

/// How many events are read at a time.
const PAGE: usize = 500;

/// Options of `events`.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Only what came after this number
    #[arg(long, value_name = "SEQ", default_value_t = 0, hide_default_value = true)]
    since: i64,
    /// Go on with what happens
    #[arg(short, long)]
    follow: bool,
    /// Only of this card
    #[arg(long, value_name = "ID")]
    task: Option<String>,
}

/// Prints the events, oldest first.
pub fn run(context: &mut Context, args: EventsArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let only =
        args.task.as_deref().map(|id| -> Result<TaskId, CliError> { Ok(engine.task(&task_ref(id)?)?.id) });
    let only = only.transpose()?;
    let mut numbers = Numbers { engine: engine.clone(), known: HashMap::new() };
    let mut since = args.since;
    loop {
        let last = engine.last_seq()?;
        let page = engine.events(since, only.as_ref(), PAGE)?;
        for event in &page {
            since = event.seq;
            match context.out.is_json() {
                true => context.out.value(&record::event(event))?,
                false => context.out.line(line(event, &mut numbers))?,
            }
        }
        if page.len() == PAGE {
            continue;
        }
        if !args.follow {
            return Ok(Exit::Done);
        }
        context.out.flush()?;
        engine.wait_for_change(last, Duration::from_secs(1))?;
    }
}

fn line(event: &Event, numbers: &mut Numbers) -> String {
    let about = match (&event.task_id, &event.workflow_id) {
        (Some(task), _) => numbers.of(task),
        (None, Some(workflow)) => workflow.to_string(),
        (None, None) => String::new(),
    };
    let said = event.data.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}={}", shortened(&one_line(text), 80)),
        value => format!("{name}={}", shortened(&value.to_string(), 80)),
    });
    let moved = event.patch.get("status").and_then(Value::as_str).map(|status| format!("→ {status}"));
    let rest: Vec<String> = moved.into_iter().chain(said).collect();
    let text = format!(
        "{:>6}  {}  {about:<6}  {:<16}  {}  {}",
        event.seq,
        words::local_time(event.at_ms),
        event.kind.as_str(),
        one_line(&event.actor),
        rest.join(" ")
    );
    text.trim_end().to_owned()
}

/// The numbers of tasks, asked for once each.
struct Numbers {
    engine: Engine,
    known: HashMap<TaskId, String>,
}

impl Numbers {
    fn of(&mut self, task: &TaskId) -> String {
        if let Some(number) = self.known.get(task) {
            return number.clone();
        }
        let number = match self.engine.task(&IdRef::Full(task.0.clone())) {
            Ok(found) => format!("#{}", found.seq),
            Err(_) => task.to_string(),
        };
        self.known.insert(task.clone(), number.clone());
        number
    }
}
