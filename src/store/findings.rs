//! Looking for what can't be, at a cost that does not grow with the database: active runs and open questions lie in
//! small indexes and are looked at whole, open tasks and workflows a window at a time.

use rusqlite::{named_params, params};

use super::error::Failure;
use super::rows::{self, workflow_columns};
use super::writer::View;
use crate::domain::time::Millis;
use crate::domain::{
    Finding, FindingKind, RunId, StepCounts, TaskStatus, Workflow, WorkflowId, WorkflowStatus, workflow,
};

/// The most findings of one kind that one look gives.
const LIMIT: u32 = 100;

/// Where a look begins, and how far it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// After this open task, in the order of the index: board, priority, number.
    task: (String, i64, i64),
    /// After this workflow's row.
    workflow: i64,
    /// How many open tasks.
    tasks: u32,
    /// How many workflows.
    workflows: u32,
    /// No further workflow once so many steps were counted.
    steps: u32,
}

impl Default for Window {
    fn default() -> Self {
        Window { task: (String::new(), -1, 0), workflow: 0, tasks: 500, workflows: 200, steps: 5_000 }
    }
}

impl Window {
    /// Everything at once.
    pub fn whole() -> Self {
        Window { tasks: u32::MAX, workflows: u32::MAX, steps: u32::MAX, ..Window::default() }
    }
}

