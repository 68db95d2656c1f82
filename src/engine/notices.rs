//! Notices: a line in the log that boards show and hooks get, and that changes nothing.

use serde_json::json;

use super::act::{Act, data};
use super::command::Outcome;
use crate::domain::task::DEFAULT_BOARD;
use crate::domain::text;
use crate::domain::{EventKind, IdRef, Notice};
use crate::store::Failure;

impl Act<'_, '_> {
    /// Appends a notice; about a task, or about a board as a whole.
    pub(super) fn notify(
        &mut self,
        task: Option<&IdRef>,
        board: Option<&str>,
        notice: Notice,
    ) -> Result<Outcome, Failure> {
        let notice = notice.checked()?;
        let task = task.map(|task| self.open(task)).transpose()?.map(|ledger| ledger.task().clone());
        let board = match &task {
            Some(task) => task.board_id.clone(),
            None => text::board(board.unwrap_or(DEFAULT_BOARD))?,
        };
        let about = data([
            ("title", json!(notice.title)),
            ("message", json!(notice.message)),
            ("level", json!(notice.level)),
            ("board", json!(board)),
        ]);
        self.note(EventKind::Notified, task.as_ref(), None, about)?;
        Ok(Outcome::Noted)
    }
}
