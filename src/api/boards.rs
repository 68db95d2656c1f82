//! The endpoints of boards and of what is asked on them.

use serde_json::json;

use super::call::{Call, Reply};
use super::problem::Problem;
use super::shapes;
use super::table::{Answer, Body, Does, Endpoint, Method};
use crate::engine::Command;
use crate::tools::wire;

/// All of them.
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        method: Method::Get,
        path: "/boards",
        id: "listBoards",
        about: "All boards",
        query: &shapes::NOTHING,
        body: Body::None,
        status: 200,
        answer: Answer::List("Board"),
        refusals: &[],
        does: Does::Look(boards),
    },
    Endpoint {
        method: Method::Post,
        path: "/boards",
        id: "createBoard",
        about: "Makes a board",
        query: &shapes::NOTHING,
        body: Body::Object(&shapes::BOARD),
        status: 201,
        answer: Answer::One("BoardName"),
        refusals: &[],
        does: Does::Change(|call| Ok(Command::CreateBoard { name: call.body.text_or_empty("name") })),
    },
    Endpoint {
        method: Method::Get,
        path: "/questions",
        id: "listQuestions",
        about: "The open questions, oldest first",
        query: &shapes::OF_BOARD,
        body: Body::None,
        status: 200,
        answer: Answer::List("OpenQuestion"),
        refusals: &[],
        does: Does::Look(questions),
    },
    Endpoint {
        method: Method::Get,
        path: "/approvals",
        id: "listApprovals",
        about: "The calls of agents that wait for a person, oldest first",
        query: &shapes::OF_BOARD,
        body: Body::None,
        status: 200,
        answer: Answer::List("OpenApproval"),
        refusals: &[],
        does: Does::Look(approvals),
    },
    Endpoint {
        method: Method::Post,
        path: "/wake/{key}",
        id: "wake",
        about: "An event from outside: wakes who waits for it, and is kept for who waits later; the first of a key counts",
        query: &shapes::NOTHING,
        body: Body::Object(&shapes::WAKE),
        status: 200,
        answer: Answer::One("Woken"),
        refusals: &[],
        does: Does::Change(|call| {
            let data = call.raw.get("data").cloned().unwrap_or_default();
            Ok(Command::Wake { key: call.param("key").to_owned(), data })
        }),
    },
];

fn boards(call: &Call) -> Result<Reply, Problem> {
    let boards = call.engine().boards()?;
    Ok(Reply::list(boards.iter().map(|board| json!(board)).collect(), None))
}

fn questions(call: &Call) -> Result<Reply, Problem> {
    let board = call.query.text("board_id").filter(|board| board != "*");
    let open = call.engine().questions(board.as_deref())?;
    Ok(Reply::list(open.iter().map(wire::open_question).collect(), None))
}

fn approvals(call: &Call) -> Result<Reply, Problem> {
    let board = call.query.text("board_id").filter(|board| board != "*");
    let open = call.engine().approvals(board.as_deref())?;
    Ok(Reply::list(open.iter().map(wire::open_approval).collect(), None))
}
