//! The protocol on standard input and output: one JSON-RPC message a line. What is no message is answered with a
//! protocol error and read over; a line without end is dropped, not kept. stdin is read on a thread of its own, so
//! that nothing waits for it when the server ends.

use rmcp::RoleServer;
use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::sync::{Mutex, mpsc, watch};

/// The longest line, in bytes; the longest text that a tool takes is far shorter.
const LINE_LIMIT: u64 = 4 * 1024 * 1024;
/// How many lines are read ahead.
const AHEAD: usize = 64;

/// One line of input.
enum Line {
    Text(Vec<u8>),
    TooLong,
}

/// Standard input and output as a transport.
pub(super) struct Lines {
    input: mpsc::Receiver<Line>,
    output: Arc<Mutex<tokio::fs::File>>,
    gone: watch::Sender<bool>,
    /// Whether a request came; before the first there is nothing that could be notified.
    begun: bool,
}

impl Lines {
    /// Reads stdin and writes stdout from now on; `gone` becomes true at the end of input.
    ///
    /// # Errors
    /// When there is no thread to read on, or stdout is closed.
    pub fn of_this_process(gone: watch::Sender<bool>) -> io::Result<Self> {
        let (lines, input) = mpsc::channel(AHEAD);
        std::thread::Builder::new().name("andon-stdin".to_owned()).spawn(move || read_into(&lines))?;
        // Not the stdout that the rest of the program knows: a client that reads nothing would hold its lock, and with
        // it everybody who wants to leave.
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let output = Arc::new(Mutex::new(tokio::fs::File::from_std(output)));
        Ok(Self { input, output, gone, begun: false })
    }

    async fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        // A client that can't be told any more is noticed at the end of its input.
        let _ = self.send(ServerJsonRpcMessage::error(error, id)).await;
    }
}

fn read_into(lines: &mpsc::Sender<Line>) {
    let mut input = io::stdin().lock();
    // Where input can't be read, it is at its end as well.
    while let Ok(Some(line)) = next_line(&mut input) {
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// The next line that is not empty; `None` at the end. A last line without its line break is not whole.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    loop {
        let mut line = Vec::new();
        input.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            if (line.len() as u64) < LINE_LIMIT {
                return Ok(None);
            }
            return Ok(skip_line(input)?.then_some(Line::TooLong));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(Line::Text(line)));
        }
    }
}

/// Reads over the rest of a line. False where the input ended within it.
fn skip_line(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let piece = input.fill_buf()?;
        if piece.is_empty() {
            return Ok(false);
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(piece.len(), |at| at + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut output = output.lock().await;
            output.write_all(&line).await?;
            output.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(line) = self.input.recv().await else {
                self.gone.send_replace(true);
                return None;
            };
            match understood(line) {
                Ok(message) => {
                    self.begun |= matches!(message, RxJsonRpcMessage::<RoleServer>::Request(_));
                    if self.begun {
                        return Some(message);
                    }
                }
                Err(fault) => self.refuse(fault.error, fault.id).await,
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.lock().await.flush().await
    }
}

/// What is wrong with a line, and the id that it has all the same.
struct Fault {
    error: ErrorData,
    id: Option<RequestId>,
}

/// The message in a line.
fn understood(line: Line) -> Result<RxJsonRpcMessage<RoleServer>, Box<Fault>> {
    let line = match line {
        Line::Text(line) => line,
        Line::TooLong => {
            let message = format!("a message of more than {} MiB is not read", LINE_LIMIT >> 20);
            return Err(Box::new(Fault { error: ErrorData::invalid_request(message, None), id: None }));
        }
    };
    let value: Value = serde_json::from_slice(&line).map_err(|error| {
        Box::new(Fault { error: ErrorData::parse_error(format!("not JSON: {error}"), None), id: None })
    })?;
    let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    serde_json::from_value(value).map_err(|_| {
        let message =
            "not a message of JSON-RPC 2.0; one is an object with jsonrpc, method and, for a request, id";
        Box::new(Fault { error: ErrorData::invalid_request(message, None), id })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn a_line_without_end_is_read_over_and_the_next_one_is_read() {
        let limit = usize::try_from(LINE_LIMIT).unwrap();
        let text = ["\n".to_owned(), "x".repeat(limit + 10), "\n{}\n{".to_owned()].concat();
        let mut input = BufReader::with_capacity(1_000, text.as_bytes());
        assert!(matches!(next_line(&mut input).unwrap(), Some(Line::TooLong)));
        assert!(matches!(next_line(&mut input).unwrap(), Some(Line::Text(line)) if line == b"{}\n"));
        assert!(next_line(&mut input).unwrap().is_none(), "half a line is no message");
    }

    #[test]
    fn what_is_no_message_keeps_its_id_where_it_has_one() {
        let wrong = |text: &str| {
            let fault = understood(Line::Text(text.as_bytes().to_vec())).err().unwrap();
            (fault.error.code.0, fault.id.map(|id| id.to_string()))
        };
        assert_eq!(wrong("{"), (-32700, None));
        assert_eq!(wrong("\u{0}"), (-32700, None));
        assert_eq!(wrong("[]"), (-32600, None));
        assert_eq!(wrong(r#"{"id":7,"method":"ping"}"#), (-32600, Some("7".to_owned())));
        assert_eq!(wrong(r#"{"jsonrpc":"2.0","id":"a"}"#), (-32600, Some("a".to_owned())));
    }
}
