//! One `tools/call`, from its parameters to its result. The tool works on a thread that may block; meanwhile its
//! client hears every few seconds that it goes on, may cancel it, and is asked what the tool asks a person.

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, JsonObject,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};
use std::time::Instant;
use tokio::sync::oneshot::{self, error::RecvError};
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use super::ask::{Asking, Retry};
use super::server::Server;
use crate::domain::text::{one_line, shortened};
use crate::domain::{Actor, Question};
use crate::tools::registry::Tool;
use crate::tools::waiting::CallerHold;
use crate::tools::{ErrorClass, ToolError, Waiting};

/// Actions that change nothing.
const LOOKS: &[&str] = &["get", "list", "status"];

/// Whether a tool has anything for who may only look at the board. Files are not on the board.
pub(super) fn looks(tool: Tool<'_>) -> bool {
    match tool {
        Tool::House(shape) => shape.actions.iter().any(|action| LOOKS.contains(&action.name)),
        Tool::Own(_) => false,
    }
}

/// A caller's text, fit for an error.
pub(super) fn shown(text: &str) -> String {
    shortened(&one_line(text), 40)
}

/// Carries out one call.
pub(super) async fn carry_out(
    server: &Server,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let caller = server.caller(&context)?;
    let found = server.registry.find(&request.name);
    let tool = found.map_err(|error| ErrorData::invalid_params(error.message, None))?;
    let name = tool.name().to_owned();
    let mut params = request.arguments.unwrap_or_default();
    if let Err(refused) = check_right(caller.may_write, tool, &params) {
        return Ok(result(Err(refused)).into());
    }
    let asks = Asking::of(&caller, &context);
    let retry = Retry::of(&caller, &name, &params, request.request_state, request.input_responses);
    let actor = caller.actor(context.client_info().map(|client| client.name).as_deref());
    sign(&mut params, &name, &actor);

    let (waiting, hold) = Waiting::of_call(server.limits.wait);
    let tools = caller.context(actor, server.engine.clone(), waiting);
    let Ok(seat) = server.seats.clone().try_acquire_owned() else {
        let message = "as many calls as are served at a time go on already; end some, then call again";
        return Ok(result(Err(ToolError::new(ErrorClass::State, "busy", message))).into());
    };
    let call = Call { server, context: &context, name: name.clone(), hold, asks };
    let registry = server.registry.clone();
    let work = on_its_own_thread(move || {
        let _seat = seat;
        match retry {
            Some(retry) => retry.carry_out(&tools),
            None => registry.call_named(&tools, &name, &params),
        }
    });
    call.follow(work).await
}

/// Runs a call on a thread of its own. A call may wait for minutes, and the threads that requests share are few.
fn on_its_own_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
    let (done, result) = oneshot::channel();
    let spawned = std::thread::Builder::new().name("andon-call".to_owned()).spawn(move || {
        // Nobody waits any more for a call whose client has gone.
        let _ = done.send(work());
    });
    // Without a thread nothing was begun: whoever waits hears that the work is gone.
    if let Err(error) = spawned {
        tracing::error!(%error, "no thread for a call");
    }
    result
}

/// Who may only look calls no more than what looks.
fn check_right(may_write: bool, tool: Tool<'_>, params: &JsonObject) -> Result<(), ToolError> {
    let action = params.get("action").and_then(Value::as_str).unwrap_or_default();
    if may_write || (looks(tool) && LOOKS.contains(&action)) {
        return Ok(());
    }
    let message = format!(
        "{} changes things, and this token is for reading; use the token of `andon token admin`",
        match action {
            "" => tool.name().to_owned(),
            action => format!("{} {}", tool.name(), shown(action)),
        }
    );
    Err(ToolError::new(ErrorClass::NotAllowed, "not_allowed", message))
}

/// A card made through a client says where it came from.
fn sign(params: &mut JsonObject, tool: &str, actor: &Actor) {
    let creates = tool == "task" && params.get("action").is_some_and(|action| action == "create");
    if let Actor::Guest { name } = actor
        && creates
        && !params.contains_key("source")
    {
        params.insert("source".to_owned(), json!(name));
    }
}

/// A call whose tool works.
struct Call<'a> {
    server: &'a Server,
    context: &'a RequestContext<RoleServer>,
    name: String,
    hold: CallerHold,
    asks: Asking,
}

