//! What programs read: the JSON shapes of records, lists and answers, the same at the command line and over HTTP.
//! Tasks and workflows look as the tools print them.

use serde::Serialize;
use serde_json::{Map, Value, json};

pub use super::record::{of_workflow as workflow_row, of_workflow_view as workflow, with_run};
use crate::domain::board::Predecessor;
use crate::domain::time::rfc3339;
use crate::domain::{Approval, Event, Question, Run, Task, Wait, Wake};
use crate::engine::{Engine, EngineError, OpenApproval, OpenQuestion, TaskView};

/// A TaskRecord: the task, with who holds its run and until when.
pub fn task(engine: &Engine, task: &Task) -> Result<Value, EngineError> {
    let run = match task.current_run_id {
        None => None,
        Some(_) => engine.active_run(task)?,
    };
    Ok(with_run(task, run.as_ref()))
}

/// A TaskRecord with its runs, waits and dependencies.
pub fn task_view(view: &TaskView) -> Value {
    let active = view.runs.iter().find(|run| Some(&run.id) == view.task.current_run_id.as_ref());
    let mut record = with_run(&view.task, active);
    record["runs"] = Value::Array(view.runs.iter().map(run).collect());
    let questions = view.questions.iter().map(|one| (one.asked_at_ms, question(one)));
    let approvals = view.approvals.iter().map(|one| (one.asked_at_ms, approval(one)));
    let others = view.waits.iter().map(|one| (one.asked_at_ms, wait(one)));
    let mut waits: Vec<(i64, Value)> = questions.chain(approvals).chain(others).collect();
    waits.sort_by_key(|(at, _)| *at);
    record["waits"] = waits.into_iter().map(|(_, wait)| wait).collect();
    record["dependencies"] = neighbours(&view.predecessors);
    record["dependents"] = neighbours(&view.successors);
    record
}

fn neighbours(tasks: &[Predecessor]) -> Value {
    let record = |task: &Predecessor| json!({ "id": task.id, "seq": task.seq, "title": task.title, "status": task.status });
    Value::Array(tasks.iter().map(record).collect())
}

/// A run.
pub fn run(run: &Run) -> Value {
    Value::Object(with_twins(run))
}

/// A question, by the names that its answerers use.
pub fn question(question: &Question) -> Value {
    let mut record = Map::new();
    record.insert("task_id".to_owned(), json!(question.task_id));
    record.insert("question_id".to_owned(), json!(question.id));
    record.insert("kind".to_owned(), json!("question"));
    record.insert("question".to_owned(), json!(question.text));
    for (name, value) in with_twins(question) {
        if !matches!(name.as_str(), "id" | "text" | "task_id") {
            record.insert(name, value);
        }
    }
    Value::Object(record)
}

/// An open question with what is known of its task.
pub fn open_question(open: &OpenQuestion) -> Value {
    let mut record = question(&open.question);
    record["seen_by"] = json!(open.seen_by);
    record["seq"] = json!(open.seq);
    record["title"] = json!(open.title);
    record["board_id"] = json!(open.board_id);
    record
}

/// An approval, by the names that its deciders use.
pub fn approval(approval: &Approval) -> Value {
    let mut record = Map::new();
    record.insert("approval_id".to_owned(), json!(approval.id));
    record.insert("kind".to_owned(), json!("approval"));
    for (name, value) in with_twins(approval) {
        if name != "id" {
            record.insert(name, value);
        }
    }
    Value::Object(record)
}

/// An open approval with what is known of its task.
pub fn open_approval(open: &OpenApproval) -> Value {
    let mut record = approval(&open.approval);
    record["seen_by"] = json!(open.seen_by);
    record["seq"] = json!(open.seq);
    record["title"] = json!(open.title);
    record["board_id"] = json!(open.board_id);
    record
}

/// A wait for what comes by itself.
pub fn wait(wait: &Wait) -> Value {
    let mut record = Map::new();
    record.insert("wait_id".to_owned(), json!(wait.id));
    for (name, value) in with_twins(wait) {
        if !matches!(name.as_str(), "id" | "asker_waits") {
            record.insert(name, value);
        }
    }
    Value::Object(record)
}

/// An event from outside: the one that counts, whether it was the first of its key, and how many it woke.
pub fn woken(wake: &Wake, first: bool, woken: usize) -> Value {
    json!({
        "key": wake.key, "data": wake.data, "at": rfc3339(wake.at_ms), "at_ms": wake.at_ms,
        "first": first, "woken": woken,
    })
}

/// An event.
pub fn event(event: &Event) -> Value {
    Value::Object(with_twins(event))
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
        let record = record.as_object().unwrap();
        for name in ["task_id", "question_id", "question", "options", "state", "asked_at", "asked_at_ms"] {
            assert!(record.contains_key(name), "{name}");
        }
        assert!(!record.contains_key("text"));
    }
}
