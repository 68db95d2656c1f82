//! `[approvals]`: what agents may do, and what a person allows first.

use std::collections::BTreeMap;

use super::super::Approvals;
use super::{Reader, Section, hint, quoted};
use crate::domain::approval::{AGENT_TOOL, Rule, Rules};

const RISKS: [&str; 3] = ["read", "write", "exec"];
const RULES: &[(&str, Rule)] = &[("allow", Rule::Allow), ("ask", Rule::Ask), ("deny", Rule::Deny)];

impl Reader {
    pub(super) fn approvals(&mut self, root: &Section<'_>) -> Approvals {
        let mut approvals = Approvals::default();
        let known = [RISKS.as_slice(), &["tools", "agents"]].concat();
        let Some(section) = self.inner(root, "approvals", &known) else { return approvals };
        self.word(&section, "read", RULES, &mut approvals.read);
        self.word(&section, "write", RULES, &mut approvals.write);
        self.word(&section, "exec", RULES, &mut approvals.exec);
        let tools = self.known_tools(root);
        approvals.tools = self.rules_of_tools(&section, &tools);
        if let Some(agents) = section.fields.get("agents") {
            let path = section.path("agents");
            for (name, _, node) in self.entries(agents, &path) {
                let known = [RISKS.as_slice(), &["tools"]].concat();
                let own = self.section(node, &format!("{path}.{name}"), &known);
                let rules = Rules {
                    tools: self.rules_of_tools(&own, &tools),
                    read: self.rule(&own, "read"),
                    write: self.rule(&own, "write"),
                    exec: self.rule(&own, "exec"),
                };
                approvals.agents.insert(name.clone(), rules);
            }
        }
        approvals
    }

    fn rule(&mut self, section: &Section<'_>, key: &str) -> Option<Rule> {
        section.fields.get(key)?;
        let mut rule = Rule::Ask;
        self.word(section, key, RULES, &mut rule);
        Some(rule)
    }

    /// The tools of the house, those of one's own, and the word for goals of agents.
    fn known_tools(&mut self, root: &Section<'_>) -> Vec<String> {
        let mut known: Vec<String> = crate::tools::names().iter().map(|name| (*name).to_owned()).collect();
        known.push(AGENT_TOOL.to_owned());
        if let Some(own) = root.fields.get("tools") {
            known.extend(self.entries(own, "tools").iter().map(|(name, ..)| name.clone()));
        }
        known
    }

    fn rules_of_tools(&mut self, section: &Section<'_>, known: &[String]) -> BTreeMap<String, Rule> {
        let mut rules = BTreeMap::new();
        let Some(node) = section.fields.get("tools") else { return rules };
        let path = section.path("tools");
        let words: Vec<&str> = known.iter().map(String::as_str).collect();
        let inner = Section {
            path: path.clone(),
            fields: self.entries(node, &path).iter().map(|(name, _, node)| (name.as_str(), node)).collect(),
        };
        for (name, at, _) in self.entries(node, &path) {
            match words.contains(&name.as_str()) {
                true => {
                    rules.extend(self.rule(&inner, name).map(|rule| (name.clone(), rule)));
                }
                false => {
                    let said = format!(
                        "there is no tool {}; known are {}{}",
                        quoted(name),
                        words.join(", "),
                        hint(name, &words)
                    );
                    self.fault(*at, path.clone(), said);
                }
            }
        }
        rules
    }
}