impl Call<'_> {
    /// Sees the call to its end.
    async fn follow(
        mut self,
        mut work: oneshot::Receiver<Result<Value, ToolError>>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut pulse = Pulse::new(self.context, self.server, &self.name);
        let mut gone = self.server.gone.clone();
        let mut left = false;
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                () = self.context.ct.cancelled(), if !left => left = self.leave(),
                // An error means that nobody is there who could say it.
                _ = gone.wait_for(|gone| *gone), if !left => left = self.leave(),
                Some(question) = self.hold.asked.recv(), if !left => {
                    pulse.waits_for(&question);
                    if let Some(required) = self.asks.input_required(&question) {
                        self.hold.leave();
                        return Ok(required.into());
                    }
                    self.asks.ask_client(self.server, self.context, question);
                }
                () = self.asks.answered() => {}
                () = pulse.beat() => {}
            }
        };
        self.asks.take_back().await;
        ended(done)
    }

    fn leave(&self) -> bool {
        self.hold.leave();
        true
    }
}

fn ended(done: Result<Result<Value, ToolError>, RecvError>) -> Result<CallToolResponse, ErrorData> {
    match done {
        Ok(done) => Ok(result(done).into()),
        Err(_) => {
            Err(ErrorData::internal_error("the tool broke while it worked; andon's own log says how", None))
        }
    }
}

/// What a tool gave, as a result of the protocol. A tool's error is a result too, so that the model reads it.
fn result(done: Result<Value, ToolError>) -> CallToolResult {
    match done {
        Ok(value @ Value::Object(_)) => CallToolResult::structured(value),
        Ok(value) => CallToolResult::success(vec![ContentBlock::text(value.to_string())]),
        Err(error) => CallToolResult::structured_error(error.to_json()),
    }
}

/// Tells the client every few seconds that a call goes on, where it wants to know.
struct Pulse {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    ticks: Interval,
    begun: Instant,
    beats: u32,
    doing: String,
}

impl Pulse {
    fn new(context: &RequestContext<RoleServer>, server: &Server, name: &str) -> Self {
        let every = server.limits.progress.max(std::time::Duration::from_millis(1));
        let mut ticks = interval_at(tokio::time::Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let token = context.meta.get_progress_token();
        Self {
            to: token.map(|token| (context.peer.clone(), token)),
            ticks,
            begun: Instant::now(),
            beats: 0,
            doing: format!("{name} goes on"),
        }
    }

    fn waits_for(&mut self, question: &Question) {
        self.doing = format!("waits for a person to answer: {}", shortened(&one_line(&question.text), 200));
    }

    /// Waits for the next beat and tells it; for ever where nobody wants to know.
    async fn beat(&mut self) {
        let Some((peer, token)) = &self.to else { return std::future::pending().await };
        self.ticks.tick().await;
        self.beats += 1;
        let message = format!("{} ({} s)", self.doing, self.begun.elapsed().as_secs());
        let progress =
            ProgressNotificationParam::new(token.clone(), f64::from(self.beats)).with_message(message);
        // A client that can't be told has gone, and that is heard elsewhere.
        let _ = peer.notify_progress(progress).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Registry;

    #[test]
    fn who_may_only_look_may_look_at_the_board_and_at_nothing_else() {
        let may = |tool: &str, params: Value| {
            let registry = Registry::default();
            check_right(false, registry.find(tool).unwrap(), params.as_object().unwrap()).is_ok()
        };
        assert!(may("task", json!({ "action": "list" })) && may("workflow", json!({ "action": "status" })));
        assert!(!may("task", json!({ "action": "cancel" })) && !may("task", json!({})));
        assert!(!may("exec", json!({ "command": "id" })) && !may("read_file", json!({ "path": "x" })));
    }

    #[test]
    fn a_card_says_which_client_made_it_unless_it_says_otherwise() {
        let guest = Actor::Guest { name: "mcp:x".into() };
        let signed = |params: Value, actor: &Actor| {
            let mut params = params.as_object().unwrap().clone();
            sign(&mut params, "task", actor);
            params.get("source").cloned()
        };
        assert_eq!(signed(json!({ "action": "create" }), &guest), Some(json!("mcp:x")));
        assert_eq!(signed(json!({ "action": "create", "source": "y" }), &guest), Some(json!("y")));
        assert_eq!(signed(json!({ "action": "list" }), &guest), None);
        assert_eq!(signed(json!({ "action": "create" }), &Actor::operator("ann")), None);
    }
}
