//! Approvals: a call that an agent wrote waits for a person where the policy says so. A card is parked at the claim,
//! before anything of it was started; a call from inside a run waits as a question does, its process alive. A decision
//! is bound to the hash of the call, and waiting for one counts into the time of the task.

use serde_json::{Map, Value, json};

use super::act::{Act, data};
use super::command::{ApprovalRef, Outcome};
use super::handle::{Engine, EngineError};
use super::settle::End;
use crate::domain::approval::{Author, Call, Rule, Scope};
use crate::domain::id::IdKind;
use crate::domain::text::{TEXT_LIMIT, limited, shortened};
use crate::domain::{
    Actor, Approval, ApprovalId, EventKind, Executor, IdRef, Ledger, Refusal, RunId, RunOutcome, Task,
    TaskStatus, WaitState,
};
use crate::store::{Failure, View};

/// Whether a claimed task may start.
pub(super) enum Gate {
    /// It may.
    Open,
    /// A person is asked first.
    Ask(Box<Call>),
    /// The policy denies it, for this reason.
    Shut(String),
}

/// An open approval with its task.
#[derive(Debug, Clone)]
pub struct OpenApproval {
    /// The approval.
    pub approval: Approval,
    /// The task's number.
    pub seq: i64,
    /// The task's title.
    pub title: String,
    /// The task's board.
    pub board_id: String,
    /// The clients that it was shown to, the first one first; empty where nobody has seen it.
    pub seen_by: Vec<String>,
}

impl Engine {
    /// The calls that wait for a decision, oldest first; of one board, or of all.
    pub fn approvals(&self, board: Option<&str>) -> Result<Vec<OpenApproval>, EngineError> {
        self.inner.store.read(|view| {
            let mut open = Vec::new();
            for (approval, seq, title, board_id) in view.open_approvals(board)? {
                let seen_by = view.deliveries(approval.id.as_str())?;
                open.push(OpenApproval { approval, seq, title, board_id, seen_by });
            }
            Ok(open)
        })
    }

    /// One approval by its id, decided or not.
    pub fn approval(&self, id: &ApprovalId) -> Result<Approval, EngineError> {
        self.inner.store.read(|view| {
            view.approval(id)?.ok_or_else(|| Refusal::not_found(IdKind::Approval.word(), id.as_str()).into())
        })
    }

    /// What was decided before about calls of the same task and about the same call of any task, the newest first, at
    /// most `limit`: what a person wants to see beside an open approval.
    pub fn decided_before(&self, approval: &Approval, limit: u32) -> Result<Vec<Approval>, EngineError> {
        self.inner.store.read(|view| match view.task_by_id(&approval.task_id)? {
            Some(task) => view.decided_approvals(task.seq, &approval.hash, limit),
            None => Ok(Vec::new()),
        })
    }

    /// What the policy says about a call by this caller.
    pub fn rule(&self, actor: &Actor, call: &Call) -> Result<Rule, EngineError> {
        let policy = &self.inner.core.policy().approvals;
        let agent = self.inner.store.read(|view| agent_name(view, actor))?;
        Ok(policy.rule(author(&agent), &call.tool, call.risk))
    }
}

/// The name by which the policy knows a caller; empty for a person. That of a run is its task's agent, whatever the
/// caller calls itself.
fn agent_name(view: &View<'_>, actor: &Actor) -> Result<String, Failure> {
    let said = match actor {
        Actor::Operator { .. } | Actor::Engine => return Ok(String::new()),
        Actor::Guest { name } => name.clone(),
        Actor::Agent { task, name, .. } => {
            let task = view.task_by_id(task)?;
            match task.as_ref().map(Task::lane).unwrap_or_default() {
                "" => name.clone(),
                agent => agent.to_owned(),
            }
        }
    };
    Ok(if said.is_empty() { "an agent".to_owned() } else { said })
}

fn author(agent: &str) -> Author<'_> {
    match agent {
        "" => Author::Person,
        agent => Author::Agent(agent),
    }
}

