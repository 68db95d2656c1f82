//! What is no call: broken messages, wrong parameters, floods, clients that go away. The server answers in the
//! protocol or ends; stdout carries nothing else.

use rustix::process::{Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Instant;

use super::house::{House, LONG_ENOUGH};

#[test]
fn what_is_no_message_is_answered_with_an_error_of_the_protocol_and_read_over() {
    let house = House::new();
    let mut client = house.client(&[]);
    let nested = "[".repeat(100_000);
    for line in ["nonsense", "{", "\u{0}\u{1}", nested.as_str()] {
        client.send_line(line);
        assert_eq!(
            client.next("an error", |m| m["error"].is_object())["error"]["code"],
            -32700,
            "{line:.20}"
        );
    }
    for line in
        ["[]", "7", "{}", r#"{"id":1,"method":"ping"}"#, r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#]
    {
        client.send_line(line);
        assert_eq!(client.next("an error", |m| m["error"].is_object())["error"]["code"], -32600, "{line}");
    }
    client.send_line("");
    client.send_line("   ");
    assert_eq!(client.ask("ping", json!({})), json!({}));
}

#[test]
fn unknown_methods_and_tools_and_unreadable_parameters_are_refused_by_the_protocol() {
    let house = House::new();
    let mut client = house.client(&[]);
    assert_eq!(client.refused("tools/cull", json!({})), -32601);
    assert_eq!(client.refused("prompts/list", json!({})), -32601);
    assert_eq!(client.refused("tools/call", json!({ "name": "tusk", "arguments": {} })), -32602);
    assert_eq!(client.refused("tools/call", json!({ "arguments": {} })), -32602);
    assert_eq!(client.refused("tools/call", json!({ "name": 7 })), -32602);
    assert_eq!(client.refused("tools/call", json!({ "name": "task", "arguments": [] })), -32602);
    assert_eq!(client.refused("tools/call", json!("task")), -32600);
    assert_eq!(client.refused("resources/read", json!({})), -32602);
    assert_eq!(client.refused("resources/list", json!({ "cursor": "no such place" })), -32602);
    client.tell("notifications/unheard_of", json!({ "x": 1 }));
    client.tell("notifications/cancelled", json!({ "requestId": 4711 }));
    assert_eq!(client.ask("ping", json!({})), json!({}));
}

#[test]
fn a_message_of_many_megabytes_is_refused_and_not_kept() {
    let house = House::new();
    let mut client = house.client(&[]);
    let huge = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "task", "arguments": { "action": "create", "title": "x".repeat(5 << 20) } } });
    client.send(huge);
    assert_eq!(client.next("an error", |m| m["error"].is_object())["error"]["code"], -32600);
    let long = json!({ "action": "create", "title": "x".repeat(1 << 20) });
    assert!(client.failed("task", long)["message"].as_str().unwrap().contains("title"));
    assert_eq!(client.call("task", json!({ "action": "list" }))["items"], json!([]));
}

#[test]
fn what_comes_before_the_greeting_does_not_end_the_server() {
    let house = House::new();
    let mut client = house.client_with(&[], |_| {});
    client.tell("notifications/initialized", json!({}));
    client.send(json!({ "jsonrpc": "2.0", "id": 9, "result": {} }));
    client.send_line("nonsense");
    client.refused("tools/list", json!({}));
    client.greet();
    assert!(client.ask("tools/list", json!({}))["tools"].is_array());
}

#[test]
fn the_server_ends_with_its_input_whatever_goes_on() {
    let house = House::new();
    let mut silent = house.client_with(&[], |_| {});
    silent.hang_up();
    assert!(silent.ended().success());

    let mut client = house.client(&[]);
    client.call("task", json!({ "action": "create", "title": "x" }));
    client.call("task", json!({ "action": "start", "task_id": 1 }));
    client.begin("clarify", json!({ "question": "Which?", "task_id": 1, "wait": true }));
    house.question();
    client.hang_up();
    assert!(client.ended().success());
    assert_eq!(house.question()["question"], "Which?", "it is asked still");
}

#[test]
fn a_signal_ends_the_server_and_what_it_was_running() {
    for hang_up in [true, false] {
        let house = House::new();
        let (card, run) = ("t_none", json!({ "id": "r_none" }));
        house.configure("[approvals]\nexec = \"allow\"\n");
        let mut client = house.inside(card, &run, &[]);
        client.greet();
        let pid = running_program(&house, &mut client);
        match hang_up {
            true => client.hang_up(),
            false => kill_process(client.pid(), Signal::TERM).unwrap(),
        }
        assert!(client.ended().success());
        let end = Instant::now() + LONG_ENOUGH;
        while test_kill_process(pid).is_ok() {
            assert!(Instant::now() < end, "what it ran goes on without it");
        }
    }
}

/// Has the server run a program that goes on, and gives that program's process id.
fn running_program(house: &House, client: &mut super::client::Client) -> rustix::process::Pid {
    let told = house.path().join("pid");
    let command = format!("setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600'", told.display());
    client.begin("exec", json!({ "command": command }));
    let end = Instant::now() + LONG_ENOUGH;
    loop {
        if let Ok(pid) = std::fs::read_to_string(&told) {
            return rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        }
        assert!(Instant::now() < end, "the program never began: {:?}", client.unasked());
    }
}

#[test]
fn a_client_that_reads_nothing_does_not_keep_the_server() {
    let house = House::new();
    let mut command = house.command(&["mcp"]);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } } });
    let list = |id: i32| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
    let messages: Vec<Value> = std::iter::once(hello).chain((1..200).map(list)).collect();
    for message in messages {
        std::io::Write::write_all(&mut input, format!("{message}\n").as_bytes()).unwrap();
    }
    drop(input);
    let end = Instant::now() + LONG_ENOUGH;
    while server.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "it waits for a reader");
        std::thread::yield_now();
    }
}
