//! What a tool's call looks like: its fields, and for each action which of them it needs and may have. From
//! this one table come the JSON schema, the checks of a call and the hints in their errors.

use serde_json::{Map, Value, json};

pub use crate::domain::Risk;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A text or a task's number.
    Id,
    /// A whole number in a range.
    Whole(i64, i64),
    /// True or false.
    Flag,
    /// A list of texts; one text stands for a list of one.
    Texts,
    /// A list of ids or of tasks' numbers; one stands for a list of one.
    Ids,
    /// A table.
    Table,
    /// A list of tables; whoever reads it checks it, with the place of each fault.
    Tables,
    /// A shell line, or a list of program and arguments.
    Command,
    /// A table of texts; `null` stands for the caller's own value.
    Environment,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// One field of a call.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it means.
    pub about: &'static str,
}

/// One action of a tool. A tool that does one thing only has one action without a name.
#[derive(Debug, Clone, Copy)]
pub struct Action {
    /// Its name; empty for a tool's only one.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Fields that must be there.
    pub needs: &'static [&'static str],
    /// Fields that may be there.
    pub takes: &'static [&'static str],
}

/// A tool as its callers see it.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// How dangerous it is.
    pub risk: Risk,
    /// All fields that any action knows.
    pub fields: &'static [Field],
    /// What it can do.
    pub actions: &'static [Action],
}

impl Shape {
    /// Whether a call names its action.
    pub fn has_actions(&self) -> bool {
        self.actions.iter().any(|action| !action.name.is_empty())
    }

    /// The action with this name.
    pub fn action(&self, name: &str) -> Option<&'static Action> {
        self.actions.iter().find(|action| action.name == name)
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// What it is for, and each action with its fields, as a model reads it.
    pub fn description(&self) -> String {
        let mut text = self.about.to_owned();
        for action in self.actions.iter().filter(|action| !action.name.is_empty()) {
            text.push_str(&format!("\n- {}: {}", action.name, action.about));
            if !action.needs.is_empty() {
                text.push_str(&format!(" Needs {}.", action.needs.join(", ")));
            }
            if !action.takes.is_empty() {
                text.push_str(&format!(" Takes {}.", action.takes.join(", ")));
            }
        }
        text
    }

    /// The JSON schema of its parameters (draft 2020-12).
    pub fn schema(&self) -> Value {
        let mut properties = Map::new();
        let mut required: Vec<&str> = Vec::new();
        if self.has_actions() {
            let names: Vec<&str> = self.actions.iter().map(|action| action.name).collect();
            properties.insert("action".to_owned(), json!({ "type": "string", "enum": names }));
            required.push("action");
        }
        for field in self.fields {
            properties.insert(field.name.to_owned(), field.schema());
            if self.actions.iter().all(|action| action.needs.contains(&field.name)) {
                required.push(field.name);
            }
        }
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

impl Field {
    /// The JSON schema of its values.
    pub fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text => json!({ "type": "string" }),
            Kind::Id => json!({ "type": ["string", "integer"] }),
            Kind::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Texts => json!({ "type": ["array", "string"], "items": { "type": "string" } }),
            Kind::Ids => {
                json!({ "type": ["array", "string", "integer"], "items": { "type": ["string", "integer"] } })
            }
            Kind::Table => json!({ "type": "object" }),
            Kind::Tables => json!({ "type": "array", "items": { "type": "object" } }),
            Kind::Command => {
                json!({ "type": ["string", "array"], "items": { "type": "string" }, "minItems": 1 })
            }
            Kind::Environment => {
                json!({ "type": "object", "additionalProperties": { "type": ["string", "null"] } })
            }
            Kind::Word(words) => json!({ "type": "string", "enum": words }),
        };
        schema["description"] = json!(self.about);
        schema
    }
}
