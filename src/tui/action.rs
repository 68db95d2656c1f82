//! Actions: everything a key can mean, each in the context where it means it. The table here carries the words;
//! the keys are data in `assets/keymap.toml`.

/// Where a key is pressed. Contexts that own the keyboard for text take no bare letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// The board.
    Board,
    /// The board while a card is held.
    Grab,
    /// An opened card. What it does not know goes to [`Context::Board`].
    Detail,
    /// A list that floats: help, boards, reasons.
    List,
    /// A form.
    Form,
    /// The choices of a lamp.
    Answer,
    /// The text of an answer.
    AnswerText,
    /// One text that is asked for.
    Prompt,
    /// Yes or no.
    Confirm,
    /// How to quit while runs are going.
    Quit,
    /// The line that filters.
    Filter,
}

impl Context {
    /// All of them, in the order of the help.
    pub const ALL: [Context; 11] = [
        Context::Board,
        Context::Grab,
        Context::Detail,
        Context::Answer,
        Context::AnswerText,
        Context::Form,
        Context::Filter,
        Context::List,
        Context::Prompt,
        Context::Confirm,
        Context::Quit,
    ];

    /// Its section in the keymap.
    pub fn name(self) -> &'static str {
        match self {
            Context::Board => "board",
            Context::Grab => "grab",
            Context::Detail => "detail",
            Context::List => "list",
            Context::Form => "form",
            Context::Answer => "answer",
            Context::AnswerText => "answer-text",
            Context::Prompt => "prompt",
            Context::Confirm => "confirm",
            Context::Quit => "quit",
            Context::Filter => "filter",
        }
    }

    /// Its heading in the help.
    pub fn heading(self) -> &'static str {
        match self {
            Context::Board => "The board",
            Context::Grab => "While a card is held",
            Context::Detail => "An opened card",
            Context::List => "Lists and this help",
            Context::Form => "The form",
            Context::Answer => "Answering a lamp",
            Context::AnswerText => "Typing an answer",
            Context::Prompt => "A line that is asked for",
            Context::Confirm => "Yes or no",
            Context::Quit => "Quitting while runs go",
            Context::Filter => "The filter",
        }
    }

    /// Whether letters belong to a text here.
    pub fn owns_letters(self) -> bool {
        matches!(self, Context::Form | Context::AnswerText | Context::Prompt | Context::Filter)
    }
}

macro_rules! actions {
    ($($variant:ident: $context:ident $name:literal, $label:literal, $help:literal;)+) => {
        /// Everything a key can mean.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action {
            $(#[doc = $help] $variant),+
        }

        impl Action {
            /// All of them, in the order of the help.
            pub const ALL: &'static [Action] = &[$(Action::$variant),+];

            /// Where it can be pressed.
            pub fn context(self) -> Context {
                match self { $(Action::$variant => Context::$context),+ }
            }

            /// Its key in the keymap's section.
            pub fn name(self) -> &'static str {
                match self { $(Action::$variant => $name),+ }
            }

            /// One or two words for the footer.
            pub fn label(self) -> &'static str {
                match self { $(Action::$variant => $label),+ }
            }

            /// What it does, for the help.
            pub fn help(self) -> &'static str {
                match self { $(Action::$variant => $help),+ }
            }
        }
    };
}

