//! The endpoints of tasks.

use serde_json::{Value, json};

use super::call::{Call, Reply};
use super::problem::Problem;
use super::shapes;
use super::table::{Answer, Body, Does, Endpoint, Method};
use crate::domain::id::IdKind;
use crate::domain::{ApprovalId, IdRef, QuestionId, Refusal, TaskStatus};
use crate::engine::{AnswerText, ApprovalRef, Command, QuestionRef, TaskFilter};
use crate::process::log::{read, read_tail};
use crate::tools::task;
use crate::tools::{Shape, wire};

/// How many a list has unless told otherwise.
pub const LIMIT: usize = 50;

/// A row for what changes one task.
const fn change(
    path: &'static str,
    id: &'static str,
    about: &'static str,
    body: &'static Shape,
    command: fn(&Call) -> Result<Command, Problem>,
) -> Endpoint {
    Endpoint {
        method: Method::Post,
        path,
        id,
        about,
        query: &shapes::NOTHING,
        body: Body::Object(body),
        status: 200,
        answer: Answer::One("Task"),
        refusals: &[],
        does: Does::Change(command),
    }
}

/// A row for what looks.
const fn look(
    path: &'static str,
    id: &'static str,
    about: &'static str,
    query: &'static Shape,
    answer: Answer,
    does: fn(&Call) -> Result<Reply, Problem>,
) -> Endpoint {
    Endpoint {
        method: Method::Get,
        path,
        id,
        about,
        query,
        body: Body::None,
        status: 200,
        answer,
        refusals: &[],
        does: Does::Look(does),
    }
}

