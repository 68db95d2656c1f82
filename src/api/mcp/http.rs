//! MCP as streamable HTTP, at `/mcp` beside the other paths and behind the same guard: the admin token makes the
//! caller the person's agent, the read token one that may only look.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::sync::Arc;

use super::caller::Caller;
use super::server::{Limits, Server};
use crate::api::{Api, BODY_LIMIT, Role};
use crate::tools::Registry;

/// The path.
const PATH: &str = "/mcp";

/// The route for [`crate::api::router`] to serve beside its own. Called within the runtime that serves it.
pub fn route(api: &Api, registry: Registry, limits: Limits) -> Router {
    // Host and Origin are the guard's, for all paths alike.
    let config =
        StreamableHttpServerConfig::default().disable_allowed_hosts().with_max_request_body_bytes(BODY_LIMIT);
    let end = config.cancellation_token.clone();
    let (engine, stopping) = (api.engine().clone(), api.stopping());
    let mut told = stopping.clone();
    tokio::spawn(async move {
        // Whoever could tell is gone; that is as good as being told.
        let _ = told.wait_for(|stop| *stop).await;
        end.cancel();
    });
    let server = Server::for_requests(engine, registry, limits, stopping);
    let service = StreamableHttpService::new(move || Ok(server.for_another()), sessions(), config);
    Router::new().route_service(PATH, service).layer(from_fn_with_state(api.clone(), introduce))
}

fn sessions() -> Arc<LocalSessionManager> {
    Arc::default()
}

/// Puts the caller beside the role that its token gave it.
async fn introduce(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    if let Some(role) = request.extensions().get::<Role>() {
        let caller = Caller {
            right: api.actor().clone(),
            cwd: api.cwd().to_owned(),
            session: None,
            board: None,
            may_write: *role == Role::Admin,
        };
        request.extensions_mut().insert(caller);
    }
    next.run(request).await
}
