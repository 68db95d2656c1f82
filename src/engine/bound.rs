//! Commands that are bound to something: to a version that the caller has seen, or to a key, so that sending one
//! twice does it once. Both are looked at in the command's own transaction.

use serde_json::json;

use super::command::{Command, Outcome};
use super::core::Input;
use super::handle::{Engine, EngineError};
use crate::domain::time::Millis;
use crate::domain::{Actor, IdRef, Refusal};
use crate::store::{Failure, KeptAnswer, StoreError, Tx};

/// For how long an answer is kept under its key.
const KEPT_FOR_MS: Millis = 24 * 3_600 * 1_000;

/// What a version is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A task.
    Task(IdRef),
    /// A workflow, by id, prefix or name.
    Workflow(String),
}

/// A key that its caller has chosen for one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnceKey {
    /// The key.
    pub key: String,
    /// What the request was; another one under the same key is refused.
    pub fingerprint: String,
}

/// What a command is bound to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Refused as `stale_version` where this has another version.
    pub version: Option<(Subject, i64)>,
    /// Done once under this key.
    pub once: Option<OnceKey>,
}

/// What came of a bound command.
#[derive(Debug, Clone)]
pub enum Bound {
    /// It was carried out.
    Done(Outcome),
    /// It was carried out before, under the same key.
    Before(KeptAnswer),
}

impl Engine {
    /// As [`Engine::execute`], bound. Once this returns `Ok`, what it says is on disk, and so is the key.
    pub fn execute_bound(
        &self,
        command: Command,
        actor: &Actor,
        bounds: Bounds,
    ) -> Result<Bound, EngineError> {
        let core = self.inner.core.clone();
        let now = self.now();
        let input = Input::Command { command, actor: actor.clone() };
        let handled = self.inner.store.write(move |tx| {
            if let Some(once) = &bounds.once
                && let Some(kept) = kept(tx, once, now)?
            {
                return Ok(Err(kept));
            }
            if let Some((subject, version)) = &bounds.version {
                check(tx, subject, *version)?;
            }
            let handled = core.handle(tx, input)?;
            if let (Some(once), Ok(Some(outcome))) = (&bounds.once, &handled.reply) {
                tx.keep_key(&once.key, &once.fingerprint, &about(outcome), now)?;
            }
            Ok(Ok(handled))
        })?;
        match handled {
            Err(kept) => Ok(Bound::Before(kept)),
            Ok(handled) => match handled.reply? {
                Some(outcome) => Ok(Bound::Done(outcome)),
                None => Err(StoreError::Row("the command gave no answer".to_owned()).into()),
            },
        }
    }

    /// Keeps what was answered under a key, for who sends the same again.
    pub fn keep_answer(&self, key: &str, status: u16, body: &str) -> Result<(), EngineError> {
        let (key, body) = (key.to_owned(), body.to_owned());
        self.inner.store.write(move |tx| tx.keep_answer(&key, status, &body))
    }
}

/// What was answered under this key; refused where that was another request.
fn kept(tx: &Tx<'_>, once: &OnceKey, now: Millis) -> Result<Option<KeptAnswer>, Failure> {
    tx.forget_keys(now - KEPT_FOR_MS)?;
    match tx.kept_answer(&once.key)? {
        Some(kept) if kept.fingerprint != once.fingerprint => Err(Refusal::state(
            "idempotency_key_reused",
            "this Idempotency-Key was used for another request; every request needs a key of its own",
        )
        .into()),
        kept => Ok(kept),
    }
}

fn check(tx: &Tx<'_>, subject: &Subject, seen: i64) -> Result<(), Failure> {
    let (name, version) = match subject {
        Subject::Task(task) => {
            let task = tx.resolve(task)?;
            (format!("task #{}", task.seq), task.version)
        }
        Subject::Workflow(workflow) => {
            let workflow = tx.resolve_workflow(workflow)?;
            (format!("workflow {}", workflow.id), workflow.version)
        }
    };
    if version == seen {
        return Ok(());
    }
    let message = format!(
        "{name} changed meanwhile (version {version} now, {seen} when you looked); look again and repeat"
    );
    Err(Refusal::state("stale_version", message).with_detail(json!({ "version": version })).into())
}

/// What an outcome is about, by its id, or by kind and name: from that the answer can be made again.
fn about(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Task(task) | Outcome::Accepted { task, .. } => task.id.to_string(),
        Outcome::Question(question) => question.id.to_string(),
        Outcome::Workflow(workflow) | Outcome::Advanced { workflow, .. } => workflow.id.to_string(),
        Outcome::Approval(approval) => approval.id.to_string(),
        Outcome::Wait(wait) => wait.id.to_string(),
        Outcome::Timer(timer) => timer.id.to_string(),
        Outcome::Woken { wake, .. } => format!("wake {}", wake.key),
        Outcome::Board(name) => format!("board {name}"),
        Outcome::Tasks(_) | Outcome::Purged(_) | Outcome::Permitted | Outcome::Noted => String::new(),
    }
}
