//! The sections of the configuration that name programs beside agents: tools of one's own.

use std::collections::BTreeMap;

use super::reader::{Reader, at, quoted};
use super::tree::Place;
use super::{RISKS, Tool};
use crate::domain::definition::{Node, NodeValue};
use crate::domain::text;
use crate::tools::{self, OwnTool};

impl Reader {
    pub(super) fn tools(&mut self, node: &Node) -> BTreeMap<String, Tool> {
        let mut tools = BTreeMap::new();
        for (name, name_at, node) in self.entries(node, "tools") {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            if name.is_empty() || name.len() > text::LABEL_LIMIT || !name.chars().all(plain) {
                let message = format!("{} can't name a tool; letters, digits, _ and - can", quoted(name));
                self.fault(*name_at, "tools", message);
                continue;
            }
            if tools::names().contains(&name.as_str()) {
                let message = format!("`{name}` is a tool of the house; give yours another name");
                self.fault(*name_at, "tools", message);
                continue;
            }
            tools.insert(name.clone(), self.tool(name, *name_at, node));
        }
        tools
    }

    fn tool(&mut self, name: &str, name_at: Place, node: &Node) -> Tool {
        let mut tool = Tool::default();
        let known = &["description", "schema", "risk", "command", "timeout_seconds", "env"];
        let section = self.section(node, &format!("tools.{name}"), known);
        self.text(&section, "description", &mut tool.description);
        self.word(&section, "risk", RISKS, &mut tool.risk);
        self.whole(&section, "timeout_seconds", 1..=86_400, &mut tool.timeout_seconds);
        tool.command = self.command(&section, name_at, "[\"./tool.sh\"]");
        tool.env = self.variables(&section);
        if let Some(node) = section.fields.get("schema") {
            let schema = match &node.value {
                NodeValue::Text(json) => serde_json::from_str(json)
                    .map_err(|error| format!("this is neither a table nor JSON: {error}")),
                _ => Ok(node.to_json()),
            };
            match schema.and_then(|schema| OwnTool::new(name, schema, Vec::new())) {
                Ok(own) => tool.schema = own.schema,
                Err(message) => self.fault(at(&section, "schema"), section.path("schema"), message),
            }
        }
        tool
    }
}
