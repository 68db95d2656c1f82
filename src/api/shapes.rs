//! What queries and bodies may hold: tables of fields in the form of the tools' own, so that every face checks and
//! explains alike.

use crate::domain::definition::TIMEOUT_LIMIT_SECONDS;
use crate::tools::Shape;
use crate::tools::shape::{Action, Field, Kind, Risk};

/// A shape of these fields.
const fn shape(name: &'static str, fields: &'static [Field], actions: &'static [Action]) -> Shape {
    Shape { name, about: "", risk: Risk::Write, fields, actions }
}

/// What a shape needs and takes.
const fn only(needs: &'static [&'static str], takes: &'static [&'static str]) -> Action {
    Action { name: "", about: "", needs, takes }
}

const fn field(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, about }
}

/// The nine words.
const STATUSES: &[&str] =
    &["pending", "queued", "running", "review", "blocked", "failed", "suspended", "success", "cancelled"];

/// Fields of tasks, and of what is done with them.
const TASK: &[Field] = &[
    field("title", Kind::Text, "one line"),
    field("description", Kind::Text, "any text"),
    field("priority", Kind::Whole(0, 9), "0 (highest) to 9; 5 unless given"),
    field("labels", Kind::Texts, "words to find it by"),
    field("assignee", Kind::Text, "who should do it"),
    field("source", Kind::Text, "where it came from"),
    field("board_id", Kind::Text, "the board"),
    field("parent_task_id", Kind::Id, "the task that it is a part of"),
    field("depends_on", Kind::Ids, "tasks that must succeed before"),
    field("command", Kind::Command, "what it runs: a shell line, or program and arguments; null for nothing"),
    field("agent", Kind::Text, "the configured agent that does it"),
    field("goal", Kind::Text, "what the agent is asked; title and description unless given"),
    field("cwd", Kind::Text, "the folder it runs in, absolute; the daemon's unless given"),
    field("env", Kind::Environment, "environment on top of the allowed; null passes the dispatcher's own"),
    field("start", Kind::Flag, "start it at once"),
    field("retry_max", Kind::Whole(0, 1_000), "automatic retries"),
    field("max_retries", Kind::Whole(0, 1_000), "the cap for retries of any kind"),
    field(
        "timeout_seconds",
        Kind::Whole(1, TIMEOUT_LIMIT_SECONDS),
        "time for one attempt; null for no limit",
    ),
    field(
        "not_before_ms",
        Kind::Whole(0, 9_000_000_000_000_000),
        "not to be claimed before (UTC); null for now",
    ),
    field("review_required", Kind::Flag, "whether a person looks at finished work"),
    field("worktree", Kind::Flag, "whether it works in a git worktree of its own"),
    field("metadata", Kind::Table, "free data"),
];

/// `POST /tasks`
pub const CREATE: Shape = shape(
    "POST /tasks",
    TASK,
    &[only(
        &["title"],
        &[
            "description",
            "priority",
            "labels",
            "assignee",
            "source",
            "board_id",
            "parent_task_id",
            "depends_on",
            "command",
            "agent",
            "goal",
            "cwd",
            "env",
            "start",
            "retry_max",
            "max_retries",
            "timeout_seconds",
            "not_before_ms",
            "review_required",
            "worktree",
            "metadata",
        ],
    )],
);

/// `PATCH /tasks/{id}`
pub const EDIT: Shape = shape(
    "PATCH /tasks/{id}",
    TASK,
    &[only(
        &[],
        &[
            "title",
            "description",
            "priority",
            "labels",
            "assignee",
            "source",
            "board_id",
            "command",
            "agent",
            "goal",
            "cwd",
            "env",
            "retry_max",
            "max_retries",
            "timeout_seconds",
            "not_before_ms",
            "review_required",
        ],
    )],
);

/// The query of `GET /tasks`.
pub const TASKS: Shape = shape(
    "GET /tasks",
    &[
        field("board_id", Kind::Text, "only of this board; all boards unless given"),
        field("status", Kind::Texts, "any of these statuses; those that are not closed unless given"),
        field("label", Kind::Texts, "all of these labels"),
        field("assignee", Kind::Text, "only of this assignee"),
        field("all", Kind::Flag, "closed and archived ones too"),
        LIMIT,
        CURSOR,
    ],
    &[only(&[], &["board_id", "status", "label", "assignee", "all", "limit", "cursor"])],
);

const LIMIT: Field = field("limit", Kind::Whole(1, 1_000), "how many at most; 50 unless given");
const CURSOR: Field = field("cursor", Kind::Text, "`next_cursor` of the page before");
const WAIT: Field =
    field("wait", Kind::Flag, "false: answer 202 at once, and not when the processes of a live run are gone");

/// Nothing at all.
pub const NOTHING: Shape = shape("this request", &[], &[only(&[], &[])]);

