//! What Prometheus reads (text format 0.0.4). Counts of runs are made from the events that this process has heard
//! since it serves; how many tasks stand where is counted in the database, at most every few seconds.

use axum::extract::State;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Api;
use super::call::blocking;
use crate::domain::time::Millis;
use crate::domain::{Event, EventKind, TaskId, TaskStatus};
use crate::engine::Slots;

/// How long a count of tasks is good for.
const COUNT_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// The most tasks and runs whose beginning is remembered.
const REMEMBERED: usize = 100_000;
/// Upper bounds of requests, in seconds.
const REQUEST_BOUNDS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];
/// Upper bounds of waits and runs, in seconds.
const WORK_BOUNDS: &[f64] = &[0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0];

/// All that is counted. Cheap to clone.
#[derive(Clone, Default)]
pub struct Metrics {
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    requests: BTreeMap<(&'static str, u16), u64>,
    request_seconds: Histogram,
    streams: i64,
    started: u64,
    settled: BTreeMap<String, u64>,
    queue_seconds: Histogram,
    run_seconds: Histogram,
    /// Since when tasks wait in the queue.
    queued: HashMap<TaskId, Millis>,
    /// Since when runs go on.
    running: HashMap<String, Millis>,
    tasks: Option<(Instant, Vec<(TaskStatus, i64)>)>,
}

#[derive(Default)]
struct Histogram {
    counts: Vec<u64>,
    sum: f64,
    total: u64,
}

impl Histogram {
    fn observe(&mut self, bounds: &[f64], seconds: f64) {
        self.counts.resize(bounds.len(), 0);
        if let Some(at) = bounds.iter().position(|bound| seconds <= *bound) {
            self.counts[at] += 1;
        }
        self.sum += seconds;
        self.total += 1;
    }
}

impl Metrics {
    /// Counts a request.
    pub fn answered(&self, method: &Method, status: StatusCode, took: Duration) {
        let method = match *method {
            Method::GET => "GET",
            Method::POST => "POST",
            Method::PATCH => "PATCH",
            Method::DELETE => "DELETE",
            Method::HEAD => "HEAD",
            _ => "other",
        };
        let mut counts = self.counts();
        *counts.requests.entry((method, status.as_u16())).or_default() += 1;
        counts.request_seconds.observe(REQUEST_BOUNDS, took.as_secs_f64());
    }

    /// One more or one less follows the events.
    pub fn follows(&self, change: i64) {
        self.counts().streams += change;
    }

