//! The sections of the configuration that name programs beside agents: tools of one's own,
//! and hooks; and where a tool may go.

use std::collections::BTreeMap;

use super::reader::{Reader, Section, at, hint, quoted};
use super::tree::Place;
use super::{Config, Hook, RISKS, Tool};
use crate::agents::hooks;
use crate::domain::EventKind;
use crate::domain::definition::{Node, NodeValue};
use crate::domain::text;
use crate::tools::web::address::Allowed;
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

    pub(super) fn web_fetch(&mut self, root: &Section<'_>, config: &mut Config) {
        let Some(section) = self.inner(root, "web_fetch", &["allow"]) else { return };
        let Some(node) = section.fields.get("allow") else { return };
        for text in self.list_of_texts(node, section.path("allow"), "a list of hosts and networks") {
            match Allowed::parse(&text) {
                Some(allowed) => config.web_fetch.allow.push(allowed),
                None => {
                    let message = format!("{} is no host and no network such as 10.0.0.0/8", quoted(&text));
                    self.fault(node.at, section.path("allow"), message);
                }
            }
        }
    }

    pub(super) fn hooks(&mut self, node: &Node) -> Vec<Hook> {
        let NodeValue::List(list) = &node.value else {
            self.fault(node.at, "hooks", "each hook is a section of its own, headed [[hooks]]");
            return Vec::new();
        };
        list.iter().enumerate().map(|(at, node)| self.hook(&format!("hooks[{at}]"), node)).collect()
    }

    fn hook(&mut self, path: &str, node: &Node) -> Hook {
        let mut hook = Hook::default();
        let section = self.section(node, path, &["on", "command", "boards", "timeout_seconds", "env"]);
        self.whole(&section, "timeout_seconds", 1..=3_600, &mut hook.timeout_seconds);
        hook.command = self.command(&section, node.at, "[\"./tell-me.sh\"]");
        hook.env = self.variables(&section);
        match section.fields.get("on") {
            Some(on) => {
                hook.on = self.list_of_texts(on, section.path("on"), "a list of kinds of events");
                if matches!(&on.value, NodeValue::List(list) if list.is_empty()) {
                    self.fault(on.at, section.path("on"), "it is never run so; name what it is run on");
                }
                for word in hook.on.iter().filter(|word| !hooks::is_known(word)) {
                    let words = hooks::WORDS.iter().map(|(word, _)| *word);
                    let known: Vec<&str> =
                        words.chain(EventKind::ALL.iter().map(|kind| kind.as_str())).collect();
                    let message = match hint(word, &known) {
                        hint if hint.is_empty() => {
                            format!("{} is no kind of event; known are {}", quoted(word), known.join(", "))
                        }
                        hint => format!("{} is no kind of event{hint}", quoted(word)),
                    };
                    self.fault(on.at, section.path("on"), message);
                }
            }
            None => self.fault(
                node.at,
                section.path("on"),
                "is missing; say on what it is run, such as [\"question\"]",
            ),
        }
        if let Some(boards) = section.fields.get("boards") {
            hook.boards = self.list_of_texts(boards, section.path("boards"), "a list of boards");
        }
        hook
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
