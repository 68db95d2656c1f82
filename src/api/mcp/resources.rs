//! What can be read without a tool: a board as Markdown, a task as JSON, the log of its newest run as text.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{
    ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::call::shown;
use crate::domain::id::IdKind;
use crate::domain::lamp::lamp;
use crate::domain::refusal::RefusalClass;
use crate::domain::task::DEFAULT_BOARD;
use crate::domain::text::{many_lines, one_line};
use crate::domain::{BoardSnapshot, Card, IdRef, Refusal, Task, TaskStatus};
use crate::engine::{Engine, EngineError, TaskFilter, TaskView};
use crate::process::log::read_tail;
use crate::tools::wire;

/// How many cards a page of the list has.
const PAGE: usize = 100;
/// The most of a log that is given, from its end, in bytes.
const LOG_LIMIT: u64 = 64 * 1024;
/// What a name may hold unescaped in an address (RFC 3986, unreserved).
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// The address of a board.
pub(super) fn board_uri(name: &str) -> String {
    format!("andon://board/{}", utf8_percent_encode(name, KEPT))
}

/// The address of a task.
pub(super) fn task_uri(id: &str) -> String {
    format!("andon://task/{id}")
}

/// The address of a task's log.
pub(super) fn log_uri(id: &str) -> String {
    format!("andon://task/{id}/log")
}

/// What addresses look like.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, about: &str, kind: &str| {
        ResourceTemplate::new(uri, name).with_description(about).with_mime_type(kind)
    };
    vec![
        template("andon://board/{name}", "board", "The open cards of a board, by status.", MARKDOWN),
        template(
            "andon://task/{id}",
            "task",
            "A task with its runs, questions and dependencies. Its id, a unique prefix, or its number.",
            JSON,
        ),
        template(
            "andon://task/{id}/log",
            "log",
            "What the newest run of a task printed: the last 64 KiB.",
            TEXT,
        ),
    ]
}

/// All boards, then the open tasks of the caller's own, page by page.
pub(super) fn list(
    engine: &Engine,
    board: Option<&str>,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let filter = TaskFilter {
        board: Some(board.unwrap_or(DEFAULT_BOARD).to_owned()),
        limit: PAGE,
        cursor: cursor.map(str::to_owned),
        ..TaskFilter::default()
    };
    let page = engine.list(&filter).map_err(|error| refused(error, "cursor"))?;
    let mut found = Vec::new();
    if cursor.is_none() {
        for board in engine.boards().map_err(|error| refused(error, "boards"))? {
            let about =
                format!("{} open, {} running, {} need a person", board.open, board.running, board.lamps);
            let resource = Resource::new(board_uri(&board.id), format!("board {}", one_line(&board.id)));
            found.push(resource.with_description(about).with_mime_type(MARKDOWN));
        }
    }
    found.extend(page.items.iter().map(card));
    let mut list = ListResourcesResult::with_all_items(found);
    list.next_cursor = page.next_cursor;
    Ok(list)
}

fn card(task: &Task) -> Resource {
    Resource::new(task_uri(task.id.as_str()), format!("#{} {}", task.seq, one_line(&task.title)))
        .with_description(task.status.to_string())
        .with_mime_type(JSON)
}

/// What is at an address.
pub(super) fn read(engine: &Engine, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let parts: Vec<&str> = uri.strip_prefix("andon://").unwrap_or_default().split('/').collect();
    let (text, kind) = match parts.as_slice() {
        ["board", name] => (board(engine, name, uri)?, MARKDOWN),
        ["task", id] => (wire::task_view(&view(engine, id, uri)?).to_string(), JSON),
        ["task", id, "log"] => (log(engine, &view(engine, id, uri)?, uri)?, TEXT),
        _ => {
            return Err(nothing_at(
                uri,
                "addresses are andon://board/NAME, andon://task/ID, andon://task/ID/log",
            ));
        }
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(kind)]))
}

fn nothing_at(uri: &str, why: &str) -> ErrorData {
    let message = format!("there is nothing at {}: {why}", shown(uri));
    ErrorData::resource_not_found(message, Some(json!({ "uri": uri })))
}

