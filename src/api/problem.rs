//! What goes wrong on the wire: a problem object (RFC 9457) with a stable code. The one place that says which status
//! a refusal has.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use crate::domain::Refusal;
use crate::engine::EngineError;
use crate::tools::{ErrorClass, ToolError};

/// A refusal as it goes over the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The HTTP status.
    pub status: StatusCode,
    /// A stable word for programs.
    pub code: String,
    /// What happened, why, and what to do.
    pub detail: String,
    /// More for programs.
    pub members: Box<Map<String, Value>>,
}

impl Problem {
    /// A problem of the wire itself.
    pub fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), detail: detail.into(), members: Box::default() }
    }

    /// The request can't be read.
    pub fn malformed(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// A fault of the program, which says no more than that.
    pub fn fault() -> Self {
        let detail = "the program has a fault; the daemon's log says more. What was acknowledged is on disk";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "fault", detail)
    }

    /// The object.
    pub fn body(&self) -> Value {
        let mut body = *self.members.clone();
        body.insert("type".to_owned(), json!(format!("urn:andon:problem:{}", self.code)));
        body.insert("title".to_owned(), json!(self.status.canonical_reason().unwrap_or("Problem")));
        body.insert("status".to_owned(), json!(self.status.as_u16()));
        body.insert("code".to_owned(), json!(self.code));
        body.insert("detail".to_owned(), json!(self.detail));
        Value::Object(body)
    }
}

/// Which status a refused input has.
fn status_of(class: ErrorClass) -> StatusCode {
    match class {
        ErrorClass::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorClass::NotFound => StatusCode::NOT_FOUND,
        ErrorClass::State => StatusCode::CONFLICT,
        ErrorClass::NotAllowed => StatusCode::FORBIDDEN,
        ErrorClass::Store => StatusCode::SERVICE_UNAVAILABLE,
        ErrorClass::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<ToolError> for Problem {
    fn from(error: ToolError) -> Self {
        let members = match error.detail {
            Value::Object(members) => Box::new(members),
            _ => Box::default(),
        };
        Self { status: status_of(error.class), code: error.code.to_owned(), detail: error.message, members }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        ToolError::from(refusal).into()
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        if let EngineError::Store(error) = &error {
            tracing::error!(%error, "a request could not be answered");
        }
        ToolError::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body().to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match self.status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"andon\""));
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

/// The answer where there is nothing.
pub async fn no_such_path() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "no_such_path",
        "there is nothing at this path; the document at /openapi.json under the prefix lists all there is",
    )
}

/// The answer where there is something, but not with that method; the header `Allow` says which.
pub async fn no_such_method(request: Request) -> Problem {
    let method = crate::domain::text::shortened(request.method().as_str(), 20);
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        format!("{method} is nothing that can be done at this path; the header Allow says what is"),
    )
}
