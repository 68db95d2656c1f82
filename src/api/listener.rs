//! Connections: no more than the program can hold, none that carries nothing, and none whose other end has stopped to
//! read. A stream that nobody
//! reads would keep its buffers for ever; its connection is closed, and its reader resumes where it was.

use axum::serve::Listener;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// How many connections there may be; further ones wait to be accepted.
const CONNECTIONS: usize = 4_096;
/// How long the other end may take to read something.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a connection may carry nothing at all; a stream says that it lives more often.
const IDLE: Duration = Duration::from_secs(120);
/// How soon it is tried again when the system gives no more connections.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// Accepts connections.
pub struct Connections {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

impl Connections {
    /// Over a bound socket.
    pub fn new(listener: TcpListener) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(CONNECTIONS)) }
    }
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let Ok(room) = self.room.clone().acquire_owned().await else {
                // It is never closed.
                return std::future::pending().await;
            };
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "a connection answers a little slower");
                    }
                    return (Connection::new(stream, room), address);
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(TRY_AGAIN_AFTER).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// One connection.
pub struct Connection {
    stream: TcpStream,
    /// Rings when the other end has read nothing for too long.
    stalled: Option<Pin<Box<Sleep>>>,
    /// When it last carried something.
    active: Instant,
    idle: Pin<Box<Sleep>>,
    _room: OwnedSemaphorePermit,
}

impl Connection {
    fn new(stream: TcpStream, room: OwnedSemaphorePermit) -> Self {
        let active = Instant::now();
        Self {
            stream,
            stalled: None,
            active,
            idle: Box::pin(tokio::time::sleep_until(active + IDLE)),
            _room: room,
        }
    }

    /// Whether nothing was carried for too long. Called while nothing comes, so that it is woken again.
    fn is_idle(&mut self, context: &mut Context<'_>) -> bool {
        while self.idle.as_mut().poll(context).is_ready() {
            if self.active.elapsed() >= IDLE {
                return true;
            }
            let next = self.active + IDLE;
            self.idle.as_mut().reset(next);
        }
        false
    }

    /// Hands on what writing gave; an error where it has been pending for too long.
    fn watched<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            self.active = Instant::now();
            return written;
        }
        let stalled =
            self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + PATIENCE)));
        match pin!(stalled.as_mut()).poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        match read.is_ready() {
            true => self.active = Instant::now(),
            false if self.is_idle(context) => return Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            false => {}
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.watched(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
