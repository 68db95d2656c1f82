//! Commands: everything that anybody can ask the engine to change, and what they get back.

use serde_json::{Map, Value};

use super::purge::Doomed;
use crate::domain::approval::Call;
use crate::domain::time::Millis;
use crate::domain::{
    Approval, ApprovalId, Executor, IdRef, Notice, Question, QuestionId, RunId, Task, TaskStatus, Timer,
    Wait, WaitId, Wake, Workflow, WorkflowDefinition,
};
use crate::store::Removed;

/// A task that is to be made. Only the title is needed.
#[derive(Debug, Clone, Default)]
pub struct NewTask {
    /// The title, checked by the engine.
    pub title: String,
    /// Any text.
    pub description: String,
    /// The board; `None` = the default board.
    pub board: Option<String>,
    /// 0 (highest) to 9; `None` = 5. Checked by the engine, so that a wrong one is refused, not cut.
    pub priority: Option<i64>,
    /// Labels.
    pub labels: Vec<String>,
    /// Who should do it.
    pub assignee: String,
    /// Where it came from.
    pub source: String,
    /// What it runs with; `None` = a manual card.
    pub executor: Option<Executor>,
    /// Predecessors.
    pub after: Vec<IdRef>,
    /// The task it is a part of.
    pub parent: Option<IdRef>,
    /// Start it at once, as [`Command::Start`] would.
    pub start: bool,
    /// Automatic retries.
    pub retry_max: u32,
    /// The cap for retries of any kind; `None` = 3, and never below `retry_max`.
    pub max_retries: Option<u32>,
    /// Time for one attempt; `None` = no limit.
    pub timeout_seconds: Option<u32>,
    /// Not to be claimed before.
    pub not_before_ms: Option<Millis>,
    /// Whether it wants a worktree.
    pub worktree: bool,
    /// Whether its work waits for a review; `None` = as its agent is configured, and yes for a worktree.
    pub review_required: Option<bool>,
    /// Free data.
    pub metadata: Map<String, Value>,
}

/// A change of a task's fields; `None` = as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskEdit {
    /// The title.
    pub title: Option<String>,
    /// Any text.
    pub description: Option<String>,
    /// The board.
    pub board: Option<String>,
    /// 0 (highest) to 9.
    pub priority: Option<i64>,
    /// All labels.
    pub labels: Option<Vec<String>>,
    /// Who should do it.
    pub assignee: Option<String>,
    /// Where it came from.
    pub source: Option<String>,
    /// What it runs with; `Some(None)` makes it a manual card. Refused while a run is going.
    pub executor: Option<Option<Executor>>,
    /// Automatic retries.
    pub retry_max: Option<u32>,
    /// The cap for retries.
    pub max_retries: Option<u32>,
    /// Time for one attempt.
    pub timeout_seconds: Option<Option<u32>>,
    /// Not to be claimed before.
    pub not_before_ms: Option<Option<Millis>>,
    /// Whether its work waits for a review.
    pub review_required: Option<bool>,
}

/// Which question is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionRef {
    /// The open question of a task.
    OfTask(IdRef),
    /// One question, by its id.
    Id(QuestionId),
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerText {
    /// Free text, or the label of an option.
    Text(String),
    /// The option with this number, counted from 1.
    Option(usize),
}

/// Which approval is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalRef {
    /// The open approval of a task.
    OfTask(IdRef),
    /// One approval, by its id or the start of it.
    Id(ApprovalId),
}

/// What a run waits for that comes by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitOn {
    /// The end of a task.
    TaskResult(IdRef),
    /// An event from outside with this key.
    Event(String),
    /// The timer with this id.
    Timer(String),
}

