//! Making, changing and putting away tasks, and their dependencies.

use serde_json::{Map, json};

use super::act::{Act, data};
use super::command::{NewTask, TaskEdit};
use crate::domain::executor::{Program, Work};
use crate::domain::task::{DEFAULT_BOARD, DEFAULT_MAX_RETRIES, DEFAULT_PRIORITY};
use crate::domain::text::{self, TEXT_LIMIT};
use crate::domain::{Dispatch, EventKind, Executor, IdRef, Ledger, Refusal, Task, TaskStatus, graph};
use crate::store::Failure;

impl Act<'_, '_> {
    pub(super) fn create(&mut self, new: NewTask) -> Result<Task, Failure> {
        let board = match &new.board {
            Some(board) => text::board(board)?,
            None => DEFAULT_BOARD.to_owned(),
        };
        self.tx.ensure_board(&board, self.now)?;
        let executor = new.executor.map(|e| self.checked_executor(e)).transpose()?;
        let written_by = if executor.is_some() { self.writer()? } else { String::new() };
        self.refuse_denied(executor.as_ref(), &written_by)?;
        let parent = new.parent.as_ref().map(|p| self.tx.resolve(p)).transpose()?;
        let task = Task {
            seq: self.tx.next_task_seq()?,
            id: self.task_id(),
            board_id: board,
            parent_task_id: parent.map(|p| p.id),
            title: text::title(&new.title)?,
            description: text::limited("description", &new.description, TEXT_LIMIT)?,
            priority: text::priority(new.priority.unwrap_or(i64::from(DEFAULT_PRIORITY)))?,
            labels: text::labels(&new.labels)?,
            assignee: text::limited("assignee", new.assignee.trim(), text::LABEL_LIMIT)?,
            source: text::limited("source", new.source.trim(), text::LABEL_LIMIT)?,
            created_by: self.actor.name().to_owned(),
            written_by,
            retry_max: new.retry_max,
            max_retries: new.max_retries.unwrap_or(DEFAULT_MAX_RETRIES).max(new.retry_max),
            dispatch: if executor.is_some() { Dispatch::Auto } else { Dispatch::Manual },
            review_required: new
                .review_required
                .unwrap_or_else(|| new.worktree || self.policy.is_reviewed(executor.as_ref())),
            executor,
            worktree: if new.worktree { "wanted".to_owned() } else { String::new() },
            timeout_seconds: new.timeout_seconds.map(positive_seconds).transpose()?,
            not_before_ms: new.not_before_ms,
            metadata: new.metadata,
            ..Task::default()
        };
        let seq = task.seq;
        let mut task = self.insert(Ledger::create(task, self.now))?;
        for on in &new.after {
            let on = self.tx.resolve(on)?;
            task = self.add_dependency(seq, &on)?;
        }
        match new.start {
            true => self.start_new(task),
            false => Ok(task),
        }
    }

    pub(super) fn checked_executor(&self, executor: Executor) -> Result<Executor, Failure> {
        match &executor.work {
            Work::Command { command: Program::Argv(argv) }
                if argv.first().is_none_or(|p| p.trim().is_empty()) =>
            {
                return Err(
                    Refusal::invalid("command", "a command needs a program; write it after --").into()
                );
            }
            Work::Command { command: Program::Shell(line) } if line.trim().is_empty() => {
                return Err(Refusal::invalid(
                    "command",
                    "a command can't be empty; write what is to be run, or leave it out for a manual card",
                )
                .into());
            }
            Work::Command { command: Program::Argv(words) }
                if words.iter().any(|word| word.contains('\0')) =>
            {
                return Err(nul_in_command().into());
            }
            Work::Command { command: Program::Shell(line) } if line.contains('\0') => {
                return Err(nul_in_command().into());
            }
            Work::Tool { name, .. } if !self.policy.tools.is_empty() && !self.policy.tools.contains(name) => {
                let known = self.policy.tools.join(", ");
                let refusal =
                    Refusal::invalid("tool_name", format!("there is no tool `{name}`; known are {known}"));
                return Err(refusal.with_code("unknown_tool").into());
            }
            Work::Agent { name, .. } => {
                text::word("agent", name)?;
                if let Some(agents) = &self.policy.agents
                    && !agents.contains(name)
                {
                    let known = match agents.is_empty() {
                        true => "none are configured; `andon config path` names the file for [agents.NAME]"
                            .to_owned(),
                        false => format!("configured are {}", agents.join(", ")),
                    };
                    let refusal = Refusal::invalid("agent", format!("there is no agent `{name}`; {known}"));
                    return Err(refusal.with_code("unknown_agent").into());
                }
            }
            _ => {}
        }
        if let Some(cwd) = &executor.cwd
            && (!cwd.starts_with('/') || cwd.contains('\0'))
        {
            return Err(Refusal::invalid(
                "cwd",
                format!("the folder `{}` is not absolute; write it from / on", text::one_line(cwd)),
            )
            .into());
        }
        for (name, value) in &executor.env {
            let bad = name.is_empty()
                || name.contains(['=', '\0'])
                || value.as_ref().is_some_and(|v| v.contains('\0'));
            if bad {
                return Err(Refusal::invalid(
                    "env",
                    format!(
                        "`{}` is no variable; a name has no `=`, and neither it nor its value a NUL character",
                        text::one_line(name)
                    ),
                )
                .into());
            }
        }
        Ok(executor)
    }

