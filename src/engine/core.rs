//! The core: `handle(input) -> effects`, synchronous, inside one transaction. It is driven by the shell and by
//! the simulation alike; time and randomness are handed in, and effects are carried out only after the commit.

use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

use super::act::Act;
use super::clock::{Clock, Randomness, SystemClock, SystemRandomness};
use super::command::{Command, Outcome};
use super::executor::{Recovery, Report, RunSpec};
use crate::domain::approval::ApprovalPolicy;
use crate::domain::definition::{AnyParams, CheckParams};
use crate::domain::time::Millis;
use crate::domain::{Actor, Executor, ProcessIdentity, Refusal, RunId, WorkflowId};
use crate::store::{Failure, Tx, Window};

/// What happens to a run whose holder died, where no automatic retry is left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLost {
    /// A question to the person.
    #[default]
    Ask,
    /// The task fails.
    Fail,
    /// The task is retried, as long as `max_retries` allows.
    Retry,
}

/// What can be configured about the engine.
#[derive(Debug, Clone)]
pub struct Policy {
    /// How long a lease lasts.
    pub lease_ms: Millis,
    /// What happens to a run whose holder died.
    pub on_lost: OnLost,
    /// The tools that a step may use; checked when a workflow is made and started.
    pub tools: Vec<String>,
    /// What is wrong with the parameters of a step's tool; checked with its name.
    pub check: Arc<dyn CheckParams>,
    /// The configured agents; `None` where they are not known.
    pub agents: Option<Vec<String>>,
    /// Those of them whose work waits for a review, unless a card says otherwise.
    pub reviewed_agents: Vec<String>,
    /// Which calls of agents a person allows first.
    pub approvals: ApprovalPolicy,
}

impl Policy {
    /// Whether what this carries out waits for a review, where nobody says.
    pub fn is_reviewed(&self, executor: Option<&Executor>) -> bool {
        executor.is_some_and(|executor| self.reviewed_agents.iter().any(|name| name == executor.lane()))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            lease_ms: 30_000,
            on_lost: OnLost::Ask,
            tools: Vec::new(),
            check: Arc::new(AnyParams),
            agents: None,
            reviewed_agents: Vec::new(),
            approvals: ApprovalPolicy::default(),
        }
    }
}

/// What the core is told.
#[derive(Debug)]
pub enum Input {
    /// Somebody commands.
    Command {
        /// What.
        command: Command,
        /// Who.
        actor: Actor,
    },
    /// A run tells something.
    Report {
        /// Which run.
        run: RunId,
        /// The epoch it was started with.
        epoch: i64,
        /// What.
        report: Report,
    },
    /// A dispatcher has the lock and begins: orphans are looked for, clocks are set.
    Begin {
        /// Which one.
        dispatcher: String,
        /// Its process.
        pid: u32,
        /// Its slots.
        slots: u32,
        /// It claims only the steps of this workflow.
        only: Option<WorkflowId>,
    },
    /// A dispatcher looks: what is to be stopped, what is due, what can be claimed.
    Look {
        /// Which one.
        dispatcher: String,
        /// How many runs it may have at a time; 0 claims nothing.
        slots: u32,
        /// How many runs each agent may have at a time.
        agents: Vec<(String, u32)>,
        /// It claims only the steps of this workflow.
        only: Option<WorkflowId>,
        /// Look for everything; otherwise only for what can be claimed, since nobody else has changed anything.
        all: bool,
        /// Claim each task by itself, since a claim has failed: what can't be handed out holds no other.
        careful: bool,
    },
    /// What could be proven about the run of a holder that died.
    Recovered {
        /// Which run.
        run: RunId,
        /// What was proven.
        recovery: Recovery,
    },
    /// A dispatcher has found something within a window that can't be: it is repaired.
    Reconcile {
        /// Which one.
        dispatcher: String,
        /// The runs that it knows: it carries them out, ends them, or has their end in hand.
        vouched: Vec<RunId>,
        /// Where it looked.
        window: Window,
    },
    /// The database was checked after an unclean end, and is damaged.
    Damaged {
        /// What SQLite found.
        problems: Vec<String>,
    },
    /// A dispatcher stops: its runs are to be suspended.
    Suspend {
        /// Which one.
        dispatcher: String,
    },
}

