//! The loop: it waits for input, answers and the clock, lets `update` decide, carries out what comes of it, and
//! draws once when something changed, at most 60 times a second.

use ratatui::Terminal;
use ratatui::backend::{Backend, CrosstermBackend};
use std::io::{self, BufWriter, Stdout};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::app::App;
use super::event::{Effect, Event};
use super::input::{Incoming, Input, TtyInput};
use super::keymap::{Keymap, KeymapError};
use super::outside::{DispatcherControl, Outside};
use super::terminal::{self, Background, Host, Tty};
use super::theme::{Theme, ThemeChoice, ThemeError};
use super::update::{next_wake, read, update};
use super::view;
use crate::domain::Actor;
use crate::domain::time::Millis;
use crate::engine::Engine;

/// No two frames are closer than this.
const FRAME: Duration = Duration::from_millis(16);
/// How long a stop of the program may take to come; where it is not granted, the board goes on.
const STOP_PATIENCE: Duration = Duration::from_millis(200);

/// How the board is opened.
#[derive(Clone)]
pub struct Options {
    /// Which board.
    pub board: String,
    /// Which theme.
    pub theme: ThemeChoice,
    /// Whether colours are used at all; false under NO_COLOR or `--color never`.
    pub color: bool,
    /// A keymap of the user's own, as TOML, over the built-in one.
    pub keymap: Option<String>,
    /// The folder in which commands of new cards run; the caller's.
    pub cwd: Option<String>,
    /// Who acts.
    pub actor: Actor,
    /// The dispatcher of this process, where there is one.
    pub dispatcher: Option<Arc<dyn DispatcherControl>>,
    /// Whether the desktop is told of new lamps while the terminal is not in focus.
    pub notify: bool,
    /// Whether the columns of closed cards are shown from the start.
    pub archive: bool,
}

impl Options {
    /// The board with this name, everything else as it usually is.
    pub fn new(board: impl Into<String>, actor: Actor) -> Options {
        Options {
            board: board.into(),
            theme: ThemeChoice::Auto,
            color: true,
            keymap: None,
            cwd: None,
            actor,
            dispatcher: None,
            notify: false,
            archive: false,
        }
    }
}

/// How the board was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// No run was going.
    Idle,
    /// The runs have finished.
    Drained,
    /// The runs were stopped.
    Stopped,
    /// At once: runs may still be stopping.
    AtOnce,
    /// The terminal is gone, and nobody can be asked.
    HungUp,
}

/// Why the board could not be opened, or had to close.
#[derive(Debug, Error)]
pub enum BoardError {
    /// There is no terminal.
    #[error(
        "the board needs a terminal on stdin and stdout; `andon list` prints the cards, `andon --headless` works without a screen"
    )]
    NoTerminal,
    /// The keymap has faults.
    #[error(transparent)]
    Keymap(#[from] KeymapError),
    /// The theme has faults.
    #[error(transparent)]
    Theme(#[from] ThemeError),
    /// The terminal can't be used.
    #[error("the terminal can't be used: {0}")]
    Terminal(#[from] io::Error),
}

/// Opens the board on the terminal and stays until it is left. Blocks; not to be called within a tokio runtime.
/// The terminal is given back whatever happens.
pub fn run(engine: Engine, options: Options) -> Result<Exit, BoardError> {
    if !terminal::is_terminal() {
        return Err(BoardError::NoTerminal);
    }
    let keymap = Keymap::read(options.keymap.as_deref())?;
    let background = match options.color && options.theme == ThemeChoice::Auto {
        true => terminal::background(),
        false => Background::Dark,
    };
    let light = background == Background::Light;
    let theme = Theme::choose(&options.theme, options.color, terminal::depth(), light)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (send, inbox) = unbounded_channel();
        let host = Tty::take(false, send.clone())?;
        let backend: CrosstermBackend<BufWriter<Stdout>> =
            CrosstermBackend::new(BufWriter::with_capacity(64 * 1024, io::stdout()));
        let terminal = Terminal::new(backend).map_err(io::Error::other)?;
        let mut app = app(&options, theme, keymap, &terminal)?;
        app.zone = jiff::tz::TimeZone::system();
        let outside = Outside::new(engine.clone(), options.actor, options.dispatcher, send.clone())?;
        let clock = engine.clone();
        let input = TtyInput::new(background == Background::Late)?;
        let mut session =
            Session::new(app, terminal, host, input, outside, inbox, engine.changes(), move || clock.now());
        let left = loop {
            match session.turn().await {
                Ok(None) => {}
                Ok(Some(exit)) => break Ok(exit),
                Err(error) => break Err(error),
            }
        };
        // A terminal that is gone is first heard of by a signal, or by what can't be written.
        if matches!(left, Ok(Exit::HungUp)) || !terminal::is_terminal() {
            session.host.lose();
            return Ok(Exit::HungUp);
        }
        Ok(left?)
    })
}

