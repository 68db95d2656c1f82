use super::*;
use crate::domain::definition::{self, NodeValue, Vocabulary};
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
    let vocabulary = Vocabulary { tools: &["exec"], agents: None, check: &definition::AnyParams };
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
        only_fault("w.yaml", b"name: w\nsteps: \xff").starts_with("line 2, column 8: the file is not UTF-8")
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
