//! `andon demo`: a scratch board whose workflow really runs. Without a screen it plays the person too: answers
//! the question, allows what an agent wants to run, approves the review, and tells what happens as it happens.

use anstyle::Style;
use clap::Args;
use std::collections::HashSet;
use std::time::Duration;

use super::context::Context;
use super::error::{CliError, Exit};
use super::scratch::Scratch;
use super::signals::{self, Signals};
use super::watch::{self, Change, Watch};
use super::{definition_file, dispatch, record, settle, workflow};
use crate::domain::text::one_line;
use crate::domain::{
    Actor, EventKind, Executor, IdRef, Program, TaskId, TaskStatus, Work, Workflow, WorkflowStatus,
};
use crate::engine::{AnswerText, ApprovalRef, Command, Engine, NewTask, Outcome, QuestionRef};

const DEFINITION: &[u8] = include_bytes!("../../assets/demo.yaml");
/// The name of its board, which says on every screen where one is.
const BOARD: &str = "demo";
const TICK: Duration = Duration::from_millis(100);

const GOODBYE: &str = "The demo ran in a scratch folder, which goes now. `andon` opens your own board.";

/// Options of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Without a screen: answers itself and prints the story
    #[arg(long)]
    headless: bool,
}

/// Plays the demo on a board of its own, which is removed afterwards.
pub fn run(context: &mut Context, args: DemoArgs, headless: bool) -> Result<Exit, CliError> {
    let scratch = Scratch::new("andon-demo")
        .map_err(|error| CliError::Failed(format!("can't make a folder for the demo: {error}")))?;
    let silent = args.headless || headless || context.out.is_json() || !context.out.is_terminal();
    let played = play(context, &scratch, silent);
    context.close();
    played
}

fn play(context: &mut Context, scratch: &Scratch, silent: bool) -> Result<Exit, CliError> {
    context.globals.db = Some(scratch.path().join("demo.db"));
    context.globals.board = Some(BOARD.to_owned());
    let actor = Actor::operator("you");
    let engine = context.engine()?;
    let folder = scratch.path().to_string_lossy().into_owned();
    let command = definition_file::embedded("demo.yaml", DEFINITION, BOARD, folder)?;
    let since = engine.last_seq()?;
    let Outcome::Workflow(made) = engine.execute(command, &actor)? else {
        return Err(CliError::Failed("the demo's workflow could not be made".to_owned()));
    };
    if !silent {
        let exit = super::board::open(context)?;
        context.out.line(GOODBYE)?;
        return Ok(exit);
    }
    let Outcome::Task(announcement) = engine.execute(agents_card(), &agent())? else {
        return Err(CliError::Failed("the demo's second card could not be made".to_owned()));
    };
    let signals = signals::watch().map_err(|e| CliError::Failed(format!("can't watch for ctrl-c: {e}")))?;
    let dispatcher = dispatch::start(context, &engine, None)?;
    let card = IdRef::Seq(announcement.seq);
    let mut story = Story { engine: engine.clone(), actor, card, facts: Facts::default() };
    let told = story.tell(context, &made, since, &signals);
    dispatcher.stop_and_wait(&signals);
    let status = told?;
    let view = engine.workflow(made.id.as_str())?;
    if context.out.is_json() {
        context.out.value(&record::workflow(&view))?;
    } else {
        let line = workflow::headline(&context.out, &view.workflow);
        context.out.line(line)?;
        context.out.line(story.facts.summary())?;
        context.out.line(GOODBYE)?;
    }
    Ok(settle::exit_of_workflow(status))
}

/// Somebody's agent, which plans work onto the board.
fn agent() -> Actor {
    Actor::Guest { name: "scout".to_owned() }
}

/// What an agent put onto the board runs only when a person allows it.
fn agents_card() -> Command {
    let command = Program::Shell("echo release notes written".to_owned());
    Command::Create(Box::new(NewTask {
        title: "Write the release notes".to_owned(),
        board: Some(BOARD.to_owned()),
        executor: Some(Executor::new(Work::Command { command })),
        start: true,
        ..NewTask::default()
    }))
}

/// The demo without a screen.
struct Story {
    engine: Engine,
    actor: Actor,
    /// The card that an agent made.
    card: IdRef,
    facts: Facts,
}

