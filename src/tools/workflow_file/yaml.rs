//! YAML into nodes, built from the parser's events: loaders drop double keys, expand aliases without a limit and
//! recurse as deep as the file says.

use saphyr::Scalar;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde_json::Number;
use std::borrow::Cow;
use std::collections::HashMap;

use super::{DEPTH_LIMIT, Place, fault};
use crate::domain::definition::{Fault, Node, NodeValue};
use crate::domain::text::{one_line, shortened};

/// How many values all anchors and aliases together may copy.
const ALIAS_LIMIT: usize = 100_000;

/// Reads YAML text: one document.
pub(super) fn read(text: &str) -> Result<Node, Vec<Fault>> {
    let mut builder = Builder::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(next) = parser.next_event() {
        let (event, span) = match next {
            Ok(next) => next,
            Err(error) => {
                let message = format!("this is not YAML: {}", one_line(error.info()));
                builder.faults.push(fault(place(error.marker()), message));
                break;
            }
        };
        if !builder.take(event, place(&span.start)) {
            break;
        }
    }
    builder.finish()
}

fn place(marker: &Marker) -> Place {
    Some((marker.line().max(1), marker.col() + 1))
}

/// A list or table that is not finished.
struct Open {
    at: Place,
    anchor: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Table { entries: Vec<(String, Place, Node)>, key: Key },
}

/// What a table waits for.
enum Key {
    /// A key.
    Wanted,
    /// The value of this key; `None` for a key that is a fault.
    Got(Option<String>, Place),
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    anchors: HashMap<usize, (Node, usize)>,
    copied: usize,
    faults: Vec<Fault>,
}

impl Builder {
    fn fault(&mut self, at: Place, message: impl Into<String>) {
        self.faults.push(fault(at, message));
    }