fn refused(error: EngineError, what: &str) -> ErrorData {
    match error {
        EngineError::Refused(Refusal { class: RefusalClass::NotFound, message, .. }) => {
            nothing_at(what, &message)
        }
        EngineError::Refused(refusal) => ErrorData::invalid_params(refusal.message, None),
        EngineError::Store(error) => ErrorData::internal_error(error.to_string(), None),
    }
}

fn view(engine: &Engine, id: &str, uri: &str) -> Result<TaskView, ErrorData> {
    let id = IdRef::parse(id, IdKind::Task).map_err(|refusal| nothing_at(uri, &refusal.message))?;
    engine.task_view(&id).map_err(|error| refused(error, uri))
}

fn log(engine: &Engine, view: &TaskView, uri: &str) -> Result<String, ErrorData> {
    let Some(run) = view.runs.last() else { return Ok(String::new()) };
    let bytes = read_tail(&engine.log_path(&run.id), LOG_LIMIT)
        .map_err(|error| ErrorData::internal_error(format!("{uri} can't be read: {error}"), None))?;
    let plain: Vec<u8> = anstream::adapter::strip_bytes(&bytes).flatten().copied().collect();
    Ok(many_lines(&String::from_utf8_lossy(&plain)))
}

fn board(engine: &Engine, name: &str, uri: &str) -> Result<String, ErrorData> {
    let name = percent_decode_str(name).decode_utf8();
    let name = name.map_err(|_| nothing_at(uri, "the name of a board is text"))?;
    let snapshot = engine.board(&name, false).map_err(|error| refused(error, uri))?;
    if name != DEFAULT_BOARD && !snapshot.boards.iter().any(|board| board.id == name) {
        return Err(nothing_at(uri, "there is no board of that name"));
    }
    Ok(markdown(&snapshot))
}

fn markdown(board: &BoardSnapshot) -> String {
    let mut out = format!("# Board {}\n\n", one_line(&board.board_id));
    let running = board.cards.iter().filter(|card| card.status == TaskStatus::Running).count();
    let open = board.cards.len();
    out.push_str(&format!("{open} open, {running} running, {} closed\n", board.closed));
    for status in TaskStatus::ALL {
        let cards: Vec<&Card> = board.cards.iter().filter(|card| card.status == *status).collect();
        if !cards.is_empty() {
            out.push_str(&format!("\n## {}\n\n", status.as_str().to_uppercase()));
        }
        for card in cards {
            out.push_str(&line(card, board));
        }
    }
    out
}

fn line(card: &Card, board: &BoardSnapshot) -> String {
    let mut line = format!("- #{} {} (P{})", card.seq, one_line(&card.title), card.priority);
    if !card.labels.is_empty() {
        line.push_str(&format!(" [{}]", one_line(&card.labels.join(", "))));
    }
    if let Some(lamp) = lamp(card, board.at_ms) {
        line.push_str(&format!(" **{}**", lamp.says()));
    }
    if let Some(question) = &card.question {
        line.push_str(&format!(": {}", one_line(&question.text)));
    } else if !card.blocked_reason.is_empty() {
        line.push_str(&format!(": {}", one_line(&card.blocked_reason)));
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_of_any_name_has_an_address_that_leads_back_to_it() {
        let home = tempfile::tempdir().unwrap();
        let engine = Engine::open(&home.path().join("andon.db")).unwrap();
        let actor = crate::domain::Actor::operator("ann");
        let name = "日本 a/b?";
        let new =
            crate::engine::NewTask { title: "x".into(), board: Some(name.into()), ..Default::default() };
        engine.execute(crate::engine::Command::Create(Box::new(new)), &actor).unwrap();
        assert!(read(&engine, &board_uri(name)).is_ok());
        for nothing in
            ["andon://board/none", "andon://task/99", "andon://task/1/logs", "file:///etc/passwd", ""]
        {
            assert!(read(&engine, nothing).is_err(), "{nothing}");
        }
    }
}
