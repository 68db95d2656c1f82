//! `andon scripted-agent`: this program as an agent that does what a script says. Hidden: it is for tests and for
//! trying things out.

use clap::Args;

use crate::agents::scripted;

/// What the agent does; `agents::scripted` knows the lines.
#[derive(Debug, Args)]
pub struct ScriptedAgentArgs {
    /// Lines of the script
    #[arg(value_name = "LINE", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    lines: Vec<String>,
}

/// Does what the lines say and ends. It is a program of its own, so its exit codes are not those of the table.
pub fn run(args: &ScriptedAgentArgs) -> ! {
    std::process::exit(scripted::run(&args.lines.join("\n")))
}