    /// Takes one event; false when reading on makes no sense.
    fn take(&mut self, event: Event<'_>, at: Place) -> bool {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.fault(at, "a second document begins here; a file holds one workflow");
                    return false;
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(text, style, tag, at);
                return self.put(Node { at, value }, anchor);
            }
            Event::SequenceStart(anchor, tag) => {
                return self.start(at, anchor, tag.as_deref(), "seq", Items::List(Vec::new()));
            }
            Event::MappingStart(anchor, tag) => {
                let items = Items::Table { entries: Vec::new(), key: Key::Wanted };
                return self.start(at, anchor, tag.as_deref(), "map", items);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let value = match open.items {
                        Items::List(list) => NodeValue::List(list),
                        Items::Table { entries, .. } => NodeValue::Table(entries),
                    };
                    return self.put(Node { at: open.at, value }, open.anchor);
                }
            }
            Event::Alias(anchor) => return self.alias(anchor, at),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        true
    }

    fn start(&mut self, at: Place, anchor: usize, tag: Option<&Tag>, plain: &str, items: Items) -> bool {
        if let Some(tag) = tag.filter(|tag| !(tag.is_yaml_core_schema() && tag.suffix == plain)) {
            self.unknown_tag(tag, at);
        }
        if self.open.len() == DEPTH_LIMIT {
            self.fault(at, format!("lists and tables are nested deeper than {DEPTH_LIMIT} levels here"));
            return false;
        }
        self.open.push(Open { at, anchor, items });
        true
    }

    fn unknown_tag(&mut self, tag: &Tag, at: Place) {
        let shown = shortened(&one_line(&tag.to_string()), 40);
        self.fault(at, format!("the tag `{shown}` means nothing here; leave it out"));
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        tag: Option<Cow<'_, Tag>>,
        at: Place,
    ) -> NodeValue {
        let core = tag.as_ref().is_none_or(|tag| tag.is_yaml_core_schema());
        let shown = shortened(&one_line(&text), 40);
        let digits =
            style == ScalarStyle::Plain && text.bytes().all(|b| b.is_ascii_digit() || b"+-".contains(&b));
        let unsigned = text.parse::<u64>().ok();
        let value = match Scalar::parse_from_cow_and_metadata(text, style, tag.as_ref()).filter(|_| core) {
            Some(Scalar::Null) => Some(NodeValue::Null),
            Some(Scalar::Boolean(value)) => Some(NodeValue::Bool(value)),
            Some(Scalar::Integer(value)) => Some(NodeValue::Number(value.into())),
            // A whole number that 64 bits do not hold: as a float it would lose digits without a word.
            Some(Scalar::FloatingPoint(value)) => {
                let number = match digits {
                    true => unsigned.map(Number::from),
                    false => Number::from_f64(value.into_inner()),
                };
                if number.is_none() {
                    self.fault(at, format!("`{shown}` is no number that can be kept; put a text in quotes"));
                }
                Some(number.map_or(NodeValue::Null, NodeValue::Number))
            }
            Some(Scalar::String(text)) => Some(NodeValue::Text(text.into_owned())),
            None => None,
        };
        value.unwrap_or_else(|| {
            match &tag {
                Some(tag) => self.unknown_tag(tag, at),
                None => self.fault(at, format!("`{shown}` is no value")),
            }
            NodeValue::Null
        })
    }

    /// Repeats the value of an anchor, within limits: ten lines of aliases can stand for billions of values.
    fn alias(&mut self, anchor: usize, at: Place) -> bool {
        let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
            self.fault(at, "this alias stands inside of what it repeats, or for nothing");
            return false;
        };
        if self.open.len() + depth(&node) > DEPTH_LIMIT {
            self.fault(at, format!("with this alias, values are nested deeper than {DEPTH_LIMIT} levels"));
            return false;
        }
        if !self.copies(size, at) {
            return false;
        }
        self.put(Node { at, ..node }, 0)
    }

    /// Counts what anchors and aliases copy; false once it is too much.
    fn copies(&mut self, size: usize, at: Place) -> bool {
        self.copied += size;
        if self.copied > ALIAS_LIMIT {
            self.fault(at, format!("anchors and aliases up to here copy more than {ALIAS_LIMIT} values"));
        }
        self.copied <= ALIAS_LIMIT
    }

    /// Puts a finished node where it belongs; false when reading on makes no sense.
    fn put(&mut self, node: Node, anchor: usize) -> bool {
        if anchor > 0 {
            let size = size(&node);
            if !self.copies(size, node.at) {
                return false;
            }
            self.anchors.insert(anchor, (node.clone(), size));
        }
        let Some(Open { items, .. }) = self.open.last_mut() else {
            self.root = Some(node);
            return true;
        };
        match items {
            Items::List(list) => list.push(node),
            Items::Table { entries, key } => match std::mem::replace(key, Key::Wanted) {
                Key::Got(Some(name), at) => entries.push((name, at, node)),
                Key::Got(None, _) => {}
                Key::Wanted => {
                    let at = node.at;
                    let (name, wrong) = match node.value {
                        NodeValue::Text(name) if name == "<<" => {
                            (None, Some("merge keys (`<<`) are not read; write the keys out"))
                        }
                        NodeValue::Text(name) => (Some(name), None),
                        _ => (None, Some("a key must be a text; put it in quotes")),
                    };
                    *key = Key::Got(name, at);
                    if let Some(wrong) = wrong {
                        self.fault(at, wrong);
                    }
                }
            },
        }
        true
    }

    fn finish(mut self) -> Result<Node, Vec<Fault>> {
        match self.root.take() {
            Some(root) if self.faults.is_empty() => Ok(root),
            None if self.faults.is_empty() => {
                Err(vec![fault(None, "the file holds nothing; a workflow has a name and steps")])
            }
            _ => Err(self.faults),
        }
    }
}

/// How many values a node is. Nodes are at most [`DEPTH_LIMIT`] deep, so this may recurse.
fn size(node: &Node) -> usize {
    match &node.value {
        NodeValue::List(list) => 1 + list.iter().map(size).sum::<usize>(),
        NodeValue::Table(entries) => 1 + entries.iter().map(|(_, _, value)| size(value)).sum::<usize>(),
        _ => 1,
    }
}

fn depth(node: &Node) -> usize {
    match &node.value {
        NodeValue::List(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        NodeValue::Table(entries) => 1 + entries.iter().map(|(_, _, value)| depth(value)).max().unwrap_or(0),
        _ => 0,
    }
}
