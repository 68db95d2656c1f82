//! A request that changes something: what its headers bind it to, its command, and the answer, told again where the
//! same is sent again. Where a live run ends by it, the answer waits for that.

use axum::http::{HeaderMap, HeaderName, header};
use axum::response::Response;
use serde_json::{Value, json};
use std::time::Duration;

use super::Api;
use super::call::{Call, Reply, blocking, respond};
use super::problem::Problem;
use super::table::Endpoint;
use crate::domain::{ApprovalId, IdRef, RunId, TaskId};
use crate::engine::{Bound, Bounds, Command, Engine, KeptAnswer, OnceKey, Outcome, Subject};
use crate::tools::wire;

/// How long an answer waits for the processes of a run to be gone, unless told not to wait.
const END_PATIENCE: Duration = Duration::from_secs(30);
/// The longest Idempotency-Key.
const KEY_LIMIT: usize = 200;

/// What the headers of a request bind it to.
pub(super) struct Pending {
    version: Option<i64>,
    key: Option<String>,
}

impl Pending {
    /// Reads them; only writes are bound.
    pub fn read(headers: &HeaderMap, endpoint: &Endpoint) -> Result<Pending, Problem> {
        if !endpoint.is_write() {
            return Ok(Pending { version: None, key: None });
        }
        Ok(Pending { version: if_match(headers)?, key: idempotency_key(headers)? })
    }

    /// The bounds for a call.
    fn bounds(&self, call: &Call, endpoint: &Endpoint, fingerprint: String) -> Result<Bounds, Problem> {
        let subject = match endpoint.path.split('/').nth(1) {
            Some("tasks") if endpoint.path.contains("{id}") => Some(Subject::Task(call.task()?)),
            Some("workflows") if endpoint.path.contains("{id}") => {
                Some(Subject::Workflow(call.param("id").to_owned()))
            }
            _ => None,
        };
        let once = self.key.clone().map(|key| OnceKey { key, fingerprint });
        Ok(Bounds { version: subject.zip(self.version), once })
    }
}

