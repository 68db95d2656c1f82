//! A workflow as it goes: what changed in which step, read from the event log, so that no change is missed
//! however fast it passes.

use anstyle::Style;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::error::CliError;
use super::output::Output;
use super::words;
use crate::domain::text::{one_line, shortened};
use crate::domain::time::{Millis, precise};
use crate::domain::{Event, EventKind, TaskId, TaskStatus, WorkflowId, WorkflowStatus};
use crate::engine::{Engine, WorkflowView};

/// How many events are read at a time.
const PAGE: usize = 500;
/// The workflow itself is looked at this often, should no event have told of its end.
const LOOK_ANYWAY: Duration = Duration::from_secs(1);

/// What changed in a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its task.
    pub task: TaskId,
    /// Its task's number.
    pub seq: i64,
    /// Its id within the workflow.
    pub step: String,
    /// Where it stands now.
    pub status: TaskStatus,
    /// What happened.
    pub kind: EventKind,
    /// When.
    pub at: Millis,
    /// How long it ran, once it ran and ended.
    pub length: Option<Millis>,
    /// The number of the retry that begins.
    pub retry: Option<u64>,
    /// Why it failed, was cancelled or is blocked.
    pub reason: String,
}

/// A watched workflow.
pub struct Watch {
    engine: Engine,
    workflow: WorkflowId,
    steps: HashMap<TaskId, (String, i64)>,
    running_since: HashMap<TaskId, Millis>,
    since: i64,
    status: WorkflowStatus,
    open_steps: u32,
    looked_at: Option<Instant>,
}

impl Watch {
    /// Watches a workflow from event `since` on.
    pub fn new(engine: Engine, view: &WorkflowView, since: i64) -> Self {
        let steps = view.steps.iter().map(|step| (step.task_id.clone(), (step.id.clone(), step.seq)));
        Self {
            engine,
            workflow: view.workflow.id.clone(),
            steps: steps.collect(),
            running_since: HashMap::new(),
            since,
            status: view.workflow.status,
            open_steps: view.workflow.counts.open(),
            looked_at: None,
        }
    }

    /// Whether a task is one of its steps.
    pub fn has(&self, task: &TaskId) -> bool {
        self.steps.contains_key(task)
    }

    /// Where the workflow stands, as of the last [`Watch::changes`].
    pub fn status(&self) -> WorkflowStatus {
        self.status
    }

    /// Whether it is over: closed, and what was still running when it was cancelled has ended too.
    pub fn is_over(&self) -> bool {
        self.status.is_closed() && self.open_steps == 0
    }

    /// What changed since the last call, oldest first.
    pub fn changes(&mut self) -> Result<Vec<Change>, CliError> {
        let mut changes = Vec::new();
        let mut touched = false;
        loop {
            let page = self.engine.events(self.since, None, PAGE)?;
            for event in &page {
                self.since = event.seq;
                touched |= event.workflow_id.as_ref() == Some(&self.workflow);
                changes.extend(self.change(event));
            }
            if page.len() < PAGE {
                break;
            }
        }
        touched |= !changes.is_empty();
        if touched || self.looked_at.is_none_or(|at| at.elapsed() >= LOOK_ANYWAY) {
            let now = self.engine.workflow(self.workflow.as_str())?.workflow;
            (self.status, self.open_steps) = (now.status, now.counts.open());
            self.looked_at = Some(Instant::now());
        }
        Ok(without_passing_reviews(changes))
    }

    /// Blocks until something may have changed, at most for `timeout`.
    pub fn wait(&self, timeout: Duration) -> Result<(), CliError> {
        self.engine.wait_for_change(self.since, timeout)?;
        Ok(())
    }

    fn change(&mut self, event: &Event) -> Option<Change> {
        let task = event.task_id.as_ref()?;
        let (step, seq) = self.steps.get(task)?.clone();
        let text = |name: &str| event.patch.get(name).and_then(|value| value.as_str()).unwrap_or_default();
        let status = TaskStatus::parse(text("status"))?;
        let mut length = None;
        if status == TaskStatus::Running {
            self.running_since.insert(task.clone(), event.at_ms);
        } else if let Some(from) = self.running_since.remove(task) {
            length = Some(event.at_ms - from);
        }
        let reason = match text("error") {
            "" => text("blocked_reason"),
            error => error,
        };
        Some(Change {
            task: task.clone(),
            seq,
            step,
            status,
            kind: event.kind,
            at: event.at_ms,
            length,
            retry: event.patch.get("retry_count").and_then(|count| count.as_u64()),
            reason: reason.to_owned(),
        })
    }
}

/// A step that needs no review passes REVIEW on its way to SUCCESS; nobody needs to read that.
fn without_passing_reviews(changes: Vec<Change>) -> Vec<Change> {
    let mut kept: Vec<Change> = Vec::with_capacity(changes.len());
    for mut change in changes {
        if change.status == TaskStatus::Success
            && let Some(at) = kept.iter().rposition(|earlier| earlier.task == change.task)
            && kept[at].status == TaskStatus::Review
            && kept[at].at == change.at
        {
            change.length = kept.remove(at).length;
        }
        kept.push(change);
    }
    kept
}

impl Change {
    /// The change as one line: time, step, status, and what there is to say about it.
    pub fn line(&self, out: &Output, width: usize) -> String {
        let status = format!("{} {}", words::glyph(self.status), self.status);
        let mut line = format!(
            "{}  {}  {}",
            out.paint(Style::new().dimmed(), &words::clock_time(self.at)),
            words::pad(&one_line(&self.step), width),
            out.paint(words::style(self.status), &status),
        );
        if let Some(length) = self.length.filter(|_| self.status != TaskStatus::Blocked) {
            line.push_str(&format!("  {}", precise(length)));
        }
        if let Some(retry) = self.retry.filter(|retry| *retry > 0) {
            line.push_str(&format!("  retry {retry}"));
        }
        if !self.reason.is_empty() {
            line.push_str(&format!("  {}", shortened(&one_line(&self.reason), 300)));
        }
        line
    }
}

/// The cells that the longest step id takes, so that lines align.
pub fn step_width(view: &WorkflowView) -> usize {
    view.steps.iter().map(|step| words::cells(&one_line(&step.id))).max().unwrap_or(0).min(40)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(task: &str, status: TaskStatus, at: Millis) -> Change {
        Change {
            task: task.into(),
            seq: 1,
            step: "s".into(),
            status,
            kind: EventKind::Edited,
            at,
            length: (status == TaskStatus::Review).then_some(7),
            retry: None,
            reason: String::new(),
        }
    }

    #[test]
    fn a_review_that_only_passes_is_not_told() {
        use TaskStatus::*;
        let told = without_passing_reviews(vec![
            change("t_a", Review, 5),
            change("t_b", Running, 5),
            change("t_a", Success, 5),
            change("t_c", Review, 6),
            change("t_c", Success, 9),
        ]);
        let statuses: Vec<_> = told.iter().map(|c| (c.task.as_str(), c.status, c.length)).collect();
        let expected = [
            ("t_b", Running, None),
            ("t_a", Success, Some(7)),
            ("t_c", Review, Some(7)),
            ("t_c", Success, None),
        ];
        assert_eq!(statuses, expected);
    }
}
