//! Where keys come from: the terminal and signals, or a test.

use crossterm::event::{Event as Raw, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_core::Stream;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::event::Event;

/// What comes from outside of the program.
#[derive(Debug)]
pub enum Incoming {
    /// Something for the board.
    Event(Event),
    /// The program was stopped and goes on: the terminal must be taken again.
    Continued,
    /// Nothing will come any more: the terminal is gone.
    Closed,
}

/// A source of input. `next` may be dropped before it is ready without losing anything.
pub trait Input {
    /// Waits for the next thing.
    fn next(&mut self) -> impl Future<Output = Incoming>;
    /// Lets go of the terminal, which is lent to another program.
    fn pause(&mut self);
    /// Reads the terminal again.
    fn resume(&mut self);
}

/// The terminal's events and the program's signals.
pub struct TtyInput {
    stream: Option<EventStream>,
    late: LateAnswer,
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    goes_on: Signal,
}

impl TtyInput {
    /// Reads the terminal from now on. Within a tokio runtime only. With `late`, an answer about its colours may
    /// still come.
    pub fn new(late: bool) -> io::Result<TtyInput> {
        Ok(TtyInput {
            stream: Some(EventStream::new()),
            late: if late { LateAnswer::Awaited } else { LateAnswer::None },
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            goes_on: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
        })
    }
}

impl Input for TtyInput {
    async fn next(&mut self) -> Incoming {
        loop {
            let picked = tokio::select! {
                raw = read(&mut self.stream, &mut self.late) => raw,
                // While the terminal is lent, ctrl-c is for the other program, but reaches this one too.
                _ = self.interrupt.recv() => match self.stream.is_some() {
                    true => Some(Incoming::Event(Event::Terminate)),
                    false => None,
                },
                _ = self.terminate.recv() => Some(Incoming::Event(Event::Terminate)),
                _ = self.hangup.recv() => Some(Incoming::Closed),
                _ = self.goes_on.recv() => Some(Incoming::Continued),
            };
            if let Some(picked) = picked {
                return picked;
            }
        }
    }

    fn pause(&mut self) {
        self.stream = None;
    }

    fn resume(&mut self) {
        self.stream.get_or_insert_with(EventStream::new);
    }
}

/// The next event of the terminal; `None` for what means nothing here. Never ready while it is lent.
async fn read(stream: &mut Option<EventStream>, late: &mut LateAnswer) -> Option<Incoming> {
    let raw = poll_fn(|context| match stream {
        Some(stream) => Pin::new(stream).poll_next(context),
        None => Poll::Pending,
    });
    match raw.await {
        Some(Ok(Raw::Key(key))) if late.swallows(key) => None,
        Some(Ok(raw)) => event(raw).map(Incoming::Event),
        Some(Err(error)) => {
            tracing::warn!(%error, "the terminal can't be read any more");
            Some(Incoming::Closed)
        }
        None => Some(Incoming::Closed),
    }
}

/// An answer to a question about colours that comes after nobody waits for it any more. It arrives as keys: alt-],
/// then `11;rgb:…`, then alt-\ or ctrl-g; none of them was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LateAnswer {
    /// None is to come.
    None,
    /// One may come.
    Awaited,
    /// One is coming in; so many keys of it at most.
    Within(u8),
}

impl LateAnswer {
    fn swallows(&mut self, key: KeyEvent) -> bool {
        let with = |c, modifier| key.code == KeyCode::Char(c) && key.modifiers == modifier;
        *self = match *self {
            LateAnswer::Awaited if with(']', KeyModifiers::ALT) => LateAnswer::Within(40),
            LateAnswer::Within(_) if with('\\', KeyModifiers::ALT) || with('g', KeyModifiers::CONTROL) => {
                *self = LateAnswer::Awaited;
                return true;
            }
            LateAnswer::Within(left @ 1..) => LateAnswer::Within(left - 1),
            LateAnswer::Within(0) => LateAnswer::Awaited,
            other => other,
        };
        matches!(self, LateAnswer::Within(_))
    }
}

fn event(raw: Raw) -> Option<Event> {
    Some(match raw {
        Raw::Key(key) if key.kind != KeyEventKind::Release => Event::Key(key),
        Raw::Paste(text) => Event::Paste(text),
        Raw::Resize(width, height) => Event::Resize(width, height),
        Raw::FocusGained => Event::Focus(true),
        Raw::FocusLost => Event::Focus(false),
        Raw::Key(_) | Raw::Mouse(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_comes_late_is_not_taken_for_keys() {
        let mut late = LateAnswer::Awaited;
        let mut kept = String::new();
        let mut press = |c: char, modifiers| {
            if !late.swallows(KeyEvent::new(KeyCode::Char(c), modifiers)) {
                kept.push(c);
            }
        };
        for answer in 0..2 {
            press('j', KeyModifiers::NONE);
            press(']', KeyModifiers::ALT);
            "11;rgb:0000/ffff/0000".chars().for_each(|c| press(c, KeyModifiers::NONE));
            match answer {
                0 => press('\\', KeyModifiers::ALT),
                _ => press('g', KeyModifiers::CONTROL),
            }
            press('k', KeyModifiers::NONE);
        }
        assert_eq!(kept, "jkjk");
    }
}
