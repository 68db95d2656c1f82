//! `andon edit`: changes a card's fields.

use clap::Args;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::several::Several;
use super::work::WorkArgs;
use super::{record, status, when};
use crate::domain::time::Millis;
use crate::domain::{Executor, IdRef, Program, Task, Work};
use crate::engine::{Command, Engine, TaskEdit};

/// Options of `edit`.
#[derive(Debug, Args)]
pub struct EditArgs {
    /// Cards: full ids, unique prefixes, or numbers
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// The title
    #[arg(short, long, value_name = "TEXT")]
    title: Option<String>,
    /// What is to be done, in any length
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,
    /// 0 (highest) to 9
    #[arg(short, long, value_name = "0-9", allow_negative_numbers = true)]
    priority: Option<i64>,
    /// All labels, instead of those it has
    #[arg(short, long = "label", value_name = "LABEL", conflicts_with_all = ["add_label", "remove_label", "no_labels"])]
    labels: Vec<String>,
    /// A label to add
    #[arg(long, value_name = "LABEL")]
    add_label: Vec<String>,
    /// A label to take away
    #[arg(long, value_name = "LABEL")]
    remove_label: Vec<String>,
    /// No labels at all
    #[arg(long)]
    no_labels: bool,
    /// Who should do it; empty for nobody
    #[arg(long, value_name = "A")]
    assignee: Option<String>,
    /// Where it comes from
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// The board to put it on
    #[arg(long, value_name = "NAME")]
    to_board: Option<String>,
    /// How often the engine retries it by itself
    #[arg(long, value_name = "N")]
    retry_max: Option<u32>,
    /// The cap for retries of any kind
    #[arg(long, value_name = "N")]
    max_retries: Option<u32>,
    /// Seconds for one attempt; 0 for as long as it takes
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u32>,
    /// Not before this time: 17:30, 2026-12-01, 2026-12-01T09:00Z
    #[arg(long = "at", value_name = "TIME", value_parser = when::at, conflicts_with_all = ["after_length", "now"])]
    at: Option<Millis>,
    /// Not before so long from now: 30s, 5m, 2h, 1d
    #[arg(long = "in", value_name = "DURATION", value_parser = when::after, id = "after_length", conflicts_with = "now")]
    delay: Option<Millis>,
    /// As soon as it can be
    #[arg(long)]
    now: bool,
    /// Its work waits for a review
    #[arg(long, overrides_with = "no_review")]
    review: bool,
    /// Its work is done without a review
    #[arg(long, overrides_with = "review")]
    no_review: bool,
    /// A shell line that must pass after the work, before you are asked; asks for a review
    #[arg(long, value_name = "LINE", conflicts_with_all = ["no_check", "no_review"])]
    check: Option<String>,
    /// No check
    #[arg(long)]
    no_check: bool,
    /// Nothing to run: a person does it
    #[arg(long, conflicts_with_all = ["agent", "command", "check", "no_check"])]
    manual: bool,
    /// Refuse when the card has another version by now
    #[arg(long, value_name = "N")]
    if_version: Option<i64>,
    #[command(flatten)]
    work: WorkArgs,
}

/// Changes each card.
pub fn run(context: &mut Context, args: EditArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    if !args.touches_labels_one_by_one()
        && args.work.agent.is_none()
        && args.edit(None)? == TaskEdit::default()
    {
        return Err(CliError::Usage("nothing to change; `andon edit --help` lists what can be".to_owned()));
    }
    let mut several = Several::new(args.ids.len());
    for id in &args.ids {
        let edited = task_ref(id).map_err(CliError::from).and_then(|reference| {
            let outcome = context.execute(args.command(&engine, reference)?)?;
            let task =
                outcome.task().ok_or_else(|| CliError::Failed(format!("edit gave no card: {outcome:?}")))?;
            Ok((status::headline(&context.out, task), record::task(&engine, task)?))
        });
        several.note(context, id, edited)?;
    }
    several.finish(context, Exit::Done)
}

impl EditArgs {
    fn touches_labels_one_by_one(&self) -> bool {
        !self.add_label.is_empty() || !self.remove_label.is_empty()
    }

