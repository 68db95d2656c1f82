//! `andon todo`: the light list of a session, through the tool of the same name.

use anstyle::Style;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::context::Context;
use super::error::{CliError, Exit};
use super::registry;
use super::several::Several;
use super::tool::{self, Caller};
use crate::domain::text::one_line;
use crate::tools::ToolContext;

/// What is done with the list.
#[derive(Debug, Subcommand)]
pub enum TodoVerb {
    /// Add items
    Create(CreateArgs),
    /// The items of the session
    List(ListArgs),
    /// Change an item's status or title
    Update(UpdateArgs),
    /// Mark items done
    Complete(ItemsArgs),
    /// Remove items
    Delete(ItemsArgs),
}

/// Whose list it is.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// The session; inside a run it is the run's own
    #[arg(long, value_name = "S")]
    session: Option<String>,
}

/// Options of `todo create`.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    whose: SessionArgs,
    /// One line for each item
    #[arg(required = true, value_name = "TITLE")]
    titles: Vec<String>,
}

/// Options of `todo list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    whose: SessionArgs,
    /// Only items with this status
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
}

/// Options of `todo update`.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    whose: SessionArgs,
    /// The item
    #[arg(value_name = "ID")]
    id: String,
    /// pending, in_progress or done
    #[arg(value_name = "STATUS", conflicts_with = "status")]
    to: Option<String>,
    /// The same, by name
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Another title
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
}

/// Options of `todo complete` and `todo delete`.
#[derive(Debug, Args)]
pub struct ItemsArgs {
    #[command(flatten)]
    whose: SessionArgs,
    /// The items
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

/// Carries it out.
pub fn run(context: &mut Context, verb: TodoVerb) -> Result<Exit, CliError> {
    match verb {
        TodoVerb::Create(args) => create(context, args),
        TodoVerb::List(args) => list(context, args),
        TodoVerb::Update(args) => {
            let fields = [("status", args.to.or(args.status)), ("title", args.title)];
            on_each(context, args.whose, "update", &[args.id], &fields)
        }
        TodoVerb::Complete(args) => on_each(context, args.whose, "complete", &args.ids, &[]),
        TodoVerb::Delete(args) => on_each(context, args.whose, "delete", &args.ids, &[]),
    }
}

fn create(context: &mut Context, args: CreateArgs) -> Result<Exit, CliError> {
    let list = List::of(context, args.whose)?;
    let made = match args.titles.as_slice() {
        [title] => list.call(context, "create", json!({ "title": title }))?,
        titles => {
            let items: Vec<Value> = titles.iter().map(|title| json!({ "title": title })).collect();
            list.call(context, "create", json!({ "items": items }))?
        }
    };
    if context.out.is_json() {
        context.out.value(&made)?;
        return Ok(Exit::Done);
    }
    for item in made["items"].as_array().unwrap_or(&vec![made.clone()]) {
        context.out.line(item["id"].as_str().unwrap_or_default())?;
    }
    Ok(Exit::Done)
}

fn list(context: &mut Context, args: ListArgs) -> Result<Exit, CliError> {
    let list = List::of(context, args.whose)?;
    let listed = list.call(context, "list", json!({ "status": args.status }))?;
    if context.out.is_json() {
        context.out.value(&listed)?;
        return Ok(Exit::Done);
    }
    let items = listed["items"].as_array().map_or(&[][..], Vec::as_slice);
    for item in items {
        let line = line(context, item);
        context.out.line(line)?;
    }
    if items.is_empty() && context.out.is_terminal() {
        context.out.note("the session has no todos");
    }
    Ok(Exit::Done)
}

fn on_each(
    context: &mut Context,
    whose: SessionArgs,
    action: &str,
    ids: &[String],
    fields: &[(&str, Option<String>)],
) -> Result<Exit, CliError> {
    let list = List::of(context, whose)?;
    let mut several = Several::new(ids.len());
    for id in ids {
        let mut call = json!({ "task_id": id });
        for (name, value) in fields {
            call[*name] = json!(value);
        }
        let changed = list.call(context, action, call).map(|item| (line(context, &item), item));
        several.note(context, id, changed)?;
    }
    several.finish(context, Exit::Done)
}

/// The list of a session, as the tool hands it out.
struct List(ToolContext);

impl List {
    fn of(context: &mut Context, whose: SessionArgs) -> Result<Self, CliError> {
        Ok(Self(tool::caller(context, Caller { session: whose.session, agent: None })?))
    }

    fn call(&self, context: &Context, action: &str, fields: Value) -> Result<Value, CliError> {
        let mut call =
            Map::from_iter([("tool".to_owned(), json!("todo")), ("action".to_owned(), json!(action))]);
        call.extend(fields.as_object().cloned().unwrap_or_default());
        Ok(registry::of(context)?.call(&self.0, &call)?)
    }
}

/// An item as people read it: `[x] t_…  Title`.
fn line(context: &Context, item: &Value) -> String {
    let text = |field: &str| one_line(item[field].as_str().unwrap_or_default());
    let mark = match (item["deleted"] == true, text("status").as_str()) {
        (true, _) => "deleted",
        (_, "done") => "[x]",
        (_, "in_progress") => "[~]",
        _ => "[ ]",
    };
    format!("{mark} {}  {}", context.out.paint(Style::new().dimmed(), &text("id")), text("title"))
}
