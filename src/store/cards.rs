//! Cards: what a board shows, read with a handful of statements for the whole board, not one for each card.

use rusqlite::{Row, params};
use std::collections::HashMap;

use super::error::Failure;
use super::rows::{self, approval_columns, question_columns, wait_columns, word};
use super::writer::View;
use crate::domain::board::{Predecessor, RunBrief, WorkflowBrief};
use crate::domain::executor::Work;
use crate::domain::text::shortened;
use crate::domain::{
    Approval, Card, Dispatch, Executor, Intent, Question, RunId, Task, TaskId, TaskStatus, Wait, WorkflowId,
};

/// How much of a long text a card carries, in characters.
const CARD_TEXT: usize = 400;
/// How many closed cards a board shows.
const CLOSED_SHOWN: i64 = 500;

macro_rules! card_columns {
    () => {
        "seq, id, version, board_id, title, status, priority, labels, assignee, source, dispatch, executor, \
         retry_count, max_retries, step_id, workflow_id, since_ms, created_at_ms, queued_at_ms, not_before_ms, \
         run_next, held, blocked_reason, substr(error, 1, 401), substr(result, 1, 401), \
         substr(review_summary, 1, 401), archived_at_ms IS NOT NULL, open_predecessors"
    };
}

impl View<'_> {
    /// The cards of a board that are open, and with `closed` the newest closed ones too; by priority and number.
    pub fn cards(&self, board: &str, closed: bool) -> Result<Vec<Card>, Failure> {
        let sql = concat!(
            "SELECT ",
            card_columns!(),
            " FROM tasks INDEXED BY tasks_open
             WHERE board_id = ?1 AND status NOT IN ('success','cancelled') AND archived_at_ms IS NULL
             ORDER BY priority, seq"
        );
        let mut facts = Facts::new(self, Some(board))?;
        let mut cards = Vec::new();
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([board])?;
        while let Some(row) = rows.next()? {
            let (card, workflow, waits) = card(row)?;
            cards.push(facts.complete(card, workflow, waits)?);
        }
        if closed {
            let sql = concat!(
                "SELECT ",
                card_columns!(),
                " FROM tasks INDEXED BY tasks_closed
                 WHERE board_id = ?1 AND status IN ('success','cancelled') AND archived_at_ms IS NULL
                 ORDER BY finished_at_ms DESC LIMIT ?2"
            );
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(params![board, CLOSED_SHOWN])?;
            while let Some(row) = rows.next()? {
                let (card, workflow, waits) = card(row)?;
                cards.push(facts.complete(card, workflow, waits)?);
            }
        }
        Ok(cards)
    }

    /// How many closed cards a board has that were not put away.
    pub fn count_closed(&self, board: &str) -> Result<u32, Failure> {
        let sql = "SELECT count(*) FROM tasks INDEXED BY tasks_closed
                   WHERE board_id = ?1 AND status IN ('success','cancelled') AND archived_at_ms IS NULL";
        Ok(self.connection.prepare_cached(sql)?.query_row([board], |row| row.get(0))?)
    }

    /// One task as a card.
    pub fn card(&self, task: &Task) -> Result<Card, Failure> {
        let mut facts = Facts::new(self, None)?;
        let card = Card {
            id: task.id.clone(),
            seq: task.seq,
            version: task.version,
            board_id: task.board_id.clone(),
            title: task.title.clone(),
            status: task.status,
            priority: task.priority,
            labels: task.labels.clone(),
            assignee: task.assignee.clone(),
            source: task.source.clone(),
            dispatch: task.dispatch,
            executor: task.executor.as_ref().map(Executor::label).unwrap_or_default(),
            agent: task.executor.as_ref().and_then(agent),
            retry_count: task.retry_count,
            max_retries: task.max_retries,
            step_id: task.step_id.clone(),
            workflow: None,
            since_ms: task.since_ms,
            created_at_ms: task.created_at_ms,
            queued_at_ms: task.queued_at_ms,
            not_before_ms: task.not_before_ms,
            run_next: task.run_next,
            held: task.held,
            blocked_reason: task.blocked_reason.clone(),
            error: shortened(&task.error, CARD_TEXT),
            result: shortened(&task.result, CARD_TEXT),
            review_summary: shortened(&task.review_summary, CARD_TEXT),
            archived: task.archived_at_ms.is_some(),
            predecessors: Vec::new(),
            question: None,
            approval: None,
            waiting: None,
            run: None,
        };
        facts.read_of(task.seq)?;
        facts.complete(card, task.workflow_id.clone(), task.open_predecessors > 0)
    }
}