    pub(super) fn copy(&mut self, of: &IdRef) -> Result<Task, Failure> {
        let of = self.tx.resolve(of)?;
        let mut metadata = Map::new();
        metadata.insert("copy_of".to_owned(), json!(of.id));
        // A copy does not turn an agent's words into a person's.
        let written_by = match (of.written_by.as_str(), &of.executor) {
            ("", Some(_)) => self.writer()?,
            _ => of.written_by.clone(),
        };
        self.refuse_denied(of.executor.as_ref(), &written_by)?;
        let task = Task {
            seq: self.tx.next_task_seq()?,
            id: self.task_id(),
            board_id: of.board_id,
            parent_task_id: of.parent_task_id,
            title: of.title,
            description: of.description,
            priority: of.priority,
            labels: of.labels,
            assignee: of.assignee,
            source: of.source,
            created_by: self.actor.name().to_owned(),
            written_by,
            max_retries: of.max_retries,
            retry_max: of.retry_max,
            dispatch: of.dispatch,
            executor: of.executor,
            review_required: of.review_required,
            worktree: if of.worktree.is_empty() { String::new() } else { "wanted".to_owned() },
            timeout_seconds: of.timeout_seconds,
            metadata,
            ..Task::default()
        };
        self.insert(Ledger::create(task, self.now))
    }

