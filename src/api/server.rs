//! The server: a thread with a runtime of its own, so that nothing here takes a thread from the runs. It listens
//! before [`start`] returns, and ends its streams when it is told to stop.

use axum::Router;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::listener::Connections;
use super::metrics::Metrics;
use super::stream::Hub;
use super::token::{TokenError, Tokens};
use super::{Api, Inner, Options};
use crate::engine::Engine;

/// How many threads carry requests between their calls of the engine.
const WORKERS: usize = 2;
/// How many calls of the engine go on at a time; further ones wait their turn.
const CALLS: usize = 16;
/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1_024;
/// How long requests that go on may take to end when everything stops.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why nothing is served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The address can't be listened at.
    #[error(
        "can't serve HTTP at {address}: {source}; stop whoever has it, name another with --http ADDR, or --http off"
    )]
    Address {
        /// Which one.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// There is no token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Others can reach the address, and nobody has seen a token yet.
    #[error(
        "{0} can be reached from other machines, and no token was set up; run `andon token` first, and give it to who \
         may use this board"
    )]
    NoToken(SocketAddr),
    /// The system gives no thread.
    #[error("can't serve HTTP: {0}")]
    Thread(io::Error),
}

/// What is served. Dropping it stops nothing.
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

/// Serves until told to stop. Once this returns `Ok`, requests are answered. `beside` gives the routes outside the
/// prefix that others serve, such as `/mcp`.
pub fn start(
    engine: &Engine,
    options: Options,
    beside: impl FnOnce(&Api) -> Router,
) -> Result<Server, ServeError> {
    let tokens = Tokens::load(engine.path())?;
    if !options.address.ip().is_loopback() && !tokens.were_there {
        return Err(ServeError::NoToken(options.address));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(CALLS)
        .thread_name("andon-http")
        .enable_all()
        .build()
        .map_err(ServeError::Thread)?;
    let within = runtime.enter();
    let listener = listen(options.address, options.or_any_port)?;
    let address =
        listener.local_addr().map_err(|source| ServeError::Address { address: options.address, source })?;
    let (stop, stopping) = watch::channel(false);
    let metrics = Metrics::default();
    let hub = Hub::start(engine, metrics.clone(), stopping.clone());
    let inner =
        Inner { engine: engine.clone(), options, address, tokens, hub, metrics, stopping: stopping.clone() };
    let api = Api { inner: Arc::new(inner) };
    let routes = super::router(&api, beside(&api));
    drop(within);
    let thread = std::thread::Builder::new()
        .name("andon-http".to_owned())
        .spawn(move || serve(runtime, listener, routes, stopping))
        .map_err(ServeError::Thread)?;
    Ok(Server { address, stop, thread })
}

fn serve(runtime: Runtime, listener: TcpListener, routes: Router, mut stopping: watch::Receiver<bool>) {
    runtime.block_on(async {
        let mut told = stopping.clone();
        let served = axum::serve(Connections::new(listener), routes).with_graceful_shutdown(async move {
            // Whoever could tell is gone; that is as good as being told.
            let _ = told.wait_for(|stop| *stop).await;
        });
        let farewell = async {
            // As above.
            let _ = stopping.wait_for(|stop| *stop).await;
            tokio::time::sleep(FAREWELL).await;
        };
        tokio::select! {
            ended = served => if let Err(error) = ended {
                tracing::error!(%error, "HTTP is not served any more");
            },
            () = farewell => tracing::debug!("some connections did not end by themselves"),
        }
    });
    runtime.shutdown_timeout(Duration::from_millis(500));
}

fn listen(address: SocketAddr, or_any_port: bool) -> Result<TcpListener, ServeError> {
    match bound(address) {
        Err(error) if or_any_port && error.kind() == io::ErrorKind::AddrInUse => {
            let any = SocketAddr::new(address.ip(), 0);
            bound(any).map_err(|source| ServeError::Address { address, source })
        }
        other => other.map_err(|source| ServeError::Address { address, source }),
    }
}

fn bound(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A port whose last connections are still being forgotten by the system is free.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Server {
    /// Where it is reached from this machine.
    pub fn url(&self) -> String {
        let address = match self.address.ip() {
            ip if ip.is_unspecified() => {
                SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.address.port())
            }
            _ => self.address,
        };
        format!("http://{address}")
    }

    /// Accepts nothing more, ends the streams, and returns when the requests that go on have ended, or soon.
    pub fn stop(self) {
        // Where nobody listens any more it has ended.
        let _ = self.stop.send(true);
        if self.thread.join().is_err() {
            tracing::error!("serving HTTP ended in a fault of the program");
        }
    }
}