fn denied_by_policy(agent: &str, call: &Call) -> Refusal {
    Refusal::not_allowed(format!(
        "the approval policy denies {agent} the tool {} (risk {}); [approvals] in the configuration says so, and a \
         person may do it instead",
        call.tool, call.risk
    ))
    .with_code("denied_by_policy")
}

/// What the events about an approval say.
fn about(approval: &Approval) -> Map<String, Value> {
    data([
        ("approval", json!(approval.id)),
        ("call", json!(approval.label())),
        ("risk", json!(approval.risk)),
        ("hash", json!(approval.hash)),
    ])
}

impl Act<'_, '_> {
    /// Who writes in this act: empty for a person.
    pub(super) fn writer(&self) -> Result<String, Failure> {
        agent_name(self.tx, &self.actor)
    }

    /// Refuses work that the policy denies its author, when it is put onto the board.
    pub(super) fn refuse_denied(&self, executor: Option<&Executor>, agent: &str) -> Result<(), Failure> {
        let Some(executor) = executor.filter(|_| !agent.is_empty()) else { return Ok(()) };
        let task = Task { executor: Some(executor.clone()), ..Task::default() };
        let policy = &self.policy.approvals;
        match Call::of_task(&task, &Default::default(), policy) {
            Some(call) if policy.rule(author(agent), &call.tool, call.risk) == Rule::Deny => {
                Err(denied_by_policy(agent, &call).into())
            }
            _ => Ok(()),
        }
    }

    /// What a task would carry out now.
    pub(super) fn call_of(&self, task: &Task) -> Result<Option<Call>, Failure> {
        let values = match (&task.workflow_id, &task.executor) {
            (Some(workflow), Some(executor)) => self.values(workflow, executor)?,
            _ => Default::default(),
        };
        Ok(Call::of_task(task, &values, &self.policy.approvals))
    }

    /// Whether a task that is claimed may start. What was allowed once is used up by this.
    pub(super) fn gate(&mut self, task: &Task) -> Result<Gate, Failure> {
        let Author::Agent(agent) = Author::of(task) else { return Ok(Gate::Open) };
        let Some(call) = self.call_of(task)? else { return Ok(Gate::Open) };
        Ok(match self.policy.approvals.rule(Author::Agent(agent), &call.tool, call.risk) {
            Rule::Allow => Gate::Open,
            Rule::Deny => Gate::Shut(denied_by_policy(agent, &call).message),
            Rule::Ask if self.use_allowance(task, &call)? => Gate::Open,
            Rule::Ask => Gate::Ask(Box::new(call)),
        })
    }

    fn use_allowance(&mut self, task: &Task, call: &Call) -> Result<bool, Failure> {
        let Some(mut allowed) = self.tx.allowance(task.seq, &call.hash())? else { return Ok(false) };
        // Whoever was told to end over it has come back, and nobody has to be told of it any more.
        self.tx.set_asker_waits(allowed.id.as_str(), true)?;
        if allowed.scope == Scope::Once {
            allowed.state = WaitState::Consumed;
            self.tx.update_approval(&allowed)?;
        }
        self.note(EventKind::AllowanceUsed, Some(task), None, about(&allowed))?;
        Ok(true)
    }

    /// QUEUED → RUNNING → BLOCKED in one transaction: a run that is parked before anything of it was started.
    pub(super) fn park_for_approval(&mut self, task: Task, call: &Call) -> Result<(), Failure> {
        let mut run = self.new_run(&task, None)?;
        run.ended_at_ms = Some(self.now);
        run.outcome = Some(RunOutcome::Parked);
        run.note = "it waits for approval, and nothing of it was started".to_owned();
        let approval = self.new_approval(&task, call, task.written_by.clone(), Some(&run.id));
        let deadline = task.deadline_ms;
        let mut ledger = Ledger::open(task);
        self.step_running(&mut ledger, &run, EventKind::Claimed)?;
        self.block_for(&mut ledger, &approval, None, deadline)?;
        let task = self.save(ledger)?;
        self.tx.insert_run(task.seq, &run)?;
        self.tx.insert_approval(task.seq, &approval, false)
    }

