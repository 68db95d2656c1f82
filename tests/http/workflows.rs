//! Workflows over HTTP.

use super::client::Board;
use serde_json::{Value, json};

const YAML: &str = "name: release\nsteps:\n  - id: test\n    tool_name: exec\n    tool_params: { command: echo ok }\n  \
                    - id: build\n    tool_name: exec\n    tool_params: { command: 'exit 3' }\n    depends_on: [test]\n";

fn yaml(board: &Board, path: &str, media: &str, text: &str) -> super::client::Answer {
    let bearer = format!("Bearer {}", board.admin);
    let headers =
        [("host", board.address.as_str()), ("authorization", bearer.as_str()), ("content-type", media)];
    board.raw("POST", &format!("/api/v1{path}"), &headers, text.as_bytes())
}

fn until(board: &Board, id: &str, status: &str) -> Value {
    loop {
        let workflow = board.get(&format!("/workflows/{id}"));
        if workflow["status"] == status {
            return workflow;
        }
    }
}

#[test]
fn a_workflow_is_made_from_yaml_runs_and_is_rerun_from_what_failed() {
    let board = Board::new();
    let made = yaml(&board, "/workflows?start=true&board_id=work&cwd=/", "application/yaml", YAML);
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let ended = until(&board, &id, "failed");
    assert_eq!(
        (&ended["steps"][0]["result"], &ended["steps"][1]["status"]),
        (&json!("ok"), &json!("failed"))
    );
    assert_eq!(ended, board.house.json(&["workflow", "status", &id]), "as the command line shows it");
    assert_eq!(board.post(&format!("/workflows/{id}/advance"), json!({}))["changes"], 0);
    board.ask("POST", &format!("/workflows/{id}/start"), None).problem(409);
    let again = board.ask("POST", &format!("/workflows/{id}/rerun"), Some(json!({ "from_failed": true })));
    assert_eq!((again.status, &again.json()["steps"][0]["status"]), (201, &json!("success")));
    let listed = board.get("/workflows?board_id=work&limit=1");
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(board.get("/workflows?status=pending")["items"].as_array().unwrap().len(), 0);
}

#[test]
fn a_workflow_is_held_let_go_and_cancelled() {
    let board = Board::new();
    let step = json!({ "id": "a", "tool_name": "exec", "tool_params": { "command": "true" } });
    let made = board.post("/workflows", json!({ "name": "held", "steps": [step] }));
    assert_eq!(made["status"], "pending");
    let path = format!("/workflows/{}", made["id"].as_str().unwrap());
    let step = json!({ "id": "a", "tool_name": "exec", "tool_params": { "command": "sleep 600" } });
    let long = board.post("/workflows?start=true", json!({ "name": "long", "steps": [step] }));
    let long = format!("/workflows/{}", long["id"].as_str().unwrap());
    assert_eq!(board.post(&format!("{long}/pause"), json!({}))["status"], "waiting");
    assert_eq!(board.post(&format!("{long}/resume"), json!({}))["status"], "running");
    assert_eq!(board.post(&format!("{path}/cancel"), json!({}))["status"], "cancelled");
    assert_eq!(board.get("/workflows/held")["status"], "cancelled", "a unique name will do");
    board.ask("GET", "/workflows/w_abcdefghijkl", None).problem(404);
}

#[test]
fn all_faults_of_a_definition_are_told_with_their_places() {
    let board = Board::new();
    let text =
        "name: x\nsteps:\n  - id: a\n    tool_name: nope\n    bogus: 1\n  - id: a\n    depends_on: [z]\n";
    let refused = yaml(&board, "/workflows", "text/yaml; charset=utf-8", text);
    assert_eq!(refused.problem(422), "invalid_workflow");
    let faults = refused.json()["faults"].as_array().unwrap().clone();
    assert!(faults.len() >= 4 && faults.iter().any(|fault| fault["at"][0] == 4), "{faults:?}");
    for (media, text, status) in [
        ("application/json", YAML, 400),
        ("application/json", "", 400),
        ("application/yaml", "", 422),
        ("application/yaml", "[", 422),
        ("application/yaml", "\u{0}", 422),
        ("application/json", "[]", 422),
        ("application/json", "{}", 422),
        ("text/plain", YAML, 415),
        ("", YAML, 415),
    ] {
        yaml(&board, "/workflows", media, text).problem(status);
    }
    yaml(&board, "/workflows?cwd=relative", "application/yaml", YAML).problem(422);
    assert_eq!(board.get("/workflows")["items"].as_array().unwrap().len(), 0);
}