    /// Counts what an event tells.
    pub fn heard(&self, event: &Event) {
        let mut counts = self.counts();
        if let (Some(task), Some("queued")) =
            (&event.task_id, event.patch.get("status").and_then(Value::as_str))
            && counts.queued.len() < REMEMBERED
        {
            counts.queued.insert(task.clone(), event.at_ms);
        }
        let Some(run) = event.data.get("run").and_then(Value::as_str) else { return };
        if matches!(event.kind, EventKind::Claimed | EventKind::Taken) {
            counts.started += 1;
            if let Some(since) = event.task_id.as_ref().and_then(|task| counts.queued.remove(task)) {
                counts.queue_seconds.observe(WORK_BOUNDS, seconds(event.at_ms - since));
            }
            if counts.running.len() < REMEMBERED {
                counts.running.insert(run.to_owned(), event.at_ms);
            }
        }
        if let Some(outcome) = event.data.get("outcome").and_then(Value::as_str) {
            *counts.settled.entry(outcome.to_owned()).or_default() += 1;
            if let Some(since) = counts.running.remove(run) {
                counts.run_seconds.observe(WORK_BOUNDS, seconds(event.at_ms - since));
            }
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        // Nothing here is left half changed.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(length: Millis) -> f64 {
    Duration::from_millis(u64::try_from(length).unwrap_or(0)).as_secs_f64()
}

/// `GET /metrics`
pub async fn show(State(api): State<Api>) -> Response {
    let read = blocking(move || {
        let metrics = &api.inner.metrics;
        let known = metrics.counts().tasks.clone().filter(|(at, _)| at.elapsed() < COUNT_AGAIN_AFTER);
        if known.is_none() {
            let tasks = api.engine().tasks_by_status()?;
            metrics.counts().tasks = Some((Instant::now(), tasks));
        }
        let slots = api.engine().slots()?;
        Ok(written(&metrics.counts(), slots))
    });
    match read.await {
        Ok(text) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(problem) => problem.into_response(),
    }
}

fn written(counts: &Counts, slots: Slots) -> String {
    let mut text = Text::default();
    text.head("andon_tasks", "gauge", "Tasks that are not put away, by status");
    for (status, number) in counts.tasks.iter().flat_map(|(_, tasks)| tasks) {
        text.line("andon_tasks", &format!("{{status=\"{status}\"}}"), *number as f64);
    }
    text.head("andon_slots", "gauge", "Slots of the dispatcher");
    text.line("andon_slots", "{state=\"used\"}", f64::from(slots.used));
    text.line("andon_slots", "{state=\"total\"}", f64::from(slots.total));
    text.head("andon_runs_started_total", "counter", "Runs that began");
    text.line("andon_runs_started_total", "", counts.started as f64);
    text.head("andon_runs_settled_total", "counter", "Runs that ended, by outcome");
    for (outcome, number) in &counts.settled {
        text.line("andon_runs_settled_total", &format!("{{outcome=\"{outcome}\"}}"), *number as f64);
    }
    text.histogram("andon_queue_wait_seconds", "From queued to claimed", WORK_BOUNDS, &counts.queue_seconds);
    text.histogram("andon_run_duration_seconds", "From claimed to ended", WORK_BOUNDS, &counts.run_seconds);
    text.head("andon_http_requests_total", "counter", "Requests that were answered");
    for ((method, status), number) in &counts.requests {
        let labels = format!("{{method=\"{method}\",status=\"{status}\"}}");
        text.line("andon_http_requests_total", &labels, *number as f64);
    }
    text.histogram(
        "andon_http_request_seconds",
        "Until the answer began",
        REQUEST_BOUNDS,
        &counts.request_seconds,
    );
    text.head("andon_event_streams", "gauge", "Who follows the events");
    text.line("andon_event_streams", "", counts.streams as f64);
    text.0
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, about: &str) {
        self.0.push_str(&format!("# HELP {name} {about}.\n# TYPE {name} {kind}\n"));
    }

    fn line(&mut self, name: &str, labels: &str, value: f64) {
        // Writing to a text never fails.
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn histogram(&mut self, name: &str, about: &str, bounds: &[f64], histogram: &Histogram) {
        self.head(name, "histogram", about);
        let mut below = 0;
        for (at, bound) in bounds.iter().enumerate() {
            below += histogram.counts.get(at).copied().unwrap_or(0);
            self.line(&format!("{name}_bucket"), &format!("{{le=\"{bound}\"}}"), below as f64);
        }
        self.line(&format!("{name}_bucket"), "{le=\"+Inf\"}", histogram.total as f64);
        self.line(&format!("{name}_sum"), "", histogram.sum);
        self.line(&format!("{name}_count"), "", histogram.total as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(kind: EventKind, at_ms: Millis, data: Value, patch: Value) -> Event {
        let table = |value: Value| value.as_object().cloned().unwrap_or_default();
        Event {
            seq: 1,
            at_ms,
            kind,
            actor: String::new(),
            task_id: Some("t_x".into()),
            task_seq: Some(1),
            workflow_id: None,
            run_id: None,
            data: table(data),
            patch: table(patch),
        }
    }

    #[test]
    fn waits_and_runs_are_measured_from_events() {
        let metrics = Metrics::default();
        metrics.heard(&event(EventKind::Queued, 0, json!({}), json!({ "status": "queued" })));
        metrics.heard(&event(
            EventKind::Claimed,
            2_000,
            json!({ "run": "r_1" }),
            json!({ "status": "running" }),
        ));
        metrics.heard(&event(
            EventKind::Failed,
            2_050,
            json!({ "run": "r_1", "outcome": "failed" }),
            json!({}),
        ));
        let text = written(&metrics.counts(), Slots { used: 1, total: 4 });
        for line in [
            "andon_runs_started_total 1",
            "andon_runs_settled_total{outcome=\"failed\"} 1",
            "andon_queue_wait_seconds_bucket{le=\"1\"} 0",
            "andon_queue_wait_seconds_bucket{le=\"5\"} 1",
            "andon_queue_wait_seconds_sum 2",
            "andon_run_duration_seconds_bucket{le=\"0.1\"} 1",
            "andon_slots{state=\"used\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
