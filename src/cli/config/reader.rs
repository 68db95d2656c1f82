//! Reads the configuration from a tree with places: each section takes what it knows. Nothing stops at the first
//! fault except broken TOML.

mod approvals;

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use super::tree::Place;
use super::{Agent, Config, DURABILITY, ON_LOST, THEMES, tree};
use crate::domain::definition::{Fault, Node, NodeValue, nearest};
use crate::domain::text::{self, one_line, shortened};

/// All of a file, or all of its faults.
pub fn read(bytes: &[u8]) -> Result<Config, Vec<Fault>> {
    let root = tree::read(bytes).map_err(|fault| vec![fault])?;
    let mut reader = Reader::default();
    let config = reader.config(&root);
    match reader.faults.is_empty() {
        true => Ok(config),
        false => {
            reader.faults.sort_by_key(|fault| fault.at);
            Err(reader.faults)
        }
    }
}

#[derive(Default)]
pub(super) struct Reader {
    faults: Vec<Fault>,
}

/// One table of the file, its fields by name.
pub(super) struct Section<'n> {
    path: String,
    pub(super) fields: HashMap<&'n str, &'n Node>,
}

impl Section<'_> {
    pub(super) fn path(&self, key: &str) -> String {
        match self.path.is_empty() {
            true => key.to_owned(),
            false => format!("{}.{key}", self.path),
        }
    }
}

impl Reader {
    fn config(&mut self, root: &Node) -> Config {
        let mut config = Config::default();
        let root = self.section(
            root,
            "",
            &[
                "dispatch",
                "store",
                "log",
                "http",
                "board",
                "approvals",
                "keys",
                "agents",
                "tools",
                "hooks",
                "web_fetch",
            ],
        );
        self.dispatch(&root, &mut config);
        if let Some(store) = self.inner(&root, "store", &["durability"]) {
            self.word(&store, "durability", DURABILITY, &mut config.store.durability);
        }
        if let Some(log) = self.inner(&root, "log", &["cap_mib"]) {
            self.whole(&log, "cap_mib", 1..=4096, &mut config.log.cap_mib);
        }
        self.http(&root, &mut config);
        self.board(&root, &mut config);
        config.approvals = self.approvals(&root);
        if let Some(keys) = root.fields.get("keys") {
            config.keys = self.keys(keys);
        }
        if let Some(agents) = root.fields.get("agents") {
            config.agents = self.agents(agents);
        }
        self.web_fetch(&root, &mut config);
        if let Some(tools) = root.fields.get("tools") {
            config.tools = self.tools(tools);
        }
        if let Some(hooks) = root.fields.get("hooks") {
            config.hooks = self.hooks(hooks);
        }
        config
    }

    fn dispatch(&mut self, root: &Section<'_>, config: &mut Config) {
        let known = &["parallel", "lease_seconds", "renew_seconds", "grace_seconds", "on_lost"];
        let Some(section) = self.inner(root, "dispatch", known) else { return };
        let dispatch = &mut config.dispatch;
        self.whole(&section, "parallel", 1..=1024, &mut dispatch.parallel);
        self.whole(&section, "lease_seconds", 2..=86_400, &mut dispatch.lease_seconds);
        self.whole(&section, "renew_seconds", 1..=43_200, &mut dispatch.renew_seconds);
        self.whole(&section, "grace_seconds", 0..=3_600, &mut dispatch.grace_seconds);
        self.word(&section, "on_lost", ON_LOST, &mut dispatch.on_lost);
        if dispatch.renew_seconds > dispatch.lease_seconds / 2 {
            let at = ["renew_seconds", "lease_seconds"].iter().find_map(|key| section.fields.get(key));
            let message = format!(
                "a lease of {} s that is renewed every {} s may run out under a live run; renew at least twice in it",
                dispatch.lease_seconds, dispatch.renew_seconds
            );
            self.fault(at.and_then(|node| node.at), section.path("renew_seconds"), message);
        }
    }

