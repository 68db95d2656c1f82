//! How values of the domain lie in columns.

use rusqlite::types::{Type, ValueRef};
use rusqlite::{Error, Row, Rows};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::domain::approval::Scope;
use crate::domain::{
    Approval, ApprovalId, Dispatch, Event, EventKind, Intent, Question, QuestionId, QuestionPurpose, Risk,
    Run, RunId, RunOutcome, Task, TaskId, TaskStatus, Timer, TimerId, Wait, WaitId, WaitKind, WaitState,
    Waiter, Workflow, WorkflowId, WorkflowStatus,
};

/// A column whose text must be one of a closed set of words.
pub(super) fn word<T>(row: &Row<'_>, at: usize, parse: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text = row.get_ref(at)?.as_str()?;
    parse(text).ok_or_else(|| unreadable(row, at, &format!("unknown word `{text}`")))
}

/// A column that holds JSON.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(at)?.as_str()?).map_err(|e| unreadable(row, at, &e.to_string()))
}

/// A column that holds JSON or nothing.
pub(super) fn json_or_null<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<T>> {
    match row.get_ref(at)?.as_str_or_null()? {
        None => Ok(None),
        Some(text) => serde_json::from_str(text).map(Some).map_err(|e| unreadable(row, at, &e.to_string())),
    }
}

/// JSON for a column. Values of the domain always have one.
pub(super) fn to_json<T: serde::Serialize>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))
}

fn unreadable(row: &Row<'_>, at: usize, what: &str) -> Error {
    let column = row.as_ref().column_name(at).unwrap_or("?");
    let said = format!("{} has a damaged field `{column}`: {what}", name(row));
    Error::FromSqlConversionFailure(at, Type::Text, said.into())
}

/// What a row is called: every list of columns begins with its number or its id.
fn name(row: &Row<'_>) -> String {
    match row.get_ref(0) {
        Ok(ValueRef::Integer(seq)) => format!("#{seq}"),
        Ok(ValueRef::Text(id)) => String::from_utf8_lossy(id).into_owned(),
        _ => "a row".to_owned(),
    }
}

/// Whether a row is there and has bad data, which is no fault of the database itself.
pub(super) fn is_damaged(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::InvalidColumnType(..)
            | Error::IntegralValueOutOfRange(..)
    )
}

