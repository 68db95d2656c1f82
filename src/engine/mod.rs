//! The sole authority for change. A face sends a [`Command`] through the [`Engine`] handle and gets an
//! [`Outcome`] or a refusal; one command is one transaction. The synchronous core decides (`core`), the shell
//! (`dispatcher`) claims, starts, stops and watches runs through the [`Executors`] trait and knows no executor by name.
//! Start reading at [`command`], then [`core`]. Absent here: SQL (that is `store`), screens, sockets, processes.

pub mod command;
pub mod executor;
pub mod handle;

pub use command::{AnswerText, Command, NewTask, Outcome, QuestionRef, TaskEdit};
pub use executor::{Ending, Executors, GivenAnswer, LiveRun, Recovery, Report, Reporter, RunSpec};
pub use handle::{Engine, EngineError, OpenQuestion, Page, StepView, TaskFilter, TaskView, WorkflowView};
