//! Plain values and pure rules: what a task is, which moves exist, what is ready, what needs a person and why
//! a card stands still. No clock, no randomness, no I/O, no runtime: whoever calls hands in the time and the
//! facts. Start reading at [`status`] (the closed table), then [`task`] and [`moves`].

pub mod approval;
pub mod board;
pub mod crowd;
pub mod definition;
pub mod event;
pub mod executor;
pub mod finding;
pub mod graph;
pub mod id;
pub mod lamp;
pub mod ledger;
pub mod moves;
pub mod notice;
pub mod refusal;
pub mod retry;
pub mod run;
pub mod status;
pub mod task;
pub mod template;
pub mod text;
pub mod time;
pub mod wait;
pub mod why;
pub mod workflow;

pub use approval::{Approval, Risk};
pub use board::{BoardSnapshot, BoardSummary, Card, DispatcherState};
pub use definition::{Fault, Node, StepDefinition, WorkflowDefinition};
pub use event::{Actor, Event, EventKind};
pub use executor::{Executor, Program, Work};
pub use finding::{Finding, FindingKind};
pub use id::{ApprovalId, IdRef, QuestionId, RunId, TaskId, TimerId, WaitId, WorkflowId};
pub use lamp::Lamp;
pub use ledger::Ledger;
pub use moves::{Move, MoveFacts, Needs, Verb};
pub use notice::Notice;
pub use refusal::Refusal;
pub use run::{Intent, ProcessIdentity, Run, RunOutcome, Usage};
pub use status::{TaskStatus, WorkflowStatus};
pub use task::{Dispatch, Task, TaskPatch};
pub use wait::{Question, QuestionPurpose, Timer, Wait, WaitKind, WaitState, Waiter, Wake};
pub use workflow::{StepCounts, Workflow};
