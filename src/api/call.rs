//! The one way that a request goes: who may call, what the path, the query, the headers and the body say, the call of
//! the engine on a thread that may block, and the answer; what changes something goes on in `change`. What an endpoint adds to that is in its row of the table.

use axum::body::{Body as HttpBody, Bytes};
use axum::extract::{FromRequestParts, Query, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::time::Duration;

use super::change::{Pending, change};
use super::problem::Problem;
use super::table::{Body, Does, Endpoint};
use super::token::Role;
use super::{Api, BODY_LIMIT, stream};
use crate::domain::IdRef;
use crate::domain::id::IdKind;
use crate::domain::text::{one_line, shortened};
use crate::engine::Engine;
use crate::tools::params::Params;
use crate::tools::shape::Kind;
use crate::tools::{Shape, ToolContext, Waiting, wire};

/// How much of a body that is too long is still read, so that its sender comes to reading the answer.
const DRAINED: usize = 16 * BODY_LIMIT;
/// How long a body may take to arrive.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// One request, read and checked.
pub struct Call {
    /// The engine and what else there is.
    pub api: Api,
    params: Vec<(String, String)>,
    /// The query.
    pub query: Params,
    /// The body's fields.
    pub body: Params,
    /// The body as it came: its fields, where it is an object.
    pub raw: Map<String, Value>,
    /// The bytes and the type of a definition.
    pub definition: Option<(Bytes, bool)>,
}

/// An answer.
pub enum Reply {
    /// A value.
    Json(Value),
    /// A value with the version that `If-Match` takes.
    Versioned(Value, i64),
    /// Bytes of a log.
    Bytes(Vec<u8>),
}

impl Reply {
    /// A list.
    pub fn list(items: Vec<Value>, next_cursor: Option<String>) -> Reply {
        Reply::Json(wire::list(items, next_cursor))
    }
}

impl Call {
    /// The part of the path with this name.
    pub fn param(&self, name: &str) -> &str {
        self.params.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The task that the path names.
    pub fn task(&self) -> Result<IdRef, Problem> {
        Ok(IdRef::parse(self.param("id"), IdKind::Task)?)
    }

    /// The caller, as a tool sees it.
    pub fn context(&self) -> ToolContext {
        ToolContext {
            engine: self.engine().clone(),
            actor: self.api.actor().clone(),
            inside: None,
            cwd: self.api.cwd().to_owned(),
            session: None,
            board: None,
            waiting: Waiting::default(),
        }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        self.api.engine()
    }
}

/// Answers one request.
pub async fn answer(State(api): State<Api>, endpoint: &'static Endpoint, request: Request) -> Response {
    match answered(api, endpoint, request).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn answered(api: Api, endpoint: &'static Endpoint, request: Request) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    allow(&parts, endpoint)?;
    let params = path_params(&mut parts).await?;
    let query = Params::read(endpoint.query, &query_fields(&mut parts, endpoint.query).await?)?;
    let bounds = Pending::read(&parts.headers, endpoint)?;
    let mut call = Call { api, params, query, body: nothing()?, raw: Map::new(), definition: None };
    let fingerprint = read_body(&mut call, endpoint, &parts, body).await?;
    match endpoint.does {
        Does::Follow => stream::follow(call, &parts.headers).await,
        Does::Look(look) => {
            let reply = blocking(move || look(&call)).await?;
            Ok(respond(endpoint.status, reply))
        }
        Does::Change(command) => change(call, endpoint, command, bounds, fingerprint).await,
    }
}

fn nothing() -> Result<Params, Problem> {
    Ok(Params::read(&super::shapes::NOTHING, &Map::new())?)
}

/// Who only reads changes nothing.
fn allow(parts: &Parts, endpoint: &Endpoint) -> Result<(), Problem> {
    match parts.extensions.get::<Role>() {
        Some(role) if *role >= endpoint.role() => Ok(()),
        _ => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "not_allowed",
            "this token only looks; what changes something needs the one that `andon token admin` prints",
        )),
    }
}

async fn path_params(parts: &mut Parts) -> Result<Vec<(String, String)>, Problem> {
    let found = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| {
        Problem::malformed("bad_path", "the path is not UTF-8 text where it is decoded; write it anew")
    })?;
    let params: Vec<(String, String)> =
        found.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    match params.iter().all(|(_, value)| !value.contains('\0')) {
        true => Ok(params),
        false => Err(Problem::malformed("bad_path", "the path holds a NUL character; leave it out")),
    }
}

