//! What the card asks and what is typed. A line that comes while its question is still on the way here is kept and
//! sent; one that was typed long before, or for a question that somebody else has answered, is sent only when asked for.

use serde_json::json;
use std::collections::VecDeque;
use std::io::{BufRead, IsTerminal};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

use super::super::context::Context;
use super::super::error::{CliError, Exit};
use super::super::{record, show, words};
use crate::domain::text::{one_line, shortened};
use crate::domain::time::Millis;
use crate::domain::{Question, WaitState};
use crate::engine::{AnswerText, Command, QuestionRef, TaskView};

/// A line that was typed at most so long before the question counts as meant for it: whoever types sees its output.
const ON_ITS_WAY_MS: Millis = 2_000;

/// A line, and when it came.
struct Line {
    text: String,
    at_ms: Millis,
}

/// The question that is open, and the lines for it.
pub struct Answers {
    typed: Receiver<Line>,
    /// Nothing more can be typed.
    ended: bool,
    /// A program types: everything it writes is meant in its order.
    piped: bool,
    begun: String,
    lines: VecDeque<Line>,
    /// A line that is sent only by an empty one.
    earlier: Option<String>,
    asked: Option<Question>,
    seq: i64,
    /// When a question went that was shown here and not answered here.
    lost_at_ms: Millis,
    prompted: bool,
}

impl Answers {
    /// Begins to read what is typed.
    pub fn begin() -> Result<Self, CliError> {
        Ok(Self {
            typed: lines_of_stdin()?,
            ended: false,
            piped: !std::io::stdin().is_terminal(),
            begun: String::new(),
            lines: VecDeque::new(),
            earlier: None,
            asked: None,
            seq: 0,
            lost_at_ms: Millis::MIN,
            prompted: false,
        })
    }

    /// Whether nothing more will be typed and nothing waits to be sent.
    pub fn are_over(&self) -> bool {
        self.ended && self.lines.is_empty()
    }

    /// Something else is printed now: it begins a line of its own, and the prompt comes again after it.
    pub fn interrupted(&mut self, context: &mut Context) -> Result<(), CliError> {
        match std::mem::take(&mut self.prompted) {
            true => context.out.line(""),
            false => Ok(()),
        }
    }

