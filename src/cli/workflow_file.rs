//! Files that describe workflows: YAML or JSON, read into a tree that keeps the place of every value and every
//! double key. Built from the parser's events, since loaders drop doubles, expand aliases without a limit and
//! recurse as deep as the file says. JSON is checked and valued by a JSON reader; its places come from the same
//! events, as JSON is YAML in all that matters here.

use saphyr::Scalar;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use crate::domain::definition::{Fault, Node, NodeValue};
use crate::domain::text::{one_line, shortened};

/// The largest file that is read, in bytes.
pub const FILE_LIMIT: usize = 16 * 1024 * 1024;
/// How deep lists and tables may be nested.
pub const DEPTH_LIMIT: usize = 64;
/// How many values all anchors and aliases together may copy.
const ALIAS_LIMIT: usize = 100_000;

type Place = Option<(usize, usize)>;

/// Reads a file. `name` decides the format (`.json`, `.yaml`, `.yml`); with any other name, such as `-` for
/// stdin, the text does.
pub fn read(name: &str, bytes: &[u8]) -> Result<Node, Vec<Fault>> {
    let text = text_of(bytes).map_err(|fault| vec![fault])?;
    let lower = name.to_ascii_lowercase();
    let named_yaml = lower.ends_with(".yaml") || lower.ends_with(".yml");
    if lower.ends_with(".json") {
        return read_json(text);
    }
    if named_yaml || !text.trim_start().starts_with(['{', '[']) {
        return read_yaml(text);
    }
    // It looks like JSON, and may be YAML in braces; if it is neither, the JSON fault is the likelier help.
    read_json(text).or_else(|faults| read_yaml(text).map_err(|_| faults))
}

fn fault(at: Place, message: impl Into<String>) -> Fault {
    Fault { at, path: String::new(), message: message.into() }
}