/// The rows that can be read, at most `limit`. One with bad data is told of, once, and passed over: it must not
/// hold up all others.
pub(super) fn readable<T>(
    mut rows: Rows<'_>,
    limit: usize,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    wanted: impl Fn(&T) -> bool,
) -> rusqlite::Result<Vec<T>> {
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        match read(row) {
            Ok(value) if wanted(&value) => found.push(value),
            Ok(_) => {}
            Err(error) if is_damaged(&error) => tell_once(name(row), &error),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The dispatcher meets the same row at every look.
fn tell_once(name: String, error: &Error) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.len() < 1_000 && told.insert(name) {
        tracing::error!(%error, "a damaged row is passed over");
    }
}

/// The columns of a task, in the order of [`task`].
macro_rules! task_columns {
    () => {
        "tasks.seq, tasks.id, tasks.workflow_id, tasks.step_id, tasks.parent_task_id, tasks.board_id, tasks.title, \
         tasks.description, tasks.status, tasks.priority, tasks.labels, tasks.assignee, tasks.source, \
         tasks.created_by, tasks.session_id, tasks.blocked_reason, tasks.review_summary, tasks.result, tasks.error, \
         tasks.retry_count, tasks.max_retries, tasks.retry_max, tasks.dispatch, tasks.executor, \
         tasks.review_required, tasks.worktree, tasks.worktree_state, tasks.metadata, tasks.version, tasks.epoch, \
         tasks.current_run_id, tasks.timeout_seconds, tasks.deadline_ms, tasks.not_before_ms, \
         tasks.open_predecessors, tasks.held, tasks.run_next, tasks.since_ms, tasks.created_at_ms, \
         tasks.updated_at_ms, tasks.queued_at_ms, tasks.started_at_ms, tasks.finished_at_ms, tasks.archived_at_ms, \
         tasks.time_left_ms, tasks.written_by"
    };
}
pub(super) use task_columns;

/// A task from a row that begins with [`task_columns`].
pub(super) fn task(row: &Row<'_>) -> rusqlite::Result<Task> {
    Ok(Task {
        seq: row.get(0)?,
        id: TaskId(row.get(1)?),
        workflow_id: row.get::<_, Option<String>>(2)?.map(WorkflowId),
        step_id: row.get(3)?,
        parent_task_id: row.get::<_, Option<String>>(4)?.map(TaskId),
        board_id: row.get(5)?,
        title: row.get(6)?,
        description: row.get(7)?,
        status: word(row, 8, TaskStatus::parse)?,
        priority: row.get(9)?,
        labels: json(row, 10)?,
        assignee: row.get(11)?,
        source: row.get(12)?,
        created_by: row.get(13)?,
        session_id: row.get(14)?,
        blocked_reason: row.get(15)?,
        review_summary: row.get(16)?,
        result: row.get(17)?,
        error: row.get(18)?,
        retry_count: row.get(19)?,
        max_retries: row.get(20)?,
        retry_max: row.get(21)?,
        dispatch: word(row, 22, Dispatch::parse)?,
        executor: json_or_null(row, 23)?,
        review_required: row.get(24)?,
        worktree: row.get(25)?,
        worktree_state: row.get(26)?,
        metadata: json(row, 27)?,
        version: row.get(28)?,
        epoch: row.get(29)?,
        current_run_id: row.get::<_, Option<String>>(30)?.map(RunId),
        timeout_seconds: row.get(31)?,
        deadline_ms: row.get(32)?,
        not_before_ms: row.get(33)?,
        open_predecessors: row.get(34)?,
        held: row.get(35)?,
        run_next: row.get(36)?,
        since_ms: row.get(37)?,
        created_at_ms: row.get(38)?,
        updated_at_ms: row.get(39)?,
        queued_at_ms: row.get(40)?,
        started_at_ms: row.get(41)?,
        finished_at_ms: row.get(42)?,
        archived_at_ms: row.get(43)?,
        time_left_ms: row.get(44)?,
        written_by: row.get(45)?,
    })
}

/// The columns of a run, in the order of [`run`].
macro_rules! run_columns {
    () => {
        "id, task_id, number, epoch, attempt, owner, holder, session_id, lease_until_ms, started_at_ms, ended_at_ms, \
         deadline_ms, process, closing_as, closing_text, outcome, exit_code, exit_signal, note, parked, usage, closing_self"
    };
}
pub(super) use run_columns;

/// A run from a row that begins with [`run_columns`].
pub(super) fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let optional_word = |at: usize| row.get_ref(at).map(|value| !matches!(value, ValueRef::Null));
    Ok(Run {
        id: RunId(row.get(0)?),
        task_id: TaskId(row.get(1)?),
        number: row.get(2)?,
        epoch: row.get(3)?,
        attempt: row.get(4)?,
        owner: row.get(5)?,
        holder: row.get(6)?,
        session_id: row.get(7)?,
        lease_until_ms: row.get(8)?,
        started_at_ms: row.get(9)?,
        ended_at_ms: row.get(10)?,
        deadline_ms: row.get(11)?,
        process: json_or_null(row, 12)?,
        closing_as: if optional_word(13)? { Some(word(row, 13, Intent::parse)?) } else { None },
        closing_text: row.get(14)?,
        outcome: if optional_word(15)? { Some(word(row, 15, RunOutcome::parse)?) } else { None },
        exit_code: row.get(16)?,
        exit_signal: row.get(17)?,
        note: row.get(18)?,
        parked: row.get(19)?,
        usage: json_or_null(row, 20)?,
        closing_self: row.get(21)?,
    })
}

/// The columns of a question, in the order of [`question`].
macro_rules! question_columns {
    () => {
        "waits.id, waits.task_id, waits.run_id, waits.purpose, waits.body, waits.options, waits.asked_by, \
         waits.state, waits.answer, waits.asked_at_ms, waits.closed_at_ms, waits.expires_at_ms"
    };
}
pub(super) use question_columns;

/// A question from a row that begins with [`question_columns`].
pub(super) fn question(row: &Row<'_>) -> rusqlite::Result<Question> {
    Ok(Question {
        id: QuestionId(row.get(0)?),
        task_id: TaskId(row.get(1)?),
        run_id: row.get::<_, Option<String>>(2)?.map(RunId),
        purpose: word(row, 3, QuestionPurpose::parse)?,
        text: row.get(4)?,
        options: json(row, 5)?,
        asked_by: row.get(6)?,
        state: word(row, 7, WaitState::parse)?,
        answer: row.get(8)?,
        asked_at_ms: row.get(9)?,
        closed_at_ms: row.get(10)?,
        expires_at_ms: row.get(11)?,
    })
}

/// The columns of an approval, in the order of [`approval`].
macro_rules! approval_columns {
    () => {
        "waits.id, waits.task_id, waits.run_id, waits.subject, waits.body, waits.detail, waits.asked_by, waits.state, \
         waits.answer, waits.asked_at_ms, waits.closed_at_ms"
    };
}
pub(super) use approval_columns;

/// What of an approval has no column of its own.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct ApprovalDetail {
    pub tool: String,
    pub risk: Risk,
    pub scope: Scope,
    pub decided_by: String,
}