    /// Shows the question that is new, and says what became of one that is gone.
    pub fn ask(&mut self, context: &mut Context, view: &TaskView) -> Result<(), CliError> {
        self.seq = view.task.seq;
        let open = view.card.question.as_ref();
        if let Some(asked) = &self.asked
            && open.map(|open| &open.id) != Some(&asked.id)
        {
            let now = view.questions.iter().find(|question| question.id == asked.id).cloned();
            self.asked = None;
            self.lost_at_ms = words::now_ms();
            self.interrupted(context)?;
            tell_closed(context, now)?;
        }
        if let (Some(open), None) = (open, &self.asked) {
            self.asked = Some(open.clone());
            context.engine()?.delivered(open.id.as_str(), "attach")?;
            self.interrupted(context)?;
            match context.out.is_json() {
                true => {
                    let question = json!({ "type": "question", "question": record::question(open) });
                    context.out.value(&question)?;
                }
                false => {
                    context.out.line(format!("{} asks:", one_line(&open.asked_by)))?;
                    for line in show::question(open) {
                        context.out.line(format!("  {line}"))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes in what was typed, and sends what is meant for the question.
    pub fn send(&mut self, context: &mut Context) -> Result<(), CliError> {
        self.take_in();
        while let Some(asked) = self.asked.clone() {
            let Some(line) = self.lines.pop_front() else { break };
            let meant = self.piped
                || (line.at_ms + ON_ITS_WAY_MS >= asked.asked_at_ms && line.at_ms > self.lost_at_ms);
            let text = match (line.text.trim().is_empty(), self.earlier.take()) {
                (true, Some(earlier)) => earlier,
                (false, _) if !meant => {
                    self.earlier = Some(line.text);
                    continue;
                }
                _ => line.text,
            };
            self.prompted = false;
            self.answer(context, &asked, text)?;
        }
        self.invite(context)
    }

    fn take_in(&mut self) {
        loop {
            match self.typed.try_recv() {
                Ok(line) => match line.text.strip_suffix('\\') {
                    Some(begun) => {
                        self.begun.push_str(begun);
                        self.begun.push('\n');
                    }
                    None => {
                        let text = std::mem::take(&mut self.begun) + &line.text;
                        self.lines.push_back(Line { text, ..line });
                    }
                },
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.ended = true;
                    if !self.begun.is_empty() {
                        let text = std::mem::take(&mut self.begun);
                        self.lines.push_back(Line { text, at_ms: words::now_ms() });
                    }
                    return;
                }
            }
        }
    }

    fn answer(&mut self, context: &mut Context, asked: &Question, text: String) -> Result<(), CliError> {
        let answer = match text.trim().parse::<usize>() {
            Ok(number) if (1..=asked.options.len()).contains(&number) => AnswerText::Option(number),
            _ => AnswerText::Text(text),
        };
        let command = Command::Answer { question: QuestionRef::Id(asked.id.clone()), answer };
        match context.execute(command) {
            Ok(crate::engine::Outcome::Question(answered)) => {
                self.asked = None;
                match context.out.is_json() {
                    true => context
                        .out
                        .value(&json!({ "type": "answered", "question": record::question(&answered) })),
                    false => context.out.line(format!("→ {}", shortened(&one_line(&answered.answer), 200))),
                }
            }
            Ok(_) => Ok(()),
            Err(error @ CliError::Refused(_)) => {
                context.out.flush()?;
                context.out.error(&error);
                // A wrong answer may be corrected. One that came second is told, and what became of the question
                // is said when the card is read again.
                if error.exit() != Exit::Invalid {
                    self.lines.clear();
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn invite(&mut self, context: &mut Context) -> Result<(), CliError> {
        let Some(asked) = self.asked.as_ref().filter(|_| !self.prompted && !context.out.is_json()) else {
            return Ok(());
        };
        if self.piped && self.ended {
            return Ok(());
        }
        let how = match (&self.earlier, asked.options.is_empty()) {
            (Some(earlier), _) => format!(", enter alone sends `{}`", shortened(&one_line(earlier), 40)),
            (None, true) => String::new(),
            (None, false) => ", a number or words".to_owned(),
        };
        context.out.bytes(format!("answer #{}{how}> ", self.seq).as_bytes())?;
        self.prompted = true;
        context.out.flush()
    }
}

/// Says what became of a question that was not answered here.
fn tell_closed(context: &mut Context, question: Option<Question>) -> Result<(), CliError> {
    let Some(question) = question else { return Ok(()) };
    if context.out.is_json() {
        return context
            .out
            .value(&json!({ "type": "question_closed", "question": record::question(&question) }));
    }
    match question.state {
        WaitState::Answered | WaitState::Consumed => {
            context.out.line(format!("answered elsewhere: {}", shortened(&one_line(&question.answer), 200)))
        }
        state => context.out.line(format!("no longer asked ({state})")),
    }
}

/// The lines that are typed from now on. The thread ends with the program: a read can't be called off.
fn lines_of_stdin() -> Result<Receiver<Line>, CliError> {
    let (typed, lines) = mpsc::channel();
    let reads = move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut bytes = Vec::new();
            // An input that can't be read is at its end.
            if !matches!(input.read_until(b'\n', &mut bytes), Ok(1..)) {
                return;
            }
            let text = String::from_utf8_lossy(&bytes);
            let text = text.trim_end_matches(['\n', '\r']).to_owned();
            if typed.send(Line { text, at_ms: words::now_ms() }).is_err() {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("typed lines".to_owned())
        .spawn(reads)
        .map_err(|error| CliError::Failed(format!("can't read what is typed: {error}")))?;
    Ok(lines)
}
