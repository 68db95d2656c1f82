//! What people do: every verb, on any card, at any time.

use super::world::World;
use andon::domain::{Actor, Executor, IdRef, Program, StepDefinition, TaskStatus, Work, WorkflowDefinition};
use andon::engine::{
    AnswerText, ApprovalRef, Command, Doomed, NewTask, Outcome, PurgeCursor, PurgeUnit, QuestionRef, TaskEdit,
};
use serde_json::json;

impl World {
    pub fn person(&mut self) {
        if self.dice.one_in(40) {
            return self.purge();
        }
        let Some(task) = self.any_task() else { return self.create() };
        let id = IdRef::Full(task.id.0.clone());
        let command = match self.dice.below(32) {
            0..=2 => return self.create(),
            3 => return self.create_workflow(),
            4 | 5 => Command::Start { task: id },
            6 => Command::Take { task: id },
            7 => Command::Complete { task: id, result: Some("done".into()) },
            8 => Command::Fail { task: id, error: None },
            9 => Command::Cancel { task: id, reason: None },
            10 => Command::Retry { task: id },
            11 => Command::Block { task: id, reason: "a reason".into() },
            12 => Command::Unblock { task: id },
            13 => Command::Suspend { task: id },
            14 => Command::Resume { task: id },
            15 => Command::Approve { task: id },
            16 => Command::Reject { task: id, feedback: Some("again".into()) },
            17 => {
                Command::Move { task: id, to: TaskStatus::ALL[self.dice.below(9)], text: Some("text".into()) }
            }
            18 => match self.any_task() {
                Some(on) => Command::Depend { task: id, on: IdRef::Seq(on.seq) },
                None => return,
            },
            19 => return self.answer(),
            20 => return self.workflow_verb(),
            21 => Command::Delete { task: id },
            22 => {
                let edit = TaskEdit { priority: Some(self.dice.below(10) as i64), ..TaskEdit::default() };
                Command::Edit { task: id, edit: Box::new(edit), if_version: None }
            }
            23 => Command::Copy { task: id },
            24 | 25 => return self.decide(),
            28 | 29 => Command::Wake { key: self.key(), data: json!(1) },
            30 => {
                let due_at_ms = self.core.now() + self.dice.below(60_000) as i64;
                if let Some(Outcome::Timer(timer)) =
                    self.command(Command::CreateTimer { name: "t".into(), due_at_ms })
                {
                    self.timers.push(timer.id);
                }
                return;
            }
            31 => match self.dice.pick(&self.timers).cloned() {
                Some(timer) => Command::CancelTimer { timer: timer.0 },
                None => return,
            },
            26 => {
                let line = format!("x{}", self.dice.below(3));
                let work = Work::Command { command: Program::Shell(line) };
                let edit = TaskEdit { executor: Some(Some(Executor::new(work))), ..TaskEdit::default() };
                let edit = Command::Edit { task: id, edit: Box::new(edit), if_version: None };
                let who = self.somebody();
                self.command_as(edit, who);
                return;
            }
            _ => Command::Deny { approval: ApprovalRef::OfTask(id), reason: "no".into() },
        };
        self.command(command);
    }

    /// A person, or an agent that puts work onto the board.
    fn somebody(&self) -> Actor {
        match self.dice.one_in(3) {
            true => Actor::Guest { name: "agent".into() },
            false => Actor::operator("sim"),
        }
    }

    /// The key of an event that others wait for about now.
    pub fn key(&self) -> String {
        format!("k{}", self.core.now() / 5_000 + self.dice.below(2) as i64)
    }

    fn create(&mut self) {
        let auto = !self.dice.one_in(4);
        let after = match (self.dice.one_in(4), self.any_task()) {
            (true, Some(task)) => vec![IdRef::Seq(task.seq)],
            _ => Vec::new(),
        };
        let new = NewTask {
            title: format!("task {}", self.dice.below(1_000)),
            executor: auto.then(|| Executor::new(Work::Command { command: Program::Shell("x".into()) })),
            retry_max: if self.dice.one_in(3) { 1 } else { 0 },
            timeout_seconds: self.dice.one_in(5).then_some(60),
            review_required: Some(self.dice.one_in(5)),
            start: self.dice.one_in(2),
            not_before_ms: self.dice.one_in(8).then(|| self.core.now() + 5_000),
            after,
            ..NewTask::default()
        };
        let who = self.somebody();
        self.command_as(Command::Create(Box::new(new)), who);
    }

