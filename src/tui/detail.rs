//! The panel beside the board: which tab is open and how far it is scrolled. It always shows the selected card.

/// What is shown of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// All fields.
    Overview,
    /// What the run prints.
    Log,
    /// What happened to the card.
    History,
}

impl Tab {
    /// All of them, from left to right.
    pub const ALL: [Tab; 3] = [Tab::Overview, Tab::Log, Tab::History];

    /// The word on the tab.
    pub fn title(self) -> &'static str {
        match self {
            Tab::Overview => "Overview",
            Tab::Log => "Log",
            Tab::History => "History",
        }
    }

    /// The tab `by` places to the right, around the ends.
    pub fn step(self, by: isize) -> Tab {
        let count = Tab::ALL.len() as isize;
        Tab::ALL[(self as isize + by).rem_euclid(count) as usize]
    }
}

/// The panel.
#[derive(Debug, Clone)]
pub struct Detail {
    /// The open tab.
    pub tab: Tab,
    /// Whether it takes the whole screen.
    pub full: bool,
    /// The first line that is drawn; the log has its own.
    pub top: usize,
}

impl Detail {
    /// The panel as it opens.
    pub fn new(tab: Tab) -> Detail {
        Detail { tab, full: false, top: 0 }
    }
}