/// Bodies of one text, and whether to wait.
macro_rules! with_text {
    ($(#[$doc:meta])* $name:ident, $path:literal, $field:literal, $about:literal) => {
        $(#[$doc])*
        pub const $name: Shape =
            shape($path, &[field($field, Kind::Text, $about), WAIT], &[only(&[], &[$field, "wait"])]);
    };
}

with_text!(
    /// `POST /tasks/{id}/complete`
    COMPLETE, "POST /tasks/{id}/complete", "result", "what came out");
with_text!(
    /// `POST /tasks/{id}/fail`
    FAIL, "POST /tasks/{id}/fail", "error", "why it failed");
with_text!(
    /// `POST /tasks/{id}/cancel`
    CANCEL, "POST /tasks/{id}/cancel", "reason", "why");

/// `POST /tasks/{id}/suspend`
pub const SUSPEND: Shape = shape("POST /tasks/{id}/suspend", &[WAIT], &[only(&[], &["wait"])]);

/// `POST /tasks/{id}/block`
pub const BLOCK: Shape = shape(
    "POST /tasks/{id}/block",
    &[field("reason", Kind::Text, "what it is blocked by"), WAIT],
    &[only(&["reason"], &["wait"])],
);

/// `POST /tasks/{id}/transition`
pub const TRANSITION: Shape = shape(
    "POST /tasks/{id}/transition",
    &[
        field("status", Kind::Word(STATUSES), "where it is to stand"),
        field("to", Kind::Word(STATUSES), "the same as `status`"),
        field("text", Kind::Text, "the reason, error, result or feedback that goes with it"),
        WAIT,
    ],
    &[only(&[], &["status", "to", "text", "wait"])],
);

/// `POST /tasks/{id}/clarification`
pub const CLARIFICATION: Shape = shape(
    "POST /tasks/{id}/clarification",
    &[
        field("question_id", Kind::Text, "the question that is answered"),
        field("answer", Kind::Text, "1 to 10,000 characters, or the label of an option"),
        field("option", Kind::Whole(1, 20), "the number of an option, instead of an answer"),
    ],
    &[only(&["question_id"], &["answer", "option"])],
);

/// `POST /tasks/{id}/approval`
pub const APPROVAL: Shape = shape(
    "POST /tasks/{id}/approval",
    &[
        field(
            "decision",
            Kind::Word(&["approve", "reject", "allow", "deny"]),
            "approve or reject reviewed work; allow or deny the call that waits",
        ),
        field("feedback", Kind::Text, "with reject: for the next run"),
        field("approval_id", Kind::Text, "with allow and deny: the call that was seen"),
        field("for_task", Kind::Flag, "with allow: as often as the task makes this call, and not only once"),
        field("reason", Kind::Text, "with deny: why; the agent is told"),
    ],
    &[only(&["decision"], &["feedback", "approval_id", "for_task", "reason"])],
);

/// `POST /tasks/{id}/dependencies`
pub const DEPEND: Shape = shape(
    "POST /tasks/{id}/dependencies",
    &[field("on", Kind::Id, "the task that must succeed before")],
    &[only(&["on"], &[])],
);

/// The query of the events of a task.
pub const EVENTS: Shape = shape(
    "GET /tasks/{id}/events",
    &[
        field("since", Kind::Whole(0, 9_000_000_000_000_000), "only what came after this number"),
        LIMIT,
        field("cursor", Kind::Whole(0, 9_000_000_000_000_000), "`next_cursor` of the page before"),
    ],
    &[only(&[], &["since", "limit", "cursor"])],
);

/// The query of a log.
pub const LOG: Shape = shape(
    "GET /tasks/{id}/log",
    &[
        field("run", Kind::Whole(1, 1_000_000_000), "the run with this number; the newest unless given"),
        field("tail", Kind::Whole(1, 1_000_000_000), "only the last so many bytes"),
    ],
    &[only(&[], &["run", "tail"])],
);

/// The query of `GET /events`.
pub const FOLLOW: Shape = shape(
    "GET /events",
    &[
        field(
            "since",
            Kind::Whole(0, 9_000_000_000_000_000),
            "begin after this number; Last-Event-ID goes before it",
        ),
        field("task_id", Kind::Text, "only of this task"),
    ],
    &[only(&[], &["since", "task_id"])],
);

/// The query of `POST /workflows`.
pub const CREATE_WORKFLOW: Shape = shape(
    "POST /workflows",
    &[
        field("board_id", Kind::Text, "the board, where the definition names none"),
        field("cwd", Kind::Text, "the folder that its steps run in, absolute; the daemon's unless given"),
        field("start", Kind::Flag, "start it at once"),
    ],
    &[only(&[], &["board_id", "cwd", "start"])],
);

/// The query of `GET /workflows`.
pub const WORKFLOWS: Shape = shape(
    "GET /workflows",
    &[
        field("board_id", Kind::Text, "only of this board; all boards unless given"),
        field(
            "status",
            Kind::Word(&["pending", "running", "waiting", "blocked", "success", "failed", "cancelled"]),
            "only with this status",
        ),
        LIMIT,
    ],
    &[only(&[], &["board_id", "status", "limit"])],
);

/// `POST /workflows/{id}/rerun`
pub const RERUN: Shape = shape(
    "POST /workflows/{id}/rerun",
    &[field("from_failed", Kind::Flag, "keep the results of the steps that succeeded")],
    &[only(&[], &["from_failed"])],
);

/// The query of what lists one board or all.
pub const OF_BOARD: Shape = shape(
    "this list",
    &[field("board_id", Kind::Text, "only of this board; all boards unless given")],
    &[only(&[], &["board_id"])],
);

/// `POST /boards`
pub const BOARD: Shape =
    shape("POST /boards", &[field("name", Kind::Text, "its name")], &[only(&["name"], &[])]);

/// `POST /wake/{key}`
pub const WAKE: Shape = shape(
    "POST /wake/{key}",
    &[field("data", Kind::Tables, "what comes with it, any JSON")],
    &[only(&[], &["data"])],
);