    fn create_workflow(&mut self) {
        let n = 1 + self.dice.below(6);
        let steps = (0..n)
            .map(|i| StepDefinition {
                id: format!("s{i}"),
                name: format!("step {i}"),
                tool_name: "exec".into(),
                tool_params: json!({ "command": "true" }).as_object().unwrap().clone(),
                depends_on: (0..i).filter(|_| self.dice.one_in(2)).map(|j| format!("s{j}")).collect(),
                retry_max: if self.dice.one_in(3) { 1 } else { 0 },
                timeout_seconds: 300,
                priority: 5,
                review_required: Some(self.dice.one_in(8)),
                ..StepDefinition::default()
            })
            .collect();
        let definition =
            WorkflowDefinition { name: format!("w{}", self.workflows.len()), board: None, steps };
        let start = !self.dice.one_in(4);
        let command =
            Command::CreateWorkflow { definition: Box::new(definition), board: None, cwd: None, start };
        let who = self.somebody();
        if let Some(Outcome::Workflow(made)) = self.command_as(command, who) {
            self.workflows.push(made.id);
        }
    }

    fn workflow_verb(&mut self) {
        let Some(id) = self.dice.pick(&self.workflows).map(|w| w.0.clone()) else { return };
        let command = match self.dice.below(6) {
            0 => Command::StartWorkflow { workflow: id },
            1 => Command::PauseWorkflow { workflow: id },
            2 => Command::ResumeWorkflow { workflow: id },
            3 if self.dice.one_in(3) => Command::CancelWorkflow { workflow: id },
            4 => Command::RerunWorkflow { workflow: id, from_failed: self.dice.one_in(2) },
            _ => {
                // Work that nobody queued is what advance repairs; a healthy workflow has none.
                if let Some(Outcome::Advanced { changes, .. }) =
                    self.command(Command::AdvanceWorkflow { workflow: id })
                {
                    assert_eq!(changes, 0, "advance found something to repair\n{}", self.story());
                }
                return;
            }
        };
        if let Some(Outcome::Workflow(made)) = self.command(command)
            && !self.workflows.contains(&made.id)
        {
            self.workflows.push(made.id);
        }
    }

    fn purge(&mut self) {
        let before_ms = self.core.now() - self.dice.below(60_000) as i64;
        let (mut cursor, dice) = (PurgeCursor::default(), self.dice.clone());
        let doomed = |view: &andon::store::View<'_>| {
            let mut batch = Vec::new();
            for unit in view.purgeable(before_ms, None, &mut cursor, 1 + dice.below(5) as u32)? {
                let fingerprint = view.remains(&unit)?.fingerprint();
                batch.push(Doomed { unit, fingerprint });
            }
            Ok(batch)
        };
        let batch = self.store.read(doomed).unwrap();
        let gone: Vec<PurgeUnit> = batch.iter().map(|one| one.unit.clone()).collect();
        let last = self.store.read(|view| view.last_event()).unwrap();
        if let Some(Outcome::Purged(removed)) = self.command(Command::Purge { before_ms, batch }) {
            self.workflows.retain(|id| !gone.contains(&PurgeUnit::Workflow(id.clone())));
            assert!(removed.tasks + removed.workflows >= gone.len(), "{removed:?}\n{}", self.story());
            let now = self.store.read(|view| view.last_event()).unwrap();
            assert_eq!(now, last + 1, "numbers of events are never used again\n{}", self.story());
        }
    }

    /// A person decides about a call; the first decision counts.
    pub fn decide(&mut self) {
        let open = self.store.read(|view| view.open_approvals(None)).unwrap();
        let Some((approval, ..)) = self.dice.pick(&open) else { return };
        let which = ApprovalRef::Id(approval.id.clone());
        let deny = Command::Deny { approval: which.clone(), reason: "no".into() };
        let first = match self.dice.below(4) {
            0 => deny.clone(),
            n => Command::Allow { approval: which, for_task: n == 1 },
        };
        if self.command(first).is_some() && self.dice.one_in(2) {
            let again = self.command(deny);
            assert!(again.is_none(), "a second decision was taken\n{}", self.story());
        }
    }

    pub fn answer(&mut self) {
        let open = self.store.read(|view| view.open_questions(None)).unwrap();
        let Some((question, ..)) = self.dice.pick(&open) else { return };
        let answer = match question.options.is_empty() {
            true => AnswerText::Text("an answer".into()),
            false => AnswerText::Option(1 + self.dice.below(question.options.len())),
        };
        let which = QuestionRef::Id(question.id.clone());
        let taken = self.command(Command::Answer { question: which.clone(), answer: answer.clone() });
        if taken.is_some() && self.dice.one_in(2) {
            let again = self.command(Command::Answer { question: which, answer });
            assert!(again.is_none(), "a second answer was taken\n{}", self.story());
        }
    }
}
