//! The state of the board: what was read, what is selected, what floats. Only [`super::update`] changes it;
//! views read it.

use jiff::tz::TimeZone;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::away::Presence;
use super::detail::Detail;
use super::filter::Filter;
use super::keymap::Keymap;
use super::lamps::LampKey;
use super::layer::Layer;
use super::log::LogView;
use super::notice::Notices;
use super::opened::Opened;
use super::theme::Theme;
use crate::domain::time::Millis;
use crate::domain::{BoardSnapshot, Card, Move, TaskId, TaskStatus};
use crate::engine::TaskEdit;

/// One column: its status and its cards as places in the snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The status.
    pub status: TaskStatus,
    /// The cards that are shown, in order.
    pub cards: Vec<usize>,
}

/// A card that is held.
#[derive(Debug, Clone)]
pub struct Grab {
    /// Which card.
    pub task: TaskId,
    /// Where it was picked up.
    pub from: TaskStatus,
    /// Where it would be dropped now.
    pub over: TaskStatus,
    /// Where it may go.
    pub moves: Vec<Move>,
}

impl Grab {
    /// The move that a drop would make; `None` over the column it came from.
    pub fn pending(&self) -> Option<&Move> {
        self.moves.iter().find(|found| found.to == self.over)
    }

    /// Whether the card may be held over the column.
    pub fn allows(&self, status: TaskStatus) -> bool {
        status == self.from || self.moves.iter().any(|found| found.to == status)
    }
}

/// An edit that can be taken back.
#[derive(Debug, Clone)]
pub struct Undo {
    /// Which card.
    pub task: TaskId,
    /// Its number.
    pub seq: i64,
    /// The fields as they were.
    pub edit: TaskEdit,
}

/// What a command that is under way was sent for.
#[derive(Debug, Clone)]
pub enum Purpose {
    /// Say this when it is done.
    Say(String),
    /// A card moves; it is shown in its new column until the board is read again.
    Move(TaskId),
    /// A card is made; it is selected when it is there.
    Create,
    /// A card is edited, by the form or a key.
    Edit(Box<Undo>),
    /// An edit is taken back.
    TakeBack(i64),
    /// A lamp is answered.
    Answer(LampKey),
    /// A board is made and then shown.
    Board(String),
}

/// The program is about to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// When the runs have finished.
    Drain,
    /// When the runs are stopped.
    Stop,
}

/// How the board is read: one read under way, at most one more wanted after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// A read is under way.
    pub under_way: bool,
    /// Another is wanted when it is done.
    pub again: bool,
}

/// All there is to know for drawing the board and for deciding what a key does.
pub struct App {
    /// The time.
    pub now: Millis,
    /// The terminal's size in cells.
    pub size: (u16, u16),
    /// The zone in which times are shown.
    pub zone: TimeZone,
    /// The theme.
    pub theme: Theme,
    /// The keymap.
    pub keymap: Keymap,
    /// The folder in which new commands run.
    pub cwd: Option<String>,
    /// Which board is shown.
    pub board: String,
    /// The board as it was last read.
    pub snapshot: BoardSnapshot,
    /// Whether it was read at all.
    pub loaded: bool,
    /// How it is read.
    pub reading: Reading,
    /// Its columns, as they are shown.
    pub columns: Vec<Column>,
    /// Where a card stands in the snapshot.
    pub places: HashMap<TaskId, usize>,
    /// The column that is in focus.
    pub focus: TaskStatus,
    /// The selected card.
    pub selected: Option<TaskId>,
    /// Where the selection was in each column, so that it can stay near when its card goes.
    pub rows: BTreeMap<TaskStatus, usize>,
    /// The first card that is drawn in each column.
    pub scroll: BTreeMap<TaskStatus, usize>,
    /// The first column that is drawn.
    pub first_column: usize,
    /// Whether closed cards have their columns.
    pub archive: bool,
    /// Which cards are shown.
    pub filter: Filter,
    /// The card that is held.
    pub grab: Option<Grab>,
    /// A card that was dropped and whose move is not read back yet.
    pub moving: Option<(TaskId, TaskStatus)>,
    /// A card to be selected when it is there.
    pub wanted: Option<TaskId>,
    /// The panel beside the board.
    pub detail: Option<Detail>,
    /// The card that the panel or a dialogue is about, as it was read.
    pub opened: Option<Opened>,
    /// The output that is shown.
    pub log: LogView,
    /// What floats; the last one has the keyboard.
    pub layers: Vec<Layer>,
    /// Lines that say what happened.
    pub notices: Notices,
    /// Commands that are under way.
    pub pending: HashMap<u64, Purpose>,
    /// The number of the last command.
    pub last_request: u64,
    /// Edits that can be taken back, the last one last.
    pub undo: Vec<Undo>,
    /// Answers that were begun.
    pub drafts: HashMap<LampKey, String>,
    /// Lamps that were answered here and may still be lit in the snapshot.
    pub answered: HashSet<LampKey>,
    /// What was put before a person here.
    pub seen: HashSet<String>,
    /// Whether somebody looks, and what to tell who comes back.
    pub presence: Presence,
    /// The program is about to end.
    pub leaving: Option<Leaving>,
    /// Whether the terminal has the focus.
    pub focused: bool,
    /// Whether the desktop is told of new lamps while the terminal is not in focus.
    pub notify: bool,
    /// The title that the terminal has now.
    pub title: String,
    /// Something visible changed since the last frame.
    pub dirty: bool,
}

