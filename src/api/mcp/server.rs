//! What the server answers: who it is, which tools there are, the resources. One value serves one connection on
//! standard input and output, or all of them over HTTP.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, InitializeRequestParams, InitializeResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
    ToolAnnotations, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::sync::watch::Receiver;

use super::caller::Caller;
use super::watch::Watch;
use super::{call, resources};
use crate::engine::Engine;
use crate::tools::{self, Registry, Risk};

/// What a client is told about the whole.
const INSTRUCTIONS: &str = "A Kanban board that does the work on it. `task create` puts a card on the board (with \
    `command` or `agent` it has something to run, `start` queues it), `workflow create` a set of steps with \
    dependencies. `clarify` asks the person and waits; when it says that the question is parked, end your turn.";

/// Methods of the protocol that are known here. Where their parameters can't be read, the fault is in those.
const METHODS: &[&str] = &[
    "initialize",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
];

/// How many calls may go on at the same time: each has a thread of its own, since it may wait for a person.
const SEATS: usize = 256;

/// How long calls wait, and how often they say so.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long a question may hold a call before it is parked. Agents end a call after 300 s at the latest.
    pub wait: Duration,
    /// How often a call that goes on tells its progress. Some agents end a call after 60 s without a sign.
    pub progress: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { wait: Duration::from_secs(240), progress: Duration::from_secs(5) }
    }
}

/// Where a server learns who calls.
#[derive(Clone)]
enum Callers {
    /// Everyone on this connection is this one.
    One(Caller),
    /// Each HTTP request carries its own, put there by whoever checked its token.
    OfRequest,
}

/// The server.
#[derive(Clone)]
pub struct Server {
    pub(super) engine: Engine,
    pub(super) registry: Registry,
    pub(super) limits: Limits,
    /// Becomes true, or closes, when the client can't be told anything any more.
    pub(super) gone: Receiver<bool>,
    /// One for each call that may go on at the same time.
    pub(super) seats: Arc<Semaphore>,
    callers: Callers,
    watch: Arc<Watch>,
}

impl Server {
    /// A server for one connection, whose calls are all this caller's. `gone` tells when its client has gone.
    pub fn for_one(
        engine: Engine,
        registry: Registry,
        caller: Caller,
        limits: Limits,
        gone: Receiver<bool>,
    ) -> Self {
        let watch = Arc::new(Watch::new(engine.clone()));
        Self {
            engine,
            registry,
            limits,
            gone,
            seats: Arc::new(Semaphore::new(SEATS)),
            callers: Callers::One(caller),
            watch,
        }
    }

    /// A server for one HTTP session. Each request carries its [`Caller`] among its extensions.
    pub fn for_requests(engine: Engine, registry: Registry, limits: Limits, gone: Receiver<bool>) -> Self {
        let watch = Arc::new(Watch::new(engine.clone()));
        Self {
            engine,
            registry,
            limits,
            gone,
            seats: Arc::new(Semaphore::new(SEATS)),
            callers: Callers::OfRequest,
            watch,
        }
    }

    /// The same for another session, which hears of changes by itself.
    pub(super) fn for_another(&self) -> Self {
        Self { watch: Arc::new(Watch::new(self.engine.clone())), ..self.clone() }
    }

    /// Who makes this request.
    pub(super) fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let caller = match &self.callers {
            Callers::One(caller) => Some(caller.clone()),
            Callers::OfRequest => {
                let parts = context.extensions.get::<axum::http::request::Parts>();
                parts.and_then(|parts| parts.extensions.get::<Caller>()).cloned()
            }
        };
        caller.ok_or_else(|| ErrorData::invalid_request("nobody knows who makes this request", None))
    }

    /// Runs a read of the board on a thread that may block.
    async fn look<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Engine) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let engine = self.engine.clone();
        match tokio::task::spawn_blocking(move || read(&engine)).await {
            Ok(result) => result,
            Err(error) => Err(ErrorData::internal_error(format!("andon itself failed: {error}"), None)),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("andon", env!("CARGO_PKG_VERSION")).with_title("Andon"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.watch.tell(context.peer);
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = self.caller(&context)?;
        let tools = self.registry.tools().filter(|tool| caller.may_write || call::looks(*tool));
        Ok(ListToolsResult::with_all_items(tools.map(described).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.registry.find(name).ok().map(described)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        call::carry_out(self, request, context).await
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let board = self.caller(&context)?.board;
        let cursor = page.and_then(|page| page.cursor);
        self.look(move |engine| resources::list(engine, board.as_deref(), cursor.as_deref())).await
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.caller(&context)?;
        self.look(move |engine| resources::read(engine, &request.uri).map(ReadResourceResponse::from)).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.caller(&context)?;
        let uri = request.uri.clone();
        self.look(move |engine| resources::read(engine, &uri).map(|_| ())).await?;
        self.watch.subscribe(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watch.unsubscribe(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.watch.listen(&context, self.gone.clone()).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match METHODS.contains(&request.method.as_str()) {
            true => {
                let message = format!("the parameters of {} can't be read; see its schema", request.method);
                ErrorData::invalid_params(message, None)
            }
            false => {
                let message = format!("there is no method `{}`", call::shown(&request.method));
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
            }
        })
    }
}

/// A tool as clients see it. The hints come from its risk, and are no more than hints.
fn described(tool: tools::registry::Tool<'_>) -> Tool {
    let schema = match tool.schema() {
        serde_json::Value::Object(schema) => schema,
        _ => serde_json::Map::new(),
    };
    let hints = ToolAnnotations::new().read_only(tool.risk() == Risk::Read);
    let hints = match tool.risk() {
        Risk::Read => hints,
        Risk::Write => hints.destructive(true),
        Risk::Exec => hints.destructive(true).open_world(true),
    };
    let mut described = Tool::new(tool.name().to_owned(), tool.description(), schema);
    described.annotations = Some(hints);
    described
}