    /// A call from inside a run: permitted, refused, or waiting for a decision, its run parked and its process alive.
    pub(super) fn permit(&mut self, which: Option<&IdRef>, call: &Call) -> Result<Outcome, Failure> {
        let agent = self.writer()?;
        match self.policy.approvals.rule(author(&agent), &call.tool, call.risk) {
            Rule::Allow => return Ok(Outcome::Permitted),
            Rule::Deny => return Err(denied_by_policy(&agent, call).into()),
            Rule::Ask => {}
        }
        let Some(which) = which else {
            return Err(Refusal::not_allowed(format!(
                "{} needs a person's approval, and outside a run there is no card to ask on; make a card of it \
                 (`task create` with a command), which asks when its turn comes",
                call.tool
            ))
            .with_code("needs_approval")
            .into());
        };
        let ledger = self.open(which)?;
        if self.use_allowance(ledger.task(), call)? {
            self.go_on_allowed(ledger)?;
            return Ok(Outcome::Permitted);
        }
        if let Some(known) = self.asked_before(ledger.task(), call)? {
            return Ok(Outcome::Approval(Box::new(known)));
        }
        Ok(Outcome::Approval(Box::new(self.ask_approval(ledger, call, agent)?)))
    }

    /// The same call once more, by a caller that did not wait for the decision: it waits for the open one now, or is
    /// told of the denial that it has not heard of.
    fn asked_before(&mut self, task: &Task, call: &Call) -> Result<Option<Approval>, Failure> {
        let hash = call.hash();
        let run = self.run.clone();
        let known = self.tx.approvals_of(task.seq)?.into_iter().rev().find(|approval| approval.hash == hash);
        let Some(known) = known else { return Ok(None) };
        let unheard = match known.state {
            WaitState::Open => known.run_id == run,
            WaitState::Denied => !self.tx.asker_waits(known.id.as_str())?,
            _ => false,
        };
        if !unheard {
            return Ok(None);
        }
        self.tx.set_asker_waits(known.id.as_str(), true)?;
        if known.state == WaitState::Denied {
            self.go_on_allowed(self.open_id(&task.id)?)?;
        }
        Ok(Some(known))
    }