/// What is to be done after the commit. Carrying one out twice does no harm: each is keyed by its run.
#[derive(Debug)]
pub enum Effect {
    /// Start this run.
    Start(Box<RunSpec>),
    /// Stop this run.
    Stop {
        /// Which.
        run: RunId,
        /// It asked for that itself, and is given the grace period to end by itself first.
        by_itself: bool,
    },
    /// Stop what is left of this run and prove it dead.
    Recover {
        /// Which.
        run: RunId,
        /// Its process, where one was recorded.
        process: Option<ProcessIdentity>,
    },
    /// Another dispatcher has begun since: claim nothing more, and stand by.
    Superseded,
    /// Look again then.
    WakeAt(Millis),
    /// The dispatcher before ended without a word: check the database, beside the work.
    Check,
}

/// What came of an input. A refusal here is committed with what it logged (a late result); one that is returned
/// as an error wrote nothing.
#[derive(Debug)]
pub struct Handled {
    /// The answer to a command.
    pub reply: Result<Option<Outcome>, Refusal>,
    /// What is to be done.
    pub effects: Vec<Effect>,
}

/// The core with its clock, its randomness and its policy.
#[derive(Clone)]
pub struct Core {
    clock: Arc<dyn Clock>,
    randomness: Arc<dyn Randomness>,
    policy: Arc<Policy>,
    paths: Arc<Paths>,
}

/// Where runs find the database and leave their logs.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// The database.
    pub database: std::path::PathBuf,
    /// The folder of the logs.
    pub logs: std::path::PathBuf,
}

impl Core {
    /// A core with the machine's clock and randomness.
    pub fn new(policy: Policy, paths: Paths) -> Core {
        Core::with(policy, paths, Arc::new(SystemClock), Arc::new(SystemRandomness::default()))
    }

    /// A core with a clock and randomness of the caller's.
    pub fn with(
        policy: Policy,
        paths: Paths,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
    ) -> Core {
        Core { clock, randomness, policy: Arc::new(policy), paths: Arc::new(paths) }
    }

