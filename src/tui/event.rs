//! What comes in and what goes out: [`Event`]s reach the update function, [`Effect`]s leave it and are carried
//! out elsewhere, on threads that answer with events.

use crossterm::event::KeyEvent;

use super::away::Mark;
use super::lamps::LampKey;
use crate::domain::time::Millis;
use crate::domain::why::Reason;
use crate::domain::{Away, BoardSnapshot, RunId, Task, TaskId};
use crate::engine::{Command, Outcome, StepView, TaskView};

/// What reaches the board.
#[derive(Debug)]
pub enum Event {
    /// The time, before each batch of events and when something that shows a time is due.
    Now(Millis),
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted, in one piece.
    Paste(String),
    /// The terminal has another size, in cells.
    Resize(u16, u16),
    /// The terminal gained or lost the focus.
    Focus(bool),
    /// Somebody asks the program to end (SIGINT counts as ctrl-c, SIGTERM as "stop them").
    Terminate,
    /// Something was committed, by anybody.
    Changed,
    /// The board as it is now.
    Snapshot(Box<BoardSnapshot>),
    /// A card with all that hangs on it, for the panel, the form or the answer dialogue.
    View {
        /// The card.
        view: Box<TaskView>,
        /// The steps of its workflow, where there are few enough to be shown.
        steps: Vec<StepView>,
    },
    /// A card's record, to be edited.
    ToEdit {
        /// The record as it is now.
        task: Box<Task>,
        /// Where it is to be edited.
        place: EditPlace,
    },
    /// The next page of a card's history.
    History {
        /// The card.
        task: TaskId,
        /// Its events, oldest first.
        events: Vec<crate::domain::Event>,
    },
    /// Why a card does not move.
    Why {
        /// The card.
        task: TaskId,
        /// The reasons, the most direct first.
        reasons: Vec<Reason>,
    },
    /// A piece of a run's output.
    Log {
        /// The run.
        run: RunId,
        /// The piece.
        chunk: LogChunk,
    },
    /// A command was carried out, or refused.
    Executed {
        /// The number it was sent with.
        request: u64,
        /// What it gave, or why not, in words.
        result: Result<Box<Outcome>, String>,
    },
    /// Something could not be read.
    LoadFailed {
        /// What was wanted.
        what: Loading,
        /// Why not, in words.
        message: String,
    },
    /// Until where the board was seen before the program was last closed.
    SeenBefore(Option<Mark>),
    /// What happened while nobody looked.
    Away(Away),
    /// Answers that were begun before the program was last closed.
    Drafts(Vec<(LampKey, String)>),
    /// `$EDITOR` was closed.
    Edited {
        /// The card's record before.
        task: Box<Task>,
        /// The text that was left, or why there is none.
        text: Result<String, String>,
    },
    /// Something worth telling that belongs to no request.
    Trouble(String),
}

/// What a read was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loading {
    /// The board.
    Board,
    /// A card, its history, its log or its reasons.
    Card,
}

/// A piece of a run's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogChunk {
    /// The bytes, as they were printed.
    pub bytes: Vec<u8>,
    /// How many kept bytes come before the first piece and are not shown.
    pub skipped: u64,
    /// How many bytes the log has lost so far because it is at its cap.
    pub dropped: u64,
    /// The piece begins the log; what was shown before is dropped.
    pub first: bool,
}

/// Where a card's record is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditPlace {
    /// In the form.
    Form,
    /// In `$EDITOR`.
    Editor,
    /// In the form that is open and was refused.
    Again,
}

/// What is to be done outside.
#[derive(Debug)]
pub enum Effect {
    /// Carry out a command; the answer is [`Event::Executed`] with the same number.
    Execute {
        /// The number.
        request: u64,
        /// The command.
        command: Box<Command>,
    },
    /// Read the board.
    LoadBoard {
        /// Which one.
        board: String,
        /// With the closed cards.
        closed: bool,
    },
    /// Read a card with all that hangs on it.
    LoadView(TaskId),
    /// Read a card's record, to edit it.
    LoadToEdit(TaskId, EditPlace),
    /// Read a card's history after an event.
    LoadHistory {
        /// The card.
        task: TaskId,
        /// The last event that is known.
        since: i64,
    },
    /// Ask why a card does not move.
    LoadWhy(TaskId),
    /// Follow a run's output from its beginning; one at a time. `live` says whether more may come.
    FollowLog {
        /// The run.
        run: RunId,
        /// Whether it is going.
        live: bool,
    },
    /// Follow no output.
    StopLog,
    /// Keep an answer that was begun; an empty text drops it.
    KeepDraft(LampKey, String),
    /// Note that a person has seen the question or the approval with this id.
    Delivered(String),
    /// Read until where a board was seen.
    LoadSeen(String),
    /// Keep until where a board was seen.
    KeepSeen(String, Mark),
    /// Read what happened on a board after an event.
    LoadAway {
        /// Which board.
        board: String,
        /// The event.
        since: i64,
    },
    /// Copy to the clipboard (OSC 52).
    Clipboard(String),
    /// Set the terminal's title.
    Title(String),
    /// Tell the desktop (OSC 9).
    Notify(String),
    /// Lend the terminal to `$EDITOR`.
    Editor {
        /// The card's record.
        task: Box<Task>,
        /// The text that it opens with.
        text: String,
    },
    /// Suspend the program, as ctrl-z does.
    Background,
    /// Draw everything afresh.
    Redraw,
    /// Ask the dispatcher to claim nothing more.
    Drain,
    /// Ask the dispatcher to stop its runs.
    StopRuns,
    /// End.
    Quit(super::Exit),
}
