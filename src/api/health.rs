//! Whether the program lives, and whether it can work. Neither says anything of what is on the board.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Api;
use super::call::blocking;
use super::problem::Problem;

/// It lives.
pub async fn healthz() -> Response {
    json_answer(json!({ "status": "ok" }))
}

/// The database can be read; says too whether somebody dispatches.
pub async fn readyz(State(api): State<Api>) -> Response {
    let read = blocking(move || {
        api.engine().last_seq()?;
        Ok(api.engine().dispatcher_state())
    });
    match read.await {
        Ok(dispatcher) => json_answer(json!({ "status": "ready", "dispatcher": dispatcher })),
        Err(_) => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store_unusable",
            "the database can't be read; the daemon's log says why",
        )
        .into_response(),
    }
}

fn json_answer(value: Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