    /// The time.
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// A random number.
    pub fn random(&self) -> u64 {
        self.randomness.next()
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Where the output of a run goes.
    pub fn log_path(&self, run: &RunId) -> std::path::PathBuf {
        self.paths.logs.join(run.as_str())
    }

    /// Handles one input inside the transaction. Once the transaction is committed, the caller carries out the
    /// effects and hands on the reply.
    pub fn handle(&self, tx: &Tx<'_>, input: Input) -> Result<Handled, Failure> {
        if let Input::Reconcile { dispatcher, vouched, window } = &input {
            let effects = match tx.is_last_dispatcher(dispatcher)? {
                Some(true) => self.reconcile(tx, dispatcher, vouched, window)?,
                // To it, the runs of the one that has taken over would seem to be orphans.
                Some(false) => vec![Effect::Superseded],
                None => Vec::new(),
            };
            return Ok(Handled { reply: Ok(None), effects });
        }
        let random = || self.randomness.next();
        let actor = match &input {
            Input::Command { actor, .. } => actor.clone(),
            _ => Actor::Engine,
        };
        let mut act = Act::new(tx, self.clock.now(), actor, &self.policy, &random);
        let reply = match input {
            Input::Command { command, .. } => match act.late(&command)? {
                Some(refusal) => Err(refusal),
                None => Ok(Some(act.command(command)?)),
            },
            Input::Report { run, epoch, report } => act.report(&run, epoch, report).map(|()| Ok(None))?,
            Input::Begin { dispatcher, pid, slots, only } => {
                act.begin(&dispatcher, pid, slots, only.as_ref()).map(|()| Ok(None))?
            }
            Input::Look { dispatcher, slots, agents, only, all, careful } => {
                // The lock is a courtesy: whoever lost it hands out nothing more, whatever it believes.
                match tx.is_last_dispatcher(&dispatcher)? {
                    Some(true) => {
                        if all {
                            act.look(&dispatcher, only.as_ref())?;
                        }
                        act.claim(&dispatcher, slots, &agents, only.as_ref(), &self.paths, careful)?;
                    }
                    Some(false) => act.stand_down(&dispatcher)?,
                    None => {}
                }
                Ok(None)
            }
            Input::Recovered { run, recovery } => act.recovered(&run, recovery).map(|()| Ok(None))?,
            // Handled above, each repair in an act of its own.
            Input::Reconcile { .. } => Ok(None),
            Input::Damaged { problems } => {
                let said = super::act::data([("problems", json!(problems))]);
                act.note(crate::domain::EventKind::Damaged, None, None, said).map(|()| Ok(None))?
            }
            Input::Suspend { dispatcher } => act.suspend_all(&dispatcher).map(|()| Ok(None))?,
        };
        // The outcome of a command tells the state after the workflows were settled too.
        let workflow = match &reply {
            Ok(Some(Outcome::Workflow(w) | Outcome::Advanced { workflow: w, .. })) => Some(w.id.clone()),
            _ => None,
        };
        let effects = act.finish()?;
        let reply = match (reply, workflow) {
            (Ok(Some(outcome)), Some(id)) => {
                let fresh = tx.workflow(&id)?.ok_or_else(|| Refusal::not_found("workflow", id.as_str()))?;
                Ok(Some(match outcome {
                    Outcome::Advanced { changes, .. } => {
                        Outcome::Advanced { workflow: Box::new(fresh), changes }
                    }
                    _ => Outcome::Workflow(Box::new(fresh)),
                }))
            }
            (reply, _) => reply,
        };
        Ok(Handled { reply, effects })
    }
}

impl Act<'_, '_> {
    /// A result from a run that is no longer the task's own is kept as an event and refused (invariant 2).
    fn late(&mut self, command: &Command) -> Result<Option<Refusal>, Failure> {
        let (Command::Complete { task, .. }
        | Command::Fail { task, .. }
        | Command::Block { task, .. }
        | Command::Suspend { task }
        | Command::Ask { task, .. }
        | Command::WaitFor { task, .. }
        | Command::Permit { task: Some(task), .. }) = command
        else {
            return Ok(None);
        };
        let Actor::Agent { run, task: own, .. } = &self.actor else { return Ok(None) };
        let target = self.tx.resolve(task)?;
        if target.id != *own || target.current_run_id.as_ref() == Some(run) {
            return Ok(None);
        }
        let said = format!("{command:?}");
        let data = super::act::data([("said", json!(crate::domain::text::shortened(&said, 500)))]);
        self.note(crate::domain::EventKind::LateResult, Some(&target), None, data)?;
        Ok(Some(Refusal::state(
            "late_result",
            format!(
                "run {run} of task #{} is over, so what it says no longer counts; it was kept in the history \
                 (andon show {}), and the newest run has the word",
                target.seq, target.seq
            ),
        )))
    }

