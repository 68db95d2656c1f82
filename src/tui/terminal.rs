//! The terminal: taken over with a guard that always gives it back, lent and taken again, told titles and
//! notices. Whatever ends the program, raw mode, the alternate screen and the paste and focus modes end first.

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableFocusChange,
    EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, SetTitle,
};
use crossterm::{cursor, execute};
use rustix::fs::{FileType, fstat};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

use super::event::Event;
use super::theme::Depth;

/// How long the terminal has to say whether its background is light.
const BACKGROUND_PATIENCE: Duration = Duration::from_secs(1);

/// What the loop asks of the terminal besides drawing.
pub trait Host {
    /// Gives the terminal back.
    fn leave(&mut self) -> io::Result<()>;
    /// Takes the terminal.
    fn enter(&mut self) -> io::Result<()>;
    /// Stops the program, as ctrl-z does; the terminal was given back before.
    fn stop_program(&mut self) -> io::Result<()>;
    /// Copies to the clipboard (OSC 52).
    fn clipboard(&mut self, text: &str) -> io::Result<()>;
    /// Sets the title.
    fn title(&mut self, text: &str) -> io::Result<()>;
    /// Tells the desktop (OSC 9).
    fn notify(&mut self, text: &str) -> io::Result<()>;
    /// A frame begins: the terminal may hold its picture until it ends.
    fn begin_frame(&mut self) -> io::Result<()>;
    /// The frame is complete.
    fn end_frame(&mut self) -> io::Result<()>;
}

/// The real terminal on stdout. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct Tty {
    mouse: bool,
    taken: bool,
}

impl Tty {
    /// Takes the terminal over. `trouble` hears of panics in other threads than this one.
    pub fn take(mouse: bool, trouble: UnboundedSender<Event>) -> io::Result<Tty> {
        install_panic_hook();
        *held() = Some(Held { thread: std::thread::current().id(), trouble });
        let mut tty = Tty { mouse, taken: false };
        // The old title is put aside on the terminal's own stack, where it has one.
        write!(io::stdout(), "\x1b[22;0t")?;
        tty.enter()?;
        Ok(tty)
    }

    /// The terminal is gone, or about to be. Gives it back as far as it still listens; from then on what is printed
    /// goes nowhere. Printing to a lost terminal fails, which some print with a panic, and a panic on the way out
    /// would leave what runs without anyone to stop it.
    pub fn lose(&mut self) {
        if let Err(error) = self.leave() {
            tracing::info!(%error, "the terminal is gone");
        }
        if let Err(error) = mute() {
            tracing::warn!(%error, "the lost terminal is still there to print to");
        }
    }
}

/// Puts nothing in the place of the terminal. A stderr that goes to a file or a pipe is left as it is.
fn mute() -> io::Result<()> {
    let nothing = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    if FileType::from_raw_mode(fstat(io::stderr())?.st_mode) == FileType::CharacterDevice {
        dup2_stderr(&nothing)?;
    }
    Ok(())
}

impl Host for Tty {
    fn enter(&mut self) -> io::Result<()> {
        self.taken = true;
        crossterm::terminal::enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, EnableFocusChange, cursor::Hide)?;
        if self.mouse {
            execute!(io::stdout(), EnableMouseCapture)?;
        }
        Ok(())
    }

    fn leave(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.taken) { restore() } else { Ok(()) }
    }

    fn stop_program(&mut self) -> io::Result<()> {
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        Ok(())
    }

    fn clipboard(&mut self, text: &str) -> io::Result<()> {
        execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))
    }

    fn title(&mut self, text: &str) -> io::Result<()> {
        execute!(io::stdout(), SetTitle(super::text::clean(text)))
    }

    fn notify(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout();
        let text = super::text::clean(text);
        // Each terminal knows one of the two, and one that knows both would tell it twice.
        match speaks_777(std::env::var("TERM").ok().as_deref(), std::env::var_os("VTE_VERSION").is_some()) {
            true => write!(out, "\x1b]777;notify;andon;{}\x07", text.replace(';', ","))?,
            false => write!(out, "\x1b]9;{text}\x07")?,
        }
        out.flush()
    }

    fn begin_frame(&mut self) -> io::Result<()> {
        execute!(io::stdout(), BeginSynchronizedUpdate)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        execute!(io::stdout(), EndSynchronizedUpdate)
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        if let Err(error) = self.leave() {
            tracing::warn!(%error, "the terminal was not given back");
        }
        *held() = None;
        let mut out = io::stdout();
        // The terminal may be gone already; there is nobody left to tell.
        let _ = write!(out, "\x1b[23;0t").and_then(|()| out.flush());
    }
}

/// Whether desktop notices are told by OSC 777 (rxvt, VTE, foot) instead of OSC 9 (iTerm2 and most others).
fn speaks_777(term: Option<&str>, vte: bool) -> bool {
    vte || term.is_some_and(|term| term.starts_with("rxvt") || term.starts_with("foot"))
}

/// Ends every mode that was begun. Harmless where none was.
fn restore() -> io::Result<()> {
    let modes = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    crossterm::terminal::disable_raw_mode().and(modes)
}

/// Who holds the terminal, and who hears of panics elsewhere.
struct Held {
    thread: ThreadId,
    trouble: UnboundedSender<Event>,
}

static HELD: Mutex<Option<Held>> = Mutex::new(None);

fn held() -> std::sync::MutexGuard<'static, Option<Held>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A panic of the thread that draws gives the terminal back and is then reported as ever. A panic of any other
/// thread leaves the screen alone: it is logged, and the board says so.
fn install_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let elsewhere = match &*held() {
                Some(held) if held.thread != std::thread::current().id() => Some(held.trouble.clone()),
                Some(_) => {
                    // The report that follows is worth more than the reason why this failed.
                    let _ = restore();
                    None
                }
                None => None,
            };
            match elsewhere {
                None => before(panic),
                Some(trouble) => {
                    tracing::error!("panic: {panic}");
                    let text =
                        "A part of the program failed; the board goes on, and the log file says where. \
                                Please report it."
                            .to_owned();
                    // Without a loop that listens there is no screen to spoil either.
                    let _ = trouble.send(Event::Trouble(text));
                }
            }
        }));
    });
}

/// Whether stdin and stdout are a terminal at all.
pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// How many colours the terminal says that it has.
pub fn depth() -> Depth {
    match std::env::var("COLORTERM").as_deref() {
        Ok("truecolor" | "24bit") => Depth::True,
        _ => Depth::Sixteen,
    }
}

/// What the terminal says about its background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Light.
    Light,
    /// Dark, or it does not say.
    Dark,
    /// It has not answered in time: the answer may still come, and would be read as keys.
    Late,
}

/// Asks the terminal for its background. To be done before the terminal is taken over.
pub fn background() -> Background {
    use terminal_colorsaurus::{Error, QueryOptions, ThemeMode, theme_mode};
    let mut options = QueryOptions::default();
    options.timeout = BACKGROUND_PATIENCE;
    match theme_mode(options) {
        Ok(ThemeMode::Light) => Background::Light,
        Err(Error::Timeout(_)) => Background::Late,
        Ok(ThemeMode::Dark) | Err(_) => Background::Dark,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_terminal_is_told_in_the_one_way_that_it_knows() {
        assert!(speaks_777(Some("rxvt-unicode-256color"), false) && speaks_777(Some("xterm-256color"), true));
        assert!(speaks_777(Some("foot"), false));
        assert!(!speaks_777(Some("xterm-kitty"), false) && !speaks_777(None, false));
    }
}
