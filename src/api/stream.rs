//! The stream of events. One task hears of changes, reads each event once and hands all that came within a moment, as one
//! piece, to all who follow; who joins,
//! resumes, or falls behind reads from the log what it missed. So nobody who is slow costs memory, and a thousand who
//! follow cost no more threads than one.

use axum::body::Body as HttpBody;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use futures_core::Stream;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, watch};

use super::call::{Call, blocking};
use super::metrics::Metrics;
use super::problem::Problem;
use super::shapes;
use super::table::{Answer, Body, Does, Endpoint, Method};
use crate::domain::id::IdKind;
use crate::domain::{Event, EventKind, IdRef, TaskId};
use crate::engine::Engine;
use crate::tools::wire;

/// How many pieces who follows may be behind before it reads on from the log.
const BEHIND: usize = 32;
/// Events of so short a time are read and go out together: who follows must not slow down what it watches.
const MOMENT: Duration = Duration::from_millis(20);
/// How many events are read at a time.
const PAGE: usize = 200;
/// How many pieces wait for a connection to take them.
const WAITING: usize = 4;
/// How often a silent stream says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// The safety net: a look at least so often, whatever was heard.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// `GET /events`
pub const ENDPOINT: Endpoint = Endpoint {
    method: Method::Get,
    path: "/events",
    id: "followEvents",
    about: "What happens from now on, as server-sent events; resumes after Last-Event-ID",
    query: &shapes::FOLLOW,
    body: Body::None,
    status: 200,
    answer: Answer::Stream,
    refusals: &[404],
    does: Does::Follow,
};

/// Some events one after the other, ready to be sent.
struct Piece {
    /// The number of the event before the first: who has not seen that one has missed something.
    before: i64,
    /// The number of the last one.
    last: i64,
    /// All of them.
    bytes: Bytes,
    /// Where each of them ends in `bytes`, for who wants some of them.
    parts: Vec<Part>,
}

struct Part {
    seq: i64,
    task: Option<TaskId>,
    end: usize,
}

impl Piece {
    fn of(before: i64, events: Vec<Event>) -> Piece {
        let mut bytes = Vec::new();
        let mut parts = Vec::with_capacity(events.len());
        for event in events {
            bytes.extend_from_slice(frame(&event).as_bytes());
            parts.push(Part { seq: event.seq, task: event.task_id, end: bytes.len() });
        }
        Piece { before, last: parts.last().map_or(before, |part| part.seq), bytes: bytes.into(), parts }
    }

    /// What comes after an event; of one task where named.
    fn after(&self, seen: i64, task: Option<&TaskId>) -> Bytes {
        if task.is_none() && seen <= self.before {
            return self.bytes.clone();
        }
        let begins = std::iter::once(0).chain(self.parts.iter().map(|part| part.end));
        let wanted = self
            .parts
            .iter()
            .zip(begins)
            .filter(|(part, _)| part.seq > seen && (task.is_none() || part.task.as_ref() == task));
        wanted
            .fold(Vec::new(), |mut all, (part, begin)| {
                all.extend_from_slice(&self.bytes[begin..part.end]);
                all
            })
            .into()
    }
}

/// Hands every event to all who follow.
pub struct Hub {
    send: broadcast::Sender<Arc<Piece>>,
}

impl Hub {
    /// Begins to listen, on the runtime of the caller.
    pub fn start(engine: &Engine, metrics: Metrics, stopping: watch::Receiver<bool>) -> Hub {
        let (send, _) = broadcast::channel(BEHIND);
        tokio::spawn(listen(engine.clone(), metrics, send.clone(), stopping));
        Hub { send }
    }
}

async fn listen(
    engine: Engine,
    metrics: Metrics,
    send: broadcast::Sender<Arc<Piece>>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut changes = engine.changes();
    let mut seen: Option<i64> = None;
    loop {
        changes.mark_unchanged();
        match news(&engine, seen).await {
            Ok((last, events)) => {
                let more = events.len() == PAGE;
                let asked = asked_in(&events);
                events.iter().for_each(|event| metrics.heard(event));
                let before = seen.unwrap_or(last);
                seen = Some(events.last().map_or(before, |event| event.seq));
                let any = !events.is_empty();
                let followed = any && send.receiver_count() > 0;
                if followed {
                    // Whoever has left meanwhile is not told.
                    let _ = send.send(Arc::new(Piece::of(before, events)));
                }
                if followed && !asked.is_empty() {
                    note_delivered(&engine, asked).await;
                }
                if more {
                    continue;
                }
                if any {
                    tokio::time::sleep(MOMENT).await;
                }
            }
            Err(problem) => tracing::warn!(detail = problem.detail, "events can't be read; trying again"),
        }
        tokio::select! {
            heard = changes.changed() => if heard.is_err() { return },
            () = tokio::time::sleep(LOOK_EVERY) => {}
            // Whoever could tell is gone; that is as good as being told.
            _ = stopping.wait_for(|stop| *stop) => return,
        }
    }
}

/// The questions and approvals that these events tell of.
fn asked_in(events: &[Event]) -> Vec<String> {
    let asked = events.iter().filter_map(|event| match event.kind {
        EventKind::Asked => event.data.get("question"),
        EventKind::ApprovalAsked => event.data.get("approval"),
        _ => None,
    });
    asked.filter_map(|id| id.as_str()).map(str::to_owned).collect()
}