impl App {
    /// A board that was not read yet.
    pub fn new(board: &str, theme: Theme, keymap: Keymap, size: (u16, u16)) -> App {
        let mut app = App {
            now: 0,
            size,
            zone: TimeZone::UTC,
            theme,
            keymap,
            cwd: None,
            board: board.to_owned(),
            snapshot: BoardSnapshot::default(),
            loaded: false,
            reading: Reading::default(),
            columns: Vec::new(),
            places: HashMap::new(),
            focus: TaskStatus::Pending,
            selected: None,
            rows: BTreeMap::new(),
            scroll: BTreeMap::new(),
            first_column: 0,
            archive: false,
            filter: Filter::default(),
            grab: None,
            moving: None,
            wanted: None,
            detail: None,
            opened: None,
            log: LogView::default(),
            layers: Vec::new(),
            notices: Notices::default(),
            pending: HashMap::new(),
            last_request: 0,
            undo: Vec::new(),
            drafts: HashMap::new(),
            answered: HashSet::new(),
            seen: HashSet::new(),
            presence: Presence::default(),
            leaving: None,
            focused: true,
            notify: false,
            title: String::new(),
            dirty: true,
        };
        super::select::rebuild(&mut app);
        app
    }

    /// The card with this id.
    pub fn card(&self, id: &TaskId) -> Option<&Card> {
        self.places.get(id).and_then(|place| self.snapshot.cards.get(*place))
    }

    /// The selected card.
    pub fn selected_card(&self) -> Option<&Card> {
        self.card(self.selected.as_ref()?)
    }

    /// The place of a column, where it is shown.
    pub fn column_of(&self, status: TaskStatus) -> Option<usize> {
        self.columns.iter().position(|column| column.status == status)
    }

    /// The cards of a column.
    pub fn cards_of(&self, column: &Column) -> impl DoubleEndedIterator<Item = &Card> + ExactSizeIterator {
        column.cards.iter().map(|place| &self.snapshot.cards[*place])
    }

    /// Runs that would end with this program.
    pub fn own_runs(&self) -> u32 {
        use crate::domain::DispatcherState::{Draining, Here};
        match self.snapshot.dispatcher {
            Here | Draining => self.snapshot.slots_used,
            _ => 0,
        }
    }

    /// The time as a clock shows it, with the day where it is not today.
    pub fn clock(&self, at: Millis) -> String {
        let read = |ms| {
            jiff::Timestamp::from_millisecond(ms).map(|stamp| stamp.to_zoned_datetime(self.zone.clone()))
        };
        match (read(at), read(self.now)) {
            (Ok(then), Ok(now)) if then.date() == now.date() => then.strftime("%H:%M:%S").to_string(),
            (Ok(then), _) => then.strftime("%Y-%m-%d %H:%M:%S").to_string(),
            _ => format!("{at} ms"),
        }
    }
}
