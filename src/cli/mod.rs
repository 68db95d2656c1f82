//! The command line: one file a verb, answers as text or JSON, and the composition root that joins engine,
//! executors and board. It may know every room below it; no rule of the house lives here. Start reading at
//! [`args`] (what may be typed), then [`main`], then any verb.

mod actor;
mod add;
mod approvals;
mod args;
mod backup;
mod board;
mod boards;
mod completions;
pub mod config;
mod configuration;
mod context;
mod copy;
mod definition_file;
mod demo;
mod depend;
mod dispatch;
mod doctor;
mod edit;
mod error;
mod events;
mod graph;
mod harmless;
mod headless;
mod http;
mod list;
mod log;
mod logging;
mod mcp;
mod output;
mod prompt;
mod purge;
mod questions;
mod registry;
mod run;
mod scratch;
mod scripted_agent;
mod settle;
mod several;
mod show;
mod signals;
mod status;
mod todo;
mod token;
mod tool;
mod wait;
mod wake;
mod watch;
mod when;
mod words;
mod work;
mod workflow;

/// The shapes and files that all faces share.
use crate::tools::wire as record;
pub use crate::tools::workflow_file;

use clap::Parser;
use color_eyre::config::HookBuilder;
use std::io::Write;
use std::process::ExitCode;

use args::{CommandLine, Verb};
use context::Context;
use error::{CliError, Exit};
use output::{Color, Output};

/// Reads the command line, does what it says, and gives the exit code.
pub fn main() -> ExitCode {
    install_hooks();
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => return ExitCode::from(refuse_line(&error).code()),
    };
    let mut context = Context::new(line.globals.clone());
    let ended = carry_out(&mut context, line).and_then(|exit| context.out.flush().map(|()| exit));
    let exit = ended.unwrap_or_else(|error| {
        // What was answered before the fault still belongs to the reader; a second fault adds nothing.
        let _ = context.out.flush();
        context.out.error(&error);
        error.exit()
    });
    ExitCode::from(exit.code())
}

/// How faults are told. The report is written here and not by the crate, which panics where stderr is gone: a
/// panic within a panic ends the program, and with it whoever watches over what runs.
fn install_hooks() {
    let (panics, reports) = HookBuilder::default()
        .display_env_section(false)
        .panic_section("This is a fault of andon, not yours. What was acknowledged is on disk.")
        .into_hooks();
    // It is set once, and without it a fault is only told less well.
    let _ = reports.install();
    std::panic::set_hook(Box::new(move |panic| {
        // Nobody reads where this can't be written.
        let _ = writeln!(std::io::stderr(), "{}", panics.panic_report(panic));
    }));
}

fn carry_out(context: &mut Context, line: CommandLine) -> Result<Exit, CliError> {
    let headless = line.serve.headless;
    let Some(verb) = line.verb else {
        return match headless {
            true => headless::run(context, &line.serve),
            false => board::open(context),
        };
    };
    if headless && !matches!(verb, Verb::Demo(_) | Verb::Run(_)) {
        return Err(CliError::Usage("--headless goes with the board, `demo` and `run` only".to_owned()));
    }
    match verb {
        Verb::Demo(args) => demo::run(context, args, headless),
        Verb::Add(args) => add::run(context, args),
        Verb::Wait(args) => wait::run(context, args),
        Verb::Copy(args) => copy::run(context, args),
        Verb::List(args) => list::run(context, args),
        Verb::Show(args) => show::show(context, args),
        Verb::Why(args) => show::why(context, args),
        Verb::Log(args) => log::run(context, args),
        Verb::Events(args) => events::run(context, args),
        Verb::Status(verb) => status::run(context, verb),
        Verb::Edit(args) => edit::run(context, args),
        Verb::Depend(args) => depend::run(context, args),
        Verb::Questions(args) => questions::list(context, args),
        Verb::Answer(args) => questions::answer(context, args),
        Verb::Approvals(args) => approvals::list(context, args),
        Verb::Allow(args) => approvals::allow(context, args),
        Verb::Deny(args) => approvals::deny(context, args),
        Verb::Wake(args) => wake::run(context, args),
        Verb::Run(args) => run::run(context, args, headless),
        Verb::Workflow(verb) => workflow::run(context, verb),
        Verb::Todo(verb) => todo::run(context, verb),
        Verb::Tool(args) => tool::run(context, args),
        Verb::Mcp(args) => mcp::run(context, &args),
        Verb::Token(args) => token::run(context, &args),
        Verb::Boards(args) => boards::run(context, args),
        Verb::Config(args) => configuration::run(context, args),
        Verb::Doctor(args) => doctor::run(context, &args),
        Verb::Purge(args) => purge::run(context, &args),
        Verb::Backup(args) => backup::run(context, &args),
        Verb::Completions(args) => completions::run(context, args),
        Verb::ScriptedAgent(args) => scripted_agent::run(&args),
    }
}

/// A command line that can't be read: help and version go to stdout, everything else is a usage error in few
/// lines.
fn refuse_line(error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        // A closed pipe or a full disk while help is printed changes nothing.
        let _ = error.print();
        return Exit::Done;
    }
    let usage = CliError::Usage(in_few_lines(&error.render().to_string()));
    let json = std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json");
    Output::new(json, Color::Auto).error(&usage);
    usage.exit()
}

/// What clap says, in at most three lines: what is wrong, a tip if there is one, how the verb is called.
fn in_few_lines(rendered: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in rendered.lines().filter(|line| !line.trim().is_empty()) {
        let text = line.trim();
        match lines.last_mut() {
            _ if text.starts_with("For more information") => {}
            Some(last) if line.starts_with(' ') && !text.starts_with("tip:") => {
                last.push(' ');
                last.push_str(text);
            }
            _ => lines.push(text.strip_prefix("error: ").unwrap_or(text).to_owned()),
        }
    }
    lines.truncate(3);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_error_fits_into_three_lines() {
        let rendered = "error: the following required arguments were not provided:\n  <A>\n  <B>\n\nUsage: andon x <A> <B>\n\nFor more information, try '--help'.\n";
        assert_eq!(
            in_few_lines(rendered),
            "the following required arguments were not provided: <A> <B>\nUsage: andon x <A> <B>"
        );
        let with_tip = "error: unexpected argument '--bogus' found\n\n  tip: to pass it, use '-- --bogus'\n\nUsage: andon x\n";
        assert_eq!(in_few_lines(with_tip).lines().count(), 3);
    }
}