/// The fields of a query as the values that their shape wants.
async fn query_fields(parts: &mut Parts, shape: &Shape) -> Result<Map<String, Value>, Problem> {
    let raw = parts.uri.query().unwrap_or("").to_owned();
    let Query(pairs) =
        Query::<Vec<(String, String)>>::from_request_parts(parts, &()).await.map_err(|error| {
            Problem::malformed(
                "bad_query",
                format!("the query can't be read: {}", one_line(&error.body_text())),
            )
        })?;
    let is_broken =
        |text: &str| text.contains('\0') || (text.contains('\u{fffd}') && !raw.contains("%EF%BF%BD"));
    let mut fields = Map::new();
    for (name, value) in pairs {
        if is_broken(&name) || is_broken(&value) {
            let detail =
                "the query is not UTF-8 text where it is decoded, or holds a NUL character; write it anew";
            return Err(Problem::malformed("bad_query", detail));
        }
        let value = match shape.field(&name).map(|field| field.kind) {
            Some(Kind::Whole(..)) => value.parse::<i64>().map_or(json!(value), |number| json!(number)),
            Some(Kind::Flag) => value.parse::<bool>().map_or(json!(value), |flag| json!(flag)),
            Some(Kind::Texts) => {
                let list = fields.entry(name).or_insert_with(|| json!([]));
                if let Value::Array(list) = list {
                    list.push(json!(value));
                }
                continue;
            }
            _ => json!(value),
        };
        if fields.insert(name.clone(), value).is_some() {
            let name = shortened(&one_line(&name), 40);
            let detail = format!("`{name}` is in the query twice; keep one");
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_params", detail));
        }
    }
    Ok(fields)
}

/// Reads the body into the call; gives what tells one request from another.
async fn read_body(
    call: &mut Call,
    endpoint: &Endpoint,
    parts: &Parts,
    body: HttpBody,
) -> Result<String, Problem> {
    if let Body::None = endpoint.body {
        return Ok(fingerprint(parts, b""));
    }
    let bytes = tokio::time::timeout(BODY_PATIENCE, collect(body)).await.map_err(|_| {
        Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "body_timeout",
            "the body took too long to arrive; send it again",
        )
    })??;
    match endpoint.body {
        Body::None => {}
        Body::Definition => {
            let is_json = media_type(&parts.headers, &["application/json"]).is_ok();
            if !is_json {
                media_type(
                    &parts.headers,
                    &["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"],
                )?;
            }
            call.definition = Some((bytes.clone(), is_json));
        }
        Body::Object(shape) => {
            let may_be_absent = shape.actions.iter().all(|action| action.needs.is_empty());
            if bytes.is_empty() && !may_be_absent {
                return Err(Problem::malformed(
                    "empty_body",
                    "this request needs a body: a JSON object with its fields",
                ));
            }
            if !bytes.is_empty() {
                media_type(&parts.headers, &["application/json"])?;
                call.raw = object(&bytes)?;
            }
            call.body = Params::read(shape, &call.raw)?;
        }
    }
    Ok(fingerprint(parts, &bytes))
}

/// The bytes of a body, up to the limit.
async fn collect(mut body: HttpBody) -> Result<Bytes, Problem> {
    let mut kept = Vec::new();
    let mut length = 0usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::malformed("bad_body", "the body broke off; send it again"))?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        match length {
            0..=BODY_LIMIT => kept.extend_from_slice(&data),
            _ if length > DRAINED => break,
            _ => kept = Vec::new(),
        }
    }
    match length <= BODY_LIMIT {
        true => Ok(kept.into()),
        false => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            format!("a body has at most {BODY_LIMIT} bytes, and this one has more; shorten it"),
        )),
    }
}

fn media_type(headers: &HeaderMap, wanted: &[&str]) -> Result<(), Problem> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|given| given.to_str().ok()).unwrap_or("");
    let given = given.split(';').next().unwrap_or("").trim();
    match wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(given)) {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            format!("this body has to be {}; say so in the header Content-Type", wanted[0]),
        )),
    }
}

/// The JSON that a body holds.
pub fn json_of<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        Problem::malformed("bad_json", format!("the body is no JSON: {}", one_line(&error.to_string())))
    })
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, Problem> {
    match json_of(bytes)? {
        Value::Object(mut fields) => {
            fields.values_mut().for_each(whole);
            Ok(fields)
        }
        _ => Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid_params",
            "the body has to be a JSON object with the fields of this request",
        )),
    }
}

/// 10.0 is a whole number too.
fn whole(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Some(number) = value.as_f64().filter(|n| value.is_f64() && n.fract() == 0.0 && n.abs() < EXACT) {
        *value = json!(number as i64);
    }
}

/// Tells one request from another: method, path with query, and body.
fn fingerprint(parts: &Parts, body: &[u8]) -> String {
    let mut digest = Sha256::new();
    digest.update(parts.method.as_str().as_bytes());
    digest.update(b" ");
    digest.update(parts.uri.path_and_query().map_or("", |path| path.as_str()).as_bytes());
    digest.update(b"\n");
    digest.update(body);
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs what blocks on a thread of its own.
pub async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(%error, "a request ended in a fault of the program");
            Err(Problem::fault())
        }
    }
}

/// An answer with its status, type and version.
pub(super) fn respond(status: u16, reply: Reply) -> Response {
    let (body, media, version) = match reply {
        Reply::Json(value) => (HttpBody::from(value.to_string()), "application/json", None),
        Reply::Versioned(value, version) => {
            (HttpBody::from(value.to_string()), "application/json", Some(version))
        }
        Reply::Bytes(bytes) => (HttpBody::from(bytes), "application/octet-stream", None),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    if let Some(version) = version
        && let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\""))
    {
        headers.insert(header::ETAG, tag);
    }
    response
}
