//! How long a call may wait for a person, and how its caller ends that early. A call from a shell waits for as long
//! as it takes; one over MCP has a limit, and a client that may cancel it or go away.

use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot, watch};

use crate::domain::Question;
use crate::engine::{Engine, EngineError};

/// How long one wait for a change lasts before one looks anyway.
pub const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// What a call knows about its caller's patience. The default is one without a limit.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    until: Option<Instant>,
    left: Option<watch::Receiver<bool>>,
    asked: Option<mpsc::UnboundedSender<Question>>,
}

/// The caller's end of a [`Waiting`]. Dropped, it counts as gone.
#[derive(Debug)]
pub struct CallerHold {
    left: watch::Sender<bool>,
    /// What the call asks a person, as it asks.
    pub asked: mpsc::UnboundedReceiver<Question>,
}

impl CallerHold {
    /// The caller cancelled the call or went away.
    pub fn leave(&self) {
        self.left.send_replace(true);
    }
}

/// Why a wait came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Something may have changed: look.
    Look,
    /// The caller's time is over.
    TimeIsUp,
    /// The caller cancelled the call or went away.
    Left,
}

impl Waiting {
    /// The patience of a call that waits for `limit` at most and may be left, with the caller's end of it.
    pub fn of_call(limit: Duration) -> (Self, CallerHold) {
        let (left, leaving) = watch::channel(false);
        let (asks, asked) = mpsc::unbounded_channel();
        let until = Instant::now().checked_add(limit);
        (Self { until, left: Some(leaving), asked: Some(asks) }, CallerHold { left, asked })
    }

    /// Whether the caller can leave at all.
    pub fn may_be_left(&self) -> bool {
        self.left.is_some()
    }

    /// Tells the caller what a person is asked.
    pub fn tell(&self, question: &Question) {
        if let Some(asked) = &self.asked {
            // Who no longer listens has left, and hears of that otherwise.
            let _ = asked.send(question.clone());
        }
    }

    /// Blocks until something was committed after event `seen`, `at_most` has passed, the caller's time is over, or
    /// the caller has left.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn for_change(&self, engine: &Engine, seen: i64, at_most: Duration) -> Result<Woken, EngineError> {
        let mut changes = engine.changes();
        changes.mark_unchanged();
        if self.has_left() {
            return Ok(Woken::Left);
        }
        if engine.last_seq()? > seen {
            return Ok(Woken::Look);
        }
        let patience = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        if patience.is_some_and(|left| left.is_zero()) {
            return Ok(Woken::TimeIsUp);
        }
        let pause = patience.map_or(at_most, |left| left.min(at_most));
        let mut left = self.left.clone();
        let Ok(runtime) = Builder::new_current_thread().enable_time().build() else {
            std::thread::sleep(pause.min(Duration::from_millis(50)));
            return Ok(Woken::Look);
        };
        runtime.block_on(async {
            tokio::select! {
                // However this ends, one looks again.
                _ = tokio::time::timeout(pause, changes.changed()) => {}
                () = gone(&mut left) => {}
            }
        });
        Ok(if self.has_left() { Woken::Left } else { Woken::Look })
    }

    /// Blocks until the caller has left, or until the other end of `over` is dropped. Gives that back, and whether
    /// the caller has left.
    pub fn left_before(&self, mut over: oneshot::Receiver<()>) -> (oneshot::Receiver<()>, bool) {
        let mut left = self.left.clone();
        let Ok(runtime) = Builder::new_current_thread().build() else { return (over, false) };
        let has_left = runtime.block_on(async {
            tokio::select! {
                () = gone(&mut left) => true,
                // Told or dropped: over either way.
                _ = &mut over => false,
            }
        });
        (over, has_left)
    }

    /// Comes back when the caller has left; never where it can't.
    pub async fn until_left(&self) {
        gone(&mut self.left.clone()).await;
    }

    fn has_left(&self) -> bool {
        self.left.as_ref().is_some_and(|left| *left.borrow() || left.has_changed().is_err())
    }
}

/// Comes back when the caller has left; never for one that can't.
async fn gone(left: &mut Option<watch::Receiver<bool>>) {
    match left {
        // An error means that the caller's end is gone, and so is the caller.
        Some(left) => drop(left.wait_for(|left| *left).await),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> (tempfile::TempDir, Engine) {
        let home = tempfile::tempdir().unwrap();
        let engine = Engine::open(&home.path().join("andon.db")).unwrap();
        (home, engine)
    }

    #[test]
    fn a_call_whose_time_is_over_or_whose_caller_left_waits_no_longer() {
        let (_home, engine) = engine();
        let seen = engine.last_seq().unwrap();
        let (over, _hold) = Waiting::of_call(Duration::ZERO);
        assert_eq!(over.for_change(&engine, seen, LOOK_AGAIN).unwrap(), Woken::TimeIsUp);
        let (waiting, hold) = Waiting::of_call(Duration::from_secs(3_600));
        hold.leave();
        assert_eq!(waiting.for_change(&engine, seen, LOOK_AGAIN).unwrap(), Woken::Left);
        let (waiting, hold) = Waiting::of_call(Duration::from_secs(3_600));
        drop(hold);
        assert_eq!(waiting.for_change(&engine, seen, LOOK_AGAIN).unwrap(), Woken::Left);
    }

    #[test]
    fn leaving_wakes_a_wait_that_goes_on() {
        let (_home, engine) = engine();
        let seen = engine.last_seq().unwrap();
        let (waiting, hold) = Waiting::of_call(Duration::from_secs(3_600));
        let waits = std::thread::spawn(move || waiting.for_change(&engine, seen, LOOK_AGAIN).unwrap());
        hold.leave();
        assert_eq!(waits.join().unwrap(), Woken::Left);
    }

    #[test]
    fn who_can_not_leave_is_told_when_the_work_is_over() {
        let (done, over) = oneshot::channel();
        drop(done);
        assert!(!Waiting::default().left_before(over).1);
    }
}
