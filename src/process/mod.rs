//! Processes of the operating system: starting one in a group of its own, knowing it again, keeping what it
//! prints, and ending it with everything that it started. A leaf: it imports nothing of the house and knows no
//! task; a run is only a tag in an environment here. Start reading at [`launch`], then [`child`] (the life of one
//! process) and [`stop`] (the one way to end one).
//!
//! Linux is the measure. Elsewhere there is neither `/proc` nor a subreaper, and a process that leaves its group
//! is not found again.
//!
//! Who dispatches calls [`subreaper::install`] first: then whoever escapes from a run becomes a child of ours.
//! From then on a child of this process must either be started through [`Launch`] or stay in our own process
//! group (an editor does); any other dead child is taken for an orphan of a run and reaped.

pub mod census;
pub mod child;
pub mod environment;
pub mod identity;
pub mod inside;
pub mod launch;
pub mod log;
pub mod output;
pub mod recover;
pub mod stop;
pub mod subreaper;
mod tree;

pub use child::{Child, Exit, Finished, Stopper};
pub use environment::Environment;
pub use identity::Identity;
pub use inside::Inside;
pub use launch::{Launch, LaunchError, LogFile};
pub use recover::recover;
pub use stop::Proof;
