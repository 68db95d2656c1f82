//! A tree of values that keeps the places where they were written.

use serde_json::{Number, Value, json};

/// A key, its place, and its value.
pub type Entry = (String, Option<(usize, usize)>, Node);

/// A value with its place in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Line and column, counted from 1; `None` where the source has no positions.
    pub at: Option<(usize, usize)>,
    /// The value.
    pub value: NodeValue,
}

/// What a node holds. Keys keep their places too, and doubles.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A table: key, place of the key, value.
    Table(Vec<Entry>),
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        let value = match value {
            Value::Null => NodeValue::Null,
            Value::Bool(b) => NodeValue::Bool(b),
            Value::Number(n) => NodeValue::Number(n),
            Value::String(s) => NodeValue::Text(s),
            Value::Array(list) => NodeValue::List(list.into_iter().map(Node::from).collect()),
            Value::Object(table) => {
                NodeValue::Table(table.into_iter().map(|(key, value)| (key, None, value.into())).collect())
            }
        };
        Node { at: None, value }
    }
}

impl Node {
    /// The value without positions.
    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(b) => json!(b),
            NodeValue::Number(n) => Value::Number(n.clone()),
            NodeValue::Text(s) => json!(s),
            NodeValue::List(list) => Value::Array(list.iter().map(Node::to_json).collect()),
            NodeValue::Table(table) => {
                Value::Object(table.iter().map(|(key, _, value)| (key.clone(), value.to_json())).collect())
            }
        }
    }

    /// What it holds, as an error names it.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            NodeValue::Null => "nothing",
            NodeValue::Bool(_) => "true or false",
            NodeValue::Number(_) => "a number",
            NodeValue::Text(_) => "a text",
            NodeValue::List(_) => "a list",
            NodeValue::Table(_) => "a table",
        }
    }
}
