//! TOML into nodes that keep their places.

use serde_json::Number;
use std::ops::Range;
use toml_edit::{Document, Item, TableLike, Value};

use crate::domain::definition::{Fault, Node, NodeValue};
use crate::domain::text::one_line;

/// Line and column, counted from 1.
pub type Place = Option<(usize, usize)>;

/// Reads TOML text.
pub fn read(bytes: &[u8]) -> Result<Node, Fault> {
    let fault = |at, message: String| Fault { at, path: String::new(), message };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let at = Places::new(&before).of(before.len());
        fault(at, "the file is not UTF-8 text from here on; save it as UTF-8".to_owned())
    })?;
    let places = Places::new(text);
    let document = Document::parse(text).map_err(|error| {
        let at = error.span().and_then(|span| places.of(span.start));
        fault(at, format!("this is not TOML: {}", one_line(error.message().trim_end())))
    })?;
    Ok(places.table(document.as_table(), Some((1, 1))))
}

/// Turns offsets of a text into lines and columns.
struct Places<'t> {
    text: &'t str,
    lines: Vec<usize>,
}

impl<'t> Places<'t> {
    fn new(text: &'t str) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, lines }
    }

    fn of(&self, offset: usize) -> Place {
        let line = self.lines.partition_point(|start| *start <= offset).checked_sub(1)?;
        let before = self.text.get(self.lines[line]..offset)?;
        Some((line + 1, before.chars().count() + 1))
    }

    fn at(&self, span: Option<Range<usize>>) -> Place {
        self.of(span?.start)
    }

    fn table(&self, table: &dyn TableLike, at: Place) -> Node {
        let entries = table.iter().map(|(name, item)| {
            let key = table.get_key_value(name).and_then(|(key, _)| self.at(key.span()));
            (name.to_owned(), key, self.item(item, key))
        });
        Node { at, value: NodeValue::Table(entries.collect()) }
    }

    fn item(&self, item: &Item, key: Place) -> Node {
        let at = self.at(item.span()).or(key);
        match item {
            Item::Value(value) => self.value(value, at),
            Item::ArrayOfTables(list) => {
                let items = list.iter().map(|table| self.table(table, self.at(table.span()))).collect();
                Node { at, value: NodeValue::List(items) }
            }
            Item::Table(table) => self.table(table, at),
            Item::None => Node { at, value: NodeValue::Null },
        }
    }

    fn value(&self, value: &Value, at: Place) -> Node {
        let value = match value {
            Value::String(text) => NodeValue::Text(text.value().clone()),
            Value::Integer(number) => NodeValue::Number((*number.value()).into()),
            Value::Float(number) => {
                Number::from_f64(*number.value()).map_or(NodeValue::Null, NodeValue::Number)
            }
            Value::Boolean(yes) => NodeValue::Bool(*yes.value()),
            Value::Datetime(time) => NodeValue::Text(time.value().to_string()),
            Value::Array(list) => {
                NodeValue::List(list.iter().map(|item| self.value(item, self.at(item.span()))).collect())
            }
            Value::InlineTable(table) => return self.table(table, at),
        };
        Node { at, value }
    }
}
