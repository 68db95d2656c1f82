//! Who calls over MCP: the person who owns the database or somebody they let look, or the agent of a run. A
//! person's own agent is the operator by right, and known by the name of its program in what it makes.

use std::path::PathBuf;

use crate::domain::Actor;
use crate::domain::text::{one_line, shortened};
use crate::engine::Engine;
use crate::tools::{Inside, ToolContext, Waiting};

/// The longest name of a client that is kept, in characters.
const NAME_LIMIT: usize = 40;

/// One caller.
#[derive(Debug, Clone)]
pub struct Caller {
    /// By whose right.
    pub actor: Actor,
    /// The folder that relative paths start from, absolute.
    pub cwd: PathBuf,
    /// The session of its run, where it has one.
    pub session: Option<String>,
    /// Its board; `None` = the default board.
    pub board: Option<String>,
    /// Whether it may change anything.
    pub may_write: bool,
}

impl Caller {
    /// Whether the person at this caller may answer what a task asks. An agent inside a run never speaks for them.
    pub fn speaks_for_a_person(&self) -> bool {
        self.may_write && self.actor.is_operator()
    }

    /// The same, known by the name of its program: what it makes was written by an agent.
    pub fn through(mut self, client: Option<&str>) -> Self {
        if let (Actor::Operator { name }, Some(client)) = (&mut self.actor, client) {
            *name = format!("mcp:{}", shortened(one_line(client).trim(), NAME_LIMIT));
        }
        self
    }

    /// What a tool knows about it.
    pub fn context(self, engine: Engine, waiting: Waiting) -> ToolContext {
        let inside = match &self.actor {
            Actor::Agent { run, task, .. } => Some(Inside { run: run.clone(), task: task.clone() }),
            _ => None,
        };
        let Caller { actor, cwd, session, board, .. } = self;
        ToolContext { engine, actor, inside, cwd, session, board, waiting }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(actor: Actor) -> Caller {
        Caller { actor, cwd: PathBuf::from("/"), session: None, board: None, may_write: true }
    }

    #[test]
    fn a_persons_own_agent_is_named_after_its_program_and_one_inside_a_run_keeps_its_name() {
        let own = caller(Actor::operator("ann")).through(Some("claude\ncode"));
        assert_eq!((own.actor.name(), own.actor.is_operator()), ("mcp:claude code", true));
        assert_eq!(caller(Actor::operator("ann")).through(None).actor.name(), "ann");
        let run = Actor::Agent { run: "r_1".into(), task: "t_1".into(), name: "claude".into() };
        let inside = caller(run).through(Some("opencode"));
        assert_eq!((inside.actor.name(), inside.speaks_for_a_person()), ("claude", false));
    }
}