impl Story {
    fn tell(
        &mut self,
        context: &mut Context,
        made: &Workflow,
        since: i64,
        signals: &Signals,
    ) -> Result<WorkflowStatus, CliError> {
        let view = self.engine.workflow(made.id.as_str())?;
        let width = watch::step_width(&view);
        let mut watch = Watch::new(self.engine.clone(), &view, since);
        say(
            context,
            "A scratch board with a workflow of seven steps; they really run. Without a screen the demo",
        )?;
        say(
            context,
            "plays you too: it answers and approves. On a terminal, `andon demo` leaves that to you.",
        )?;
        loop {
            for change in watch.changes()? {
                self.facts.note(&change);
                if !context.out.is_json() {
                    let line = change.line(&context.out, width);
                    context.out.line(line)?;
                }
                self.play_the_person(context, &change)?;
            }
            self.decide(context)?;
            context.out.flush()?;
            if watch.is_over() && self.engine.task(&self.card)?.status.is_settled() {
                return Ok(watch.status());
            }
            if signals.count() > 0 {
                return Err(CliError::Failed(
                    "the demo was interrupted; its scratch folder is gone".to_owned(),
                ));
            }
            watch.wait(TICK)?;
        }
    }

    fn decide(&mut self, context: &mut Context) -> Result<(), CliError> {
        for waiting in self.engine.approvals(None)? {
            let asked = &waiting.approval;
            let (who, call) = (one_line(&asked.asked_by), asked.label());
            say(
                context,
                &format!("  the agent {who} wants to run `{call}` for `{}`", one_line(&waiting.title)),
            )?;
            let approval = ApprovalRef::Id(asked.id.clone());
            self.engine.execute(Command::Allow { approval, for_task: false }, &self.actor)?;
            say(context, "  you allow it, once")?;
            self.facts.allowed += 1;
        }
        Ok(())
    }

    fn play_the_person(&mut self, context: &mut Context, change: &Change) -> Result<(), CliError> {
        let task = IdRef::Full(change.task.0.clone());
        match change.status {
            TaskStatus::Blocked => {
                let asked = self.engine.questions(None)?;
                let Some(asked) = asked.into_iter().find(|asked| asked.question.task_id == change.task)
                else {
                    return Ok(());
                };
                let options: Vec<String> = asked.question.options.iter().map(|o| one_line(o)).collect();
                say(context, &format!("  asks you to pick one: {}", options.join(", ")))?;
                let answer = AnswerText::Option(1);
                let question = QuestionRef::Id(asked.question.id.clone());
                let outcome = self.engine.execute(Command::Answer { question, answer }, &self.actor)?;
                if let Outcome::Question(question) = outcome {
                    say(context, &format!("  you answer: {}", one_line(&question.answer)))?;
                    self.facts.answers.push(one_line(&question.answer));
                }
            }
            TaskStatus::Review => {
                let view = self.engine.task_view(&task)?;
                say(
                    context,
                    &format!("  its result waits for a review: {}", one_line(view.task.result.trim())),
                )?;
                self.engine.execute(Command::Approve { task }, &self.actor)?;
                say(context, "  you approve it")?;
                self.facts.approvals += 1;
            }
            _ => {}
        }
        Ok(())
    }
}

fn say(context: &mut Context, line: &str) -> Result<(), CliError> {
    if context.out.is_json() {
        return Ok(());
    }
    let line = context.out.paint(Style::new().italic(), line);
    context.out.line(line)
}

/// What really happened; the summary says nothing else.
#[derive(Debug, Default)]
struct Facts {
    running: HashSet<TaskId>,
    side_by_side: usize,
    succeeded: usize,
    retried: Vec<String>,
    answers: Vec<String>,
    approvals: usize,
    allowed: usize,
}

impl Facts {
    fn note(&mut self, change: &Change) {
        match change.status {
            TaskStatus::Running => {
                self.running.insert(change.task.clone());
                self.side_by_side = self.side_by_side.max(self.running.len());
            }
            status => {
                self.running.remove(&change.task);
                self.succeeded += usize::from(status == TaskStatus::Success);
            }
        }
        if change.kind == EventKind::Retried {
            self.retried.push(change.step.clone());
        }
    }

    fn summary(&self) -> String {
        let mut parts = vec![format!("{} steps succeeded", self.succeeded)];
        if self.side_by_side > 1 {
            parts.push(format!("up to {} ran side by side", self.side_by_side));
        }
        for step in &self.retried {
            parts.push(format!("`{step}` failed and was retried"));
        }
        for answer in &self.answers {
            parts.push(format!("a question was answered with `{answer}`"));
        }
        if self.approvals > 0 {
            parts.push("a review was approved".to_owned());
        }
        if self.allowed > 0 {
            parts.push("an agent's command was allowed".to_owned());
        }
        format!("{}.", parts.join(", "))
    }
}