fn agent(executor: &Executor) -> Option<String> {
    match &executor.work {
        Work::Agent { name, .. } => Some(name.clone()),
        _ => None,
    }
}

fn card(row: &Row<'_>) -> rusqlite::Result<(Card, Option<WorkflowId>, bool)> {
    // A board is shown with a damaged card on it rather than not at all; opening the card tells what is wrong.
    let executor: Result<Option<Executor>, _> = rows::json_or_null(row, 11);
    let label = match &executor {
        Ok(executor) => executor.as_ref().map(Executor::label).unwrap_or_default(),
        Err(_) => "(damaged)".to_owned(),
    };
    let executor = executor.ok().flatten();
    let text = |at: usize| row.get::<_, String>(at).map(|text| shortened(&text, CARD_TEXT));
    let card = Card {
        seq: row.get(0)?,
        id: TaskId(row.get(1)?),
        version: row.get(2)?,
        board_id: row.get(3)?,
        title: row.get(4)?,
        status: word(row, 5, TaskStatus::parse)?,
        priority: row.get(6)?,
        labels: rows::json(row, 7).unwrap_or_default(),
        assignee: row.get(8)?,
        source: row.get(9)?,
        dispatch: word(row, 10, Dispatch::parse)?,
        agent: executor.as_ref().and_then(agent),
        executor: label,
        retry_count: row.get(12)?,
        max_retries: row.get(13)?,
        step_id: row.get(14)?,
        workflow: None,
        since_ms: row.get(16)?,
        created_at_ms: row.get(17)?,
        queued_at_ms: row.get(18)?,
        not_before_ms: row.get(19)?,
        run_next: row.get(20)?,
        held: row.get(21)?,
        blocked_reason: text(22)?,
        error: text(23)?,
        result: text(24)?,
        review_summary: text(25)?,
        archived: row.get(26)?,
        predecessors: Vec::new(),
        question: None,
        approval: None,
        waiting: None,
        run: None,
    };
    let workflow = row.get::<_, Option<String>>(15)?.map(WorkflowId);
    Ok((card, workflow, row.get::<_, u32>(27)? > 0))
}

/// What hangs on the cards of a board: runs and questions read at once, workflows as they are met.
struct Facts<'v, 'c> {
    view: &'v View<'c>,
    runs: HashMap<i64, RunBrief>,
    questions: HashMap<i64, Question>,
    approvals: HashMap<i64, Approval>,
    waits: HashMap<i64, Wait>,
    workflows: HashMap<WorkflowId, Option<WorkflowBrief>>,
}

const RUNS_OF_BOARD: &str =
    "SELECT runs.task_seq, runs.id, number, owner, holder IS NOT NULL, runs.started_at_ms,
   max(runs.started_at_ms, coalesce(active_at_ms, 0)), closing_as
 FROM runs INDEXED BY runs_active JOIN tasks ON tasks.seq = runs.task_seq
 WHERE ended_at_ms IS NULL AND tasks.board_id = ?1";

const RUN_OF_TASK: &str =
    "SELECT runs.task_seq, runs.id, number, owner, holder IS NOT NULL, runs.started_at_ms,
   max(runs.started_at_ms, coalesce(active_at_ms, 0)), closing_as
 FROM runs INDEXED BY runs_active WHERE ended_at_ms IS NULL AND task_seq = ?1";