impl View<'_> {
    /// What is wrong within a window, and the window after it: where the end was reached, the first one again.
    /// `dispatcher` is the one at work; `None` where nobody is.
    pub fn findings(
        &self,
        dispatcher: Option<&str>,
        now: Millis,
        window: &Window,
    ) -> Result<(Vec<Finding>, Window), Failure> {
        let mut found = self.stray_runs()?;
        found.extend(self.lost_runs(dispatcher, now)?);
        found.extend(self.stray_questions()?);
        found.extend(self.vain_waits()?);
        let mut next = window.clone();
        next.task = self.wrong_tasks(window, &mut found)?;
        next.workflow = self.wrong_workflows(window, &mut found)?;
        Ok((found, next))
    }

    /// Active runs whose holder is gone or has forgotten them, of tasks that are shown as they should be.
    fn lost_runs(&self, dispatcher: Option<&str>, now: Millis) -> Result<Vec<Finding>, Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT runs.id, runs.task_seq, holder IS ?1 FROM runs INDEXED BY runs_held
             JOIN tasks ON tasks.seq = runs.task_seq
             WHERE ended_at_ms IS NULL AND holder IS NOT NULL AND status IN ('running','blocked')
               AND (holder IS NOT ?1 OR coalesce(lease_until_ms, 0) < ?2) LIMIT ?3",
        )?;
        let found = statement.query_map(params![dispatcher, now, LIMIT], |row| {
            let kind = match row.get(2)? {
                true => FindingKind::ForgottenRun,
                false => FindingKind::OrphanedRun,
            };
            Ok(Finding { run: Some(RunId(row.get(0)?)), ..Finding::of_task(kind, row.get(1)?) })
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    fn stray_runs(&self) -> Result<Vec<Finding>, Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT runs.id, runs.task_seq FROM runs INDEXED BY runs_active
             JOIN tasks ON tasks.seq = runs.task_seq
             WHERE ended_at_ms IS NULL AND (status NOT IN ('running','blocked')
               OR (status = 'running' AND (current_run_id IS NOT runs.id OR tasks.epoch <> runs.epoch))) LIMIT ?1",
        )?;
        let found = statement.query_map([LIMIT], |row| {
            Ok(Finding {
                run: Some(RunId(row.get(0)?)),
                ..Finding::of_task(FindingKind::StrayRun, row.get(1)?)
            })
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    fn stray_questions(&self) -> Result<Vec<Finding>, Failure> {
        let seqs = self.numbers(
            "SELECT tasks.seq FROM waits INDEXED BY waits_open JOIN tasks ON tasks.seq = waits.task_seq
             WHERE state = 'open' AND task_seq IS NOT NULL AND status <> 'blocked' LIMIT ?1",
            [LIMIT],
        )?;
        Ok(seqs.into_iter().map(|seq| Finding::of_task(FindingKind::StrayQuestion, seq)).collect())
    }

    /// Waits for a task that has ended or is gone, a timer that is over or gone, an event that has arrived.
    fn vain_waits(&self) -> Result<Vec<Finding>, Failure> {
        let seqs = self.numbers(
            "SELECT task_seq FROM waits INDEXED BY waits_open
             WHERE state = 'open' AND task_seq IS NOT NULL AND (
               (kind = 'task_result' AND NOT EXISTS (SELECT 1 FROM tasks AS awaited
                  WHERE awaited.id = subject AND awaited.status NOT IN ('success','failed','cancelled')))
               OR (kind = 'timer' AND NOT EXISTS (SELECT 1 FROM timers WHERE timers.id = subject AND timers.state = 'open'))
               OR (kind = 'event' AND EXISTS (SELECT 1 FROM wakes WHERE key = subject)))
             LIMIT ?1",
            [LIMIT],
        )?;
        Ok(seqs.into_iter().map(|seq| Finding::of_task(FindingKind::VainWait, seq)).collect())
    }

    /// Looks at a window of open tasks; the place where the next one begins.
    fn wrong_tasks(&self, window: &Window, found: &mut Vec<Finding>) -> Result<(String, i64, i64), Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT board_id, priority, seq,
               open_predecessors <> (SELECT count(*) FROM dependencies JOIN tasks AS needed ON needed.seq = on_seq
                                     WHERE task_seq = tasks.seq AND needed.status <> 'success'),
               held AND NOT coalesce((SELECT paused FROM workflows WHERE workflows.id = workflow_id), 0),
               status = 'running' AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_active
                                     WHERE task_seq = tasks.seq AND ended_at_ms IS NULL),
               status = 'blocked' AND EXISTS (SELECT 1 FROM waits WHERE task_seq = tasks.seq
                   AND state IN ('answered','triggered'))
                 AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_active
                                     WHERE task_seq = tasks.seq AND ended_at_ms IS NULL)
             FROM tasks INDEXED BY tasks_open
             WHERE status NOT IN ('success','cancelled') AND archived_at_ms IS NULL
               AND (board_id, priority, seq) > (:board, :priority, :seq)
             ORDER BY board_id, priority, seq LIMIT :limit",
        )?;
        const KINDS: [FindingKind; 4] = [
            FindingKind::Predecessors,
            FindingKind::HeldForNobody,
            FindingKind::NobodyRuns,
            FindingKind::UnreadAnswer,
        ];
        let (board, priority, seq) = &window.task;
        let mut rows = statement.query(named_params! {
            ":board": board, ":priority": priority, ":seq": seq, ":limit": window.tasks,
        })?;
        let (mut looked, mut last) = (0, window.task.clone());
        while let Some(row) = rows.next()? {
            looked += 1;
            last = (row.get(0)?, row.get(1)?, row.get(2)?);
            for (at, kind) in KINDS.into_iter().enumerate() {
                if row.get(3 + at)? {
                    found.push(Finding::of_task(kind, last.2));
                }
            }
        }
        Ok(if looked < window.tasks { Window::default().task } else { last })
    }

    /// Looks at a window of workflows; the place where the next one begins.
    fn wrong_workflows(&self, window: &Window, found: &mut Vec<Finding>) -> Result<i64, Failure> {
        let sql = concat!(
            "SELECT ",
            workflow_columns!(),
            ", rowid FROM workflows WHERE rowid > ?1 ORDER BY rowid LIMIT ?2"
        );
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![window.workflow, window.workflows])?;
        let (mut looked, mut steps, mut last) = (0, 0, window.workflow);
        while let Some(row) = rows.next()? {
            looked += 1;
            last = row.get(14)?;
            // A closed workflow stays as it ended.
            if rows::word(row, 3, WorkflowStatus::parse)?.is_closed() {
                continue;
            }
            let open = rows::workflow(row)?;
            if self.is_wrong(&open)? {
                found.push(Finding { workflow: Some(open.id), ..Finding::of_task(FindingKind::Workflow, 0) });
            }
            steps += open.counts.total();
            if steps >= window.steps {
                return Ok(last);
            }
        }
        Ok(if looked < window.workflows { 0 } else { last })
    }

    /// Whether a workflow's counts or status do not follow from its steps, or a step is forgotten.
    fn is_wrong(&self, found: &Workflow) -> Result<bool, Failure> {
        let (counts, forgotten) = self.steps_at_a_glance(&found.id, found.started)?;
        let follows = workflow::status(found.started, found.paused, found.cancel_requested, &counts);
        Ok(counts != found.counts || follows != found.status || forgotten)
    }

    /// The counts of the steps, and whether one is ready and nothing queues it, or should have been swept.
    fn steps_at_a_glance(&self, id: &WorkflowId, started: bool) -> Result<(StepCounts, bool), Failure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT status, status = 'cancelled' AND coalesce(json_extract(metadata, '$.swept'), 0) AS swept,
               count(*), sum(epoch = 0), sum(open_predecessors = 0)
             FROM tasks WHERE workflow_id = ?1 GROUP BY status, swept",
        )?;
        let mut rows = statement.query([id.as_str()])?;
        let mut counts = StepCounts::default();
        let (mut never_ran, mut ready, mut ended_badly) = (0, 0, false);
        while let Some(row) = rows.next()? {
            let status = rows::word(row, 0, TaskStatus::parse)?;
            let swept: bool = row.get(1)?;
            counts.add_many(status, swept, row.get(2)?);
            match status {
                TaskStatus::Pending => {
                    never_ran += row.get::<_, u32>(3)?;
                    ready += row.get::<_, u32>(4)?;
                }
                TaskStatus::Queued => never_ran += row.get::<_, u32>(3)?,
                TaskStatus::Failed => ended_badly = true,
                TaskStatus::Cancelled => ended_badly |= !swept,
                _ => {}
            }
        }
        let forgotten = if ended_badly { never_ran > 0 } else { ready > 0 };
        Ok((counts, started && forgotten))
    }
}