actions! {
    Left: Board "left", "left", "the column to the left";
    Right: Board "right", "right", "the column to the right";
    Down: Board "down", "down", "the card below";
    Up: Board "up", "up", "the card above";
    Top: Board "top", "top", "the first card of the column";
    Bottom: Board "bottom", "bottom", "the last card of the column";
    PageDown: Board "page-down", "page down", "five cards down";
    PageUp: Board "page-up", "page up", "five cards up";
    NextLamp: Board "next-lamp", "next lamp", "the next card that needs you";
    PreviousLamp: Board "previous-lamp", "previous lamp", "the previous card that needs you";
    Answer: Board "answer", "answer", "answer what needs you, oldest first: questions, approvals, reviews, failures";
    Open: Board "open", "open", "open the card beside the board";
    Why: Board "why", "why", "why the card is not moving, and what lifts it";
    Grab: Board "grab", "grab", "pick the card up; then h and l choose where it may go";
    MoveLeft: Board "move-left", "move left", "move the card one permitted column to the left";
    MoveRight: Board "move-right", "move right", "move the card one permitted column to the right";
    Raise: Board "raise", "raise", "raise the priority";
    Lower: Board "lower", "lower", "lower the priority";
    Create: Board "create", "new", "make a card";
    Edit: Board "edit", "edit", "edit the card";
    Editor: Board "editor", "editor", "edit title and description in $EDITOR";
    Retry: Board "retry", "retry", "run a failed card once more";
    Pause: Board "pause", "suspend", "suspend a running card, resume a suspended one";
    ResumeAll: Board "resume-all", "resume all", "resume every suspended card, such as those of the last stop";
    Approve: Board "approve", "approve", "take reviewed work";
    Reject: Board "reject", "reject", "send reviewed work back with feedback";
    Cancel: Board "cancel", "cancel", "cancel the card; asks when it is running";
    PutAway: Board "put-away", "put away", "put a settled card away";
    Copy: Board "copy", "copy", "a fresh card with the same content";
    CopyId: Board "copy-id", "copy id", "copy the card's id to the clipboard";
    Undo: Board "undo", "undo", "take back the last edit";
    Filter: Board "filter", "filter", "show only cards that match: text, label:x @name p<=2 status:x source:x is:stalled #12";
    Archive: Board "archive", "archive", "show or hide the columns of closed cards";
    Boards: Board "boards", "boards", "switch the board";
    Help: Board "help", "help", "this help";
    Redraw: Board "redraw", "redraw", "draw the screen afresh";
    Background: Board "background", "background", "suspend the program; fg brings it back";
    Back: Board "back", "back", "clear the filter";
    Quit: Board "quit", "quit", "quit; asks when runs are going";

    GrabLeft: Grab "left", "left", "the permitted column to the left";
    GrabRight: Grab "right", "right", "the permitted column to the right";
    Drop: Grab "drop", "drop", "drop the card here";
    PutBack: Grab "put-back", "put back", "leave the card where it was";

    Close: Detail "close", "close", "close the card";
    Zoom: Detail "zoom", "whole screen", "the whole screen, or beside the board";
    NextTab: Detail "next-tab", "next tab", "the next tab";
    PreviousTab: Detail "previous-tab", "previous tab", "the previous tab";
    TabOverview: Detail "overview", "overview", "all fields";
    TabLog: Detail "log", "log", "what the run prints";
    TabHistory: Detail "history", "history", "what happened to the card";
    ScrollDown: Detail "scroll-down", "down", "one line down";
    ScrollUp: Detail "scroll-up", "up", "one line up";
    ScrollPageDown: Detail "scroll-page-down", "page down", "one page down";
    ScrollPageUp: Detail "scroll-page-up", "page up", "one page up";
    ScrollTop: Detail "scroll-top", "top", "to the beginning";
    ScrollBottom: Detail "scroll-bottom", "bottom", "to the end; a log is followed again";
    Follow: Detail "follow", "follow", "follow the log, or stop following";
    Wrap: Detail "wrap", "wrap", "wrap long lines of the log, or cut them";
    NextCard: Detail "next-card", "next card", "open the card below";
    PreviousCard: Detail "previous-card", "previous card", "open the card above";

    AnswerSend: Answer "send", "submit answer and continue", "submit the answer and go on to the next lamp";
    AnswerDown: Answer "down", "down", "the next choice";
    AnswerUp: Answer "up", "up", "the previous choice";
    AnswerType: Answer "type", "type", "type an answer or a reason";
    AnswerSkip: Answer "skip", "skip", "leave this lamp for later";
    AnswerLog: Answer "log", "log", "open the card's log";
    AnswerScrollDown: Answer "scroll-down", "read on", "read on where a text is long";
    AnswerScrollUp: Answer "scroll-up", "read back", "read back where a text is long";
    AnswerLeave: Answer "leave", "leave", "back to the board; what was typed is kept";

    TextSend: AnswerText "send", "submit answer and continue", "submit the answer and go on to the next lamp";
    TextNewline: AnswerText "newline", "new line", "a new line";
    TextSkip: AnswerText "skip", "skip", "leave this lamp for later";
    TextChoices: AnswerText "choices", "choices", "back to the choices";
    TextScrollDown: AnswerText "scroll-down", "read on", "read on where a text is long";
    TextScrollUp: AnswerText "scroll-up", "read back", "read back where a text is long";
    TextLeave: AnswerText "leave", "leave", "back to the board; what was typed is kept";

    FormSend: Form "send", "save", "save; in a field of several lines use the second key";
    FormNext: Form "next", "next field", "the next field; from the title, all fields";
    FormPrevious: Form "previous", "previous field", "the previous field";
    FormNewline: Form "newline", "new line", "a new line in the description";
    FormLeave: Form "leave", "leave", "close without saving";

    FilterKeep: Filter "keep", "keep", "keep the filter and go back to the board";
    FilterClear: Filter "clear", "clear", "show all cards again";

    ListDown: List "down", "down", "down";
    ListUp: List "up", "up", "up";
    ListPageDown: List "page-down", "page down", "one page down";
    ListPageUp: List "page-up", "page up", "one page up";
    ListTop: List "top", "top", "the first line";
    ListBottom: List "bottom", "bottom", "the last line";
    ListChoose: List "choose", "choose", "choose the line";
    ListNew: List "new", "new board", "make a board";
    ListClose: List "close", "close", "close the list";

    PromptSend: Prompt "send", "go on", "go on";
    PromptLeave: Prompt "leave", "leave", "leave everything as it is";

    Yes: Confirm "yes", "yes", "do it";
    No: Confirm "no", "no", "leave everything as it is";

    QuitDrain: Quit "drain", "let them finish", "let the runs finish, then quit";
    QuitStop: Quit "stop", "stop them", "stop the runs, then quit";
    QuitStay: Quit "stay", "stay", "stay";
}