/// Notes that what needs a person was told to somebody, so that what nobody has seen can be found.
async fn note_delivered(engine: &Engine, asked: Vec<String>) {
    let engine = engine.clone();
    let noted =
        blocking(move || asked.iter().try_for_each(|id| engine.delivered(id, "http")).map_err(Problem::from));
    if let Err(problem) = noted.await {
        tracing::warn!(detail = problem.detail, "it was not noted who has seen a question");
    }
}

/// The events after `seen`, at most a page of them; at first, only where the log ends.
async fn news(engine: &Engine, seen: Option<i64>) -> Result<(i64, Vec<Event>), Problem> {
    let engine = engine.clone();
    blocking(move || {
        Ok(match seen {
            None => (engine.last_seq()?, Vec::new()),
            Some(seen) => (seen, engine.events(seen, None, PAGE)?),
        })
    })
    .await
}

/// An event as it goes over the wire (HTML Living Standard, 9.2). JSON has no line breaks of its own.
fn frame(event: &Event) -> String {
    format!("id: {}\nevent: {}\ndata: {}\n\n", event.seq, event.kind.as_str(), wire::event(event))
}

/// Answers with a stream.
pub async fn follow(call: Call, headers: &HeaderMap) -> Result<Response, Problem> {
    let resumed = last_event_id(headers)?;
    let api = call.api.clone();
    let heard = api.inner.hub.send.subscribe();
    let (task, last) = blocking(move || {
        let task = call.query.text("task_id").map(|id| -> Result<TaskId, Problem> {
            Ok(call.engine().task(&IdRef::parse(&id, IdKind::Task)?)?.id)
        });
        let last = match resumed.or(call.query.whole("since")) {
            Some(since) => since,
            None => call.engine().last_seq()?,
        };
        Ok((task.transpose()?, last))
    })
    .await?;
    let (send, pieces) = mpsc::channel(WAITING);
    let follower = Follower { engine: api.engine().clone(), send, task, last };
    let metrics = api.inner.metrics.clone();
    let stopping = api.stopping();
    tokio::spawn(async move {
        metrics.follows(1);
        follower.run(heard, stopping).await;
        metrics.follows(-1);
    });
    let mut response = Response::new(HttpBody::from_stream(Pieces(pieces)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    let Some(given) = headers.get(HeaderName::from_static("last-event-id")) else { return Ok(None) };
    let number = given.to_str().ok().and_then(|given| given.trim().parse::<i64>().ok()).filter(|id| *id >= 0);
    number.map(Some).ok_or_else(|| {
        Problem::malformed(
            "bad_last_event_id",
            "Last-Event-ID is the `id` of an event of this stream; leave it out to begin now",
        )
    })
}

/// One who follows.
struct Follower {
    engine: Engine,
    send: mpsc::Sender<Bytes>,
    /// Only of this task.
    task: Option<TaskId>,
    /// The last event that was sent or passed over.
    last: i64,
}

/// The other end is gone.
struct Gone;

impl Follower {
    async fn run(mut self, heard: broadcast::Receiver<Arc<Piece>>, mut stopping: watch::Receiver<bool>) {
        let gone = self.send.clone();
        tokio::select! {
            Err(Gone) = self.follow(heard) => {}
            () = gone.closed() => {}
            // Whoever could tell is gone; that is as good as being told.
            _ = stopping.wait_for(|stop| *stop) => {}
        }
    }

    async fn follow(&mut self, mut heard: broadcast::Receiver<Arc<Piece>>) -> Result<(), Gone> {
        self.tell(Bytes::from_static(b": andon\nretry: 1000\n\n")).await?;
        self.catch_up().await?;
        loop {
            match tokio::time::timeout(HEARTBEAT, heard.recv()).await {
                Err(_) => self.tell(Bytes::from_static(b": heartbeat\n\n")).await?,
                Ok(Ok(piece)) if piece.last <= self.last => {}
                Ok(Ok(piece)) if piece.before <= self.last => {
                    self.tell(piece.after(self.last, self.task.as_ref())).await?;
                    self.last = piece.last;
                }
                Ok(Ok(_) | Err(RecvError::Lagged(_))) => self.catch_up().await?,
                Ok(Err(RecvError::Closed)) => return Err(Gone),
            }
        }
    }

    /// Sends what the log has after the last event.
    async fn catch_up(&mut self) -> Result<(), Gone> {
        loop {
            let (engine, last, task) = (self.engine.clone(), self.last, self.task.clone());
            let read = blocking(move || {
                let end = engine.last_seq()?;
                Ok((end, engine.events(last, task.as_ref(), PAGE)?))
            });
            // Who reads again later resumes where this ends.
            let Ok((end, events)) = read.await else { return Err(Gone) };
            let more = events.len() == PAGE;
            let piece = Piece::of(self.last, events);
            self.tell(piece.bytes).await?;
            self.last = piece.last;
            if !more {
                self.last = self.last.max(end);
                return Ok(());
            }
        }
    }

    async fn tell(&self, bytes: Bytes) -> Result<(), Gone> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.send.send(bytes).await.map_err(|_| Gone)
    }
}

/// The pieces of a body, as they come.
struct Pieces(mpsc::Receiver<Bytes>);

impl Stream for Pieces {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|piece| piece.map(Ok))
    }
}
