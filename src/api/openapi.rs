//! The OpenAPI document (3.1), made from the table that the routes are made from.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

use super::call::{Call, Reply};
use super::problem::Problem;
use super::schema;
use super::shapes;
use super::table::{Answer, Body, Does, Endpoint, Method, endpoints};
use crate::tools::Shape;

/// `GET /openapi.json`
pub const ENDPOINT: Endpoint = Endpoint {
    method: Method::Get,
    path: "/openapi.json",
    id: "describe",
    about: "This document",
    query: &shapes::NOTHING,
    body: Body::None,
    status: 200,
    answer: Answer::One("Document"),
    refusals: &[],
    does: Does::Look(show),
};

fn show(call: &Call) -> Result<Reply, Problem> {
    Ok(Reply::Json(document(call.api.prefix())))
}

/// The document of what is served under a prefix.
pub fn document(prefix: &str) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in endpoints() {
        let path = paths.entry(format!("{prefix}{}", endpoint.path)).or_insert_with(|| json!({}));
        path[endpoint.method.as_str()] = operation(endpoint);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Andon",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A Kanban board that does the work on it. The token is what `andon token` prints. Outside \
                            this document: /healthz, /readyz, /metrics.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schema::components(),
        },
    })
}

fn operation(endpoint: &Endpoint) -> Value {
    let mut parameters: Vec<Value> = endpoint.params().map(|name| path_parameter(endpoint, name)).collect();
    parameters.extend(query_parameters(endpoint.query));
    if endpoint.is_write() {
        if endpoint.params().count() > 0 {
            parameters.push(header(
                "If-Match",
                "the version that was seen, as the ETag gave it; refused where there is another by now",
                json!({ "type": "string", "pattern": "^\"?[0-9]{1,15}\"?$" }),
            ));
        }
        parameters.push(header(
            "Idempotency-Key",
            "the same key with the same request is carried out once, and answered alike, for a day",
            json!({ "type": "string", "pattern": "^[A-Za-z0-9._:-]{1,200}$" }),
        ));
    }
    if endpoint.answer == Answer::Stream {
        let schema = json!({ "type": "string", "pattern": "^[0-9]{1,15}$" });
        parameters.push(header("Last-Event-ID", "resume after this event", schema));
    }
    let mut operation = json!({
        "operationId": endpoint.id,
        "summary": endpoint.about,
        "description": format!("Needs the {} token.", endpoint.role().as_str()),
        "parameters": parameters,
        "responses": responses(endpoint),
    });
    if let Some(body) = body(endpoint) {
        operation["requestBody"] = body;
    }
    operation
}

fn path_parameter(endpoint: &Endpoint, name: &str) -> Value {
    let (pattern, about) = match (name, endpoint.path.starts_with("/workflows")) {
        ("key", _) => ("^[A-Za-z0-9_.-]+$", "the key of the event, such as deploy-finished"),
        (_, true) => ("^[A-Za-z_][A-Za-z0-9_.-]*$", "the id, a unique prefix of it, or a unique name"),
        (_, false) => (schema::TASK_ID, "the id, a unique prefix of it, or the task's number"),
    };
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": about,
        "schema": { "type": "string", "minLength": 1, "maxLength": 100, "pattern": pattern },
    })
}

fn query_parameters(shape: &Shape) -> Vec<Value> {
    let described = shape.fields.iter().map(|field| {
        json!({ "name": field.name, "in": "query", "required": false, "description": field.about,
                "schema": schema::of_query(field) })
    });
    described.collect()
}

fn header(name: &str, about: &str, schema: Value) -> Value {
    json!({ "name": name, "in": "header", "required": false, "description": about, "schema": schema })
}

fn body(endpoint: &Endpoint) -> Option<Value> {
    match endpoint.body {
        Body::None => None,
        Body::Definition => Some(json!({
            "required": true,
            "content": {
                "application/json": { "schema": { "$ref": "#/components/schemas/Definition" } },
                "application/yaml": { "schema": { "$ref": "#/components/schemas/Definition" } },
            },
        })),
        Body::Object(shape) => {
            let required = shape.actions.iter().any(|action| !action.needs.is_empty());
            let schema = schema::of_body(shape);
            Some(json!({ "required": required, "content": { "application/json": { "schema": schema } } }))
        }
    }
}

fn responses(endpoint: &Endpoint) -> Value {
    let mut responses = Map::new();
    responses.insert(endpoint.status.to_string(), success(endpoint));
    let takes_wait = matches!(endpoint.body, Body::Object(shape) if shape.field("wait").is_some());
    if takes_wait {
        let accepted = json!({ "description": "The run is being ended; the task settles when its processes are gone",
                               "content": content(endpoint.answer) });
        responses.insert("202".to_owned(), accepted);
    }
    for status in refusals(endpoint) {
        let about = match status {
            400 => "The request can't be read",
            401 => "No token, or a wrong one",
            403 => "Not for this token, Host or Origin",
            404 => "Nothing has that name",
            408 => "The body took too long",
            409 => "Refused by the state of things",
            413 => "The body is too large",
            415 => "The body is of another type",
            422 => "A value can't be taken",
            _ => "The database can't be used now",
        };
        let problem =
            json!({ "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } });
        responses.insert(status.to_string(), json!({ "description": about, "content": problem }));
    }
    Value::Object(responses)
}

fn success(endpoint: &Endpoint) -> Value {
    let mut success = json!({ "description": "Done", "content": content(endpoint.answer) });
    if matches!(endpoint.answer, Answer::One("Task" | "TaskView" | "Workflow")) {
        success["headers"] = json!({
            "ETag": { "description": "the version, for If-Match", "schema": { "type": "string" } }
        });
    }
    success
}

fn content(answer: Answer) -> Value {
    match answer {
        Answer::One(name) => json!({ "application/json": { "schema": schema::reference(name) } }),
        Answer::List(name) => json!({ "application/json": { "schema": {
            "type": "object",
            "required": ["items", "next_cursor"],
            "properties": {
                "items": { "type": "array", "items": schema::reference(name) },
                "next_cursor": { "type": ["string", "null"] },
            },
        } } }),
        Answer::Bytes => json!({ "application/octet-stream": { "schema": {} } }),
        Answer::Stream => json!({ "text/event-stream": { "schema": { "type": "string" } } }),
    }
}

/// All refusals that this endpoint can give.
fn refusals(endpoint: &Endpoint) -> BTreeSet<u16> {
    let mut all = BTreeSet::from([400, 401, 403, 422, 503]);
    if endpoint.params().count() > 0 {
        all.insert(404);
    }
    if endpoint.is_write() {
        all.extend([404, 409]);
    }
    if !matches!(endpoint.body, Body::None) {
        all.extend([408, 413, 415]);
    }
    all.extend(endpoint.refusals);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document("/api/v1");
        let text = document.to_string();
        let mut found = 0;
        for rest in text.split("#/components/schemas/").skip(1) {
            let name = rest.split('"').next().unwrap();
            assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
            found += 1;
        }
        assert!(found > 20, "{found}");
    }
}
