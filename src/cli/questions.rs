//! `andon questions` and `andon answer`: what cards ask, and what a person says.

use anstyle::Style;
use clap::Args;
use std::io::Read;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::{record, show, words};
use crate::domain::id::IdKind;
use crate::domain::text::one_line;
use crate::domain::{IdRef, QuestionId, Refusal};
use crate::engine::{AnswerText, Command, Engine, OpenQuestion, Outcome, QuestionRef};

/// Options of `questions`.
#[derive(Debug, Args)]
pub struct QuestionsArgs {}

/// Options of `answer`.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The card that asks, or the question
    #[arg(value_name = "ID")]
    id: String,
    /// The answer, or the label of an option; `-` reads standard input
    #[arg(
        value_name = "TEXT",
        required_unless_present = "option",
        conflicts_with = "option",
        allow_negative_numbers = true
    )]
    text: Option<String>,
    /// The question, where it must be this one
    #[arg(long, value_name = "Q")]
    question: Option<String>,
    /// The option with this number
    #[arg(long, value_name = "N")]
    option: Option<usize>,
}

/// Lists the open questions, oldest first.
pub fn list(context: &mut Context, _: QuestionsArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let board = context.board_filter()?;
    let open = engine.questions(board.as_deref())?;
    if context.out.is_json() {
        let items = open.iter().map(record::open_question).collect();
        context.out.value(&record::list(items, None))?;
        return Ok(Exit::Done);
    }
    for line in listed(context, &open) {
        context.out.line(line)?;
    }
    if open.is_empty() && context.out.is_terminal() {
        context.out.note("nothing is asked");
    }
    Ok(Exit::Done)
}

/// Open questions as people read them.
pub fn listed(context: &Context, open: &[OpenQuestion]) -> Vec<String> {
    let now = words::now_ms();
    let mut lines = Vec::new();
    for asked in open {
        let question = &asked.question;
        let head = format!("#{} {}", asked.seq, one_line(&asked.title));
        let unseen = if asked.seen_by.is_empty() { "  (nobody has seen it)" } else { "" };
        lines.push(format!(
            "{}  {}, {}  {}{unseen}",
            context.out.paint(Style::new().bold(), &head),
            one_line(&question.asked_by),
            words::ago(now - question.asked_at_ms),
            context.out.paint(Style::new().dimmed(), question.id.as_str()),
        ));
        lines.extend(show::question(question).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// Answers a question.
pub fn answer(context: &mut Context, args: AnswerArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let answer = match (args.option, args.text.as_deref()) {
        (Some(number), _) => AnswerText::Option(number),
        (None, Some("-")) => AnswerText::Text(standard_input()?),
        (None, text) => AnswerText::Text(text.unwrap_or_default().to_owned()),
    };
    let question = match (&args.question, args.id.starts_with(IdKind::Question.prefix())) {
        (Some(question), false) => {
            let question = question_id(&engine, question)?;
            let task = engine.task(&task_ref(&args.id)?)?;
            if engine.question(&question)?.task_id != task.id {
                return Err(CliError::Refused(Refusal::invalid(
                    "question",
                    format!(
                        "question {question} was not asked by #{}; `andon questions` lists who asks what",
                        task.seq
                    ),
                )));
            }
            QuestionRef::Id(question)
        }
        (_, true) => QuestionRef::Id(question_id(&engine, &args.id)?),
        (None, false) => QuestionRef::OfTask(task_ref(&args.id)?),
    };
    let outcome = context.execute(Command::Answer { question, answer })?;
    let Outcome::Question(question) = outcome else {
        return Err(CliError::Failed(format!("answering gave no question: {outcome:?}")));
    };
    if context.out.is_json() {
        context.out.value(&record::question(&question))?;
    } else {
        let task = engine.task(&IdRef::Full(question.task_id.0.clone()))?;
        context.out.line(super::status::headline(&context.out, &task))?;
    }
    Ok(Exit::Done)
}

/// The question that was typed: a full id, or a prefix of an open one.
fn question_id(engine: &Engine, text: &str) -> Result<QuestionId, CliError> {
    match IdRef::parse(text, IdKind::Question)? {
        IdRef::Full(id) => Ok(QuestionId(id)),
        IdRef::Seq(_) => Err(CliError::Refused(Refusal::not_found("question", text))),
        IdRef::Prefix(prefix) => {
            let open = engine.questions(None)?;
            let matches: Vec<String> = open
                .iter()
                .map(|asked| asked.question.id.to_string())
                .filter(|id| id.starts_with(&prefix))
                .collect();
            match matches.as_slice() {
                [] => Err(CliError::Refused(Refusal::not_found("question", text))),
                [one] => Ok(QuestionId(one.clone())),
                many => Err(CliError::Refused(Refusal::ambiguous("question", text, many))),
            }
        }
    }
}

fn standard_input() -> Result<String, CliError> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|source| CliError::Unreadable { path: "standard input".into(), source })?;
    Ok(text.trim_end_matches('\n').to_owned())
}