/// Everything that can be asked for.
#[derive(Debug, Clone)]
pub enum Command {
    /// Makes a task. → [`Outcome::Task`]
    Create(Box<NewTask>),
    /// Makes many tasks, all or none. → [`Outcome::Tasks`]
    CreateMany(Vec<NewTask>),
    /// A fresh PENDING task with the content of another. → [`Outcome::Task`]
    Copy { task: IdRef },
    /// Changes fields. With `if_version`, refused as `stale_version` when the row has another. → Task
    Edit { task: IdRef, edit: Box<TaskEdit>, if_version: Option<i64> },
    /// The verb `start`: queues what has an executor; the caller takes what is manual. → Task
    Start { task: IdRef },
    /// The tool `task start`: queues and claims for the caller in one transaction. → Task
    Take { task: IdRef },
    /// Settles as done; on a manual card walks the legal steps. → Task, or Accepted for a live run
    Complete { task: IdRef, result: Option<String> },
    /// Settles as failed. → Task or Accepted
    Fail { task: IdRef, error: Option<String> },
    /// Cancels. → Task or Accepted
    Cancel { task: IdRef, reason: Option<String> },
    /// Queues a failed task once more. → Task
    Retry { task: IdRef },
    /// Blocks a running task with a reason. → Task or Accepted
    Block { task: IdRef, reason: String },
    /// Queues a blocked task; supersedes its open question. → Task
    Unblock { task: IdRef },
    /// Pauses a running task. → Task or Accepted
    Suspend { task: IdRef },
    /// Queues a suspended task. → Task
    Resume { task: IdRef },
    /// Takes reviewed work. → Task
    Approve { task: IdRef },
    /// Sends reviewed work back, with feedback for the next run. → Task
    Reject { task: IdRef, feedback: Option<String> },
    /// Moves a card to a column: whatever [`crate::domain::moves::to`] says this means. → as that command
    Move { task: IdRef, to: TaskStatus, text: Option<String> },
    /// `task` needs `on`. → Task
    Depend { task: IdRef, on: IdRef },
    /// `task` needs `on` no longer. → Task
    Undepend { task: IdRef, on: IdRef },
    /// Puts a settled task away. → Task
    Archive { task: IdRef },
    /// Hides a task: an open one is cancelled first, a running one refused. → Task
    Delete { task: IdRef },
    /// The task asks a person and becomes BLOCKED. The caller is inside its run, or is the operator. With
    /// `waits` the asking process lives on and waits for the answer in the same run; with `expires_at_ms` it gives up
    /// then. → Question
    Ask { task: IdRef, question: String, options: Vec<String>, waits: bool, expires_at_ms: Option<Millis> },
    /// Whoever asked (a question, an approval, any wait) begins to wait in its run, or no longer does: then what comes
    /// queues the task once that run has ended. → Wait, which is over where what was waited for came first
    Attend { wait: WaitId, waits: bool },
    /// Answers a question; operator only. → Question
    Answer { question: QuestionRef, answer: AnswerText },
    /// Allows a call that waits for approval: once, or as often as its task makes it; operator only. → Approval
    Allow { approval: ApprovalRef, for_task: bool },
    /// Denies a call that waits for approval; operator only. The reason may be empty. → Approval
    Deny { approval: ApprovalRef, reason: String },
    /// Whether the caller may make this call of a tool now. → Permitted; or Approval: then the caller, which is inside
    /// a run of `task`, waits until that is decided, its task BLOCKED meanwhile. What the policy denies is refused.
    Permit { task: Option<IdRef>, call: Box<Call> },
    /// The task waits for what comes by itself and becomes BLOCKED; where it has happened already, it goes on at once.
    /// The caller is inside its run. With `waits` its process lives on and waits in the same run; else the next run is
    /// started with the outcome as its answer. → Wait
    WaitFor { task: IdRef, on: WaitOn, reason: String, expires_at_ms: Option<Millis>, waits: bool },
    /// An event from outside. The first of each key counts and is kept. → Woken
    Wake { key: String, data: Value },
    /// Sets a timer; a time that has passed lets it go off at once. → Timer
    CreateTimer { name: String, due_at_ms: Millis },
    /// Cancels a timer that has not gone off; whoever waits for it is told so. → Timer
    CancelTimer { timer: String },
    /// Makes a workflow with its step tasks, PENDING. → Workflow
    CreateWorkflow {
        definition: Box<WorkflowDefinition>,
        board: Option<String>,
        cwd: Option<String>,
        start: bool,
    },
    /// Starts it: queues the roots. `workflow` is an id, a prefix or a unique name. → Workflow
    StartWorkflow { workflow: String },
    /// Repairs it; reports how many changes were needed, 0 on a healthy one. → Advanced
    AdvanceWorkflow { workflow: String },
    /// Holds all steps that were not claimed. → Workflow
    PauseWorkflow { workflow: String },
    /// Lets them go. → Workflow
    ResumeWorkflow { workflow: String },
    /// Cancels it with all unfinished steps. → Workflow
    CancelWorkflow { workflow: String },
    /// A new workflow from a closed one; with `from_failed` what succeeded is kept. → Workflow
    RerunWorkflow { workflow: String, from_failed: bool },
    /// Removes what ended before then, for good: the whole batch, or none of it when something of it has changed
    /// since it was copied. Operator only. → Purged
    Purge { before_ms: Millis, batch: Vec<Doomed> },
    /// Tells the person something, about a task or about a board. → [`Outcome::Noted`]
    Notify { task: Option<IdRef>, board: Option<String>, notice: Notice },
    /// Makes a board. → Board
    CreateBoard { name: String },
}

/// What a command gave.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The task as it is now.
    Task(Box<Task>),
    /// The tasks as they are now.
    Tasks(Vec<Task>),
    /// The intent is on disk; the task settles when the processes of its run are gone.
    Accepted {
        /// The task as it is now, still RUNNING.
        task: Box<Task>,
        /// The run that ends.
        run: RunId,
    },
    /// The question as it is now.
    Question(Box<Question>),
    /// The approval as it is now.
    Approval(Box<Approval>),
    /// The call may be made.
    Permitted,
    /// The wait as it is now: open, or consumed with what it waited for.
    Wait(Box<Wait>),
    /// The timer as it is now.
    Timer(Box<Timer>),
    /// The event that counts.
    Woken {
        /// That event: this one, or the first with its key.
        wake: Box<Wake>,
        /// Whether it was the first.
        first: bool,
        /// How many waited for it.
        woken: usize,
    },
    /// The workflow as it is now.
    Workflow(Box<Workflow>),
    /// What a repair changed.
    Advanced {
        /// The workflow as it is now.
        workflow: Box<Workflow>,
        /// How many changes were needed.
        changes: u32,
    },
    /// The board's name.
    Board(String),
    /// It stands in the log.
    Noted,
    /// What was removed.
    Purged(Removed),
}

impl Outcome {
    /// The task, where the outcome is about one.
    pub fn task(&self) -> Option<&Task> {
        match self {
            Outcome::Task(task) | Outcome::Accepted { task, .. } => Some(task),
            _ => None,
        }
    }
}
