//! `andon workflow graph`: the steps in layers; a step stands one layer below the lowest that it needs.

use anstyle::Style;
use serde_json::json;

use super::context::Context;
use super::error::{CliError, Exit};
use super::words;
use crate::domain::graph;
use crate::domain::text::one_line;
use crate::engine::StepView;

/// Prints the graph.
pub fn run(context: &mut Context, id: &str) -> Result<Exit, CliError> {
    let view = context.engine()?.workflow(id)?;
    let places = graph::layers(view.steps.iter().map(|step| (step.id.as_str(), step.depends_on.as_slice())));
    let layers: Vec<Vec<&StepView>> =
        places.iter().map(|layer| layer.iter().map(|place| &view.steps[*place]).collect()).collect();
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