    pub(super) fn edit(
        &mut self,
        which: &IdRef,
        edit: TaskEdit,
        if_version: Option<i64>,
    ) -> Result<Task, Failure> {
        let mut ledger = self.open(which)?;
        let task = ledger.task().clone();
        if let Some(version) = if_version
            && version != task.version
        {
            return Err(Refusal::state(
                "stale_version",
                format!(
                    "task #{} changed meanwhile (version {} now, {version} when you looked); look again and repeat",
                    task.seq, task.version
                ),
            )
            .with_detail(json!({ "version": task.version }))
            .into());
        }
        let title = edit.title.as_deref().map(text::title).transpose()?;
        let description =
            edit.description.as_deref().map(|d| text::limited("description", d, TEXT_LIMIT)).transpose()?;
        let priority = edit.priority.map(text::priority).transpose()?;
        let labels = edit.labels.as_deref().map(text::labels).transpose()?;
        let short = |field: &'static str, value: &Option<String>| {
            value.as_deref().map(|v| text::limited(field, v.trim(), text::LABEL_LIMIT)).transpose()
        };
        let (assignee, source) = (short("assignee", &edit.assignee)?, short("source", &edit.source)?);
        let board = edit.board.as_deref().map(text::board).transpose()?;
        if let Some(board) = &board {
            self.tx.ensure_board(board, self.now)?;
        }
        if edit.executor.is_some() && self.tx.active_run(task.seq)?.is_some() {
            return Err(Refusal::state(
                "run_is_live",
                format!(
                    "task #{} is running, and what it runs with can be changed only when it is not; \
                     `andon suspend {}` stops it so that it can go on later",
                    task.seq, task.seq
                ),
            )
            .into());
        }
        if edit.executor.is_some() && task.status == TaskStatus::Queued && edit.executor == Some(None) {
            return Err(Refusal::state(
                "queued",
                format!(
                    "task #{} is queued for the dispatcher; cancel it, or copy it as a manual card",
                    task.seq
                ),
            )
            .into());
        }
        let executor = match edit.executor {
            Some(Some(executor)) => Some(Some(self.checked_executor(executor)?)),
            other => other,
        };
        // Whoever changes what is carried out has written it; an agent's goal reads title and description too.
        let is_goal = matches!(task.executor.as_ref().map(|e| &e.work), Some(Work::Agent { .. }));
        let writer = self.writer()?;
        let rewrites = executor.is_some()
            || (is_goal && !writer.is_empty() && (title.is_some() || description.is_some()));
        let written_by = rewrites.then_some(writer);
        if let Some(written_by) = &written_by {
            let new = executor.as_ref().unwrap_or(&task.executor);
            self.refuse_denied(new.as_ref(), written_by)?;
        }
        let timeout = match edit.timeout_seconds {
            Some(Some(seconds)) => Some(Some(positive_seconds(seconds)?)),
            other => other,
        };
        ledger.edit(EventKind::Edited, Map::new(), self.now, |t| {
            set(&mut t.written_by, written_by);
            set(&mut t.title, title);
            set(&mut t.description, description);
            set(&mut t.priority, priority);
            set(&mut t.labels, labels);
            set(&mut t.assignee, assignee);
            set(&mut t.source, source);
            set(&mut t.board_id, board);
            set(&mut t.max_retries, edit.max_retries);
            set(&mut t.retry_max, edit.retry_max);
            set(&mut t.timeout_seconds, timeout);
            set(&mut t.not_before_ms, edit.not_before_ms);
            set(&mut t.review_required, edit.review_required);
            if let Some(executor) = executor {
                t.dispatch = if executor.is_some() { Dispatch::Auto } else { Dispatch::Manual };
                t.executor = executor;
            }
            t.max_retries = t.max_retries.max(t.retry_max);
        });
        self.ask_anew(&task, &mut ledger)?;
        self.save(ledger)
    }

    pub(super) fn depend(&mut self, which: &IdRef, on: &IdRef) -> Result<Task, Failure> {
        let task = self.tx.resolve(which)?;
        let on = self.tx.resolve(on)?;
        if !matches!(task.status, TaskStatus::Pending | TaskStatus::Queued) {
            return Err(Refusal::state(
                "already_claimed",
                format!(
                    "task #{} is {} already, and only one that is pending or queued can be made to wait; \
                     `andon copy {}` makes a fresh card that can",
                    task.seq, task.status, task.seq
                ),
            )
            .into());
        }
        self.add_dependency(task.seq, &on)
    }

    /// Makes a task wait for `on`, checked for cycles over the whole graph.
    fn add_dependency(&mut self, seq: i64, on: &Task) -> Result<Task, Failure> {
        let closes = graph::path_to(on.seq, seq, |n| self.needs_and_awaits(n))?;
        if let Some(path) = closes {
            let path: Vec<String> = std::iter::once(seq).chain(path).map(|n| format!("#{n}")).collect();
            return Err(Refusal::state(
                "cycle",
                format!(
                    "task #{seq} can't need #{}: it would close the cycle {}, and none of them could ever start; \
                     take one of these arrows away first: andon depend ID --on ID --remove",
                    on.seq,
                    path.join(" → ")
                ),
            )
            .with_detail(json!({ "path": path }))
            .into());
        }
        let mut ledger = self.open_seq(seq)?;
        if self.tx.add_dependency(seq, on.seq)? {
            let open = on.status != TaskStatus::Success;
            let data = data([("on", json!(on.id)), ("on_seq", json!(on.seq))]);
            let at = self.now;
            ledger.edit(EventKind::DependencyAdded, data, at, |t| {
                t.open_predecessors += u32::from(open);
                if open {
                    t.park_clock(at);
                }
            });
        }
        self.save(ledger)
    }

    pub(super) fn undepend(&mut self, which: &IdRef, on: &IdRef) -> Result<Task, Failure> {
        let ledger = self.open(which)?;
        let on = self.tx.resolve(on)?;
        let seq = ledger.task().seq;
        if !self.tx.remove_dependency(seq, on.seq)? {
            let said =
                format!("task #{seq} does not need #{}; `andon show {seq}` lists what it needs", on.seq);
            return Err(Refusal::state("no_dependency", said).into());
        }
        self.freed(ledger, &on, EventKind::DependencyRemoved)
    }

    /// Takes one open predecessor from a task, and queues a step that waited only for it.
    pub(super) fn freed(&mut self, mut ledger: Ledger, on: &Task, kind: EventKind) -> Result<Task, Failure> {
        let was_open = kind == EventKind::PredecessorDone || on.status != TaskStatus::Success;
        let now = self.now;
        let data = data([("on", json!(on.id)), ("on_seq", json!(on.seq))]);
        ledger.edit(kind, data, now, |t| {
            t.open_predecessors = t.open_predecessors.saturating_sub(u32::from(was_open));
            if t.status == TaskStatus::Queued {
                t.run_clock(now);
            }
        });
        self.queue_if_ready(&mut ledger)?;
        self.save(ledger)
    }

    /// Queues a step of a started workflow that waits for nothing any more.
    pub(super) fn queue_if_ready(&mut self, ledger: &mut Ledger) -> Result<(), Failure> {
        let task = ledger.task();
        if let Some(workflow) = task.workflow_id.clone()
            && task.status == TaskStatus::Pending
            && task.open_predecessors == 0
        {
            let workflow = self.workflow(&workflow)?;
            if workflow.started && !workflow.status.is_closed() {
                self.queue_step(ledger)?;
            }
        }
        Ok(())
    }

    pub(super) fn archive(&mut self, which: &IdRef) -> Result<Task, Failure> {
        let mut ledger = self.open(which)?;
        let task = ledger.task();
        if !task.status.is_settled() {
            return Err(Refusal::state(
                "not_settled",
                format!(
                    "task #{} is {}, and only what has ended can be put away; `andon cancel {}` ends it",
                    task.seq, task.status, task.seq
                ),
            )
            .into());
        }
        let now = self.now;
        ledger.edit(EventKind::Archived, Map::new(), now, |t| t.archived_at_ms = Some(now));
        self.save(ledger)
    }

    /// Hides a task; what happened stays. What waited for it is freed and told.
    pub(super) fn delete(&mut self, which: &IdRef) -> Result<Task, Failure> {
        let task = self.tx.resolve(which)?;
        if task.archived_at_ms.is_some() {
            return Ok(task);
        }
        if self.tx.active_run(task.seq)?.is_some() {
            return Err(Refusal::state(
                "run_is_live",
                format!(
                    "task #{} is running; `andon cancel {}` stops it, then it can go",
                    task.seq, task.seq
                ),
            )
            .into());
        }
        let succeeded = task.status == TaskStatus::Success;
        let mut ledger = Ledger::open(task);
        let cancelled = !ledger.task().status.is_settled();
        if cancelled {
            self.cancel_open(&mut ledger, "deleted", false)?;
        }
        let seq = ledger.task().seq;
        let mut freed = Vec::new();
        if !succeeded && ledger.task().workflow_id.is_none() {
            for next in self.tx.needed_by(seq)? {
                self.tx.remove_dependency(next, seq)?;
                let next = self.open_seq(next)?;
                freed.push(next.task().seq);
                self.freed(next, ledger.task(), EventKind::DependencyRemoved)?;
            }
        }
        let now = self.now;
        let data = data([("deleted", json!(true)), ("freed", json!(freed))]);
        ledger.edit(EventKind::Archived, data, now, |t| t.archived_at_ms = Some(now));
        let task = self.save(ledger)?;
        if cancelled {
            self.after_settling(&task)?;
        }
        Ok(task)
    }
}

fn positive_seconds(seconds: u32) -> Result<u32, Refusal> {
    match seconds {
        0 => Err(Refusal::invalid(
            "timeout_seconds",
            "a timeout is at least one second; leave it out for none",
        )),
        seconds => Ok(seconds),
    }
}

fn nul_in_command() -> Refusal {
    Refusal::invalid("command", "a command can't hold a NUL character; put it into a script and run that")
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}
