//! Questions: what a task asks a person, the life of a question, and which answers are taken. At most one is
//! open for a task; its answer is consumed once, in the transaction that queues the task (invariant 6).

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::WaitState;
use crate::domain::id::{QuestionId, RunId, TaskId};
use crate::domain::refusal::Refusal;
use crate::domain::status::wire_enum;
use crate::domain::text::{ANSWER_LIMIT, limited};
use crate::domain::time::Millis;

/// What a question is for; decides what its answer does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum QuestionPurpose {
    /// The task asks; the answer resumes it.
    #[default]
    Clarify,
    /// The worker died while it ran: run again, mark as failed, mark as done.
    Lost,
    /// Its processes could not be proven dead (invariant 9).
    Orphan,
}

wire_enum!(QuestionPurpose { Clarify = "clarify", Lost = "lost", Orphan = "orphan" });

/// The choices of the question after a lost worker, in order.
pub const LOST_OPTIONS: [&str; 3] = ["run again", "mark as failed", "mark as done"];

/// A question with its options and, once there is one, its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// The task that asks.
    pub task_id: TaskId,
    /// The run that asked.
    pub run_id: Option<RunId>,
    /// What it is for.
    pub purpose: QuestionPurpose,
    /// The text.
    pub text: String,
    /// Choices to pick from; may be empty.
    pub options: Vec<String>,
    /// Who asks.
    pub asked_by: String,
    /// Where it stands.
    pub state: WaitState,
    /// The answer.
    pub answer: String,
    /// When it was asked.
    pub asked_at_ms: Millis,
    /// When its asker gives it up; `None` = never, as long as nobody says otherwise.
    pub expires_at_ms: Option<Millis>,
    /// When it was answered or closed.
    pub closed_at_ms: Option<Millis>,
}

/// Checks a new question: some text, and options that can be told apart.
pub fn check_question(text: &str, options: &[String]) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::invalid("question", "a question can't be empty; say what is to be decided"));
    }
    limited("question", text, ANSWER_LIMIT)?;
    if options.len() > 20 {
        return Err(Refusal::invalid(
            "options",
            "a question has at most 20 options; name fewer, the person may still answer freely",
        ));
    }
    for (place, option) in options.iter().enumerate() {
        if option.trim().is_empty() {
            return Err(Refusal::invalid("options", format!("option {} is empty; leave it out", place + 1)));
        }
        limited("options", option, 500)?;
        if options[..place].iter().any(|o| o.trim().eq_ignore_ascii_case(option.trim())) {
            return Err(Refusal::invalid(
                "options",
                format!("option `{}` is there twice; leave one out", option.trim()),
            ));
        }
    }
    Ok(())
}

impl Question {
    /// Takes an answer: 1 to 10,000 characters, to a question that is still open. The label of an option picks
    /// it; where only the options make sense (a lost worker), anything else is refused.
    pub fn accept(&self, answer: &str) -> Result<String, Refusal> {
        let id = &self.id;
        match self.state {
            WaitState::Open => {}
            WaitState::Answered
            | WaitState::Consumed
            | WaitState::Allowed
            | WaitState::Denied
            | WaitState::Triggered => {
                return Err(Refusal::state(
                    "question_answered",
                    format!(
                        "question {id} is answered already, and the first answer counts; `andon questions` lists what is asked still"
                    ),
                ));
            }
            WaitState::Superseded => {
                return Err(Refusal::state(
                    "question_superseded",
                    format!("question {id} is no longer asked; `andon questions` lists the open ones"),
                ));
            }
            WaitState::Cancelled => {
                return Err(Refusal::state(
                    "question_cancelled",
                    format!(
                        "question {id} was withdrawn with its task, so nothing waits for an answer; `andon questions` lists what is asked still"
                    ),
                ));
            }
            WaitState::Expired => {
                return Err(Refusal::state(
                    "question_expired",
                    format!(
                        "question {id} was open for as long as its asker wanted, and its task went on without an answer"
                    ),
                ));
            }
        }
        if answer.trim().is_empty() {
            return Err(Refusal::invalid(
                "answer",
                "an answer can't be empty; write something or pick an option",
            ));
        }
        limited("answer", answer, ANSWER_LIMIT)?;
        if let Some(option) = self.options.iter().find(|o| o.trim().eq_ignore_ascii_case(answer.trim())) {
            return Ok(option.clone());
        }
        if self.purpose != QuestionPurpose::Clarify {
            return Err(Refusal::invalid(
                "answer",
                format!("this question takes one of: {}", self.options.join(", ")),
            )
            .with_detail(json!({ "options": self.options })));
        }
        Ok(answer.to_owned())
    }

    /// The option with this number, counted from 1.
    pub fn option(&self, number: usize) -> Result<String, Refusal> {
        number.checked_sub(1).and_then(|at| self.options.get(at)).cloned().ok_or_else(|| {
            let what = match self.options.len() {
                0 => "it has none; type an answer".to_owned(),
                n => format!("it has {n}"),
            };
            Refusal::invalid("option", format!("question {} has no option {number}: {what}", self.id))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> Question {
        Question { options: vec!["staging".into(), "production".into()], ..Question::default() }
    }

    #[test]
    fn answers_have_one_to_ten_thousand_characters() {
        assert!(open().accept(" \n").is_err());
        assert!(open().accept(&"界".repeat(10_000)).is_ok());
        assert!(open().accept(&"界".repeat(10_001)).is_err());
    }

    #[test]
    fn a_label_in_any_case_picks_its_option() {
        assert_eq!(open().accept(" STAGING ").unwrap(), "staging");
        assert_eq!(open().accept("neither").unwrap(), "neither");
        assert_eq!(open().option(2).unwrap(), "production");
        assert!(open().option(0).is_err() && open().option(3).is_err());
    }

    #[test]
    fn only_an_open_question_takes_an_answer() {
        let codes: Vec<_> = WaitState::ALL
            .iter()
            .map(|state| Question { state: *state, ..open() }.accept("x").err().map(|r| r.code))
            .collect();
        assert_eq!(codes[0], None);
        assert_eq!(codes[1..6], [Some("question_answered"); 5]);
        assert_eq!(
            codes[6..],
            [Some("question_superseded"), Some("question_cancelled"), Some("question_expired")]
        );
    }

    #[test]
    fn a_lost_worker_is_settled_only_by_one_of_its_options() {
        let question = Question {
            purpose: QuestionPurpose::Lost,
            options: LOST_OPTIONS.map(str::to_owned).to_vec(),
            ..Question::default()
        };
        assert_eq!(question.accept("Run again").unwrap(), "run again");
        assert!(question.accept("perhaps").is_err());
    }

    #[test]
    fn questions_with_unusable_options_are_refused() {
        assert!(check_question(" ", &[]).is_err());
        assert!(check_question("q", &["a".into(), " A".into()]).is_err());
        assert!(check_question("q", &["".into()]).is_err());
        assert!(check_question("q", &["a".into(), "b".into()]).is_ok());
    }
}