/// All of them.
pub const ENDPOINTS: &[Endpoint] = &[
    look(
        "/tasks",
        "listTasks",
        "Tasks by priority, then age; of all boards unless one is named",
        &shapes::TASKS,
        Answer::List("Task"),
        list,
    ),
    Endpoint {
        status: 201,
        ..change("/tasks", "createTask", "Makes a task, PENDING unless started", &shapes::CREATE, create)
    },
    look(
        "/tasks/{id}",
        "getTask",
        "One task with its runs, waits and dependencies",
        &shapes::NOTHING,
        Answer::One("TaskView"),
        get,
    ),
    Endpoint {
        method: Method::Patch,
        ..change("/tasks/{id}", "editTask", "Changes fields; what is not named stays", &shapes::EDIT, edit)
    },
    Endpoint {
        method: Method::Delete,
        body: Body::None,
        ..change(
            "/tasks/{id}",
            "deleteTask",
            "Hides a task: an open one is cancelled and archived, a settled one archived, a running one refused",
            &shapes::NOTHING,
            |call| Ok(Command::Delete { task: call.task()? }),
        )
    },
    change(
        "/tasks/{id}/transition",
        "transitionTask",
        "Moves a task to a status, as a card is moved on the board",
        &shapes::TRANSITION,
        transition,
    ),
    change(
        "/tasks/{id}/start",
        "startTask",
        "Queues what has something to run; takes what is done by hand",
        &shapes::NOTHING,
        |call| Ok(Command::Start { task: call.task()? }),
    ),
    change("/tasks/{id}/complete", "completeTask", "Settles a task as done", &shapes::COMPLETE, |call| {
        Ok(Command::Complete { task: call.task()?, result: call.body.text("result") })
    }),
    change("/tasks/{id}/fail", "failTask", "Settles a task as failed", &shapes::FAIL, |call| {
        Ok(Command::Fail { task: call.task()?, error: call.body.text("error") })
    }),
    change("/tasks/{id}/retry", "retryTask", "Queues a failed task once more", &shapes::NOTHING, |call| {
        Ok(Command::Retry { task: call.task()? })
    }),
    change("/tasks/{id}/cancel", "cancelTask", "Cancels a task; final", &shapes::CANCEL, |call| {
        Ok(Command::Cancel { task: call.task()?, reason: call.body.text("reason") })
    }),
    change("/tasks/{id}/block", "blockTask", "Blocks a running task with a reason", &shapes::BLOCK, |call| {
        Ok(Command::Block { task: call.task()?, reason: call.body.text_or_empty("reason") })
    }),
    change(
        "/tasks/{id}/unblock",
        "unblockTask",
        "Queues a blocked task; an open question is dropped",
        &shapes::NOTHING,
        |call| Ok(Command::Unblock { task: call.task()? }),
    ),
    change("/tasks/{id}/suspend", "suspendTask", "Pauses a running task", &shapes::SUSPEND, |call| {
        Ok(Command::Suspend { task: call.task()? })
    }),
    change("/tasks/{id}/resume", "resumeTask", "Queues a paused task", &shapes::NOTHING, |call| {
        Ok(Command::Resume { task: call.task()? })
    }),
    change("/tasks/{id}/archive", "archiveTask", "Puts a settled task away", &shapes::NOTHING, |call| {
        Ok(Command::Archive { task: call.task()? })
    }),
    Endpoint {
        status: 201,
        ..change(
            "/tasks/{id}/copy",
            "copyTask",
            "A fresh task with the same content",
            &shapes::NOTHING,
            |call| Ok(Command::Copy { task: call.task()? }),
        )
    },
    Endpoint {
        answer: Answer::One("Question"),
        ..change(
            "/tasks/{id}/clarification",
            "answerTask",
            "Answers the question of a task, which is queued with the answer; admin only, and it grants nothing else",
            &shapes::CLARIFICATION,
            clarify,
        )
    },
    Endpoint {
        answer: Answer::One("Decided"),
        ..change(
            "/tasks/{id}/approval",
            "decideTask",
            "Takes reviewed work or sends it back; allows or denies a call that waits; admin only",
            &shapes::APPROVAL,
            decide,
        )
    },
    change(
        "/tasks/{id}/dependencies",
        "addDependency",
        "Makes a task need another",
        &shapes::DEPEND,
        |call| Ok(Command::Depend { task: call.task()?, on: on(call.body.text("on"))? }),
    ),
    Endpoint {
        method: Method::Delete,
        body: Body::None,
        ..change(
            "/tasks/{id}/dependencies/{on}",
            "removeDependency",
            "Makes a task need another no longer",
            &shapes::NOTHING,
            |call| Ok(Command::Undepend { task: call.task()?, on: on(Some(call.param("on").to_owned()))? }),
        )
    },
    look(
        "/tasks/{id}/log",
        "readLog",
        "The output of a run, as raw bytes; empty where nothing was printed",
        &shapes::LOG,
        Answer::Bytes,
        read_log,
    ),
    look(
        "/tasks/{id}/events",
        "listTaskEvents",
        "What happened to a task, oldest first",
        &shapes::EVENTS,
        Answer::List("Event"),
        events,
    ),
    look(
        "/tasks/{id}/runs",
        "listRuns",
        "The runs of a task, the first one first",
        &shapes::NOTHING,
        Answer::List("Run"),
        runs,
    ),
    look(
        "/tasks/{id}/why",
        "whyTask",
        "Why a task does not move, and what would lift that",
        &shapes::NOTHING,
        Answer::One("Why"),
        why,
    ),
    Endpoint {
        refusals: &[409],
        ..look(
            "/tasks/{id}/diff",
            "diffTask",
            "What the worktree of a task changed; refused where it has none",
            &shapes::NOTHING,
            Answer::Bytes,
            diff,
        )
    },
];

fn list(call: &Call) -> Result<Reply, Problem> {
    let query = &call.query;
    let mut statuses = Vec::new();
    for words in query.texts("status").unwrap_or_default() {
        for word in words.split(',') {
            statuses.push(TaskStatus::parse(word.trim()).ok_or_else(|| {
                let known: Vec<&str> = TaskStatus::ALL.iter().map(|status| status.as_str()).collect();
                Refusal::invalid("status", format!("a status is one of {}", known.join(", ")))
            })?);
        }
    }
    let filter = TaskFilter {
        board: query.text("board_id").filter(|board| board != "*"),
        statuses,
        labels: query.texts("label").unwrap_or_default(),
        assignee: query.text("assignee"),
        all: query.flag("all").unwrap_or(false),
        limit: limit(call),
        cursor: query.text("cursor"),
    };
    let page = call.engine().list(&filter)?;
    let items = page.items.iter().map(|task| wire::task(call.engine(), task));
    Ok(Reply::list(items.collect::<Result<_, _>>()?, page.next_cursor))
}

