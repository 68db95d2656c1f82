//! `andon workflow graph`: the steps in layers; a step stands one layer below the lowest that it needs.

use anstyle::Style;
use serde_json::json;
use std::collections::HashMap;

use super::context::Context;
use super::error::{CliError, Exit};
use super::words;
use crate::domain::text::one_line;
use crate::engine::StepView;

/// Prints the graph.
pub fn run(context: &mut Context, id: &str) -> Result<Exit, CliError> {
    let view = context.engine()?.workflow(id)?;
    let layers = layers(&view.steps);
    if context.out.is_json() {
        let layers: Vec<Vec<&str>> =
            layers.iter().map(|layer| layer.iter().map(|step| step.id.as_str()).collect()).collect();
        let edges: Vec<_> = view
            .steps
            .iter()
            .flat_map(|step| step.depends_on.iter().map(move |needs| json!([needs, step.id])))
            .collect();
        context.out.value(&json!({ "id": view.workflow.id, "layers": layers, "edges": edges }))?;
        return Ok(Exit::Done);
    }
    let line = super::workflow::headline(&context.out, &view.workflow);
    context.out.line(line)?;
    for (depth, layer) in layers.iter().enumerate() {
        if depth > 0 {
            context.out.line("  │")?;
        }
        for (place, step) in layer.iter().enumerate() {
            let arm = match (depth, place + 1 == layer.len(), layer.len()) {
                (_, _, 1) => "─",
                (_, true, _) => "└",
                (_, false, _) if place == 0 => "┌",
                _ => "├",
            };
            let name = format!("{} {}", words::glyph(step.status), one_line(&step.id));
            let name = context.out.paint(words::style(step.status), &name);
            let needs: Vec<String> = step.depends_on.iter().map(|id| one_line(id)).collect();
            let needs = match needs.is_empty() {
                true => String::new(),
                false => context.out.paint(Style::new().dimmed(), &format!("  ← {}", needs.join(", "))),
            };
            context.out.line(format!("  {arm} {name}{needs}"))?;
        }
    }
    Ok(Exit::Done)
}

/// The steps by depth, each layer in the order of the definition.
fn layers(steps: &[StepView]) -> Vec<Vec<&StepView>> {
    let by_id: HashMap<&str, usize> =
        steps.iter().enumerate().map(|(at, step)| (step.id.as_str(), at)).collect();
    let mut open: Vec<usize> = vec![0; steps.len()];
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    for (at, step) in steps.iter().enumerate() {
        for needed in step.depends_on.iter().filter_map(|id| by_id.get(id.as_str())) {
            open[at] += 1;
            successors[*needed].push(at);
        }
    }
    let mut layer: Vec<usize> = (0..steps.len()).filter(|at| open[*at] == 0).collect();
    let mut layers = Vec::new();
    while !layer.is_empty() {
        let mut next = Vec::new();
        for at in &layer {
            for successor in &successors[*at] {
                open[*successor] -= 1;
                if open[*successor] == 0 {
                    next.push(*successor);
                }
            }
        }
        next.sort_unstable();
        layers.push(layer.iter().map(|at| &steps[*at]).collect());
        layer = next;
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{TaskId, TaskStatus};

    fn step(id: &str, needs: &[&str]) -> StepView {
        StepView {
            id: id.to_owned(),
            name: id.to_owned(),
            task_id: TaskId::default(),
            seq: 0,
            status: TaskStatus::Pending,
            depends_on: needs.iter().map(|needed| (*needed).to_owned()).collect(),
            result: String::new(),
            error: String::new(),
            retry_count: 0,
            started_at_ms: None,
            finished_at_ms: None,
        }
    }

    #[test]
    fn a_step_stands_below_all_that_it_needs() {
        let steps =
            [step("d", &["b", "c"]), step("a", &[]), step("b", &["a"]), step("c", &["b"]), step("e", &[])];
        let names: Vec<Vec<&str>> =
            layers(&steps).iter().map(|layer| layer.iter().map(|s| s.id.as_str()).collect()).collect();
        assert_eq!(names, [vec!["a", "e"], vec!["b"], vec!["c"], vec!["d"]]);
    }
}
