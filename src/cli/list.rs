//! `andon list`: the cards of the board as a table, or page by page for programs.

use clap::Args;

use super::context::Context;
use super::error::{CliError, Exit};
use super::words::{self, Cell};
use super::{record, status};
use crate::domain::text::one_line;
use crate::domain::time::{Millis, short_age};
use crate::domain::{Task, TaskStatus};
use crate::engine::{Engine, Page, TaskFilter};

/// How many cards a list has unless told otherwise.
const LIMIT: usize = 50;
/// How many are read at a time where all are wanted.
const PAGE: usize = 500;

/// Options of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only with this status; several times for several
    #[arg(short, long = "status", value_name = "S", value_parser = status::read_status, value_delimiter = ',')]
    statuses: Vec<TaskStatus>,
    /// Only with this label; several times for all of several
    #[arg(short, long = "label", value_name = "L")]
    labels: Vec<String>,
    /// Only of this assignee
    #[arg(long, value_name = "A")]
    assignee: Option<String>,
    /// At most so many; 50 unless named
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Closed and archived ones too, and all of them
    #[arg(short, long)]
    all: bool,
    /// Go on after a page: its `next_cursor`
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Lists the cards.
pub fn run(context: &mut Context, args: ListArgs) -> Result<Exit, CliError> {
    let engine = context.engine()?;
    let wanted = match args.limit {
        Some(limit) => limit as usize,
        None if args.all => usize::MAX,
        None => LIMIT,
    };
    let mut filter = TaskFilter {
        board: context.board_filter()?,
        statuses: args.statuses,
        labels: args.labels,
        assignee: args.assignee,
        all: args.all,
        limit: 0,
        cursor: args.cursor,
    };
    let mut items: Vec<Task> = Vec::new();
    let next_cursor = loop {
        filter.limit = (wanted - items.len()).min(PAGE);
        let Page { items: page, next_cursor } = engine.list(&filter)?;
        items.extend(page);
        if next_cursor.is_none() || items.len() >= wanted {
            break next_cursor;
        }
        filter.cursor = next_cursor;
    };
    if context.out.is_json() {
        let records = items.iter().map(|task| record::task(&engine, task));
        let list = record::list(records.collect::<Result<_, _>>()?, next_cursor);
        context.out.value(&list)?;
        return Ok(Exit::Done);
    }
    let boards = filter.board.is_none();
    let rows: Vec<Vec<Cell>> = items.iter().map(|task| row(task, boards, words::now_ms())).collect();
    for line in words::table(&rows, TITLE, context.out.width(), context.out.has_color()) {
        context.out.line(line)?;
    }
    if context.out.is_terminal() {
        match (items.is_empty(), next_cursor) {
            (true, _) => context.out.note(why_empty(&engine, &filter)?),
            (_, Some(_)) => context.out.note("there are more; --limit N or --all shows them"),
            _ => {}
        }
    }
    Ok(Exit::Done)
}

/// What a person is told who sees an empty list.
fn why_empty(engine: &Engine, filter: &TaskFilter) -> Result<&'static str, CliError> {
    let any = TaskFilter { board: filter.board.clone(), all: true, limit: 1, ..TaskFilter::default() };
    let narrowed = !(filter.statuses.is_empty() && filter.labels.is_empty() && filter.assignee.is_none());
    Ok(match (engine.list(&any)?.items.is_empty(), narrowed) {
        (true, _) => "no cards; `andon add TITLE` makes one, `andon demo` shows how it works",
        (false, true) => "no card of this board matches",
        (false, false) => "no card is open; `andon list --all` shows the closed ones",
    })
}

/// The column that is cut where the terminal is narrow.
const TITLE: usize = 3;

fn row(task: &Task, boards: bool, now: Millis) -> Vec<Cell> {
    let labels: Vec<String> = task.labels.iter().map(|label| one_line(label)).collect();
    let assignee = match task.assignee.is_empty() {
        true => String::new(),
        false => format!("@{}", one_line(&task.assignee)),
    };
    vec![
        Cell::number(format!("#{}", task.seq)),
        Cell::text(format!("{} {}", words::glyph(task.status), task.status))
            .styled(words::style(task.status)),
        Cell::text(format!("P{}", task.priority)),
        Cell::text(one_line(&task.title)),
        Cell::text(labels.join(" ")),
        Cell::text(assignee),
        Cell::text(if boards { one_line(&task.board_id) } else { String::new() }),
        Cell::number(short_age(now - task.since_ms)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_wrote_can_not_move_the_cursor() {
        let task = Task {
            seq: 3,
            title: "x\x1b[2J\ny".into(),
            labels: vec!["a\tb".into()],
            assignee: "me\r".into(),
            ..Task::default()
        };
        let lines = words::table(&[row(&task, false, 5_000)], TITLE, None, false);
        assert_eq!(lines, ["#3  ○ pending  P5  x␛[2J y  a b  @me   5s"]);
    }
}
