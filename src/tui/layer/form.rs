//! The form: a card is made (the title alone is enough) or edited.

use crossterm::event::{KeyCode, KeyEvent};

use super::Reply;
use crate::domain::id::IdKind;
use crate::domain::{Executor, IdRef, Program, Refusal, Task, Work, text};
use crate::engine::{Command, NewTask, TaskEdit};
use crate::tui::action::Action;
use crate::tui::app::{App, Purpose, Undo};
use crate::tui::event::Effect;
use crate::tui::field::Field;
use crate::tui::text::clean;

/// One line of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The title.
    Title,
    /// The description.
    Description,
    /// 0 to 9.
    Priority,
    /// Labels, apart by commas or blanks.
    Labels,
    /// Who should do it.
    Assignee,
    /// A shell line, or `@agent` with or without a goal.
    Runs,
    /// Whether it is started at once.
    Start,
    /// Predecessors.
    After,
    /// The board.
    Board,
}

impl Slot {
    /// The word before it.
    pub fn title(self) -> &'static str {
        match self {
            Slot::Title => "title",
            Slot::Description => "text",
            Slot::Priority => "priority",
            Slot::Labels => "labels",
            Slot::Assignee => "assignee",
            Slot::Runs => "runs",
            Slot::Start => "start",
            Slot::After => "after",
            Slot::Board => "board",
        }
    }

    /// What it says while it is empty.
    pub fn hint(self) -> &'static str {
        match self {
            Slot::Title => "what is to be done",
            Slot::Description => "more about it",
            Slot::Labels => "bug, api",
            Slot::Assignee => "a person or an agent",
            Slot::Runs => "a shell line, or @agent; empty = done by hand",
            Slot::After => "#12 #13: what must be done first",
            Slot::Priority | Slot::Start | Slot::Board => "",
        }
    }
}

const CREATE: [Slot; 9] = [
    Slot::Title,
    Slot::Description,
    Slot::Runs,
    Slot::Start,
    Slot::Priority,
    Slot::Labels,
    Slot::Assignee,
    Slot::After,
    Slot::Board,
];
const EDIT: [Slot; 7] =
    [Slot::Title, Slot::Description, Slot::Runs, Slot::Priority, Slot::Labels, Slot::Assignee, Slot::Board];

/// The form.
pub struct FormLayer {
    /// The record before, where one is edited.
    pub before: Option<Box<Task>>,
    /// Whether all fields are shown; at first only the title.
    pub open: bool,
    /// The field that has the keyboard.
    pub focus: Slot,
    /// The title.
    pub title: Field,
    /// The description.
    pub description: Field,
    /// 0 to 9.
    pub priority: u8,
    /// Labels.
    pub labels: Field,
    /// Who should do it.
    pub assignee: Field,
    /// What it runs with.
    pub runs: Field,
    /// Whether it is started at once.
    pub start: bool,
    /// Predecessors.
    pub after: Field,
    /// The board.
    pub board: Field,
    /// Why it was not taken.
    pub error: Option<String>,
    /// It is on its way.
    pub sending: bool,
    /// The number it was sent with.
    pub request: Option<u64>,
}

impl FormLayer {
    /// An empty form; its card goes on this board.
    pub fn create(board: &str) -> FormLayer {
        FormLayer {
            before: None,
            open: false,
            focus: Slot::Title,
            title: Field::line(""),
            description: Field::lines(""),
            priority: crate::domain::task::DEFAULT_PRIORITY,
            labels: Field::line(""),
            assignee: Field::line(""),
            runs: Field::line(""),
            start: false,
            after: Field::line(""),
            board: Field::line(board),
            error: None,
            sending: false,
            request: None,
        }
    }