    fn command(&mut self, command: Command) -> Result<Outcome, Failure> {
        let task =
            |done: Result<crate::domain::Task, Failure>| done.map(|task| Outcome::Task(Box::new(task)));
        match command {
            Command::Create(new) => task(self.create(*new)),
            Command::CreateMany(many) => {
                let made = many.into_iter().map(|new| self.create(new)).collect::<Result<_, _>>()?;
                Ok(Outcome::Tasks(made))
            }
            Command::Copy { task: of } => task(self.copy(&of)),
            Command::Edit { task: which, edit, if_version } => task(self.edit(&which, *edit, if_version)),
            Command::Start { task: which } => task(self.start(&which)),
            Command::Take { task: which } => task(self.take(&which)),
            Command::Complete { task, result } => self.complete(&task, result),
            Command::Fail { task, error } => self.fail(&task, error),
            Command::Cancel { task, reason } => self.cancel(&task, reason),
            Command::Retry { task: which } => task(self.retry(&which)),
            Command::Block { task, reason } => self.block(&task, &reason),
            Command::Unblock { task: which } => task(self.unblock(&which, false)),
            Command::Suspend { task } => self.suspend(&task),
            Command::Resume { task: which } => task(self.resume(&which, false)),
            Command::Approve { task: which } => task(self.approve(&which)),
            Command::Reject { task: which, feedback } => task(self.reject(&which, feedback)),
            Command::Move { task, to, text } => self.move_to(&task, to, text),
            Command::Depend { task: which, on } => task(self.depend(&which, &on)),
            Command::Undepend { task: which, on } => task(self.undepend(&which, &on)),
            Command::Archive { task: which } => task(self.archive(&which)),
            Command::Delete { task: which } => task(self.delete(&which)),
            Command::Ask { task, question, options, waits, expires_at_ms } => self
                .ask(&task, &question, &options, waits, expires_at_ms)
                .map(|question| Outcome::Question(Box::new(question))),
            Command::Attend { wait, waits } => {
                self.attend(&wait, waits).map(|wait| Outcome::Wait(Box::new(wait)))
            }
            Command::Answer { question, answer } => {
                self.answer(&question, &answer).map(|question| Outcome::Question(Box::new(question)))
            }
            Command::Allow { approval, for_task } => {
                self.allow(&approval, for_task).map(|approval| Outcome::Approval(Box::new(approval)))
            }
            Command::Deny { approval, reason } => {
                self.deny(&approval, &reason).map(|approval| Outcome::Approval(Box::new(approval)))
            }
            Command::WaitFor { task, on, reason, expires_at_ms, waits } => self
                .wait_for(&task, &on, &reason, expires_at_ms, waits)
                .map(|wait| Outcome::Wait(Box::new(wait))),
            Command::Wake { key, data } => self.wake(&key, data),
            Command::CreateTimer { name, due_at_ms } => {
                self.create_timer(&name, due_at_ms).map(|timer| Outcome::Timer(Box::new(timer)))
            }
            Command::CancelTimer { timer } => {
                self.cancel_timer(&timer).map(|timer| Outcome::Timer(Box::new(timer)))
            }
            Command::Permit { task, call } => self.permit(task.as_ref(), &call),
            Command::CreateWorkflow { definition, board, cwd, start } => {
                self.create_workflow(*definition, board, cwd, start)
            }
            Command::StartWorkflow { workflow } => self.start_workflow(&workflow),
            Command::AdvanceWorkflow { workflow } => self.advance_workflow(&workflow),
            Command::PauseWorkflow { workflow } => self.pause_workflow(&workflow),
            Command::ResumeWorkflow { workflow } => self.resume_workflow(&workflow),
            Command::CancelWorkflow { workflow } => self.cancel_workflow(&workflow),
            Command::RerunWorkflow { workflow, from_failed } => self.rerun_workflow(&workflow, from_failed),
            Command::Purge { before_ms, batch } => self.purge(before_ms, &batch),
            Command::Notify { task: about, board, notice } => {
                self.notify(about.as_ref(), board.as_deref(), notice)
            }
            Command::CreateBoard { name } => {
                let name = crate::domain::text::board(&name)?;
                if !self.tx.ensure_board(&name, self.now)? {
                    return Err(Refusal::state(
                        "board_exists",
                        format!("board `{name}` exists already; `--board {name}` shows it"),
                    )
                    .into());
                }
                self.note(
                    crate::domain::EventKind::BoardChanged,
                    None,
                    None,
                    super::act::data([("board", json!(name))]),
                )?;
                Ok(Outcome::Board(name))
            }
        }
    }
}
