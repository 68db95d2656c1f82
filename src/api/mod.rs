//! The HTTP face, and MCP: wire types and what belongs to the wire (tokens, limits, statuses, streams), and no rules; every
//! change is an engine's command, every answer looks as the command line's `--json`. Sees domain, the engine's
//! handle, and tools. Start reading at [`table`] (every endpoint, from which the routes and the OpenAPI document are
//! made), then [`call`] (the one way that a request goes); for agents, [`mcp`].

mod boards;
mod call;
mod change;
mod guard;
mod health;
mod listener;
pub mod mcp;
mod metrics;
mod openapi;
mod problem;
mod schema;
mod server;
mod shapes;
mod stream;
mod table;
mod tasks;
pub mod token;
mod workflows;

use axum::Router;
use axum::routing::{MethodFilter, MethodRouter, get};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

use crate::domain::Actor;
use crate::engine::Engine;
use crate::tools::Registry;

use metrics::Metrics;
use stream::Hub;
use table::Method;
use token::Tokens;

pub use problem::Problem;
pub use server::{ServeError, Server, start};
pub use token::Role;

/// The most that a body may have, in bytes.
pub const BODY_LIMIT: usize = 1024 * 1024;

/// How to serve.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen.
    pub address: std::net::SocketAddr,
    /// Whether any other port will do where that one is taken.
    pub or_any_port: bool,
    /// What the paths begin with, such as `/api/v1`.
    pub prefix: String,
    /// Further names under which this machine is reached; those of the loopback are known.
    pub hosts: Vec<String>,
    /// Who acts with the admin token.
    pub actor: Actor,
    /// The folder that work runs in where a request names none.
    pub cwd: PathBuf,
    /// The tools that a workflow may name.
    pub registry: Registry,
}

/// What every request is given. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    options: Options,
    /// The address that is listened at.
    address: std::net::SocketAddr,
    tokens: Tokens,
    hub: Hub,
    metrics: Metrics,
    /// Turns true when everything is to end.
    stopping: watch::Receiver<bool>,
}

impl Api {
    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Who acts with the admin token.
    pub fn actor(&self) -> &Actor {
        &self.inner.options.actor
    }

    /// The folder that work runs in where nobody names one.
    pub fn cwd(&self) -> &std::path::Path {
        &self.inner.options.cwd
    }

    /// The tools that a workflow may name.
    pub fn registry(&self) -> &Registry {
        &self.inner.options.registry
    }

    /// What the paths begin with.
    pub fn prefix(&self) -> &str {
        &self.inner.options.prefix
    }

    /// Turns true when everything is to end; who holds a connection open for long listens to it.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.inner.stopping.clone()
    }
}

/// All routes behind the one guard: Host, Origin, token, and counting. A handler finds the caller's [`Role`] among
/// the extensions of its request. `beside` is served outside the prefix, behind the same guard.
pub fn router(api: &Api, beside: Router) -> Router {
    let mut paths: BTreeMap<String, MethodRouter<Api>> = BTreeMap::new();
    for endpoint in table::endpoints() {
        let filter = match endpoint.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Patch => MethodFilter::PATCH,
            Method::Delete => MethodFilter::DELETE,
        };
        let path = format!("{}{}", api.prefix(), endpoint.path);
        let routes = paths.remove(&path).unwrap_or_default();
        let handler = move |state, request| call::answer(state, endpoint, request);
        paths.insert(path, routes.on(filter, handler));
    }
    let routes = paths.into_iter().fold(Router::new(), |router, (path, routes)| router.route(&path, routes));
    routes
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::show))
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
        .with_state(api.clone())
        .merge(beside)
        .layer(axum::middleware::from_fn_with_state(api.clone(), guard::guard))
}