impl<'v, 'c> Facts<'v, 'c> {
    fn new(view: &'v View<'c>, board: Option<&str>) -> Result<Self, Failure> {
        let mut facts = Facts {
            view,
            runs: HashMap::new(),
            questions: HashMap::new(),
            approvals: HashMap::new(),
            waits: HashMap::new(),
            workflows: HashMap::new(),
        };
        if let Some(board) = board {
            facts.read_runs(RUNS_OF_BOARD, [board])?;
            let sql = concat!(
                "SELECT ",
                question_columns!(),
                ", waits.task_seq
                 FROM waits INDEXED BY waits_open JOIN tasks ON tasks.seq = waits.task_seq
                 WHERE kind = 'question' AND state = 'open' AND task_seq IS NOT NULL AND tasks.board_id = ?1"
            );
            let mut statement = view.connection.prepare_cached(sql)?;
            let found = statement.query_map([board], |row| Ok((row.get(12)?, rows::question(row)?)))?;
            facts.questions = found.collect::<Result<_, _>>()?;
            let sql = concat!(
                "SELECT ",
                approval_columns!(),
                ", waits.task_seq
                 FROM waits INDEXED BY waits_open JOIN tasks ON tasks.seq = waits.task_seq
                 WHERE kind = 'approval' AND state = 'open' AND task_seq IS NOT NULL AND tasks.board_id = ?1"
            );
            let mut statement = view.connection.prepare_cached(sql)?;
            let found = statement.query_map([board], |row| Ok((row.get(11)?, rows::approval(row)?)))?;
            facts.approvals = found.collect::<Result<_, _>>()?;
            let sql = concat!(
                "SELECT ",
                wait_columns!(),
                ", waits.task_seq
                 FROM waits INDEXED BY waits_open JOIN tasks ON tasks.seq = waits.task_seq
                 WHERE kind NOT IN ('question','approval') AND state = 'open' AND task_seq IS NOT NULL
                   AND tasks.board_id = ?1"
            );
            let mut statement = view.connection.prepare_cached(sql)?;
            let found = statement.query_map([board], |row| Ok((row.get(14)?, rows::wait(row)?)))?;
            facts.waits = found.collect::<Result<_, _>>()?;
        }
        Ok(facts)
    }

    fn read_of(&mut self, seq: i64) -> Result<(), Failure> {
        self.read_runs(RUN_OF_TASK, [seq])?;
        if let Some(question) = self.view.open_question(seq)? {
            self.questions.insert(seq, question);
        }
        if let Some(approval) = self.view.open_approval(seq)? {
            self.approvals.insert(seq, approval);
        }
        if let Some(wait) = self.view.open_wait(seq)?.filter(|wait| !wait.kind.needs_person()) {
            self.waits.insert(seq, wait);
        }
        Ok(())
    }

    fn read_runs<P: rusqlite::Params>(&mut self, sql: &str, params: P) -> Result<(), Failure> {
        let mut statement = self.view.connection.prepare_cached(sql)?;
        let mut found = statement.query(params)?;
        while let Some(row) = found.next()? {
            let closing: Option<String> = row.get(7)?;
            let brief = RunBrief {
                id: RunId(row.get(1)?),
                number: row.get(2)?,
                owner: row.get(3)?,
                dispatched: row.get(4)?,
                started_at_ms: row.get(5)?,
                active_at_ms: row.get(6)?,
                closing_as: closing.as_deref().and_then(Intent::parse),
            };
            self.runs.insert(row.get(0)?, brief);
        }
        Ok(())
    }

    fn complete(
        &mut self,
        mut card: Card,
        workflow: Option<WorkflowId>,
        waits: bool,
    ) -> Result<Card, Failure> {
        card.run = self.runs.remove(&card.seq);
        card.question = self.questions.remove(&card.seq);
        card.approval = self.approvals.remove(&card.seq);
        card.waiting = self.waits.remove(&card.seq);
        if waits {
            card.predecessors = self.open_predecessors(card.seq)?;
        }
        if let Some(id) = workflow {
            card.workflow = match self.workflows.get(&id) {
                Some(known) => known.clone(),
                None => {
                    let brief = self.view.workflow_brief(&id)?;
                    self.workflows.insert(id, brief.clone());
                    brief
                }
            };
        }
        Ok(card)
    }

    fn open_predecessors(&self, seq: i64) -> Result<Vec<Predecessor>, Failure> {
        let all = self.view.predecessors(seq)?;
        Ok(all.into_iter().filter(|p| p.status != TaskStatus::Success).collect())
    }
}