/// The state that the board opens with.
pub fn app<B: Backend>(
    options: &Options,
    theme: Theme,
    keymap: Keymap,
    terminal: &Terminal<B>,
) -> io::Result<App>
where
    B::Error: Send + Sync + 'static,
{
    let size = terminal.size().map_err(io::Error::other)?;
    let mut app = App::new(&options.board, theme, keymap, (size.width, size.height));
    app.cwd = options.cwd.clone();
    app.notify = options.notify;
    app.archive = options.archive;
    Ok(app)
}

/// A channel through which the outside answers.
pub fn channel() -> (UnboundedSender<Event>, UnboundedReceiver<Event>) {
    unbounded_channel()
}

/// One board on one screen. Each [`Session::turn`] is one round of the loop, so that a test can look between them.
pub struct Session<B: Backend, H: Host, I: Input> {
    /// The state.
    pub app: App,
    /// The screen.
    pub terminal: Terminal<B>,
    /// What the loop asks of the terminal besides drawing.
    pub host: H,
    /// Where keys come from.
    pub input: I,
    /// How many frames were drawn.
    pub frames: u64,
    outside: Outside,
    inbox: UnboundedReceiver<Event>,
    changes: watch::Receiver<u64>,
    clock: Box<dyn Fn() -> Millis + Send>,
    last_frame: Option<Instant>,
    lent: bool,
    stopped: Option<Instant>,
    exit: Option<Exit>,
    begun: bool,
}

enum Picked {
    Incoming(Incoming),
    Event(Event),
    Time,
    Ended,
}

