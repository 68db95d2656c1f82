//! Who calls over MCP: the agent of a run, or one outside of any, on behalf of the person who owns the database or of
//! somebody they let look. What a person's own agent writes was written by an agent, and goes by the same rules.

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
    /// By whose right: the operator, or the agent of a run.
    pub right: Actor,
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
    /// The person who sits at the client, where it may answer for them what a task asks. An agent inside a run never
    /// speaks for a person.
    pub fn person(&self) -> Option<&Actor> {
        Some(&self.right).filter(|right| self.may_write && right.is_operator())
    }

    /// Who acts in its calls: the agent of the run, or one from outside, by the name of its program.
    pub fn actor(&self, client: Option<&str>) -> Actor {
        match (&self.right, client.map(one_line)) {
            (Actor::Operator { .. }, Some(client)) if !client.trim().is_empty() => {
                Actor::Guest { name: format!("mcp:{}", shortened(client.trim(), NAME_LIMIT)) }
            }
            (Actor::Operator { .. }, _) => Actor::Guest { name: "mcp".to_owned() },
            (right, _) => right.clone(),
        }
    }

    /// What a tool knows about it.
    pub fn context(self, actor: Actor, engine: Engine, waiting: Waiting) -> ToolContext {
        let inside = match &self.right {
            Actor::Agent { run, task, .. } => Some(Inside { run: run.clone(), task: task.clone() }),
            _ => None,
        };
        let Caller { cwd, session, board, .. } = self;
        ToolContext { engine, actor, inside, cwd, session, board, waiting }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(right: Actor) -> Caller {
        Caller { right, cwd: PathBuf::from("/"), session: None, board: None, may_write: true }
    }

    #[test]
    fn a_persons_own_agent_is_a_guest_by_the_name_of_its_program_and_one_inside_a_run_keeps_its_name() {
        let own = caller(Actor::operator("ann"));
        assert_eq!(own.actor(Some("claude\ncode")), Actor::Guest { name: "mcp:claude code".into() });
        assert_eq!(own.actor(None), Actor::Guest { name: "mcp".into() });
        assert_eq!(own.person(), Some(&Actor::operator("ann")));
        let run = Actor::Agent { run: "r_1".into(), task: "t_1".into(), name: "claude".into() };
        let inside = caller(run.clone());
        assert_eq!((inside.actor(Some("opencode")), inside.person()), (run, None));
        assert_eq!(Caller { may_write: false, ..own }.person(), None);
    }
}
