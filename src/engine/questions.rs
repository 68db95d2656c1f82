//! Questions: asking blocks the task, answering resumes the same task, once.

use serde_json::json;

use super::act::{Act, data};
use super::command::{AnswerText, QuestionRef};
use super::core::Effect;
use super::settle::End;
use crate::domain::id::IdKind;
use crate::domain::text::shortened;
use crate::domain::time::Millis;
use crate::domain::wait::{LOST_OPTIONS, check_question};
use crate::domain::{
    EventKind, IdRef, Ledger, Question, QuestionId, QuestionPurpose, Refusal, Run, RunId, RunOutcome, Task,
    TaskStatus, WaitState,
};
use crate::store::Failure;

impl Act<'_, '_> {
    /// The task asks: it becomes BLOCKED, its run is parked and holds no slot. A question that was open is
    /// superseded.
    pub(super) fn ask(
        &mut self,
        which: &IdRef,
        text: &str,
        options: &[String],
        waits: bool,
        expires_at_ms: Option<Millis>,
    ) -> Result<Question, Failure> {
        check_question(text, options)?;
        if expires_at_ms.is_some_and(|at| at <= self.now) {
            return Err(Refusal::invalid("expires_at_ms", "a question can't end before it is asked").into());
        }
        let mut ledger = self.open(which)?;
        let task = ledger.task().clone();
        let mut run = self.asking_run(&task)?;
        self.close_waits(&task, WaitState::Superseded)?;
        let mut question = self.new_question(&task, QuestionPurpose::Clarify, text, options, Some(&run.id));
        question.expires_at_ms = expires_at_ms;
        self.effects.extend(expires_at_ms.map(Effect::WakeAt));
        run.parked = true;
        self.tx.update_run(&run)?;
        let about = data([
            ("question", json!(question.id)),
            ("text", json!(shortened(text, 500))),
            ("options", json!(options)),
        ]);
        let reason = shortened(text, 500);
        if task.status == TaskStatus::Running {
            ledger.step(TaskStatus::Blocked, EventKind::Asked, about, self.now, |t| {
                t.blocked_reason = reason;
                t.current_run_id = Some(run.id.clone());
            })?;
        } else {
            ledger.edit(EventKind::Asked, about, self.now, |t| t.blocked_reason = reason);
        }
        self.tx.insert_question(task.seq, &question, waits)?;
        self.save(ledger)?;
        Ok(question)
    }

    /// The run of a task that wants to ask something; refused where none goes on or it is being stopped.
    pub(super) fn asking_run(&self, task: &Task) -> Result<Run, Failure> {
        let run = self.tx.active_run(task.seq)?;
        let Some(run) = run.filter(|_| matches!(task.status, TaskStatus::Running | TaskStatus::Blocked))
        else {
            return Err(Refusal::state(
                "not_running",
                format!(
                    "task #{} is {}, and only a task that runs can ask; start it, or ask from inside its run",
                    task.seq, task.status
                ),
            )
            .into());
        };
        if run.closing_as.is_some() {
            return Err(Refusal::state(
                "closing",
                format!(
                    "task #{} is being stopped, so its question would never be answered; end, and ask in its next run",
                    task.seq
                ),
            )
            .into());
        }
        if self.tx.triggered_wait(task.seq)?.is_some() {
            return Err(Refusal::state(
                "wait_triggered",
                format!(
                    "what task #{} waited for is there, and it was not read yet; end this run, and the next one \
                     is given it",
                    task.seq
                ),
            )
            .into());
        }
        Ok(run)
    }

    pub(super) fn new_question(
        &self,
        task: &Task,
        purpose: QuestionPurpose,
        text: &str,
        options: &[String],
        run: Option<&RunId>,
    ) -> Question {
        Question {
            id: QuestionId::from_random((self.random)()),
            task_id: task.id.clone(),
            run_id: run.cloned(),
            purpose,
            text: text.to_owned(),
            options: options.to_vec(),
            asked_by: match (purpose, task.lane()) {
                (QuestionPurpose::Clarify, "") => self.actor.name().to_owned(),
                (QuestionPurpose::Clarify, agent) => agent.to_owned(),
                _ => "andon".to_owned(),
            },
            state: WaitState::Open,
            answer: String::new(),
            asked_at_ms: self.now,
            expires_at_ms: None,
            closed_at_ms: None,
        }
    }