/// The bytes as text, without a byte order mark. Control characters are refused: the parser takes a NUL for the
/// end of the file and would leave the rest unread without a word.
fn text_of(bytes: &[u8]) -> Result<&str, Fault> {
    if bytes.len() > FILE_LIMIT {
        let message = format!("the file has {} bytes and at most {FILE_LIMIT} are read", bytes.len());
        return Err(fault(None, message));
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(fault(Some((1, 1)), "the file is UTF-16; save it as UTF-8"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let at = position(std::str::from_utf8(before).unwrap_or_default());
        fault(Some(at), "the file is not UTF-8 text from here on; save it as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let control = |c: char| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
    if let Some(at) = text.find(control) {
        let code = text[at..].chars().next().map_or(0, u32::from);
        let message =
            format!("there is a control character (U+{code:04X}) here; write it as an escape in quotes");
        return Err(fault(Some(position(&text[..at])), message));
    }
    if text.trim().is_empty() {
        return Err(fault(None, "the file is empty; a workflow has a name and steps"));
    }
    Ok(text)
}

/// Line and column of what follows `before`.
fn position(before: &str) -> (usize, usize) {
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before[start..].chars().count() + 1)
}

// --- YAML ---------------------------------------------------------------------------------------------------

fn read_yaml(text: &str) -> Result<Node, Vec<Fault>> {
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

// --- JSON ---------------------------------------------------------------------------------------------------

fn read_json(text: &str) -> Result<Node, Vec<Fault>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let node = JsonNode { depth: 0 }.deserialize(&mut reader).and_then(|node| reader.end().map(|()| node));
    let mut node = node.map_err(|error| {
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or(&words).to_owned();
        vec![fault(Some((error.line().max(1), error.column().max(1))), format!("this is not JSON: {words}"))]
    })?;
    // Where the two readers see different shapes (rare escapes, very long keys), places are given up.
    if let Ok(twin) = read_yaml(text) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::definition::{self, Vocabulary};
    use proptest::prelude::*;
    use serde_json::json;

    fn yaml(text: &str) -> Result<Node, Vec<String>> {
        read("w.yaml", text.as_bytes()).map_err(|faults| faults.iter().map(Fault::to_string).collect())
    }

    fn only_fault(name: &str, bytes: &[u8]) -> String {
        let faults = read(name, bytes).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:#?}");
        faults[0].to_string()
    }

    #[test]
    fn values_are_read_as_yaml_1_2_means_them() {
        let text = "a: 1\nb: -2.5\nc: yes\nd: true\ne: ~\nf: 2026-11-30\ng: '7'\nh: 0x1f\ni: 18446744073709551615\n\
                    j:\nk: [x, {y: z}]\nl: |\n  two\n  lines\nm: 12:30\nn: !!str 5\no: 1e3\n";
        assert_eq!(
            yaml(text).unwrap().to_json(),
            json!({ "a": 1, "b": -2.5, "c": "yes", "d": true, "e": null, "f": "2026-11-30", "g": "7", "h": 31,
                "i": 18_446_744_073_709_551_615_u64, "j": null, "k": ["x", { "y": "z" }], "l": "two\nlines\n",
                "m": "12:30", "n": "5", "o": 1000.0 })
        );
    }

    #[test]
    fn faults_of_a_definition_name_line_and_column() {
        let text = "name: w\nsteps:\n  - id: a\n    tool_name: exec\n    retrymax: 2\n    tool_params: {command: ls}\n    \
                    timeout_seconds: 0\n    id: b\n";
        let node = yaml(text).unwrap();
        let vocabulary = Vocabulary { tools: &["exec"], agents: None };
        let faults = definition::read(&node, vocabulary).unwrap_err();
        let told: Vec<_> = faults.iter().map(|fault| (fault.at, fault.message.as_str())).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(told[0].0, Some((5, 5)));
        assert!(told[0].1.contains("did you mean `retry_max`?"));
        assert_eq!((told[1].0, told[1].1), (Some((8, 5)), "key `id` is there twice"));
        assert_eq!(told[2].0, Some((7, 22)));
    }

    #[test]
    fn json_keeps_places_and_doubles_too() {
        let text = "{ \"name\": \"w\",\n  \"name\": \"v\",\n  \"steps\": [ {\"id\": 5} ] }";
        for name in ["w.json", "-"] {
            let node = read(name, text.as_bytes()).unwrap();
            let NodeValue::Table(entries) = &node.value else { panic!("{node:?}") };
            assert_eq!(entries[1].0, "name");
            assert_eq!(entries[1].1, Some((2, 3)));
            let NodeValue::List(steps) = &entries[2].2.value else { panic!("{node:?}") };
            assert_eq!(steps[0].at, Some((3, 14)));
        }
    }

    #[test]
    fn json_means_what_json_says() {
        let text = r#"{"a": "\ud83d\ude00 \/", "b": 1e5, "c": [], "d": "", "e": null, "f": "2"}"#;
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(read("w.json", text.as_bytes()).unwrap().to_json(), value);
    }

    #[test]
    fn broken_json_is_called_json_and_braces_on_stdin_may_be_yaml() {
        let fault = only_fault("w.json", b"{\n  \"name\": \"w\",,\n}");
        assert!(fault.starts_with("line 2, column 15: this is not JSON:"), "{fault}");
        assert!(only_fault("-", b"{\"name\": \"w\" \"x\"}").contains("not JSON"));
        assert!(only_fault("w.json", b"name: w").contains("not JSON"));
        assert!(only_fault("w.json", b"{} {}").contains("not JSON"));
        assert_eq!(read("-", b"{name: w}").unwrap().to_json(), json!({ "name": "w" }));
        assert_eq!(read("-", b"name: w").unwrap().to_json(), json!({ "name": "w" }));
    }

    #[test]
    fn broken_yaml_says_where() {
        let fault = only_fault("w.yaml", b"name: w\nsteps: [a, b\nx: y\n");
        assert!(fault.contains("this is not YAML") && fault.starts_with("line "), "{fault}");
        assert!(only_fault("w.yaml", b"a:\n\t- b").contains("line 2"));
        assert!(only_fault("w.yaml", b"a: *nothing").contains("not YAML"));
    }

    #[test]
    fn empty_files_and_bytes_that_are_no_text_are_named() {
        assert!(only_fault("w.yaml", b"").contains("empty"));
        assert!(only_fault("w.yaml", b" \n\n").contains("empty"));
        assert!(only_fault("w.yaml", b"# nothing\n").contains("holds nothing"));
        assert!(
            only_fault("w.yaml", b"name: w\nsteps: \xff")
                .starts_with("line 2, column 8: the file is not UTF-8")
        );
        assert!(only_fault("w.yaml", b"\xff\xfea\0").contains("UTF-16"));
        let fault = only_fault("w.yaml", b"name: w\n\0steps: []");
        assert!(fault.contains("line 2, column 1") && fault.contains("U+0000"), "{fault}");
        assert!(only_fault("w.yaml", &vec![b'a'; FILE_LIMIT + 1]).contains("at most"));
        assert_eq!(read("w.yaml", "\u{feff}name: w".as_bytes()).unwrap().to_json(), json!({ "name": "w" }));
    }

    #[test]
    fn a_second_document_is_refused() {
        assert!(only_fault("w.yaml", b"name: a\n---\nname: b\n").starts_with("line 2"));
        assert!(yaml("---\nname: a\n...\n").is_ok());
    }

    #[test]
    fn keys_that_are_no_texts_and_merge_keys_are_refused_together() {
        let faults = yaml("1: a\n? [b]\n: c\nx: &d {e: f}\ny:\n  <<: *d\ntrue: z\n").unwrap_err();
        assert_eq!(faults.len(), 4, "{faults:#?}");
        assert!(faults[2].starts_with("line 6, column 3") && faults[2].contains("merge keys"), "{faults:?}");
    }

    #[test]
    fn tags_and_endless_numbers_are_refused() {
        let faults =
            yaml("a: !custom x\nb: !!int x\nc: .nan\nd: 99999999999999999999\ne: !!set {x}\n").unwrap_err();
        assert_eq!(faults.len(), 5, "{faults:#?}");
    }

    #[test]
    fn aliases_repeat_within_limits() {
        let node = yaml("a: &x {k: 1}\nb: *x\nc: [*x, *x]\n").unwrap();
        assert_eq!(node.to_json()["c"], json!([{ "k": 1 }, { "k": 1 }]));
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            let list = vec![before; 10].join(",");
            bomb.push_str(&format!("a{level}: &a{level} [{list}]\n"));
        }
        assert!(only_fault("w.yaml", bomb.as_bytes()).contains("copy more than"));
        assert!(only_fault("w.yaml", b"a: &x [*x]").contains("alias"));
    }

    #[test]
    fn deep_nesting_is_a_fault_and_no_overflow() {
        for (open, close) in [("[", "]"), ("{a: ", "}"), ("{\"a\":", "}"), ("[[", "]]")] {
            let text = format!("{}1{}", open.repeat(50_000), close.repeat(50_000));
            for name in ["w.yaml", "w.json", "-"] {
                assert!(read(name, text.as_bytes()).is_err(), "{name} {open}");
            }
        }
        let blocks: String = (0..2_000).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        assert!(only_fault("w.yaml", blocks.as_bytes()).contains("deeper than"));
        assert!(only_fault("w.yaml", "- ".repeat(100_000).as_bytes()).contains("deeper than"));
        let mut chain = "a0: &a0 [x]\n".to_owned();
        for level in 1..200 {
            chain.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
        }
        assert!(only_fault("w.yaml", chain.as_bytes()).contains("deeper than"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn any_bytes_are_read_or_refused(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "a", "name", ": ", ":", "\n", "\n  ", "- ", "-", "[", "]", "{", "}", ",", "&x ", "*x", "!", "!!str ", "|", ">",
                "'", "\"", "\\", "# ", "? ", "%", "%TAG ! x\n", "---", "...", "<<", "\t", "\r", "界", "\u{85}", "1", "~", "@", "`", " ",
                "\u{feff}", "e9",
            ]), 0..30),
            raw in prop::collection::vec(any::<u8>(), 0..8),
        ) {
            let mut bytes = pieces.concat().into_bytes();
            bytes.extend(raw);
            for name in ["w.yaml", "w.json", "-"] {
                if let Err(faults) = read(name, &bytes) {
                    prop_assert!(!faults.is_empty());
                }
            }
        }
    }
}