    /// A form with a card's fields.
    pub fn edit(task: Task) -> FormLayer {
        FormLayer {
            open: true,
            title: Field::line(&task.title),
            description: Field::lines(&task.description),
            priority: task.priority,
            labels: Field::line(&task.labels.join(", ")),
            assignee: Field::line(&task.assignee),
            runs: Field::line(&runs_text(task.executor.as_ref())),
            board: Field::line(&task.board_id),
            before: Some(Box::new(task)),
            ..FormLayer::create("")
        }
    }

    /// Its fields, from top to bottom.
    pub fn slots(&self) -> &'static [Slot] {
        match (&self.before, self.open) {
            (Some(_), _) => &EDIT,
            (None, true) => &CREATE,
            (None, false) => &CREATE[..1],
        }
    }

    /// The text of a field, where it is one.
    pub fn field(&self, slot: Slot) -> Option<&Field> {
        Some(match slot {
            Slot::Title => &self.title,
            Slot::Description => &self.description,
            Slot::Labels => &self.labels,
            Slot::Assignee => &self.assignee,
            Slot::Runs => &self.runs,
            Slot::After => &self.after,
            Slot::Board => &self.board,
            Slot::Priority | Slot::Start => return None,
        })
    }

    fn field_mut(&mut self) -> Option<&mut Field> {
        Some(match self.focus {
            Slot::Title => &mut self.title,
            Slot::Description => &mut self.description,
            Slot::Labels => &mut self.labels,
            Slot::Assignee => &mut self.assignee,
            Slot::Runs => &mut self.runs,
            Slot::After => &mut self.after,
            Slot::Board => &mut self.board,
            Slot::Priority | Slot::Start => return None,
        })
    }

    /// Takes a key.
    pub fn key(
        &mut self,
        app: &mut App,
        key: KeyEvent,
        action: Option<Action>,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        let many = self.focus == Slot::Description;
        let plain_enter = key.code == KeyCode::Enter && key.modifiers.is_empty();
        match action {
            Some(Action::FormLeave) => return Reply::Close,
            Some(Action::FormSend) if many && plain_enter => self.description.newline(),
            Some(Action::FormSend) => self.send(app, effects),
            Some(Action::FormNewline) => self.description.newline(),
            Some(Action::FormNext) if many && key.code == KeyCode::Down && !self.description.at_bottom() => {
                self.description.key(key);
            }
            Some(Action::FormPrevious) if many && key.code == KeyCode::Up && !self.description.at_top() => {
                self.description.key(key);
            }
            Some(Action::FormNext) => self.step(1),
            Some(Action::FormPrevious) => self.step(-1),
            _ => match self.focus {
                Slot::Priority => return self.priority_key(key),
                Slot::Start => return self.start_key(key),
                _ => {
                    if !self.field_mut().is_some_and(|field| field.key(key)) {
                        return Reply::Ignored;
                    }
                }
            },
        }
        Reply::Consumed
    }

    /// Takes a paste.
    pub fn paste(&mut self, text: &str) {
        if let Some(field) = self.field_mut() {
            field.insert(text);
        }
    }

    fn step(&mut self, by: isize) {
        if !self.open {
            self.open = true;
        }
        let slots = self.slots();
        let at = slots.iter().position(|slot| *slot == self.focus).unwrap_or(0) as isize;
        self.focus = slots[(at + by).rem_euclid(slots.len() as isize) as usize];
    }

    fn priority_key(&mut self, key: KeyEvent) -> Reply {
        match key.code {
            KeyCode::Char(c) if c.is_ascii_digit() => self.priority = c as u8 - b'0',
            KeyCode::Left | KeyCode::Char('-') => self.priority = self.priority.saturating_sub(1),
            KeyCode::Right | KeyCode::Char('+') => self.priority = (self.priority + 1).min(9),
            _ => return Reply::Ignored,
        }
        Reply::Consumed
    }

    fn start_key(&mut self, key: KeyEvent) -> Reply {
        match key.code {
            KeyCode::Char(' ') | KeyCode::Left | KeyCode::Right => self.start = !self.start,
            KeyCode::Char('y') => self.start = true,
            KeyCode::Char('n') => self.start = false,
            _ => return Reply::Ignored,
        }
        Reply::Consumed
    }

    /// Sends what the form says.
    pub fn send(&mut self, app: &mut App, effects: &mut Vec<Effect>) {
        if self.sending {
            return;
        }
        let built = match &self.before {
            None => self.create_command(app.cwd.as_deref()).map(|command| Some((command, Purpose::Create))),
            Some(before) => self.edit_command(before, app.cwd.as_deref()),
        };
        match built {
            Ok(Some((command, purpose))) => {
                self.error = None;
                self.sending = true;
                self.request = Some(app.send(command, purpose, effects));
            }
            // Nothing was changed: the form closes as if it had been saved.
            Ok(None) => {
                self.request = Some(0);
                self.sending = true;
            }
            Err(refusal) => self.error = Some(refusal.to_string()),
        }
    }

    /// Whether it was sent although nothing had been changed.
    pub fn is_done(&self) -> bool {
        self.request == Some(0)
    }

    fn create_command(&self, cwd: Option<&str>) -> Result<Command, Refusal> {
        let title = text::title(&self.title.text())?;
        let executor = self.executor(&title, None, cwd)?;
        let new = NewTask {
            description: self.description.text(),
            board: Some(self.board.text().trim().to_owned()).filter(|board| !board.is_empty()),
            priority: Some(i64::from(self.priority)),
            labels: self.labels(),
            assignee: self.assignee.text().trim().to_owned(),
            executor,
            after: self.predecessors()?,
            start: self.start,
            title,
            ..NewTask::default()
        };
        Ok(Command::Create(Box::new(new)))
    }

    /// What was changed in the form, and nothing else: a value that a field can't show as it is stays as it is.
    fn edit_command(&self, before: &Task, cwd: Option<&str>) -> Result<Option<(Command, Purpose)>, Refusal> {
        let begun = FormLayer::edit(before.clone());
        let touched = |slot: Slot| self.shown(slot) != begun.shown(slot);
        let mut edit = TaskEdit::default();
        let mut back = TaskEdit::default();
        if touched(Slot::Title) {
            edit.title = Some(text::title(&self.title.text())?);
            back.title = Some(before.title.clone());
        }
        if touched(Slot::Description) {
            (edit.description, back.description) =
                (Some(self.description.text()), Some(before.description.clone()));
        }
        if touched(Slot::Assignee) {
            (edit.assignee, back.assignee) =
                (Some(self.assignee.text().trim().to_owned()), Some(before.assignee.clone()));
        }
        if touched(Slot::Board) {
            (edit.board, back.board) =
                (Some(self.board.text().trim().to_owned()), Some(before.board_id.clone()));
        }
        if touched(Slot::Priority) {
            (edit.priority, back.priority) =
                (Some(i64::from(self.priority)), Some(i64::from(before.priority)));
        }
        if touched(Slot::Labels) {
            (edit.labels, back.labels) = (Some(self.labels()), Some(before.labels.clone()));
        }
        if touched(Slot::Runs) {
            let title = text::title(&self.title.text())?;
            edit.executor = Some(self.executor(&title, before.executor.as_ref(), cwd)?);
            back.executor = Some(before.executor.clone());
        }
        if edit == TaskEdit::default() {
            return Ok(None);
        }
        let undo = Undo { task: before.id.clone(), seq: before.seq, edit: back };
        let task = IdRef::Full(before.id.0.clone());
        let command = Command::Edit { task, edit: Box::new(edit), if_version: Some(before.version) };
        Ok(Some((command, Purpose::Edit(Box::new(undo)))))
    }

    /// The card as it is by now, read since the form was refused. Where that was because the card had changed,
    /// the form takes over what changed in fields that nobody touched here, and is sent again; what was changed
    /// on both sides is shown first, and sent once more it is kept as it stands here.
    pub fn catch_up(&mut self, app: &mut App, task: Task, effects: &mut Vec<Effect>) {
        let Some(before) = self.before.take_if(|before| before.id == task.id) else { return };
        if self.sending || before.version == task.version {
            self.before = Some(before);
            return;
        }
        let begun = FormLayer::edit(*before);
        let mut now = FormLayer::edit(task);
        let mut both = Vec::new();
        for slot in EDIT {
            let (here, there) = (self.shown(slot), now.shown(slot));
            if here == begun.shown(slot) {
                self.take_over(slot, &mut now);
            } else if there != begun.shown(slot) && there != here {
                both.push(format!("{} is `{}` by now", slot.title(), clean(&there)));
            }
        }
        self.before = now.before;
        if both.is_empty() {
            self.send(app, effects);
        } else {
            let shown = both.join(", ");
            self.error = Some(format!("changed meanwhile: {shown}; send it again to keep what stands here"));
        }
    }

    /// What a field shows.
    fn shown(&self, slot: Slot) -> String {
        match self.field(slot) {
            Some(field) => field.text(),
            None => self.priority.to_string(),
        }
    }

    fn take_over(&mut self, slot: Slot, from: &mut FormLayer) {
        match slot {
            Slot::Title => std::mem::swap(&mut self.title, &mut from.title),
            Slot::Description => std::mem::swap(&mut self.description, &mut from.description),
            Slot::Priority => self.priority = from.priority,
            Slot::Labels => std::mem::swap(&mut self.labels, &mut from.labels),
            Slot::Assignee => std::mem::swap(&mut self.assignee, &mut from.assignee),
            Slot::Runs => std::mem::swap(&mut self.runs, &mut from.runs),
            Slot::Board => std::mem::swap(&mut self.board, &mut from.board),
            Slot::Start | Slot::After => {}
        }
    }

    fn labels(&self) -> Vec<String> {
        let text = self.labels.text();
        let words = text.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    }

    fn predecessors(&self) -> Result<Vec<IdRef>, Refusal> {
        let text = self.after.text();
        let words = text.split([',', ' ']).filter(|word| !word.is_empty());
        words.map(|word| IdRef::parse(word, IdKind::Task)).collect()
    }

    /// What the card runs with: a shell line in the folder of the program, or an agent with a goal.
    fn executor(
        &self,
        title: &str,
        before: Option<&Executor>,
        cwd: Option<&str>,
    ) -> Result<Option<Executor>, Refusal> {
        let runs = self.runs.text();
        let line = runs.trim();
        if line.is_empty() {
            return Ok(None);
        }
        let work = match line.strip_prefix('@') {
            None => Work::Command { command: Program::Shell(line.to_owned()) },
            Some(rest) => {
                let (name, goal) = rest.split_once(' ').unwrap_or((rest, ""));
                if name.is_empty() {
                    return Err(Refusal::invalid("runs", "the name of the agent is missing after @"));
                }
                let description = self.description.text();
                let spoken = [goal.trim(), description.trim(), title];
                let goal = spoken.into_iter().find(|text| !text.is_empty()).unwrap_or(title);
                Work::Agent { name: name.to_owned(), goal: goal.to_owned() }
            }
        };
        let mut executor = Executor::new(work);
        executor.cwd = before.and_then(|before| before.cwd.clone()).or(cwd.map(str::to_owned));
        if let Some(before) = before {
            executor.env = before.env.clone();
        }
        Ok(Some(executor))
    }
}

/// What the field `runs` says for an executor.
fn runs_text(executor: Option<&Executor>) -> String {
    match executor.map(|executor| &executor.work) {
        None => String::new(),
        Some(Work::Agent { name, goal }) => format!("@{name} {goal}"),
        Some(Work::Command { command: Program::Shell(line) }) => line.clone(),
        Some(_) => executor.map(Executor::label).unwrap_or_default(),
    }
}