    fn command(&self, engine: &Engine, task: IdRef) -> Result<Command, CliError> {
        // Single labels and an agent's goal depend on what is there; the version guards what was read.
        let reads_first = self.touches_labels_one_by_one() || self.work.agent.is_some();
        let before = reads_first.then(|| engine.task(&task)).transpose()?;
        let if_version = self.if_version.or(before.as_ref().map(|task| task.version));
        let edit = Box::new(self.edit(before.as_ref())?);
        Ok(Command::Edit { task, edit, if_version })
    }

    /// The change; `before` is the card as it is, where that matters.
    fn edit(&self, before: Option<&Task>) -> Result<TaskEdit, CliError> {
        Ok(TaskEdit {
            title: self.title.clone(),
            description: self.description.clone(),
            board: self.to_board.clone(),
            priority: self.priority,
            labels: self.labels(before),
            assignee: self.assignee.clone(),
            source: self.source.clone(),
            executor: self.executor(before)?,
            check: match self.no_check {
                true => Some(None),
                false => self.check.clone().map(|line| Some(Program::Shell(line))),
            },
            retry_max: self.retry_max,
            max_retries: self.max_retries,
            timeout_seconds: self.timeout.map(|seconds| (seconds > 0).then_some(seconds)),
            not_before_ms: match self.now {
                true => Some(None),
                false => self.at.or(self.delay).map(Some),
            },
            review_required: match (self.review || self.check.is_some(), self.no_review) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
        })
    }

    fn labels(&self, before: Option<&Task>) -> Option<Vec<String>> {
        if self.no_labels {
            return Some(self.add_label.clone());
        }
        if !self.touches_labels_one_by_one() {
            return (!self.labels.is_empty()).then(|| self.labels.clone());
        }
        let there = before.map(|task| task.labels.as_slice()).unwrap_or_default();
        let kept = there.iter().filter(|label| !self.remove_label.contains(label));
        Some(kept.chain(&self.add_label).cloned().collect())
    }

    fn executor(&self, before: Option<&Task>) -> Result<Option<Option<Executor>>, CliError> {
        if self.manual {
            return Ok(Some(None));
        }
        let goal = || {
            let old = before.and_then(|task| task.executor.as_ref()).map(|executor| &executor.work);
            match (old, before) {
                (Some(Work::Agent { goal, .. }), _) => goal.clone(),
                (_, Some(task)) if task.description.is_empty() => task.title.clone(),
                (_, Some(task)) => format!("{}\n\n{}", task.title, task.description),
                (_, None) => String::new(),
            }
        };
        Ok(self.work.executor(goal)?.map(Some))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: EditArgs,
    }

    fn edit(words: &[&str], before: Option<&Task>) -> TaskEdit {
        let line = Line::try_parse_from([&["edit", "1"], words].concat()).unwrap();
        line.args.edit(before).unwrap()
    }

    #[test]
    fn only_what_was_named_changes() {
        assert_eq!(edit(&[], None), TaskEdit::default());
        let change = edit(&["-p", "-1", "--timeout", "0", "--now", "--no-review"], None);
        let expected = TaskEdit {
            priority: Some(-1),
            timeout_seconds: Some(None),
            not_before_ms: Some(None),
            review_required: Some(false),
            ..TaskEdit::default()
        };
        assert_eq!(change, expected);
        assert_eq!(edit(&["--manual"], None).executor, Some(None));
    }

    #[test]
    fn labels_are_replaced_or_changed_one_by_one() {
        let task = Task { labels: vec!["bug".into(), "api".into()], ..Task::default() };
        let labels = |words: &[&str]| edit(words, Some(&task)).labels;
        assert_eq!(labels(&["-l", "x", "-l", "y"]), Some(vec!["x".into(), "y".into()]));
        assert_eq!(
            labels(&["--add-label", "x", "--remove-label", "bug"]),
            Some(vec!["api".into(), "x".into()])
        );
        assert_eq!(labels(&["--no-labels"]), Some(vec![]));
        assert_eq!(labels(&[]), None);
    }
}