impl<B: Backend, H: Host, I: Input> Session<B, H, I>
where
    B::Error: Send + Sync + 'static,
{
    #[expect(clippy::too_many_arguments, reason = "one place puts all parts together")]
    /// Puts a board together; nothing happens before the first turn.
    pub fn new(
        app: App,
        terminal: Terminal<B>,
        host: H,
        input: I,
        outside: Outside,
        inbox: UnboundedReceiver<Event>,
        changes: watch::Receiver<u64>,
        clock: impl Fn() -> Millis + Send + 'static,
    ) -> Self {
        Session {
            app,
            terminal,
            host,
            input,
            frames: 0,
            outside,
            inbox,
            changes,
            clock: Box::new(clock),
            last_frame: None,
            lent: false,
            stopped: None,
            exit: None,
            begun: false,
        }
    }

    /// Waits until something happens, takes in all of it, and draws once. Gives how the board was left, when it is.
    pub async fn turn(&mut self) -> io::Result<Option<Exit>> {
        if !std::mem::replace(&mut self.begun, true) {
            self.begin()?;
        }
        let picked = self.pick().await;
        self.take(Event::Now((self.clock)()))?;
        self.handle(picked)?;
        while self.exit.is_none() {
            if let Ok(event) = self.inbox.try_recv() {
                self.take(event)?;
            } else if let Some(incoming) = self.ready().await {
                self.handle(Picked::Incoming(incoming))?;
            } else {
                break;
            }
        }
        if self.exit.is_none() && self.app.dirty && !self.lent && self.frame_due().is_none() {
            self.draw()?;
        }
        Ok(self.exit)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.take(Event::Now((self.clock)()))?;
        let mut effects = Vec::new();
        read::reload(&mut self.app, &mut effects);
        self.carry_out(effects)?;
        self.draw()
    }

    /// Only waits and picks; what is picked is decided elsewhere.
    async fn pick(&mut self) -> Picked {
        let due = self.due();
        let asleep = async {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            incoming = self.input.next() => Picked::Incoming(incoming),
            event = self.inbox.recv() => event.map_or(Picked::Ended, Picked::Event),
            changed = self.changes.changed() => match changed {
                Ok(()) => Picked::Event(Event::Changed),
                Err(_) => Picked::Ended,
            },
            () = asleep => Picked::Time,
        }
    }

    /// What has come in already, without waiting.
    async fn ready(&mut self) -> Option<Incoming> {
        let mut next = std::pin::pin!(self.input.next());
        std::future::poll_fn(|context| {
            Poll::Ready(match next.as_mut().poll(context) {
                Poll::Ready(incoming) => Some(incoming),
                Poll::Pending => None,
            })
        })
        .await
    }

    /// When to wake although nothing happened; `None` = not at all.
    fn due(&self) -> Option<Instant> {
        if let Some(stopped) = self.stopped {
            return Some(stopped + STOP_PATIENCE);
        }
        if self.lent {
            return None;
        }
        if self.app.dirty {
            return Some(self.frame_due().unwrap_or_else(Instant::now));
        }
        let wake = next_wake(&self.app)?;
        let wait = u64::try_from(wake - (self.clock)()).unwrap_or(0);
        Some(Instant::now() + Duration::from_millis(wait))
    }

    /// When the next frame may be drawn; `None` = now.
    fn frame_due(&self) -> Option<Instant> {
        self.last_frame.map(|last| last + FRAME).filter(|due| *due > Instant::now())
    }

    fn handle(&mut self, picked: Picked) -> io::Result<()> {
        match picked {
            Picked::Incoming(Incoming::Event(event)) | Picked::Event(event) => self.take(event),
            Picked::Incoming(Incoming::Continued) => self.take_back(),
            Picked::Incoming(Incoming::Closed) => {
                self.exit = Some(Exit::HungUp);
                Ok(())
            }
            Picked::Ended => {
                self.exit = Some(Exit::AtOnce);
                Ok(())
            }
            Picked::Time => {
                if self.stopped.is_some_and(|since| since.elapsed() >= STOP_PATIENCE) {
                    self.take_back()?;
                }
                self.app.dirty = true;
                Ok(())
            }
        }
    }

    fn take(&mut self, event: Event) -> io::Result<()> {
        let edited = matches!(event, Event::Edited { .. });
        let effects = update(&mut self.app, event);
        if edited {
            self.take_back()?;
        }
        self.carry_out(effects)
    }

    fn carry_out(&mut self, effects: Vec<Effect>) -> io::Result<()> {
        for effect in effects {
            if matches!(effect, Effect::Editor { .. }) {
                self.lend()?;
            }
            match self.outside.carry_out(effect) {
                None => {}
                Some(Effect::Clipboard(text)) => self.host.clipboard(&text)?,
                Some(Effect::Title(text)) => self.host.title(&text)?,
                Some(Effect::Notify(text)) => self.host.notify(&text)?,
                Some(Effect::Redraw) => self.afresh()?,
                Some(Effect::Background) => {
                    self.lend()?;
                    self.stopped = Some(Instant::now());
                    self.host.stop_program()?;
                }
                Some(Effect::Quit(exit)) => self.exit = Some(exit),
                Some(other) => tracing::error!(?other, "an effect that nobody carries out"),
            }
        }
        Ok(())
    }

    /// Gives the terminal to another program.
    fn lend(&mut self) -> io::Result<()> {
        self.input.pause();
        self.lent = true;
        self.host.leave()
    }

    /// Takes the terminal back and draws everything afresh: another program was on it, or its size has changed.
    fn take_back(&mut self) -> io::Result<()> {
        self.host.leave()?;
        self.host.enter()?;
        self.input.resume();
        self.lent = false;
        self.stopped = None;
        self.app.dirty = true;
        self.afresh()
    }

    /// Forgets what the screen shows, so that the next frame draws every cell. Not `Terminal::clear`: that asks
    /// the terminal for its cursor, and the answer would be read as keys.
    fn afresh(&mut self) -> io::Result<()> {
        let size = self.terminal.size().map_err(io::Error::other)?;
        self.terminal.resize(size.into()).map_err(io::Error::other)
    }

    /// Draws one frame.
    pub fn draw(&mut self) -> io::Result<()> {
        // The size is asked for, not only heard of: in a storm of resizes the last word may be missed.
        let size = self.terminal.size().map_err(io::Error::other)?;
        if (size.width, size.height) != self.app.size {
            self.take(Event::Resize(size.width, size.height))?;
        }
        self.host.begin_frame()?;
        let app = &self.app;
        let drawn = self.terminal.draw(|frame| view::draw(frame, app)).map(|_| ());
        self.host.end_frame()?;
        drawn.map_err(io::Error::other)?;
        self.app.dirty = false;
        self.last_frame = Some(Instant::now());
        self.frames += 1;
        Ok(())
    }
}
