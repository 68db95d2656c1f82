//! The schemas of the document: of what is asked, from the shapes that requests are checked with, and of what is
//! answered, as tables of names and types.

use serde_json::{Map, Value, json};

use crate::domain::text::{ANSWER_LIMIT, LABEL_LIMIT, LABELS_LIMIT, TEXT_LIMIT, TITLE_LIMIT};
use crate::domain::{TaskStatus, WorkflowStatus};
use crate::tools::Shape;
use crate::tools::shape::{Field, Kind};

/// A text that is not blank and holds no NUL.
const NOT_BLANK: &str = "^[^\\x00]*[^\\s\\x00][^\\x00]*$";
/// What names a task.
pub const TASK_ID: &str = "^(t_[a-z0-9]{1,12}|[0-9]{1,9})$";
/// A text without NUL.
const NO_NUL: &str = "^[^\\x00]*$";

/// A reference to a component.
pub fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The schema of one field of a query. A list is one parameter that is there several times.
pub fn of_query(field: &Field) -> Value {
    let mut schema = match field.kind {
        Kind::Texts if field.name == "status" => json!({ "type": "array", "items": reference("TaskStatus") }),
        Kind::Texts => json!({ "type": "array", "items": { "type": "string", "pattern": NO_NUL } }),
        Kind::Text if field.name == "task_id" => json!({ "type": "string", "pattern": TASK_ID }),
        Kind::Text if field.name == "cwd" => json!({ "type": "string", "pattern": "^/[^\\x00]*$" }),
        Kind::Text if field.name == "cursor" => {
            json!({ "type": "string", "pattern": "^[0-9]{1,9}(\\.[0-9]{1,9})?$" })
        }
        _ => field.schema(),
    };
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("description");
    }
    schema
}

/// The schema of a body.
pub fn of_body(shape: &Shape) -> Value {
    let needs: Vec<&str> = shape.actions.iter().flat_map(|action| action.needs).copied().collect();
    let takes = shape.actions.iter().flat_map(|action| action.takes);
    let mut properties = Map::new();
    for name in needs.iter().chain(takes) {
        if let Some(field) = shape.field(name) {
            let mut schema = of_field(field);
            if !needs.contains(name) && schema.get("type").is_some() {
                schema = or_null(schema);
            }
            properties.insert((*name).to_owned(), schema);
        }
    }
    json!({ "type": "object", "properties": properties, "required": needs, "additionalProperties": false })
}

/// What is null counts as not there.
fn or_null(mut schema: Value) -> Value {
    schema["type"] = match schema["type"].take() {
        Value::String(one) => json!([one, "null"]),
        Value::Array(mut many) => {
            many.push(json!("null"));
            Value::Array(many)
        }
        other => other,
    };
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    }
    schema
}

/// The schema of a field, with the limits that the rules set beyond its kind.
fn of_field(field: &Field) -> Value {
    if field.kind == Kind::Tables {
        return json!({ "description": field.about });
    }
    let mut schema = field.schema();
    let more = match field.name {
        "title" => json!({ "minLength": 1, "maxLength": TITLE_LIMIT, "pattern": NOT_BLANK }),
        "description" | "result" | "error" | "feedback" | "text" | "goal" => {
            json!({ "maxLength": TEXT_LIMIT, "pattern": NO_NUL })
        }
        "reason" => json!({ "maxLength": TEXT_LIMIT, "pattern": NOT_BLANK }),
        "answer" => json!({ "minLength": 1, "maxLength": ANSWER_LIMIT, "pattern": NOT_BLANK }),
        "assignee" | "source" => json!({ "maxLength": LABEL_LIMIT, "pattern": NO_NUL }),
        "agent" => json!({ "maxLength": LABEL_LIMIT, "pattern": NOT_BLANK }),
        "board_id" | "name" => json!({ "maxLength": LABEL_LIMIT, "pattern": NOT_BLANK }),
        "parent_task_id" | "on" => json!({ "pattern": TASK_ID, "minimum": 0 }),
        "depends_on" => json!({
            "pattern": TASK_ID,
            "minimum": 0,
            "items": { "type": ["string", "integer"], "pattern": TASK_ID, "minimum": 0 },
        }),
        "labels" => json!({
            "maxItems": LABELS_LIMIT,
            "maxLength": LABEL_LIMIT,
            "pattern": NOT_BLANK,
            "items": { "type": "string", "minLength": 1, "maxLength": LABEL_LIMIT, "pattern": NOT_BLANK },
        }),
        "cwd" => json!({ "pattern": "^/[^\\x00]*$" }),
        _ => json!({}),
    };
    if let (Some(schema), Value::Object(more)) = (schema.as_object_mut(), more) {
        schema.extend(more);
    }
    schema
}