/// The version that `If-Match` names. `*` takes any.
fn if_match(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    let malformed = || {
        Problem::malformed("bad_if_match", "If-Match takes one version, as the ETag of an answer gives it")
    };
    let mut all = headers.get_all(header::IF_MATCH).iter();
    let Some(given) = all.next() else { return Ok(None) };
    let given = given.to_str().map_err(|_| malformed())?.trim();
    if all.next().is_some() {
        return Err(malformed());
    }
    match given {
        "*" => Ok(None),
        given => given.trim_matches('"').parse().map(Some).map_err(|_| malformed()),
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut all = headers.get_all(HeaderName::from_static("idempotency-key")).iter();
    let Some(given) = all.next() else { return Ok(None) };
    let key = given.to_str().unwrap_or("").trim().trim_matches('"');
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    match all.next().is_none() && !key.is_empty() && key.len() <= KEY_LIMIT && key.bytes().all(plain) {
        true => Ok(Some(key.to_owned())),
        false => Err(Problem::malformed(
            "bad_idempotency_key",
            format!("an Idempotency-Key is 1 to {KEY_LIMIT} letters, digits, and `-._:`; choose another"),
        )),
    }
}

/// Carries out the command of a call.
pub(super) async fn change(
    call: Call,
    endpoint: &'static Endpoint,
    command: fn(&Call) -> Result<Command, Problem>,
    pending: Pending,
    fingerprint: String,
) -> Result<Response, Problem> {
    let api = call.api.clone();
    let waits = call.body.flag("wait") != Some(false);
    let done = blocking(move || {
        let command = command(&call)?;
        let bounds = pending.bounds(&call, endpoint, fingerprint)?;
        let key = bounds.once.as_ref().map(|once| once.key.clone());
        let bound = call.engine().execute_bound(command, call.api.actor(), bounds)?;
        let told = match bound {
            Bound::Before(kept) => return before(call.engine(), endpoint, kept).map(Done::Told),
            Bound::Done(outcome) => told(call.engine(), endpoint, &outcome)?,
        };
        match told {
            Done::Told(told) => kept(call.engine(), key.as_deref(), told).map(Done::Told),
            Done::Ends { task, run, .. } => Ok(Done::Ends { task, run, key }),
        }
    })
    .await?;
    match done {
        Done::Told(told) => Ok(told.respond()),
        Done::Ends { task, run, key } => {
            let ended = waits && when_ended(&api, &task, &run).await?;
            let told = blocking(move || {
                let told =
                    of_task(api.engine(), &IdRef::Full(task.0), if ended { endpoint.status } else { 202 })?;
                kept(api.engine(), key.as_deref(), told)
            });
            Ok(told.await?.respond())
        }
    }
}

/// What came of a command.
enum Done {
    /// All there is to tell.
    Told(Told),
    /// A live run is being ended.
    Ends { task: TaskId, run: RunId, key: Option<String> },
}

/// A status and a value, to be told now and whenever the same is sent again.
struct Told {
    status: u16,
    body: Value,
}

impl Told {
    fn respond(self) -> Response {
        match self.body.get("version").and_then(Value::as_i64) {
            Some(version) => respond(self.status, Reply::Versioned(self.body, version)),
            None => respond(self.status, Reply::Json(self.body)),
        }
    }
}

fn told(engine: &Engine, endpoint: &Endpoint, outcome: &Outcome) -> Result<Done, Problem> {
    let body = match outcome {
        Outcome::Task(task) => wire::task(engine, task)?,
        Outcome::Accepted { task, run } => {
            return Ok(Done::Ends { task: task.id.clone(), run: run.clone(), key: None });
        }
        Outcome::Tasks(tasks) => {
            let items = tasks.iter().map(|task| wire::task(engine, task)).collect::<Result<_, _>>()?;
            wire::list(items, None)
        }
        Outcome::Question(question) => wire::question(question),
        Outcome::Workflow(workflow) => wire::workflow(&engine.workflow(workflow.id.as_str())?),
        Outcome::Advanced { workflow, changes } => {
            let mut body = wire::workflow(&engine.workflow(workflow.id.as_str())?);
            body["changes"] = json!(changes);
            body
        }
        Outcome::Board(name) => json!({ "id": name }),
        Outcome::Approval(approval) => wire::approval(approval),
        Outcome::Wait(wait) => wire::wait(wait),
        Outcome::Timer(timer) => json!(timer),
        Outcome::Woken { wake, first, woken } => wire::woken(wake, *first, *woken),
        Outcome::Purged(_) | Outcome::Permitted | Outcome::Noted => Value::Null,
    };
    Ok(Done::Told(Told { status: endpoint.status, body }))
}

fn of_task(engine: &Engine, task: &IdRef, status: u16) -> Result<Told, Problem> {
    let mut body = wire::task(engine, &engine.task(task)?)?;
    if status == 202 {
        body["accepted"] = json!(true);
    }
    Ok(Told { status, body })
}

/// Keeps an answer under its key.
fn kept(engine: &Engine, key: Option<&str>, told: Told) -> Result<Told, Problem> {
    if let Some(key) = key {
        engine.keep_answer(key, told.status, &told.body.to_string())?;
    }
    Ok(told)
}

/// The answer to a request that was carried out before. Where it was not kept, what it was about is told anew.
fn before(engine: &Engine, endpoint: &Endpoint, kept: KeptAnswer) -> Result<Told, Problem> {
    if let Some((status, body)) = kept.answer
        && let Ok(body) = serde_json::from_str(&body)
    {
        return Ok(Told { status, body });
    }
    let status = endpoint.status;
    let about = kept.about;
    if let Some(key) = about.strip_prefix("wake ")
        && let Some(wake) = engine.wake(key)?
    {
        return Ok(Told { status, body: wire::woken(&wake, false, 0) });
    }
    let body = match about.get(..2) {
        Some("t_") => return of_task(engine, &IdRef::Full(about), status),
        Some("w_") => wire::workflow(&engine.workflow(&about)?),
        Some("a_") => wire::approval(&engine.approval(&ApprovalId(about))?),
        Some("q_") => wire::question(&engine.question(&about.as_str().into())?),
        _ => json!({ "id": about.strip_prefix("board ").unwrap_or(&about) }),
    };
    Ok(Told { status, body })
}

/// Waits until a run is no longer its task's own; false where that takes too long.
async fn when_ended(api: &Api, task: &TaskId, run: &RunId) -> Result<bool, Problem> {
    let end = tokio::time::Instant::now() + END_PATIENCE;
    let mut changes = api.engine().changes();
    let mut stopping = api.stopping();
    loop {
        changes.mark_unchanged();
        let (engine, id) = (api.engine().clone(), IdRef::Full(task.0.clone()));
        let now = blocking(move || Ok(engine.task(&id)?)).await?;
        if now.current_run_id.as_ref() != Some(run) {
            return Ok(true);
        }
        tokio::select! {
            _ = changes.changed() => {}
            _ = stopping.wait_for(|stop| *stop) => return Ok(false),
            // A hint may be lost; it is looked anyway.
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
            () = tokio::time::sleep_until(end) => return Ok(false),
        }
    }
}