    /// Closes whatever a task waits for. What is triggered and was not read yet can only be consumed, so the next run
    /// is given it; only with a cancelled task nobody is left to do that.
    pub(super) fn close_waits(&mut self, task: &Task, state: WaitState) -> Result<(), Failure> {
        if !matches!(task.status, TaskStatus::Blocked | TaskStatus::Running) {
            return Ok(());
        }
        if let Some(mut triggered) = self.tx.triggered_wait(task.seq)? {
            triggered.state = match state {
                WaitState::Cancelled => WaitState::Cancelled,
                _ => WaitState::Consumed,
            };
            self.tx.update_wait(&triggered)?;
        }
        if let Some(mut question) = self.tx.open_question(task.seq)? {
            question.state = state;
            question.closed_at_ms = Some(self.now);
            self.tx.update_question(&question)?;
            let data = data([("question", json!(question.id)), ("state", json!(state))]);
            self.note(EventKind::QuestionClosed, Some(task), None, data)?;
        }
        self.close_approval(task, state)?;
        self.close_wait(task, state)
    }

    /// Takes an answer, once, and resumes the task in the same transaction.
    pub(super) fn answer(&mut self, which: &QuestionRef, answer: &AnswerText) -> Result<Question, Failure> {
        self.only_operator("answering a question")?;
        let mut question = self.find_question(which)?;
        let text = match answer {
            AnswerText::Text(text) => question.accept(text)?,
            AnswerText::Option(number) => {
                let label = question.option(*number)?;
                question.accept(&label)?
            }
        };
        let ledger = self.open_id(&question.task_id)?;
        question.answer = text;
        question.state = WaitState::Consumed;
        question.closed_at_ms = Some(self.now);
        match question.purpose {
            QuestionPurpose::Clarify => self.resume_answered(ledger, &mut question)?,
            QuestionPurpose::Lost | QuestionPurpose::Orphan => {
                self.tx.update_question(&question)?;
                self.decide_lost(ledger, &question)?;
            }
        }
        Ok(question)
    }

    pub(super) fn find_question(&self, which: &QuestionRef) -> Result<Question, Failure> {
        match which {
            QuestionRef::Id(id) => {
                let id = match IdRef::parse(id.as_str(), IdKind::Question)? {
                    IdRef::Prefix(prefix) => match self.tx.questions_with_prefix(&prefix)?.as_slice() {
                        [one] => QuestionId(one.clone()),
                        [] => return Err(Refusal::not_found("question", id.as_str()).into()),
                        many => return Err(Refusal::ambiguous("question", &prefix, many).into()),
                    },
                    _ => id.clone(),
                };
                self.tx.question(&id)?.ok_or_else(|| Refusal::not_found("question", id.as_str()).into())
            }
            QuestionRef::OfTask(task) => {
                let task = self.tx.resolve(task)?;
                if let Some(open) = self.tx.open_question(task.seq)? {
                    return Ok(open);
                }
                // The last question says best why there is nothing to answer.
                self.tx.questions_of(task.seq)?.pop().ok_or_else(|| {
                    let said =
                        format!("task #{} asks nothing; `andon questions` lists what is asked", task.seq);
                    Refusal::state("no_question", said).into()
                })
            }
        }
    }

    fn resume_answered(&mut self, ledger: Ledger, question: &mut Question) -> Result<(), Failure> {
        let waits = self.tx.asker_waits(question.id.as_str())?;
        let about =
            data([("question", json!(question.id)), ("answer", json!(shortened(&question.answer, 500)))]);
        self.tx.update_question(question)?;
        self.note(EventKind::Answered, Some(ledger.task()), None, about)?;
        // Where its process asked and is about to end, the answer waits for that.
        if !self.go_on(ledger, question.id.as_str(), waits, EventKind::Answered)? {
            question.state = WaitState::Answered;
            self.tx.update_question(question)?;
        }
        Ok(())
    }

    /// What a person decided about a lost run.
    fn decide_lost(&mut self, mut ledger: Ledger, question: &Question) -> Result<(), Failure> {
        let about = data([("question", json!(question.id)), ("answer", json!(question.answer))]);
        self.note(EventKind::Answered, Some(ledger.task()), None, about)?;
        if question.answer == LOST_OPTIONS[0] {
            self.requeue(&mut ledger, EventKind::Unblocked, false)?;
            return self.save(ledger).map(|_| ());
        }
        let run = self.new_run(ledger.task(), None)?;
        self.step_running(&mut ledger, &run, EventKind::Taken)?;
        self.tx.insert_run(ledger.task().seq, &run)?;
        let end = match question.answer == LOST_OPTIONS[1] {
            true => End::of(RunOutcome::Failed, "its worker died, and it was marked as failed"),
            false => End::of(RunOutcome::Success, "its worker died, and it was marked as done"),
        };
        self.settle(ledger, run, end).map(|_| ())
    }
}
