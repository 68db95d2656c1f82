//! The order of the steps: doubles, missing dependencies, cycles, and references to what does not come before.

use serde_json::Value;
use std::collections::{HashMap, HashSet};

use super::reader::{Reader, collect_strings};
use super::{StepDefinition, nearest};
use crate::domain::{graph, template, text};

impl Reader<'_> {
    /// Doubles, missing dependencies, cycles, and references to steps that do not come before.
    pub(super) fn graph(
        &mut self,
        steps: &[StepDefinition],
        places: &[Option<(usize, usize)>],
        needs_at: &[Vec<Option<(usize, usize)>>],
    ) {
        let mut index: HashMap<&str, usize> = HashMap::new();
        for (number, step) in steps.iter().enumerate() {
            if let Some(first) = index.get(step.id.as_str()) {
                let message = format!("`{}` is the id of steps[{first}] already; ids must differ", step.id);
                self.fault(places[number], format!("steps[{number}].id"), message);
            } else {
                index.insert(&step.id, number);
            }
        }
        let mut needs: Vec<Vec<usize>> = Vec::with_capacity(steps.len());
        for (number, step) in steps.iter().enumerate() {
            let mut found = Vec::new();
            for (place, id) in step.depends_on.iter().enumerate() {
                match index.get(id.as_str()) {
                    Some(on) => found.push(*on),
                    None => {
                        let ids: Vec<&str> = steps.iter().map(|s| s.id.as_str()).collect();
                        let hint = nearest(id, &ids)
                            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                        let shown = text::shortened(&text::one_line(id), 40);
                        self.fault(
                            needs_at[number][place],
                            format!("steps[{number}].depends_on"),
                            format!("there is no step `{shown}`{hint}"),
                        );
                    }
                }
            }
            needs.push(found);
        }
        let nodes: Vec<usize> = (0..steps.len()).collect();
        let cycles = graph::cycles(&nodes, |n| needs[n].clone());
        for cycle in &cycles {
            let path: Vec<&str> = cycle.iter().map(|n| steps[*n].id.as_str()).collect();
            self.fault(
                places[cycle[0]],
                "steps",
                format!("a cycle: {} (each needs the next)", path.join(" → ")),
            );
        }
        if cycles.is_empty() {
            self.references(steps, places, &index, &needs);
        }
    }

    fn references(
        &mut self,
        steps: &[StepDefinition],
        places: &[Option<(usize, usize)>],
        index: &HashMap<&str, usize>,
        needs: &[Vec<usize>],
    ) {
        for (number, step) in steps.iter().enumerate() {
            let params = Value::Object(step.tool_params.clone());
            let mut strings = vec![step.goal.as_str()];
            collect_strings(&params, &mut strings);
            let referred: HashSet<String> =
                strings.iter().flat_map(|s| template::references(s).0).map(|r| r.step).collect();
            if referred.is_empty() {
                continue;
            }
            let mut before: HashSet<usize> = HashSet::new();
            let mut open = needs[number].clone();
            while let Some(next) = open.pop() {
                if before.insert(next) {
                    open.extend(&needs[next]);
                }
            }
            let mut referred: Vec<String> = referred.into_iter().collect();
            referred.sort();
            for id in referred {
                match index.get(id.as_str()) {
                    Some(on) if before.contains(on) => {}
                    Some(_) => self.fault(
                        places[number],
                        format!("steps[{number}]"),
                        format!("it uses the result of `{id}`, which does not come before it; add `{id}` to depends_on"),
                    ),
                    None => self.fault(
                        places[number],
                        format!("steps[{number}]"),
                        format!("it uses the result of `{}`, and there is no such step", text::one_line(&id)),
                    ),
                }
            }
        }
    }
}
