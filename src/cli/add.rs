//! `andon add`: makes a card, or with `-` one for each line of standard input.

use clap::Args;
use std::io::Read;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::work::WorkArgs;
use super::{record, settle, when, work};
use crate::domain::time::Millis;
use crate::domain::{IdRef, Task};
use crate::engine::{Command, NewTask, Outcome};

/// Options of `add`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// The title; `-` makes a card for each line of standard input
    title: String,
    /// 0 (highest) to 9
    #[arg(short, long, value_name = "0-9", allow_negative_numbers = true)]
    priority: Option<i64>,
    /// A word to find it by; several times for several
    #[arg(short, long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// What is to be done, in any length
    #[arg(short, long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,
    /// Who should do it
    #[arg(long, value_name = "A", default_value = "", hide_default_value = true)]
    assignee: String,
    /// Where it comes from
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    source: String,
    /// A card that must succeed first; several times for several
    #[arg(long, value_name = "ID")]
    after: Vec<String>,
    /// The card that it is a part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Queue it at once; a card without anything to run is taken by you
    #[arg(long)]
    start: bool,
    /// How often the engine retries it by itself
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    retry_max: u32,
    /// The cap for retries of any kind; 3 unless named
    #[arg(long, value_name = "N")]
    max_retries: Option<u32>,
    /// Seconds for one attempt; without it a card has as long as it takes
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    timeout: Option<u32>,
    /// Not before this time: 17:30, 2026-12-01, 2026-12-01T09:00Z
    #[arg(long = "at", value_name = "TIME", value_parser = when::at, conflicts_with = "after_length")]
    at: Option<Millis>,
    /// Not before so long from now: 30s, 5m, 2h, 1d
    #[arg(long = "in", value_name = "DURATION", value_parser = when::after, id = "after_length")]
    delay: Option<Millis>,
    /// In a git worktree of its own
    #[arg(long)]
    worktree: bool,
    /// Its work waits for a review
    #[arg(long, overrides_with = "no_review")]
    review: bool,
    /// Its work is done without a review
    #[arg(long, overrides_with = "review")]
    no_review: bool,
    /// A shell line that must pass after the work, before you are asked; asks for a review
    #[arg(long, value_name = "LINE", conflicts_with = "no_review")]
    check: Option<String>,
    /// Wait until it is settled: exit 0, 10 FAILED, 11 CANCELLED
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    work: WorkArgs,
}

/// Makes the card or cards and prints their ids.
pub fn run(context: &mut Context, args: AddArgs) -> Result<Exit, CliError> {
    match args.title.as_str() {
        "-" => {
            let titles = lines_of_stdin()?;
            let cards: Vec<NewTask> =
                titles.iter().map(|title| args.card(context, title)).collect::<Result<_, _>>()?;
            match cards.is_empty() {
                true => many(context, Vec::new(), args.wait),
                false => {
                    let outcome = context.execute(Command::CreateMany(cards))?;
                    let Outcome::Tasks(tasks) = outcome else { return Err(unexpected(&outcome)) };
                    many(context, tasks, args.wait)
                }
            }
        }
        title => {
            let card = args.card(context, title)?;
            let outcome = context.execute(Command::Create(Box::new(card)))?;
            let Some(task) = outcome.task() else { return Err(unexpected(&outcome)) };
            one(context, task.clone(), args.wait)
        }
    }
}

impl AddArgs {
    fn card(&self, context: &Context, title: &str) -> Result<NewTask, CliError> {
        let goal = || match self.description.trim() {
            "" => title.to_owned(),
            description => format!("{title}\n\n{description}"),
        };
        let executor = work::with_check(self.work.executor(goal)?, self.check.as_deref())?;
        // Who waits for something that can run wants it to run; with predecessors it starts when they are done.
        let start = self.start || (self.wait && executor.is_some() && self.after.is_empty());
        Ok(NewTask {
            title: title.to_owned(),
            description: self.description.clone(),
            board: Some(context.board()?),
            priority: self.priority,
            labels: self.labels.clone(),
            assignee: self.assignee.clone(),
            source: self.source.clone(),
            executor,
            after: self.after.iter().map(|id| task_ref(id)).collect::<Result<_, _>>()?,
            parent: self.parent.as_deref().map(task_ref).transpose()?,
            start,
            retry_max: self.retry_max,
            max_retries: self.max_retries,
            timeout_seconds: self.timeout,
            not_before_ms: self.at.or(self.delay),
            worktree: self.worktree,
            review_required: match (self.review || self.check.is_some(), self.no_review) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            metadata: serde_json::Map::new(),
        })
    }
}

fn one(context: &mut Context, task: Task, wait: bool) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let mut task = task;
    if !context.out.is_json() {
        context.out.line(task.id.as_str())?;
        context.out.flush()?;
    }
    context.hint_at_dispatcher(&task)?;
    if wait {
        task = settle::until_settled(&engine, &IdRef::Full(task.id.0.clone()))?;
    }
    if context.out.is_json() {
        context.out.value(&record::task(&engine, &task)?)?;
    }
    Ok(if wait { settle::exit_of_task(task.status) } else { Exit::Done })
}

fn many(context: &mut Context, tasks: Vec<Task>, wait: bool) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let mut exit = Exit::Done;
    let mut items = Vec::new();
    if !context.out.is_json() {
        for task in &tasks {
            context.out.line(task.id.as_str())?;
        }
        context.out.flush()?;
    }
    for mut task in tasks {
        if wait {
            task = settle::until_settled(&engine, &IdRef::Full(task.id.0.clone()))?;
            exit = settle::worse(exit, settle::exit_of_task(task.status));
        }
        items.push(record::task(&engine, &task)?);
    }
    if context.out.is_json() {
        context.out.value(&record::list(items, None))?;
    }
    Ok(exit)
}

/// The lines of standard input that are not blank.
fn lines_of_stdin() -> Result<Vec<String>, CliError> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|source| CliError::Unreadable { path: "standard input".into(), source })?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

fn unexpected(outcome: &Outcome) -> CliError {
    CliError::Failed(format!("the engine gave an answer that add does not expect: {outcome:?}"))
}
