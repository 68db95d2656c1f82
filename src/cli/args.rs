//! The command line: what may be typed. Each verb keeps its own options in its own file; here are the globals
//! and the list of verbs.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

use super::output::Color;
use super::{
    add, approvals, backup, boards, completions, configuration, copy, demo, depend, doctor, edit, events,
    list, log, mcp, purge, questions, run, scripted_agent, show, status, todo, token, tool, wait, wake,
    workflow,
};

/// A Kanban board in the terminal that does the work on it.
///
/// Without a verb the board opens, with the dispatcher in the same process.
#[derive(Debug, Parser)]
#[command(name = "andon", version)]
pub struct CommandLine {
    /// What holds for every verb.
    #[command(flatten)]
    pub globals: Globals,
    /// Without a verb: how the board is run.
    #[command(flatten)]
    pub serve: Serve,
    /// What is to be done.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// Options that every verb takes.
#[derive(Debug, Clone, Args)]
pub struct Globals {
    /// The database file
    #[arg(long, global = true, value_name = "PATH", env = "ANDON_DB", help_heading = "Everywhere")]
    pub db: Option<PathBuf>,
    /// The board; '*' for all of them where that makes sense
    #[arg(long, global = true, value_name = "NAME", env = "ANDON_BOARD", help_heading = "Everywhere")]
    pub board: Option<String>,
    /// The configuration file
    #[arg(long, global = true, value_name = "PATH", env = "ANDON_CONFIG", help_heading = "Everywhere")]
    pub config: Option<PathBuf>,
    /// Answer in JSON, for programs
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub json: bool,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Everywhere"
    )]
    pub color: Color,
    /// Say more on stderr; twice for even more
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Everywhere")]
    pub verbose: u8,
    /// For what dispatches: how many runs at a time
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Everywhere")]
    pub parallel: Option<u32>,
    /// For what dispatches: the address to serve HTTP on, or `off`
    #[arg(long, global = true, value_name = "ADDR", env = "ANDON_HTTP", help_heading = "Everywhere")]
    pub http: Option<String>,
}

/// How the board is run, without a verb.
#[derive(Debug, Clone, Args)]
pub struct Serve {
    /// Dispatch without a screen, as a daemon
    #[arg(long)]
    pub headless: bool,
    /// On SIGTERM or ctrl-c, wait for what runs instead of suspending it
    #[arg(long, requires = "headless")]
    pub drain: bool,
    /// How the daemon logs to stderr
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub log_format: LogFormat,
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// JSON lines for programs.
    Json,
}

/// All verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// A scratch board whose workflow really runs
    Demo(demo::DemoArgs),
    /// A card; with a command or an agent it has something to run
    Add(add::AddArgs),
    /// Wait until cards are settled: exit 0, 10 FAILED, 11 CANCELLED
    Wait(wait::WaitArgs),
    /// A fresh card with the same content
    Copy(copy::CopyArgs),
    /// The cards of the board
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    /// One card in full
    Show(show::ShowArgs),
    /// Why a card does not move, and what would lift that
    Why(show::WhyArgs),
    /// The output of a card's run
    Log(log::LogArgs),
    /// What happened, line by line
    Events(events::EventsArgs),
    #[command(flatten)]
    Status(status::StatusVerb),
    /// Change a card's fields
    Edit(edit::EditArgs),
    /// Make a card need another
    Depend(depend::DependArgs),
    /// Which cards ask something
    Questions(questions::QuestionsArgs),
    /// Answer a card's question
    Answer(questions::AnswerArgs),
    /// Which calls of agents wait for you to allow them
    Approvals(approvals::ApprovalsArgs),
    /// Allow a call that waits for approval, once
    Allow(approvals::AllowArgs),
    /// Deny a call that waits for approval
    Deny(approvals::DenyArgs),
    /// Tell of an event from outside that cards wait for
    Wake(wake::WakeArgs),
    /// Create, start and watch a workflow: exit 0 SUCCESS, 10 FAILED, 11 CANCELLED
    Run(run::RunArgs),
    /// Workflows
    #[command(subcommand, visible_alias = "wf")]
    Workflow(workflow::WorkflowVerb),
    /// The light list of a session: create, list, update, complete, delete
    #[command(subcommand)]
    Todo(todo::TodoVerb),
    /// Call a tool by its JSON, as an agent would
    Tool(tool::ToolArgs),
    /// The tools for an agent, by the Model Context Protocol on standard input and output
    Mcp(mcp::McpArgs),
    /// The token that a program sends to reach the board over HTTP
    Token(token::TokenArgs),
    /// The boards
    Boards(boards::BoardsArgs),
    /// The configuration: path, show, check
    Config(configuration::ConfigArgs),
    /// What is wrong with board, database and processes, and what would be done: exit 1 when something is
    Doctor(doctor::DoctorArgs),
    /// A copy of the database, while everybody works on
    Backup(backup::BackupArgs),
    /// Remove for good what ended long ago, after writing down what it was
    Purge(purge::PurgeArgs),
    /// Completions for a shell
    Completions(completions::CompletionsArgs),
    /// An agent that does what a script says
    #[command(hide = true)]
    ScriptedAgent(scripted_agent::ScriptedAgentArgs),
}
