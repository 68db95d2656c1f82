//! The board. It may know the domain and the engine's handle; it never touches the database, a process or git on
//! the thread that draws. [`update`](update::update) is synchronous and pure: an event comes in, the state
//! changes, effects go out and are carried out on other threads (`outside`), which answer with events. Views read
//! the state. Start reading at [`app`] and `update`, then `view`; [`run`] is the loop. Absent here: SQL, rules
//! about statuses (the domain has them), dispatching.

pub mod action;
pub mod app;
pub mod away;
pub mod detail;
mod drafts;
mod editor;
pub mod event;
pub mod field;
pub mod filter;
mod follow;
pub mod input;
pub mod keymap;
pub mod lamps;
pub mod layer;
pub mod layout;
pub mod log;
mod marks;
pub mod notice;
pub mod opened;
pub mod outside;
pub mod run;
pub mod select;
pub mod svg;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod update;
pub mod view;

pub use keymap::{Keymap, KeymapError};
pub use outside::DispatcherControl;
pub use run::{BoardError, Exit, Options, run};
pub use theme::{Theme, ThemeChoice, ThemeError};
