//! `andon purge`: removes what ended long ago. Each batch is written down first, as JSON lines, and that is on disk
//! before anything goes; then the batch goes as a whole.

use clap::Args;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::error::{CliError, Exit};
use super::{when, words};
use crate::agents::{leftover, log};
use crate::domain::time::Millis;
use crate::domain::{Refusal, RunId};
use crate::engine::{
    Command, Doomed, Engine, Outcome, PurgeCursor, PurgeUnit, Remains, Removed, StoreError, TaskRemains,
};

/// About how many cards one batch has.
const BATCH: u32 = 200;

/// Options of `purge`.
#[derive(Debug, Args)]
pub struct PurgeArgs {
    /// What closed longer ago than this: 12h, 30d, 8w
    #[arg(long, value_name = "LENGTH", value_parser = when::before)]
    older_than: Millis,
    /// The file to write down what is removed, as JSON lines; beside the database unless named
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

/// Removes closed cards, failed ones that were put away, and closed workflows with all their steps, with their runs,
/// events, questions, approvals and logs. With `--board` those of one board. What something open needs stays.
pub fn run(context: &mut Context, args: &PurgeArgs) -> Result<Exit, CliError> {
    if !args.dry_run && !context.actor().is_operator() {
        let said =
            "removing what has ended is for the person at the board; a program inside a run may not do it";
        return Err(Refusal::not_allowed(said).into());
    }
    let engine = context.engine()?;
    let named = context.globals.board.as_deref().filter(|board| !matches!(*board, "" | "*"));
    let board = named.map(str::to_owned);
    let mut cursor = PurgeCursor::default();
    let mut removed = Removed::default();
    let mut export = Export::new(args.export.clone(), &engine)?;
    loop {
        let batch = engine.purgeable(args.older_than, board.as_deref(), &mut cursor, BATCH)?;
        if batch.is_empty() {
            break;
        }
        let one = match args.dry_run {
            true => count(&engine, &batch)?,
            false => purge(context, &engine, args.older_than, &batch, &mut export)?,
        };
        removed.tasks += one.tasks;
        removed.workflows += one.workflows;
        removed.runs += one.runs;
        removed.events += one.events;
    }
    answer(context, args, removed, export.file.as_ref().map(|_| export.path.as_path()))
}

fn answer(
    context: &mut Context,
    args: &PurgeArgs,
    removed: Removed,
    export: Option<&Path>,
) -> Result<Exit, CliError> {
    let Removed { tasks, workflows, runs, events } = removed;
    if context.out.is_json() {
        context.out.value(&json!({
            "tasks": tasks, "workflows": workflows, "runs": runs, "events": events,
            "export": export, "dry_run": args.dry_run,
        }))?;
        return Ok(Exit::Done);
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    let line =
        format!("{verb} {tasks} cards and {workflows} workflows, with {runs} runs and {events} events");
    context.out.line(match export {
        Some(path) => {
            let size = std::fs::metadata(path).map_or(0, |found| found.len());
            format!("{line}; what they were is in {} ({})", path.display(), words::size(size))
        }
        None => line,
    })?;
    Ok(Exit::Done)
}

fn count(engine: &Engine, batch: &[PurgeUnit]) -> Result<Removed, CliError> {
    let mut counted = Removed::default();
    for unit in batch {
        let remains = engine.remains(unit)?;
        counted.workflows += usize::from(remains.workflow.is_some());
        counted.tasks += remains.tasks.len();
        counted.runs += remains.tasks.iter().map(|one| one.runs.len()).sum::<usize>();
        counted.events += remains.tasks.iter().map(|one| one.events.len()).sum::<usize>();
        counted.events += remains.workflow.as_ref().map_or(0, |(_, _, events)| events.len());
    }
    Ok(counted)
}

/// Writes a batch down, removes it, and then its logs.
fn purge(
    context: &mut Context,
    engine: &Engine,
    before_ms: Millis,
    units: &[PurgeUnit],
    export: &mut Export,
) -> Result<Removed, CliError> {
    let start = export.begin()?;
    let mut batch = Vec::with_capacity(units.len());
    let mut runs: Vec<RunId> = Vec::new();
    for unit in units {
        let remains = engine.remains(unit)?;
        runs.extend(remains.tasks.iter().flat_map(|one| &one.runs).map(|run| run.id.clone()));
        export.write(&remains, engine)?;
        batch.push(Doomed { unit: unit.clone(), fingerprint: remains.fingerprint() });
    }
    export.sync()?;
    let removed = match context.execute(Command::Purge { before_ms, batch }) {
        Ok(Outcome::Purged(removed)) => removed,
        Ok(other) => {
            return Err(CliError::Failed(format!("the engine gave an answer that fits nothing: {other:?}")));
        }
        Err(error) => {
            // It was not removed, so it is not told as if it had been.
            export.take_back(start)?;
            return Err(error);
        }
    };
    let logs = engine.logs();
    for run in runs {
        if let Err(error) = leftover::remove_files(&logs, &run) {
            context.out.note(&format!("the log of {run} is left ({error}); `andon doctor --fix` removes it"));
        }
    }
    Ok(removed)
}

/// The file in which it is written down. It is made with the first line.
struct Export {
    path: PathBuf,
    file: Option<File>,
}

impl Export {
    fn new(named: Option<PathBuf>, engine: &Engine) -> Result<Self, CliError> {
        let path = match named {
            Some(path) => path,
            // Every removal is an event, so no two have the same name.
            None => {
                let at = words::local_time(engine.now()).replace(['-', ':'], "").replace(' ', "-");
                let mut name = engine.path().as_os_str().to_owned();
                name.push(format!("-purged-{at}-{}.ndjson", engine.last_seq()?));
                PathBuf::from(name)
            }
        };
        Ok(Export { path, file: None })
    }

    fn fault(&self) -> impl Fn(io::Error) -> CliError + use<> {
        let path = self.path.clone();
        move |source| match source.kind() {
            io::ErrorKind::AlreadyExists => {
                let said =
                    format!("{} exists already and is not overwritten; name a new file", path.display());
                Refusal::state("file_exists", said).into()
            }
            _ => CliError::Store(StoreError::File { path: path.clone(), source }),
        }
    }

    fn file(&mut self) -> Result<&mut File, CliError> {
        let fault = self.fault();
        if self.file.is_none() {
            let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path);
            self.file = Some(opened.map_err(&fault)?);
        }
        self.file.as_mut().ok_or_else(|| fault(io::ErrorKind::NotFound.into()))
    }

    /// Where the next batch begins.
    fn begin(&mut self) -> Result<u64, CliError> {
        let fault = self.fault();
        self.file()?.stream_position().map_err(fault)
    }

    fn write(&mut self, remains: &Remains, engine: &Engine) -> Result<(), CliError> {
        if let Some((workflow, definition, events)) = &remains.workflow {
            self.line(&json!({ "workflow": workflow, "definition": definition, "events": events }))?;
        }
        for task in &remains.tasks {
            self.line(&of_task(task))?;
            for run in &task.runs {
                // One that printed nothing has no log; one that can't be read must not go unread.
                let output = log::read(&engine.log_path(&run.id)).map_err(self.fault())?;
                if !output.is_empty() {
                    let text = String::from_utf8_lossy(&output);
                    let exact = matches!(text, std::borrow::Cow::Borrowed(_));
                    self.line(&json!({ "log": { "run": run.id, "text": text, "exact": exact } }))?;
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, value: &Value) -> Result<(), CliError> {
        let fault = self.fault();
        let mut bytes = serde_json::to_vec(value).map_err(io::Error::from).map_err(&fault)?;
        bytes.push(b'\n');
        self.file()?.write_all(&bytes).map_err(fault)
    }

    fn sync(&mut self) -> Result<(), CliError> {
        let fault = self.fault();
        self.file()?.sync_all().map_err(&fault)?;
        // The name of the file too.
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all()).map_err(fault)
    }

    fn take_back(&mut self, start: u64) -> Result<(), CliError> {
        let fault = self.fault();
        let file = self.file()?;
        file.set_len(start).and_then(|()| file.seek(io::SeekFrom::Start(start))).map_err(fault)?;
        if start == 0 {
            std::fs::remove_file(&self.path).map_err(self.fault())?;
            self.file = None;
        }
        Ok(())
    }
}

fn of_task(remains: &TaskRemains) -> Value {
    json!({
        "task": remains.task, "runs": remains.runs, "questions": remains.questions,
        "approvals": remains.approvals, "waits": remains.waits, "events": remains.events,
        "needs": remains.needs, "needed_by": remains.needed_by, "session": remains.session,
        "artifacts": remains.artifacts,
    })
}