/// How many a list is to have.
pub fn limit(call: &Call) -> usize {
    call.query.whole("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(LIMIT)
}

fn create(call: &Call) -> Result<Command, Problem> {
    Ok(Command::Create(Box::new(task::new_task(&call.context(), None, &call.body)?)))
}

fn get(call: &Call) -> Result<Reply, Problem> {
    let view = call.engine().task_view(&call.task()?)?;
    Ok(Reply::Versioned(wire::task_view(&view), view.task.version))
}

fn edit(call: &Call) -> Result<Command, Problem> {
    let mut edit = task::edit(&call.context(), None, &call.body)?;
    let is_null = |name: &str| call.raw.get(name) == Some(&Value::Null);
    if is_null("timeout_seconds") {
        edit.timeout_seconds = Some(None);
    }
    if is_null("not_before_ms") {
        edit.not_before_ms = Some(None);
    }
    if edit.executor.is_none() && (is_null("command") || is_null("agent")) {
        edit.executor = Some(None);
    }
    Ok(Command::Edit { task: call.task()?, edit: Box::new(edit), if_version: None })
}

fn transition(call: &Call) -> Result<Command, Problem> {
    let word = match (call.body.text("status"), call.body.text("to")) {
        (Some(status), Some(to)) if !status.eq_ignore_ascii_case(&to) => {
            return Err(Refusal::invalid("status", "`status` and `to` say two things; keep `status`").into());
        }
        (Some(word), _) | (None, Some(word)) => word,
        (None, None) => {
            return Err(Refusal::invalid("status", "`status` is missing: where the task is to stand").into());
        }
    };
    let to =
        TaskStatus::parse(&word).ok_or_else(|| Refusal::invalid("status", "that is no status of a task"))?;
    Ok(Command::Move { task: call.task()?, to, text: call.body.text("text") })
}

fn clarify(call: &Call) -> Result<Command, Problem> {
    let task = call.engine().task(&call.task()?)?;
    let id = call.body.text_or_empty("question_id");
    let id = match IdRef::parse(&id, IdKind::Question)? {
        IdRef::Full(id) => QuestionId(id),
        _ => return Err(Refusal::not_found("question", &id).into()),
    };
    if call.engine().question(&id)?.task_id != task.id {
        let message =
            format!("question {id} is not asked by task #{}; GET /questions lists what is", task.seq);
        return Err(Refusal { message, ..Refusal::not_found("question", id.as_str()) }.into());
    }
    let answer = match (call.body.text("answer"), call.body.whole("option")) {
        (Some(text), None) => AnswerText::Text(text),
        (None, Some(number)) => AnswerText::Option(usize::try_from(number).unwrap_or(0)),
        _ => return Err(Refusal::invalid("answer", "one of `answer` and `option` is wanted").into()),
    };
    Ok(Command::Answer { question: QuestionRef::Id(id), answer })
}

fn decide(call: &Call) -> Result<Command, Problem> {
    let body = &call.body;
    let decision = body.text_or_empty("decision").to_ascii_lowercase();
    let goes_with: &[&str] = match decision.as_str() {
        "approve" => &[],
        "reject" => &["feedback"],
        "allow" => &["approval_id", "for_task"],
        _ => &["approval_id", "reason"],
    };
    for field in ["feedback", "approval_id", "for_task", "reason"] {
        if body.has(field) && !goes_with.contains(&field) {
            return Err(Refusal::invalid(
                field,
                format!("`{field}` does not go with `{decision}`; leave it out"),
            )
            .into());
        }
    }
    let task = call.task()?;
    Ok(match decision.as_str() {
        "approve" => Command::Approve { task },
        "reject" => Command::Reject { task, feedback: body.text("feedback") },
        "allow" => Command::Allow {
            approval: waiting(call, task)?,
            for_task: body.flag("for_task").unwrap_or(false),
        },
        _ => Command::Deny { approval: waiting(call, task)?, reason: body.text_or_empty("reason") },
    })
}

/// The call that waits: the named one, which has to be of this task, or the one that is open.
fn waiting(call: &Call, task: IdRef) -> Result<ApprovalRef, Problem> {
    let Some(id) = call.body.text("approval_id") else { return Ok(ApprovalRef::OfTask(task)) };
    let id = match IdRef::parse(&id, IdKind::Approval)? {
        IdRef::Full(id) => ApprovalId(id),
        _ => return Err(Refusal::not_found(IdKind::Approval.word(), &id).into()),
    };
    let task = call.engine().task(&task)?;
    match call.engine().approval(&id)?.task_id == task.id {
        true => Ok(ApprovalRef::Id(id)),
        false => {
            let message =
                format!("approval {id} is not of task #{}; GET /approvals lists what waits", task.seq);
            Err(Refusal { message, ..Refusal::not_found(IdKind::Approval.word(), id.as_str()) }.into())
        }
    }
}

fn on(named: Option<String>) -> Result<IdRef, Problem> {
    Ok(IdRef::parse(&named.unwrap_or_default(), IdKind::Task)?)
}

fn read_log(call: &Call) -> Result<Reply, Problem> {
    let view = call.engine().task_view(&call.task()?)?;
    let run = match call.query.whole("run") {
        None => view.runs.last(),
        Some(number) => {
            Some(view.runs.iter().find(|run| i64::from(run.number) == number).ok_or_else(|| {
                let message =
                    format!("#{} has {} runs, and none with number {number}", view.task.seq, view.runs.len());
                Refusal { message, ..Refusal::not_found("run", &number.to_string()) }
            })?)
        }
    };
    let Some(run) = run else { return Ok(Reply::Bytes(Vec::new())) };
    let path = call.engine().log_path(&run.id);
    let bytes = match call.query.whole("tail").and_then(|tail| u64::try_from(tail).ok()) {
        Some(tail) => read_tail(&path, tail),
        None => read(&path),
    };
    bytes.map(Reply::Bytes).map_err(|error| {
        tracing::error!(%error, path = %path.display(), "a log can't be read");
        Problem::new(
            axum::http::StatusCode::SERVICE_UNAVAILABLE,
            "unreadable",
            "the log of that run can't be read",
        )
    })
}

fn events(call: &Call) -> Result<Reply, Problem> {
    let task = call.engine().task(&call.task()?)?;
    let since = call.query.whole("cursor").or(call.query.whole("since")).unwrap_or(0);
    let limit = limit(call);
    let page = call.engine().events(since, Some(&task.id), limit)?;
    let next = (page.len() == limit).then(|| page.last().map(|event| event.seq.to_string())).flatten();
    Ok(Reply::list(page.iter().map(wire::event).collect(), next))
}

fn runs(call: &Call) -> Result<Reply, Problem> {
    let view = call.engine().task_view(&call.task()?)?;
    Ok(Reply::list(view.runs.iter().map(wire::run).collect(), None))
}

fn why(call: &Call) -> Result<Reply, Problem> {
    let reference = call.task()?;
    let task = call.engine().task(&reference)?;
    let reasons = call.engine().why(&reference)?;
    Ok(Reply::Json(json!({ "id": task.id, "seq": task.seq, "status": task.status, "reasons": reasons })))
}

fn diff(call: &Call) -> Result<Reply, Problem> {
    let task = call.engine().task(&call.task()?)?;
    let message = format!("task #{} has no worktree of its own, so there is nothing to compare", task.seq);
    Err(Refusal::state("no_worktree", message).into())
}
