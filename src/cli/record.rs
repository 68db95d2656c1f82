//! What programs read: the JSON shapes of records, lists and answers about several ids.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::CliError;
use crate::domain::board::Predecessor;
use crate::domain::time::rfc3339;
use crate::domain::{Event, IdRef, Question, Run, Task, Workflow};
use crate::engine::{Engine, OpenQuestion, StepView, TaskView, WorkflowView};

/// A TaskRecord: the task, with who holds its run and until when.
pub fn task(engine: &Engine, task: &Task) -> Result<Map<String, Value>, CliError> {
    let run = match &task.current_run_id {
        None => None,
        Some(id) => {
            let view = engine.task_view(&IdRef::Full(task.id.0.clone()))?;
            view.runs.into_iter().find(|run| run.id == *id)
        }
    };
    Ok(task_with(task, run.as_ref()))
}

fn task_with(task: &Task, run: Option<&Run>) -> Map<String, Value> {
    let mut record = task.record();
    record.insert("owner".to_owned(), json!(run.map_or("", |run| &run.owner)));
    record.insert("lease_until_ms".to_owned(), json!(run.and_then(|run| run.lease_until_ms)));
    record
}

/// A TaskRecord with its runs, waits and dependencies.
pub fn task_view(engine: &Engine, view: &TaskView) -> Result<Map<String, Value>, CliError> {
    let active = view.runs.iter().find(|run| Some(&run.id) == view.task.current_run_id.as_ref());
    let mut record = task_with(&view.task, active);
    record.insert("runs".to_owned(), Value::Array(view.runs.iter().map(run).collect()));
    let waits = view.questions.iter().map(|q| Value::Object(question(q))).collect();
    record.insert("waits".to_owned(), Value::Array(waits));
    record.insert("dependencies".to_owned(), neighbours(engine, &view.predecessors)?);
    record.insert("dependents".to_owned(), neighbours(engine, &view.successors)?);
    Ok(record)
}

fn neighbours(engine: &Engine, tasks: &[Predecessor]) -> Result<Value, CliError> {
    let mut list = Vec::with_capacity(tasks.len());
    for task in tasks {
        let id = engine.task(&IdRef::Seq(task.seq))?.id;
        list.push(json!({ "id": id, "seq": task.seq, "title": task.title, "status": task.status }));
    }
    Ok(Value::Array(list))
}

/// A run.
pub fn run(run: &Run) -> Value {
    Value::Object(with_twins(run))
}

/// A question, by the names that its answerers use.
pub fn question(question: &Question) -> Map<String, Value> {
    let mut record = Map::new();
    record.insert("task_id".to_owned(), json!(question.task_id));
    record.insert("question_id".to_owned(), json!(question.id));
    record.insert("question".to_owned(), json!(question.text));
    for (name, value) in with_twins(question) {
        if !matches!(name.as_str(), "id" | "text" | "task_id") {
            record.insert(name, value);
        }
    }
    record
}

/// An open question with what is known of its task.
pub fn open_question(open: &OpenQuestion) -> Value {
    let mut record = question(&open.question);
    record.insert("seq".to_owned(), json!(open.seq));
    record.insert("title".to_owned(), json!(open.title));
    record.insert("board_id".to_owned(), json!(open.board_id));
    Value::Object(record)
}

/// An event.
pub fn event(event: &Event) -> Value {
    Value::Object(with_twins(event))
}

/// A workflow with its steps.
pub fn workflow(view: &WorkflowView) -> Map<String, Value> {
    let mut record = workflow_row(&view.workflow);
    record.insert("steps".to_owned(), Value::Array(view.steps.iter().map(step).collect()));
    record
}

/// A workflow without its steps, for lists.
pub fn workflow_row(workflow: &Workflow) -> Map<String, Value> {
    let mut record = with_twins(workflow);
    record.shift_remove("definition");
    record
}

/// A step.
pub fn step(step: &StepView) -> Value {
    Value::Object(with_twins(step))
}

/// A list.
pub fn list(items: Vec<Value>, next_cursor: Option<String>) -> Value {
    json!({ "items": items, "next_cursor": next_cursor })
}

/// The fields of a value, with an RFC 3339 twin beside every instant.
fn with_twins(value: &impl Serialize) -> Map<String, Value> {
    let Ok(Value::Object(fields)) = serde_json::to_value(value) else { return Map::new() };
    let mut record = Map::new();
    for (name, value) in fields {
        if name == "at_ms" || name.ends_with("_at_ms") {
            let twin = name.trim_end_matches("_ms").to_owned();
            record.insert(twin, value.as_i64().map_or(Value::Null, |at| json!(rfc3339(at))));
        }
        record.insert(name, value);
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TaskId;

    #[test]
    fn a_question_has_the_names_that_answers_use() {
        let asked = Question { task_id: TaskId::from("t_x"), text: "Which?".into(), ..Question::default() };
        let record = question(&asked);
        for name in ["task_id", "question_id", "question", "options", "state", "asked_at", "asked_at_ms"] {
            assert!(record.contains_key(name), "{name}");
        }
        assert!(!record.contains_key("text"));
    }

    #[test]
    fn a_task_that_nobody_holds_has_no_owner_and_no_lease() {
        let record = task_with(&Task::default(), None);
        assert_eq!((&record["owner"], &record["lease_until_ms"]), (&json!(""), &Value::Null));
    }
}
