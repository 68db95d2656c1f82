//! `andon depend`: makes cards need others, or no longer.

use clap::Args;

use super::context::{Context, task_ref};
use super::error::{CliError, Exit};
use super::several::Several;
use super::{record, status};
use crate::domain::IdRef;
use crate::engine::{Command, Outcome};

/// Options of `depend`.
#[derive(Debug, Args)]
pub struct DependArgs {
    /// The cards that wait
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// The card that must succeed first; several times for several
    #[arg(long, required = true, value_name = "ID")]
    on: Vec<String>,
    /// Take the dependency away
    #[arg(long)]
    remove: bool,
}

/// Adds or removes each dependency.
pub fn run(context: &mut Context, args: DependArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let on: Vec<IdRef> = args.on.iter().map(|id| task_ref(id)).collect::<Result<_, _>>()?;
    let mut several = Several::new(args.ids.len());
    for id in &args.ids {
        let changed = task_ref(id)
            .map_err(CliError::from)
            .and_then(|task| {
                let mut last: Option<Outcome> = None;
                for on in &on {
                    let (task, on) = (task.clone(), on.clone());
                    last = Some(context.execute(match args.remove {
                        true => Command::Undepend { task, on },
                        false => Command::Depend { task, on },
                    })?);
                }
                last.ok_or_else(|| {
                    CliError::Usage("name the card that must succeed first: --on ID".to_owned())
                })
            })
            .and_then(|outcome| {
                let task = outcome
                    .task()
                    .ok_or_else(|| CliError::Failed(format!("depend gave no card: {outcome:?}")))?;
                Ok((status::headline(&context.out, task), record::task(&engine, task)?))
            });
        several.note(context, id, changed)?;
    }
    several.finish(context, Exit::Done)
}
