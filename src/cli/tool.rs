//! `andon tool`: any tool by its JSON, as an agent would call it.

use clap::Args;
use std::io::BufRead;

use super::context::Context;
use super::error::{CliError, Exit};
use super::{registry, work};
use crate::domain::Actor;
use crate::tools::{Inside, ToolContext, Waiting};

/// Options of `tool`.
#[derive(Debug, Args)]
pub struct ToolArgs {
    /// The call, such as '{"tool":"task","action":"list"}'; `-` reads one from each line of standard input
    #[arg(value_name = "CALL")]
    call: String,
    /// The session that the call belongs to
    #[arg(long, value_name = "S")]
    session: Option<String>,
    /// The name of the calling agent
    #[arg(long, value_name = "A")]
    agent: Option<String>,
}

/// Carries out the calls; each is answered with one line, and the first failure decides the exit code.
pub fn run(context: &mut Context, args: ToolArgs) -> Result<Exit, CliError> {
    let registry = registry::of(context)?;
    let tools = caller(context, Caller { session: args.session, agent: args.agent })?;
    let mut exit = Exit::Done;
    let mut answer = |context: &mut Context, line: &str| {
        let answer = registry.answer(&tools, line);
        if exit == Exit::Done {
            exit = Exit::of_code(answer.exit_code);
        }
        context.out.json_line(&answer.line)?;
        context.out.flush()
    };
    match args.call.as_str() {
        "-" => {
            for line in std::io::stdin().lock().split(b'\n') {
                let line =
                    line.map_err(|source| CliError::Unreadable { path: "standard input".into(), source })?;
                let line = String::from_utf8_lossy(&line);
                if !line.trim().is_empty() {
                    answer(context, line.trim())?;
                }
            }
        }
        call => answer(context, call)?,
    }
    Ok(exit)
}

/// Whom the caller of a tool says it is.
#[derive(Debug, Default)]
pub struct Caller {
    /// The session that it belongs to.
    pub session: Option<String>,
    /// The name of the calling agent.
    pub agent: Option<String>,
}

/// What a tool is told about this call.
pub fn caller(context: &mut Context, caller: Caller) -> Result<ToolContext, CliError> {
    let engine = context.engine()?;
    let mut actor = context.actor().clone();
    let inside = match &actor {
        Actor::Agent { run, task, .. } => Some(Inside { run: run.clone(), task: task.clone() }),
        _ => None,
    };
    if let (Some(agent), Actor::Agent { name, .. } | Actor::Operator { name }) = (caller.agent, &mut actor) {
        *name = agent;
    }
    Ok(ToolContext {
        engine,
        actor,
        inside,
        cwd: work::folder(None)?.into(),
        session: caller.session,
        board: Some(context.board()?),
        waiting: Waiting::default(),
    })
}