/// An approval from a row that begins with [`approval_columns`].
pub(super) fn approval(row: &Row<'_>) -> rusqlite::Result<Approval> {
    let detail: ApprovalDetail = json(row, 5)?;
    Ok(Approval {
        id: ApprovalId(row.get(0)?),
        task_id: TaskId(row.get(1)?),
        run_id: row.get::<_, Option<String>>(2)?.map(RunId),
        tool: detail.tool,
        risk: detail.risk,
        call: json(row, 4)?,
        hash: row.get(3)?,
        asked_by: row.get(6)?,
        state: word(row, 7, WaitState::parse)?,
        scope: detail.scope,
        decided_by: detail.decided_by,
        reason: row.get(8)?,
        asked_at_ms: row.get(9)?,
        decided_at_ms: row.get(10)?,
    })
}

/// The columns of a wait of any kind, in the order of [`wait`].
macro_rules! wait_columns {
    () => {
        "waits.id, waits.kind, waits.task_id, waits.item_id, waits.run_id, waits.subject, waits.body, \
         waits.asked_by, waits.asker_waits, waits.state, waits.answer, waits.asked_at_ms, waits.expires_at_ms, \
         waits.closed_at_ms"
    };
}
pub(super) use wait_columns;

/// A wait from a row that begins with [`wait_columns`]. What a question was answered with is a text.
pub(super) fn wait(row: &Row<'_>) -> rusqlite::Result<Wait> {
    let kind = word(row, 1, WaitKind::parse)?;
    let outcome: String = row.get(10)?;
    Ok(Wait {
        id: WaitId(row.get(0)?),
        kind,
        waiter: match row.get::<_, Option<String>>(3)? {
            Some(item) => Waiter::Item(item),
            None => Waiter::Task(TaskId(row.get(2)?)),
        },
        run_id: row.get::<_, Option<String>>(4)?.map(RunId),
        subject: row.get(5)?,
        reason: row.get(6)?,
        asked_by: row.get(7)?,
        asker_waits: row.get(8)?,
        state: word(row, 9, WaitState::parse)?,
        outcome: match (outcome.as_str(), kind.needs_person()) {
            ("", _) => Value::Null,
            (text, true) => Value::from(text),
            (_, false) => json(row, 10)?,
        },
        asked_at_ms: row.get(11)?,
        expires_at_ms: row.get(12)?,
        closed_at_ms: row.get(13)?,
    })
}

/// A timer from a row of its table, in the order of the table.
pub(super) fn timer(row: &Row<'_>) -> rusqlite::Result<Timer> {
    Ok(Timer {
        id: TimerId(row.get(0)?),
        name: row.get(1)?,
        due_at_ms: row.get(2)?,
        state: word(row, 3, WaitState::parse)?,
        created_by: row.get(4)?,
        task_id: row.get::<_, Option<String>>(5)?.map(TaskId),
        created_at_ms: row.get(6)?,
        closed_at_ms: row.get(7)?,
    })
}

/// The columns of a workflow, in the order of [`workflow`].
macro_rules! workflow_columns {
    () => {
        "id, name, board_id, status, started, paused, cancel_requested, counts, version, rerun_of, created_at_ms, \
         updated_at_ms, started_at_ms, finished_at_ms"
    };
}
pub(super) use workflow_columns;

/// A workflow from a row that begins with [`workflow_columns`].
pub(super) fn workflow(row: &Row<'_>) -> rusqlite::Result<Workflow> {
    Ok(Workflow {
        id: WorkflowId(row.get(0)?),
        name: row.get(1)?,
        board_id: row.get(2)?,
        status: word(row, 3, WorkflowStatus::parse)?,
        started: row.get(4)?,
        paused: row.get(5)?,
        cancel_requested: row.get(6)?,
        counts: json(row, 7)?,
        version: row.get(8)?,
        rerun_of: row.get::<_, Option<String>>(9)?.map(WorkflowId),
        created_at_ms: row.get(10)?,
        updated_at_ms: row.get(11)?,
        started_at_ms: row.get(12)?,
        finished_at_ms: row.get(13)?,
    })
}

/// An event from a row `seq, at_ms, kind, actor, task_id, workflow_id, run_id, data, patch, task_seq`.
pub(super) fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    Ok(Event {
        seq: row.get(0)?,
        at_ms: row.get(1)?,
        kind: word(row, 2, EventKind::parse)?,
        actor: row.get(3)?,
        task_id: row.get::<_, Option<String>>(4)?.map(TaskId),
        workflow_id: row.get::<_, Option<String>>(5)?.map(WorkflowId),
        run_id: row.get::<_, Option<String>>(6)?.map(RunId),
        data: json(row, 7)?,
        patch: json(row, 8)?,
        task_seq: row.get(9)?,
    })
}
