//! Crowds: more steps that may be ready at once than there are slots. A step's time begins in the queue, so the
//! last of a crowd may be out of time before they start.

use std::collections::BTreeMap;

use super::definition::{StepDefinition, WorkflowDefinition};
use super::graph;

/// Steps that are left less time than this each are worth a word, in seconds.
const TIGHT_SECONDS: u32 = 60;

/// Steps that are likely to be ready at the same moment and wait for the same slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crowd {
    /// The agent whose slots they wait for; empty for those without an agent.
    pub agent: String,
    /// How many steps.
    pub steps: u32,
    /// How many of them run at a time.
    pub slots: u32,
    /// The shortest time that one of them has, the queue included, in seconds.
    pub timeout_seconds: u32,
    /// How long each may take for the last ones to be done in time, in seconds.
    pub each_seconds: u32,
}

/// The tightest crowd of a workflow, where one is tight. `slots` says how many steps of an agent (or, with an empty
/// name, of none) run at a time.
pub fn tightest(definition: &WorkflowDefinition, slots: impl Fn(&str) -> u32) -> Option<Crowd> {
    let mut crowds: BTreeMap<(usize, &str), Vec<&StepDefinition>> = BTreeMap::new();
    let nodes = definition.steps.iter().map(|step| (step.id.as_str(), step.depends_on.as_slice()));
    for (depth, layer) in graph::layers(nodes).into_iter().enumerate() {
        for step in layer.into_iter().map(|place| &definition.steps[place]) {
            crowds.entry((depth, &step.agent)).or_default().push(step);
        }
    }
    let crowds = crowds.into_iter().filter_map(|((_, agent), steps)| crowd(agent, &steps, slots(agent)));
    crowds.min_by_key(|crowd| crowd.each_seconds)
}

fn crowd(agent: &str, steps: &[&StepDefinition], slots: u32) -> Option<Crowd> {
    let count = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let rounds = count.div_ceil(slots.max(1));
    let timeout_seconds = steps.iter().map(|step| step.timeout_seconds).min()?;
    let each_seconds = timeout_seconds / rounds.max(1);
    let tight = rounds > 1 && each_seconds < TIGHT_SECONDS;
    tight.then(|| Crowd { agent: agent.to_owned(), steps: count, slots, timeout_seconds, each_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(steps: usize, timeout_seconds: u32, agent: &str) -> WorkflowDefinition {
        let step = |n: usize| StepDefinition {
            id: format!("s{n}"),
            agent: agent.to_owned(),
            timeout_seconds,
            ..StepDefinition::default()
        };
        let mut steps: Vec<StepDefinition> = (0..steps).map(step).collect();
        steps.push(StepDefinition { depends_on: vec!["s0".into()], ..step(steps.len()) });
        WorkflowDefinition { name: "w".into(), board: None, steps }
    }

    #[test]
    fn a_crowd_is_told_where_each_of_it_gets_little_time() {
        let crowd = tightest(&wide(40, 300, ""), |_| 4).unwrap();
        assert_eq!((crowd.steps, crowd.slots, crowd.each_seconds), (40, 4, 30));
        assert_eq!(tightest(&wide(8, 300, ""), |_| 4), None);
        assert_eq!(tightest(&wide(40, 3_600, ""), |_| 4), None);
    }

    #[test]
    fn a_short_time_alone_is_no_crowd() {
        assert_eq!(tightest(&wide(4, 5, ""), |_| 4), None);
        assert!(tightest(&wide(5, 5, ""), |_| 4).is_some());
    }

    #[test]
    fn an_agent_has_slots_of_its_own() {
        let slots = |agent: &str| if agent == "claude" { 1 } else { 4 };
        let crowd = tightest(&wide(8, 300, "claude"), slots).unwrap();
        assert_eq!((crowd.agent.as_str(), crowd.each_seconds), ("claude", 37));
    }
}