    fn http(&mut self, root: &Section<'_>, config: &mut Config) {
        let Some(section) = self.inner(root, "http", &["enabled", "address", "prefix", "hosts"]) else {
            return;
        };
        let http = &mut config.http;
        self.flag(&section, "enabled", &mut http.enabled);
        let mut address = http.address.to_string();
        self.text(&section, "address", &mut address);
        match address.parse() {
            Ok(address) => http.address = address,
            Err(_) => {
                let message = format!("{} is no address and port such as 127.0.0.1:7420", quoted(&address));
                self.fault(at(&section, "address"), section.path("address"), message);
            }
        }
        self.text(&section, "prefix", &mut http.prefix);
        if let Some(node) = section.fields.get("hosts") {
            http.hosts = self.list_of_texts(node, section.path("hosts"), "a list of names");
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~/".contains(c);
        if !http.prefix.starts_with('/') || http.prefix.ends_with('/') || !http.prefix.chars().all(plain) {
            let message = format!("{} is no path such as /api/v1", quoted(&http.prefix));
            self.fault(at(&section, "prefix"), section.path("prefix"), message);
        }
    }

    fn board(&mut self, root: &Section<'_>, config: &mut Config) {
        let Some(section) = self.inner(root, "board", &["theme", "default", "archive", "notify"]) else {
            return;
        };
        let board = &mut config.board;
        self.text(&section, "theme", &mut board.theme);
        let is_file = board.theme.contains('/') || board.theme.ends_with(".toml");
        if !is_file && !THEMES.contains(&board.theme.as_str()) {
            let message = format!(
                "{} is no theme; there are {}, or name a .toml file{}",
                quoted(&board.theme),
                THEMES.join(", "),
                hint(&board.theme, THEMES)
            );
            self.fault(at(&section, "theme"), section.path("theme"), message);
        }
        self.text(&section, "default", &mut board.default);
        if let Err(refusal) = text::board(&board.default) {
            self.fault(at(&section, "default"), section.path("default"), refusal.message);
        }
        self.flag(&section, "archive", &mut board.archive);
        self.flag(&section, "notify", &mut board.notify);
    }

    /// The shape only; which sections, actions and keys there are is the board's to say.
    fn keys(&mut self, node: &Node) -> BTreeMap<String, BTreeMap<String, Vec<String>>> {
        let mut keys = BTreeMap::new();
        for (section, _, node) in self.entries(node, "keys") {
            let path = format!("keys.{section}");
            let mut actions = BTreeMap::new();
            for (action, _, node) in self.entries(node, &path) {
                let bound = match &node.value {
                    NodeValue::Text(key) => vec![key.clone()],
                    _ => self.list_of_texts(node, format!("{path}.{action}"), "a key or a list of keys"),
                };
                actions.insert(action.clone(), bound);
            }
            keys.insert(section.clone(), actions);
        }
        keys
    }

    fn agents(&mut self, node: &Node) -> BTreeMap<String, Agent> {
        let mut agents = BTreeMap::new();
        for (name, name_at, node) in self.entries(node, "agents") {
            let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
            if name.is_empty() || name.chars().count() > text::LABEL_LIMIT || !name.chars().all(plain) {
                let message =
                    format!("{} can't name an agent; letters, digits, _, - and . can", quoted(name));
                self.fault(*name_at, "agents", message);
                continue;
            }
            agents.insert(name.clone(), self.agent(name, *name_at, node));
        }
        agents
    }

    fn agent(&mut self, name: &str, name_at: Place, node: &Node) -> Agent {
        let mut agent = Agent::default();
        let known = &["protocol", "command", "parallel", "env", "review"];
        let section = self.section(node, &format!("agents.{name}"), known);
        self.protocol(&section);
        self.whole(&section, "parallel", 1..=1024, &mut agent.parallel);
        self.flag(&section, "review", &mut agent.review);
        agent.command = self.command(&section, name_at, "[\"./agent.sh\", \"{goal}\"]");
        agent.env = self.variables(&section);
        agent
    }

    /// The `command` of a section, which has to be there.
    pub(super) fn command(&mut self, section: &Section<'_>, name_at: Place, example: &str) -> Vec<String> {
        let path = section.path("command");
        let Some(node) = section.fields.get("command") else {
            self.fault(name_at, path, format!("is missing; say which program it is, such as {example}"));
            return Vec::new();
        };
        let command = self.list_of_texts(node, path.clone(), "a list of program and arguments");
        if command.first().is_some_and(String::is_empty)
            || matches!(&node.value, NodeValue::List(list) if list.is_empty())
        {
            self.fault(node.at, path, "the program is missing; put it first in the list");
        }
        command
    }

    /// The `env` of a section.
    pub(super) fn variables(&mut self, section: &Section<'_>) -> Vec<String> {
        let Some(node) = section.fields.get("env") else { return Vec::new() };
        let names = self.list_of_texts(node, section.path("env"), "a list of names of variables");
        for name in names.iter().filter(|name| name.is_empty() || name.contains(['=', '\0'])) {
            let shown = quoted(name.split('=').next().unwrap_or_default());
            let message = format!("{shown}… is no name of a variable; names belong here, never values");
            self.faults.push(Fault { at: node.at, path: section.path("env"), message });
        }
        names
    }

    fn protocol(&mut self, section: &Section<'_>) {
        let mut protocol = String::from("command");
        self.text(section, "protocol", &mut protocol);
        let message = match protocol.as_str() {
            "command" => return,
            "acp" | "model" => format!("`{protocol}` is not built yet; use `command`"),
            other => format!("{} is no protocol; use `command`{}", quoted(other), hint(other, &["command"])),
        };
        self.fault(at(section, "protocol"), section.path("protocol"), message);
    }

    // --- single values ---

    pub(super) fn fault(&mut self, at: Place, path: impl Into<String>, message: impl Into<String>) {
        self.faults.push(Fault { at, path: path.into(), message: message.into() });
    }

    pub(super) fn entries<'n>(&mut self, node: &'n Node, path: &str) -> &'n [(String, Place, Node)] {
        match &node.value {
            NodeValue::Table(entries) => entries,
            _ => {
                self.fault(node.at, path, format!("a section is wanted, not {}", node.kind()));
                &[]
            }
        }
    }

    pub(super) fn section<'n>(&mut self, node: &'n Node, path: &str, known: &[&str]) -> Section<'n> {
        let mut fields = HashMap::new();
        for (key, at, value) in self.entries(node, path) {
            match known.contains(&key.as_str()) {
                true => {
                    fields.insert(key.as_str(), value);
                }
                false => {
                    let message = match hint(key, known) {
                        hint if hint.is_empty() => {
                            format!("unknown key {}; known are {}", quoted(key), known.join(", "))
                        }
                        hint => format!("unknown key {}{hint}", quoted(key)),
                    };
                    self.fault(*at, path, message);
                }
            }
        }
        Section { path: path.to_owned(), fields }
    }

    pub(super) fn inner<'n>(&mut self, root: &Section<'n>, key: &str, known: &[&str]) -> Option<Section<'n>> {
        let node = root.fields.get(key)?;
        Some(self.section(node, &root.path(key), known))
    }

    pub(super) fn whole(
        &mut self,
        section: &Section<'_>,
        key: &str,
        range: RangeInclusive<u32>,
        value: &mut u32,
    ) {
        let Some(node) = section.fields.get(key) else { return };
        let number = match &node.value {
            NodeValue::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
            _ => None,
        };
        match number.filter(|number| range.contains(number)) {
            Some(number) => *value = number,
            None => {
                let shown = shortened(&one_line(&node.to_json().to_string()), 40);
                let message =
                    format!("{shown} is not a whole number from {} to {}", range.start(), range.end());
                self.fault(node.at, section.path(key), message);
            }
        }
    }

    pub(super) fn flag(&mut self, section: &Section<'_>, key: &str, value: &mut bool) {
        let Some(node) = section.fields.get(key) else { return };
        match &node.value {
            NodeValue::Bool(yes) => *value = *yes,
            _ => self.fault(
                node.at,
                section.path(key),
                format!("true or false is wanted, not {}", node.kind()),
            ),
        }
    }

    pub(super) fn text(&mut self, section: &Section<'_>, key: &str, value: &mut String) {
        let Some(node) = section.fields.get(key) else { return };
        match &node.value {
            NodeValue::Text(text) => *value = text.clone(),
            _ => self.fault(node.at, section.path(key), format!("a text is wanted, not {}", node.kind())),
        }
    }

    pub(super) fn word<T: Copy>(
        &mut self,
        section: &Section<'_>,
        key: &str,
        all: &[(&str, T)],
        value: &mut T,
    ) {
        let Some(node) = section.fields.get(key) else { return };
        let words: Vec<&str> = all.iter().map(|(word, _)| *word).collect();
        let text = match &node.value {
            NodeValue::Text(text) => text.as_str(),
            _ => "",
        };
        match all.iter().find(|(word, _)| *word == text) {
            Some((_, one)) => *value = *one,
            None => {
                let shown = shortened(&one_line(&node.to_json().to_string()), 40);
                let message = format!("{shown} is not one of {}{}", words.join(", "), hint(text, &words));
                self.fault(node.at, section.path(key), message);
            }
        }
    }

    pub(super) fn list_of_texts(&mut self, node: &Node, path: String, wanted: &str) -> Vec<String> {
        let NodeValue::List(list) = &node.value else {
            self.fault(node.at, path, format!("{wanted} is wanted, not {}", node.kind()));
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in list {
            match &item.value {
                NodeValue::Text(text) => texts.push(text.clone()),
                _ => {
                    self.fault(item.at, path.clone(), format!("{wanted} is wanted; it holds {}", item.kind()))
                }
            }
        }
        texts
    }
}

pub(super) fn at(section: &Section<'_>, key: &str) -> Place {
    section.fields.get(key).and_then(|node| node.at)
}

pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", shortened(&one_line(text), 40))
}

pub(super) fn hint(word: &str, known: &[&str]) -> String {
    nearest(word, known).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}
