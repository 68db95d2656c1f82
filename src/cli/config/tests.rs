use super::*;
use std::os::unix::fs::PermissionsExt;

fn faults(text: &str) -> Vec<String> {
    parse(text).unwrap_err().iter().map(Fault::to_string).collect()
}

/// The template with every commented setting switched on: `#key = value`, without a space, is a setting.
fn switched_on() -> String {
    let setting = |line: &str| {
        let rest = line.strip_prefix('#')?;
        rest.starts_with(|c: char| c.is_ascii_lowercase()).then(|| rest.to_owned())
    };
    let lines = TEMPLATE.lines().map(|line| setting(line).unwrap_or_else(|| line.to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_template_shows_the_defaults_and_nothing_else() {
    assert_eq!(parse(TEMPLATE).unwrap(), Config::default());
    assert_eq!(parse(&switched_on()).unwrap(), Config::default());
}

#[test]
fn the_template_shows_every_key() {
    let text = Config::default().to_toml();
    let all = text.parse::<toml_edit::DocumentMut>().unwrap();
    let shown = switched_on().parse::<toml_edit::DocumentMut>().unwrap();
    for (section, item) in all.iter() {
        for (key, _) in item.as_table().unwrap().iter() {
            assert!(shown[section].get(key).is_some(), "{section}.{key} is not in assets/config.toml");
        }
    }
}

#[test]
fn the_example_of_an_agent_in_the_template_is_right() {
    let example: Vec<&str> = TEMPLATE
        .lines()
        .skip_while(|line| !line.starts_with("# [agents."))
        .filter_map(|line| line.strip_prefix("# "))
        .collect();
    let config = parse(&example.join("\n")).unwrap();
    let agent = &config.agents["script"];
    assert_eq!(agent.command, ["./agent.sh", "{goal}"]);
    assert_eq!(Agent { command: Vec::new(), env: Vec::new(), ..agent.clone() }, Agent::default());
}

#[test]
fn the_example_of_a_tool_in_the_template_is_right() {
    let example: Vec<&str> = TEMPLATE
        .lines()
        .skip_while(|line| !line.starts_with("# [tools."))
        .take_while(|line| line.starts_with('#'))
        .filter_map(|line| line.strip_prefix("# "))
        .collect();
    let tool = &parse(&example.join("\n")).unwrap().tools["translate"];
    let shown = |tool: &Tool| Tool {
        description: String::new(),
        schema: json!({}),
        command: Vec::new(),
        ..tool.clone()
    };
    assert_eq!(shown(tool), shown(&Tool::default()));
    assert_eq!(tool.command, ["./translate.sh"]);
    assert_eq!(tool.schema["properties"]["to"]["enum"], json!(["de", "ja"]));
}

#[test]
fn a_tool_of_ones_own_needs_a_free_name_a_command_and_a_schema_that_is_one() {
    let told = faults(
        "[tools.exec]\ncommand = [\"x\"]\n[tools.\"a b\"]\n[tools.a]\nrisk = \"high\"\n\
         [tools.b]\ncommand = [\"x\"]\nschema = \"{\"\n[tools.c]\ncommand = [\"x\"]\nschema = { type = \"string\" }\n",
    );
    let wanted = [
        "line 1, column 8: tools: `exec` is a tool of the house",
        "line 3, column 8: tools: `a b` can't name a tool",
        "line 4, column 8: tools.a.command: is missing",
        "line 5, column 8: tools.a.risk: \"high\" is not one of read, write, exec",
        "line 8, column 10: tools.b.schema: this is neither a table nor JSON",
        "line 11, column 10: tools.c.schema: the parameters of a call are an `object`",
    ];
    assert_eq!(told.len(), wanted.len(), "{told:#?}");
    for (told, wanted) in told.iter().zip(wanted) {
        assert!(told.starts_with(wanted), "{told}\n{wanted}");
    }
}

#[test]
fn the_example_of_a_hook_in_the_template_is_right() {
    let example: Vec<&str> = TEMPLATE
        .lines()
        .skip_while(|line| !line.starts_with("# [[hooks]]"))
        .take_while(|line| line.starts_with('#'))
        .filter_map(|line| line.strip_prefix("# "))
        .collect();
    let config = parse(&example.join("\n")).unwrap();
    let hook = &config.hooks[0];
    assert_eq!((hook.on.len(), hook.command.len()), (2, 1));
    assert_eq!(Hook { on: Vec::new(), command: Vec::new(), ..hook.clone() }, Hook::default());
    assert_eq!(parse(&config.to_toml()).unwrap(), config);
}

#[test]
fn a_hook_names_events_that_there_are_and_a_command() {
    let told = faults("[[hooks]]\non = [\"qestion\"]\ncommand = [\"x\"]\n[[hooks]]\non = []\n[hooks2]\n");
    let wanted = [
        "line 2, column 6: hooks[0].on: `qestion` is no kind of event; did you mean `question`?",
        "line 4, column 1: hooks[1].command: is missing",
        "line 5, column 6: hooks[1].on: it is never run so",
        "line 6, column 2: unknown key `hooks2`; did you mean `hooks`?",
    ];
    assert_eq!(told.len(), wanted.len(), "{told:#?}");
    for (told, wanted) in told.iter().zip(wanted) {
        assert!(told.starts_with(wanted), "{told}\n{wanted}");
    }
    assert!(faults("[hooks]\non = [\"done\"]\n")[0].contains("[[hooks]]"));
}

#[test]
fn every_fault_is_told_at_once_with_its_place() {
    let text = "[dispatch]\nparalell = 3\nlease_seconds = 0\n\n[store]\ndurability = \"ful\"\n[http]\nenabled = 1\n\
                address = \"localhost\"\n[agents.a]\ncommand = []\nenv = [\"KEY=secret\"]\n[agents.b]\nprotocol = \"acp\"\n\
                [dispach]\n";
    let told = faults(text);
    let wanted = [
        "line 2, column 1: dispatch: unknown key `paralell`; did you mean `parallel`?",
        "line 3, column 17: dispatch.lease_seconds: 0 is not a whole number from 2 to 86400",
        "line 6, column 14: store.durability: \"ful\" is not one of full, normal; did you mean `full`?",
        "line 8, column 11: http.enabled: true or false is wanted, not a number",
        "line 9, column 11: http.address: `localhost` is no address and port such as 127.0.0.1:7420",
        "line 11, column 11: agents.a.command: the program is missing; put it first in the list",
        "line 12, column 7: agents.a.env: `KEY`… is no name of a variable; names belong here, never values",
        "line 13, column 9: agents.b.command: is missing; say which program it is",
        "line 14, column 12: agents.b.protocol: `acp` is not built yet; use `command`",
        "line 15, column 2: unknown key `dispach`; did you mean `dispatch`?",
    ];
    assert_eq!(told.len(), wanted.len(), "{told:#?}");
    for (told, wanted) in told.iter().zip(wanted) {
        assert!(told.starts_with(wanted), "{told}\n{wanted}");
    }
}

#[test]
fn a_lease_must_be_renewed_in_time() {
    assert!(faults("[dispatch]\nlease_seconds = 15")[0].contains("renew at least twice"));
    assert!(parse("[dispatch]\nlease_seconds = 20").is_ok());
}

#[test]
fn broken_toml_says_where() {
    let told = faults("[dispatch]\nparallel = = 3\n");
    assert!(told[0].starts_with("line 2, column 12: this is not TOML"), "{told:?}");
    assert!(!parse(&format!("a = {}", "[".repeat(50_000))).unwrap_err().is_empty());
    let not_text = reader::read(b"# \xe7\x95\x8c\n# \xff").unwrap_err();
    assert_eq!(not_text[0].at, Some((2, 3)));
}

#[test]
fn keys_are_handed_on_as_a_keymap() {
    let config = parse("[keys.board]\nleft = [\"h\", \"left\"]\nquit = \"ctrl-q\"\nhelp = []\n").unwrap();
    let keymap = config.keymap().unwrap();
    let document = keymap.parse::<toml_edit::DocumentMut>().unwrap();
    let keys = |action: &str| document["board"][action].as_array().unwrap().len();
    assert_eq!((keys("left"), keys("quit"), keys("help")), (2, 1, 0));
    assert_eq!(Config::default().keymap(), None);
    assert!(faults("[keys]\nboard = 3\n")[0].contains("a section is wanted"));
    assert!(faults("[keys.board]\nleft = [1]\n")[0].contains("a key or a list of keys"));
}

#[test]
fn what_is_shown_reads_back_as_the_same() {
    let config = parse(
        "[dispatch]\nparallel = 2\non_lost = \"retry\"\n[agents.\"claude-2\"]\ncommand = [\"claude\", \"{goal}\"]\n\
         parallel = 3\nreview = true\n[keys.board]\nquit = \"Q\"\n[tools.t]\ncommand = [\"t\"]\nrisk = \"read\"\n\
         schema = '{\"properties\":{\"a\":{\"default\":null}}}'\n",
    )
    .unwrap();
    assert_eq!(parse(&config.to_toml()).unwrap(), config);
    assert_eq!(config.agent_limits(), [("claude-2".to_owned(), 3)]);
}

#[test]
fn no_file_means_the_defaults_and_an_unusable_one_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("config.toml");
    assert_eq!(load(Some(&path)).unwrap(), Config::default());
    assert!(load(Some(home.path())).unwrap_err().to_string().contains("not a file"));
    std::fs::write(&path, "[log]\ncap_mib = 0\n").unwrap();
    let message = load(Some(&path)).unwrap_err().to_string();
    assert!(message.contains("config.toml has a fault: line 2, column 11: log.cap_mib"), "{message}");
    std::fs::write(&path, "[log]\ncap_mib = 32\n").unwrap();
    assert_eq!(load(Some(&path)).unwrap().log.cap_mib, 32);
}

#[test]
fn a_folder_that_is_made_is_private_and_one_that_was_there_is_left() {
    let home = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let made = home.path().join("share/andon");
    places::make_private_folder(&made).unwrap();
    assert_eq!((mode(&made), mode(&home.path().join("share"))), (0o700, 0o700));
    let there = home.path().join("there");
    std::fs::create_dir(&there).unwrap();
    std::fs::set_permissions(&there, std::fs::Permissions::from_mode(0o755)).unwrap();
    places::make_private_folder(&there).unwrap();
    assert_eq!(mode(&there), 0o755);
}

#[test]
fn the_engine_is_opened_as_configured() {
    let config = parse(
        "[dispatch]\nparallel = 2\nlease_seconds = 60\nrenew_seconds = 20\ngrace_seconds = 3\non_lost = \"fail\"\n\
         [store]\ndurability = \"normal\"\n[agents.a]\ncommand = [\"a\"]\n",
    )
    .unwrap();
    let options = config.engine_options();
    assert_eq!((options.policy.lease_ms, options.policy.on_lost), (60_000, OnLost::Fail));
    assert_eq!((options.durability, options.policy.agents), (Durability::Normal, Some(vec!["a".to_owned()])));
    let dispatch = config.dispatch_options();
    assert_eq!((dispatch.parallel, dispatch.renew_ms, dispatch.grace_ms), (2, 20_000, 3_000));
}
