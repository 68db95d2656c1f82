//! Tasks and workflows as tools print them.

use serde_json::{Map, Value, json};

use super::error::ToolError;
use crate::domain::time::rfc3339;
use crate::domain::{Run, Task, Workflow};
use crate::engine::{Engine, WorkflowView};

/// A task's record with `owner` and `lease_until_ms`, which are its active run's.
pub fn of_task(engine: &Engine, task: &Task) -> Result<Value, ToolError> {
    let run = match task.current_run_id {
        None => None,
        Some(_) => engine.active_run(task)?,
    };
    Ok(with_run(task, run.as_ref()))
}

/// A task's record, given its active run.
pub fn with_run(task: &Task, run: Option<&Run>) -> Value {
    let mut record = task.record();
    record.insert("owner".to_owned(), json!(run.map_or("", |run| &run.owner)));
    record.insert("lease_until_ms".to_owned(), json!(run.and_then(|run| run.lease_until_ms)));
    Value::Object(record)
}

/// A workflow's record, without its steps.
pub fn of_workflow(workflow: &Workflow) -> Value {
    Value::Object(with_times(json!(workflow)))
}

/// A workflow's record with `steps`, in the order of the definition.
pub fn of_workflow_view(view: &WorkflowView) -> Value {
    let mut record = with_times(json!(view.workflow));
    let steps = view.steps.iter().map(|step| Value::Object(with_times(json!(step)))).collect();
    record.insert("steps".to_owned(), Value::Array(steps));
    Value::Object(record)
}

/// Gives each `…_at_ms` its RFC 3339 twin.
fn with_times(value: Value) -> Map<String, Value> {
    let mut record = Map::new();
    let Value::Object(fields) = value else { return record };
    for (name, value) in fields {
        if let Some(twin) = name.strip_suffix("_ms").filter(|twin| twin.ends_with("_at")) {
            record.insert(twin.to_owned(), value.as_i64().map_or(Value::Null, |at| json!(rfc3339(at))));
        }
        record.insert(name, value);
    }
    record
}
