//! The card that the panel or a dialogue is about: read off the UI thread, kept fresh while it is open.

use crate::domain::{Event, Run, TaskId};
use crate::engine::{StepView, TaskView};

/// The steps of a workflow are read where it has at most so many; more could not be shown.
pub const STEPS_SHOWN: u32 = 60;

/// How many events a page of history has.
pub const HISTORY_PAGE: usize = 500;

/// A card as it was read, and what is under way.
pub struct Opened {
    /// Which card.
    pub task: TaskId,
    /// The card with all that hangs on it; `None` until it was read.
    pub view: Option<Box<TaskView>>,
    /// The steps of its workflow, where there are few enough to be shown.
    pub steps: Vec<StepView>,
    /// It has changed since it was read.
    pub stale: bool,
    /// It is being read.
    pub loading: bool,
    /// Its events, oldest first.
    pub history: Vec<Event>,
    /// Its history has grown since it was read.
    pub history_stale: bool,
    /// Its history is being read.
    pub history_loading: bool,
}

impl Opened {
    /// A card that was not read yet.
    pub fn new(task: TaskId) -> Opened {
        Opened {
            task,
            view: None,
            steps: Vec::new(),
            stale: true,
            loading: false,
            history: Vec::new(),
            history_stale: true,
            history_loading: false,
        }
    }

    /// Its last run.
    pub fn last_run(&self) -> Option<&Run> {
        self.view.as_ref()?.runs.last()
    }
}
