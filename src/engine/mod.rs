//! The sole authority for change. A face sends a [`Command`] through the [`Engine`] handle and gets an
//! [`Outcome`] or a refusal; one command is one transaction. The synchronous core (`core` and the files that
//! spread its acts) decides; the shell (`dispatcher`) claims, starts, stops and watches runs through the
//! [`Executors`] trait and knows no executor by name. Start reading at [`command`], then [`core`]. Absent here:
//! SQL (that is `store`), screens, sockets, processes.

mod act;
mod approvals;
mod attend;
mod bound;
mod claim;
pub mod clock;
pub mod command;
pub mod core;
pub mod dispatcher;
mod ending;
pub mod executor;
pub mod handle;
mod health;
mod lifecycle;
mod moving;
mod notices;
mod purge;
mod questions;
mod reconcile;
mod settle;
mod tasks;
mod waits;
mod workflows;

pub use crate::store::{
    Backup, Durability, KeptAnswer, Page, PurgeCursor, PurgeUnit, Remains, Removed, StoreError, TaskFilter,
    TaskRemains, Window, is_of_a_database,
};
pub use approvals::{OpenApproval, denied_by};
pub use bound::{Bound, Bounds, OnceKey, Subject};
pub use command::{AnswerText, ApprovalRef, Command, NewTask, Outcome, QuestionRef, TaskEdit, WaitOn};
pub use core::{Core, Effect, Input, OnLost, Paths, Policy};
pub use dispatcher::{DispatchOptions, Dispatcher, WAL_LIMIT};
pub use executor::{Ending, Executors, GivenAnswer, LiveRun, Recovery, Report, Reporter, RunSpec};
pub use handle::{Engine, EngineError, OpenQuestion, Options, StepView, TaskView, WorkflowView};
pub use health::Slots;
pub use purge::Doomed;
pub use reconcile::look_for;
