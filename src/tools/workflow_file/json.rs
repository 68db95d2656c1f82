//! JSON into nodes: checked and valued by a JSON reader, with the places that the YAML events give.

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use std::fmt;

use super::{DEPTH_LIMIT, fault, yaml};
use crate::domain::definition::{Fault, Node, NodeValue};

/// Reads JSON text.
pub(super) fn read(text: &str) -> Result<Node, Vec<Fault>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let node = JsonNode { depth: 0 }.deserialize(&mut reader).and_then(|node| reader.end().map(|()| node));
    let mut node = node.map_err(|error| {
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or(&words).to_owned();
        vec![fault(Some((error.line().max(1), error.column().max(1))), format!("this is not JSON: {words}"))]
    })?;
    // Where the two readers see different shapes (rare escapes, very long keys), places are given up.
    if let Ok(twin) = yaml::read(text) {
        take_places(&mut node, &twin);
    }
    Ok(node)
}

fn take_places(node: &mut Node, twin: &Node) {
    node.at = twin.at;
    match (&mut node.value, &twin.value) {
        (NodeValue::List(list), NodeValue::List(twins)) if list.len() == twins.len() => {
            for (item, twin) in list.iter_mut().zip(twins) {
                take_places(item, twin);
            }
        }
        (NodeValue::Table(entries), NodeValue::Table(twins)) if entries.len() == twins.len() => {
            for ((_, at, value), (_, twin_at, twin)) in entries.iter_mut().zip(twins) {
                *at = *twin_at;
                take_places(value, twin);
            }
        }
        _ => {}
    }
}

/// Reads JSON into a node; unlike a map of values it keeps double keys.
#[derive(Clone, Copy)]
struct JsonNode {
    depth: usize,
}

impl JsonNode {
    fn deeper<E: serde::de::Error>(self) -> Result<JsonNode, E> {
        match self.depth == DEPTH_LIMIT {
            true => Err(E::custom(format!("lists and tables are nested deeper than {DEPTH_LIMIT} levels"))),
            false => Ok(JsonNode { depth: self.depth + 1 }),
        }
    }
}

fn node(value: NodeValue) -> Node {
    Node { at: None, value }
}

impl<'de> DeserializeSeed<'de> for JsonNode {
    type Value = Node;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Node, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonNode {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(node(NodeValue::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(node(NodeValue::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(node(NodeValue::Number(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(node(NodeValue::Number(value.into())))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Node, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number that can't be kept"))?;
        Ok(node(NodeValue::Number(number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(node(NodeValue::Text(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(node(NodeValue::List(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Node, A::Error> {
        let inner = self.deeper()?;
        let mut entries = Vec::new();
        while let Some(key) = fields.next_key::<String>()? {
            entries.push((key, None, fields.next_value_seed(inner)?));
        }
        Ok(node(NodeValue::Table(entries)))
    }
}