/// All that is answered.
pub fn components() -> Value {
    let statuses: Vec<&str> = TaskStatus::ALL.iter().map(|status| status.as_str()).collect();
    let of_workflows: Vec<&str> = WorkflowStatus::ALL.iter().map(|status| status.as_str()).collect();
    json!({
        "TaskStatus": { "type": "string", "enum": statuses },
        "WorkflowStatus": { "type": "string", "enum": of_workflows },
        "Task": table(TASK),
        "TaskView": { "allOf": [reference("Task"), table(VIEW)] },
        "Neighbour": table("id:text seq:whole title:text status:[TaskStatus]"),
        "Run": table(RUN),
        "Question": table(QUESTION),
        "OpenQuestion": { "allOf": [reference("Question"), table("seq:whole title:text board_id:text")] },
        "Approval": table(APPROVAL),
        "OpenApproval": { "allOf": [reference("Approval"), table("seq:whole title:text board_id:text")] },
        "Decided": { "anyOf": [reference("Task"), reference("Approval")] },
        "Wait": { "anyOf": [reference("Question"), reference("Approval"), reference("OtherWait")] },
        "OtherWait": { "type": "object", "required": ["wait_id", "kind", "task_id", "state"] },
        "Woken": table("key:text data:any at:text at_ms:whole first:flag woken:whole"),
        "Event": table(EVENT),
        "Why": table("id:text seq:whole status:[TaskStatus] reasons:list[Reason]"),
        "Reason": table("code:text text:text fix:text"),
        "Workflow": { "allOf": [reference("WorkflowRow"), table("steps:list[Step]")] },
        "WorkflowRow": table(WORKFLOW),
        "Step": table(STEP),
        "Board": table("id:text open:whole running:whole lamps:whole"),
        "BoardName": table("id:text"),
        "Document": { "type": "object" },
        "Definition": { "type": "object", "required": ["name", "steps"], "properties": {
            "name": { "type": "string" },
            "board": { "type": "string" },
            "steps": { "type": "array", "minItems": 1, "items": { "type": "object", "required": ["id"] } },
        } },
        "Problem": { "type": "object", "required": ["type", "title", "status", "code", "detail"], "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "code": { "type": "string", "description": "a stable word for programs" },
            "detail": { "type": "string", "description": "what happened, why, and what to do" },
        } },
    })
}

const TASK: &str = "seq:whole id:text workflow_id:text step_id:text parent_task_id:text board_id:text title:text
    description:text status:[TaskStatus] priority:whole labels:texts assignee:text source:text created_by:text
    session_id:text blocked_reason:text review_summary:text result:text error:text retry_count:whole
    max_retries:whole retry_max:whole dispatch:text executor:table? review_required:flag worktree:text
    worktree_state:text metadata:table version:whole epoch:whole current_run_id:text? timeout_seconds:whole?
    deadline_ms:whole? time_left_ms:whole? not_before_ms:whole? open_predecessors:whole held:flag run_next:flag
    since_ms:whole created_at_ms:whole created_at:text updated_at_ms:whole updated_at:text queued_at_ms:whole?
    queued_at:text? started_at_ms:whole? started_at:text? finished_at_ms:whole? finished_at:text?
    archived_at_ms:whole? archived_at:text? written_by:text owner:text lease_until_ms:whole?";

const VIEW: &str = "runs:list[Run] waits:list[Wait] dependencies:list[Neighbour] dependents:list[Neighbour]";

const RUN: &str = "id:text task_id:text number:whole epoch:whole attempt:whole owner:text holder:text?
    session_id:text lease_until_ms:whole? started_at_ms:whole started_at:text ended_at_ms:whole? ended_at:text?
    deadline_ms:whole? process:table? closing_as:text? closing_text:text closing_self:flag outcome:text?
    exit_code:whole? exit_signal:whole? note:text parked:flag";

const QUESTION: &str =
    "task_id:text question_id:text kind:text question:text run_id:text? purpose:text options:texts
    asked_by:text state:text answer:text asked_at_ms:whole asked_at:text closed_at_ms:whole? closed_at:text? expires_at_ms:whole? expires_at:text?";

const APPROVAL: &str =
    "approval_id:text kind:text task_id:text run_id:text? tool:text risk:text call:any hash:text
    asked_by:text state:text scope:text decided_by:text reason:text asked_at_ms:whole asked_at:text
    decided_at_ms:whole? decided_at:text?";

const EVENT: &str = "seq:whole at_ms:whole at:text kind:text actor:text task_id:text? task_seq:whole?
    workflow_id:text? run_id:text? data:table patch:table";

const WORKFLOW: &str =
    "id:text name:text board_id:text status:[WorkflowStatus] version:whole created_at_ms:whole
    created_at:text updated_at_ms:whole updated_at:text";

const STEP: &str = "id:text name:text task_id:text seq:whole status:[TaskStatus] depends_on:texts result:text
    error:text retry_count:whole started_at_ms:whole? started_at:text? finished_at_ms:whole? finished_at:text?";

/// A schema from a table `name:type`. Every name is there; `?` says that its value may be null.
fn table(fields: &str) -> Value {
    let mut properties = Map::new();
    for field in fields.split_whitespace() {
        let (name, kind) = field.split_once(':').unwrap_or((field, "text"));
        let schema = match (kind.trim_end_matches('?'), kind.ends_with('?')) {
            (kind, true) => or_null(of_kind(kind)),
            (kind, false) => of_kind(kind),
        };
        properties.insert(name.to_owned(), schema);
    }
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

fn of_kind(kind: &str) -> Value {
    let named = |kind: &str| reference(kind.trim_start_matches('[').trim_end_matches(']'));
    match kind {
        "text" => json!({ "type": "string" }),
        "whole" => json!({ "type": "integer" }),
        "flag" => json!({ "type": "boolean" }),
        "table" => json!({ "type": "object" }),
        "any" => json!({}),
        "texts" => json!({ "type": "array", "items": { "type": "string" } }),
        kind => match kind.strip_prefix("list") {
            Some(kind) => json!({ "type": "array", "items": named(kind) }),
            None => named(kind),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Approval, Question, Task};
    use crate::tools::wire;
    use std::collections::BTreeSet;

    fn names(value: &Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_schemas_name_what_is_answered() {
        let task = wire::with_run(&Task::default(), None);
        assert_eq!(names(&table(TASK)["properties"]), names(&task));
        assert_eq!(names(&table(APPROVAL)["properties"]), names(&wire::approval(&Approval::default())));
        assert_eq!(names(&table(QUESTION)["properties"]), names(&wire::question(&Question::default())));
    }
}
