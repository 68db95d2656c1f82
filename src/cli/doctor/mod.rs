//! `andon doctor`: looks at everything that may be wrong around the board, says what it found and what would be done
//! about it, and does that with `--fix`. Here is the verb and how it answers; each look is in [`checks`], the rows that
//! the reconciler repairs in [`work`].

mod checks;
mod report;
mod work;

use clap::Args;
use serde_json::{Value, json};

use super::config::{self, Config};
use super::context::Context;
use super::error::{CliError, Exit};
use super::output::Output;
use crate::domain::Refusal;
use crate::domain::text::many_lines;
use crate::engine::Engine;
use report::{Check, State};

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Do what would be done
    #[arg(long)]
    fix: bool,
}

/// Looks, and with `--fix` mends. Exit 0 when all is well then, 1 when something is wrong.
pub fn run(context: &mut Context, args: &DoctorArgs) -> Result<Exit, CliError> {
    if args.fix && !context.actor().is_operator() {
        let said =
            "mending is for the person at the board; a program inside a run may only look (andon doctor)";
        return Err(Refusal::not_allowed(said).into());
    }
    let checks = look(context, args.fix)?;
    let healthy = checks.iter().all(|check| check.state() != State::Fault);
    match context.out.is_json() {
        true => {
            let all: Vec<Value> = checks.iter().map(Check::to_json).collect();
            context.out.value(&json!({ "healthy": healthy, "checks": all }))?;
        }
        false => print(context, &checks, args.fix)?,
    }
    Ok(if healthy { Exit::Done } else { Exit::Failed })
}

fn look(context: &mut Context, fix: bool) -> Result<Vec<Check>, CliError> {
    let loaded = config::load(context.globals.config.as_deref());
    let mut checks = vec![checks::configuration(context, &loaded)];
    let config = loaded.unwrap_or_default();
    checks.push(checks::agents(&config));
    let path = context.database()?;
    checks.push(checks::disk(&path));
    if !path.exists() {
        checks.push(Check::new("database", format!("{} is not there yet", path.display())));
        return Ok(checks);
    }
    match Engine::open_with(&path, config.engine_options()) {
        Ok(engine) => look_inside(&engine, &config, fix, &mut checks),
        Err(error) => checks.push(Check::new("database", "it can't be used").with(error.to_string(), None)),
    }
    Ok(checks)
}

fn look_inside(engine: &Engine, config: &Config, fix: bool, checks: &mut Vec<Check>) {
    let database = checks::database(engine);
    let sound = database.state() == State::Well;
    checks.push(database);
    checks.push(told("dispatcher", checks::dispatcher(engine)));
    // Nothing is written into a file that is damaged.
    let fix = fix && sound;
    checks.push(told("work", work::check(engine, config, fix)));
    checks.push(told("processes", checks::processes(engine, config, fix)));
    checks.push(told("logs", checks::logs(engine, fix)));
    checks.push(checks::bells(engine, fix));
    checks.push(checks::write_ahead_log(engine, fix));
}

/// A look that could not be made is a problem as well, and keeps from no other.
fn told(name: &'static str, check: Result<Check, CliError>) -> Check {
    check.unwrap_or_else(|error| Check::new(name, "can't be looked at").with(error.to_string(), None))
}

fn print(context: &mut Context, checks: &[Check], fix: bool) -> Result<(), CliError> {
    for check in checks {
        let mark = mark(&context.out, check.state());
        context.out.line(format!("{mark} {:<16} {}", check.name, many_lines(&check.said)))?;
        for problem in &check.problems {
            context.out.line(format!("    {}", many_lines(&problem.what).replace('\n', "\n    ")))?;
            let done = match (&problem.mended, &problem.would) {
                (Some(done), _) => format!("done: {done}"),
                (None, Some(would)) if fix => format!("not done: {would}"),
                (None, Some(would)) => format!("would: {would}"),
                (None, None) => continue,
            };
            context.out.line(format!("      {}", many_lines(&done)))?;
        }
    }
    let could = checks.iter().flat_map(|check| &check.problems);
    if !fix && could.into_iter().any(|problem| problem.would.is_some()) {
        context.out.note("`andon doctor --fix` does what it says it would");
    }
    Ok(())
}

fn mark(out: &Output, state: State) -> String {
    let (sign, color) = match state {
        State::Well => ("✓", anstyle::AnsiColor::Green),
        State::Mended => ("✓", anstyle::AnsiColor::Yellow),
        State::Fault => ("✗", anstyle::AnsiColor::Red),
    };
    out.paint(anstyle::Style::new().fg_color(Some(color.into())), sign)
}