    /// A run that was parked for a decision, and was told to end, makes its call once more instead: it goes on.
    fn go_on_allowed(&mut self, mut ledger: Ledger) -> Result<(), Failure> {
        let seq = ledger.task().seq;
        let parked = self.tx.active_run(seq)?.filter(|run| run.parked && run.closing_as.is_none());
        let waits = self.tx.open_wait(seq)?.is_some() || self.tx.triggered_wait(seq)?.is_some();
        match parked {
            Some(run) if !waits && Some(&run.id) == self.run.as_ref() => {
                self.unpark(&mut ledger, run, EventKind::Allowed)?;
                self.save(ledger).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    fn ask_approval(&mut self, mut ledger: Ledger, call: &Call, agent: String) -> Result<Approval, Failure> {
        let task = ledger.task().clone();
        let mut run = self.asking_run(&task)?;
        self.close_waits(&task, WaitState::Superseded)?;
        let approval = self.new_approval(&task, call, agent, Some(&run.id));
        run.parked = true;
        self.tx.update_run(&run)?;
        self.block_for(&mut ledger, &approval, Some(run.id), task.deadline_ms)?;
        self.tx.insert_approval(task.seq, &approval, true)?;
        self.save(ledger)?;
        Ok(approval)
    }

    /// → BLOCKED until a person has decided. Unlike with a question, the clock of the task runs on.
    fn block_for(
        &mut self,
        ledger: &mut Ledger,
        approval: &Approval,
        run: Option<RunId>,
        deadline: Option<i64>,
    ) -> Result<(), Failure> {
        let reason = shortened(&format!("waits for approval: {}", approval.label()), 500);
        let now = self.now;
        let change = |t: &mut Task| {
            t.blocked_reason = reason;
            t.current_run_id = run;
            match deadline {
                Some(_) => (t.deadline_ms, t.time_left_ms) = (deadline, None),
                None => t.run_clock(now),
            }
        };
        match ledger.task().status {
            TaskStatus::Blocked => ledger.edit(EventKind::ApprovalAsked, about(approval), now, change),
            _ => ledger.step(TaskStatus::Blocked, EventKind::ApprovalAsked, about(approval), now, change)?,
        }
        Ok(())
    }

    fn new_approval(&self, task: &Task, call: &Call, agent: String, run: Option<&RunId>) -> Approval {
        Approval {
            id: ApprovalId::from_random((self.random)()),
            task_id: task.id.clone(),
            run_id: run.cloned(),
            tool: call.tool.clone(),
            risk: call.risk,
            call: call.json.clone(),
            hash: call.hash(),
            asked_by: agent,
            state: WaitState::Open,
            scope: Scope::Once,
            decided_by: String::new(),
            reason: String::new(),
            asked_at_ms: self.now,
            decided_at_ms: None,
        }
    }

    /// A person allows a call, once or as often as this task makes it. A process that waits goes on; a card is queued.
    pub(super) fn allow(&mut self, which: &ApprovalRef, for_task: bool) -> Result<Approval, Failure> {
        let (mut approval, mut ledger) = self.decide(which, "allowing a call")?;
        approval.scope = if for_task { Scope::Task } else { Scope::Once };
        let run = self.tx.active_run(ledger.task().seq)?;
        let waits = self.tx.asker_waits(approval.id.as_str())?;
        // Whoever waits makes the call now.
        approval.state = match run.is_some() && waits && !for_task {
            true => WaitState::Consumed,
            false => WaitState::Allowed,
        };
        self.tx.update_approval(&approval)?;
        let mut said = about(&approval);
        said.insert("scope".to_owned(), json!(approval.scope));
        self.note(EventKind::Allowed, Some(ledger.task()), None, said)?;
        match run {
            // Its process was told to end: the end of its run finds what was decided.
            Some(run) if run.is_dispatched() && !waits => {}
            Some(run) => self.unpark(&mut ledger, run, EventKind::Allowed)?,
            None => self.requeue(&mut ledger, EventKind::Allowed, false)?,
        }
        self.save(ledger)?;
        Ok(approval)
    }

    /// A person denies a call. A process that waits is told so and goes on; a card fails with the reason, and is not
    /// retried by itself.
    pub(super) fn deny(&mut self, which: &ApprovalRef, reason: &str) -> Result<Approval, Failure> {
        let reason = limited("reason", reason.trim(), TEXT_LIMIT)?;
        let (mut approval, mut ledger) = self.decide(which, "denying a call")?;
        approval.state = WaitState::Denied;
        approval.reason = reason;
        self.tx.update_approval(&approval)?;
        let mut said = about(&approval);
        said.insert("reason".to_owned(), json!(shortened(&approval.reason, 500)));
        self.note(EventKind::Denied, Some(ledger.task()), None, said)?;
        let waits = self.tx.asker_waits(approval.id.as_str())?;
        match self.tx.active_run(ledger.task().seq)? {
            // As above.
            Some(run) if run.is_dispatched() && !waits => {}
            Some(run) => {
                self.unpark(&mut ledger, run, EventKind::Denied)?;
                self.save(ledger)?;
            }
            None => {
                let error = denied_by(&approval);
                self.fail_unstarted(ledger, EventKind::Denied, End::for_good(RunOutcome::Failed, error))?;
            }
        }
        Ok(approval)
    }

    /// A task that nothing runs fails over legal steps, in a run of its own.
    pub(super) fn fail_unstarted(
        &mut self,
        mut ledger: Ledger,
        kind: EventKind,
        end: End,
    ) -> Result<Task, Failure> {
        let run = self.new_run(ledger.task(), None)?;
        self.step_running(&mut ledger, &run, kind)?;
        self.tx.insert_run(ledger.task().seq, &run)?;
        self.settle(ledger, run, end)
    }

    fn decide(&mut self, which: &ApprovalRef, what: &str) -> Result<(Approval, Ledger), Failure> {
        self.only_operator(what)?;
        let mut approval = self.find_approval(which)?;
        approval.check_open()?;
        approval.decided_by = self.actor.name().to_owned();
        approval.decided_at_ms = Some(self.now);
        let ledger = self.open_id(&approval.task_id)?;
        Ok((approval, ledger))
    }

    fn find_approval(&self, which: &ApprovalRef) -> Result<Approval, Failure> {
        let missing = |id: &str| Refusal::not_found(IdKind::Approval.word(), id);
        match which {
            ApprovalRef::Id(id) => {
                let id = match IdRef::parse(id.as_str(), IdKind::Approval)? {
                    IdRef::Prefix(prefix) => match self.tx.approvals_with_prefix(&prefix)?.as_slice() {
                        [one] => ApprovalId(one.clone()),
                        [] => return Err(missing(id.as_str()).into()),
                        many => return Err(Refusal::ambiguous("approval", &prefix, many).into()),
                    },
                    IdRef::Full(id) => ApprovalId(id),
                    IdRef::Seq(_) => id.clone(),
                };
                self.tx.approval(&id)?.ok_or_else(|| missing(id.as_str()).into())
            }
            ApprovalRef::OfTask(task) => {
                let task = self.tx.resolve(task)?;
                if let Some(open) = self.tx.open_approval(task.seq)? {
                    return Ok(open);
                }
                // The last one says best why there is nothing to decide.
                self.tx.approvals_of(task.seq)?.pop().ok_or_else(|| {
                    let said = format!(
                        "task #{} waits for no approval; `andon approvals` lists what does",
                        task.seq
                    );
                    Refusal::state("no_approval", said).into()
                })
            }
        }
    }

    /// Closes the open approval of a task without a decision.
    pub(super) fn close_approval(&mut self, task: &Task, state: WaitState) -> Result<(), Failure> {
        let Some(mut approval) = self.tx.open_approval(task.seq)? else { return Ok(()) };
        approval.state = state;
        approval.decided_at_ms = Some(self.now);
        self.tx.update_approval(&approval)?;
        let mut said = about(&approval);
        said.insert("state".to_owned(), json!(state));
        self.note(EventKind::ApprovalClosed, Some(task), None, said)
    }

    /// After an edit: a card that was parked for a call which it would no longer make asks anew, or asks no more.
    pub(super) fn ask_anew(&mut self, before: &Task, ledger: &mut Ledger) -> Result<(), Failure> {
        let task = ledger.task();
        if task.status != TaskStatus::Blocked {
            return Ok(());
        }
        let Some(open) = self.tx.open_approval(task.seq)? else { return Ok(()) };
        let was = self.call_of(before)?.map(|call| call.hash());
        if was.as_ref() != Some(&open.hash) {
            return Ok(());
        }
        let is = self.call_of(task)?.map(|call| call.hash());
        if is != was || task.written_by != before.written_by {
            let task = task.clone();
            self.close_approval(&task, WaitState::Superseded)?;
            self.requeue(ledger, EventKind::Unblocked, false)?;
        }
        Ok(())
    }
}

/// Why a call was not made, for whoever wanted to make it.
pub fn denied_by(approval: &Approval) -> String {
    let who = &approval.decided_by;
    match approval.reason.as_str() {
        "" => format!("{who} denied `{}`", approval.label()),
        reason => format!("{who} denied `{}`: {reason}", approval.label()),
    }
}
