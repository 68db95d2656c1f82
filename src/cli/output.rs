//! Where answers go: text to people, JSON to programs, on stdout and nothing else there; notes and errors on
//! stderr. Every write may meet a closed pipe, so every write returns.

use anstream::ColorChoice;
use anstyle::Style;
use clap::ValueEnum;
use serde_json::Value;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use super::error::CliError;
use crate::domain::text::harmless_json;

/// When colours are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR or TERM=dumb.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The two streams of the program.
pub struct Output {
    json: bool,
    terminal: bool,
    color: bool,
    color_errors: bool,
    width: Option<usize>,
    stdout: BufWriter<Stdout>,
}

/// Whether colours are wanted on the terminal: not under NO_COLOR, unless asked for by name.
pub fn color_wanted(color: Color) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

impl Output {
    /// The streams as they are: asks what is a terminal and how wide it is.
    pub fn new(json: bool, color: Color) -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let decide = |auto: ColorChoice| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => auto != ColorChoice::Never,
        };
        Self {
            json,
            terminal,
            color: decide(anstream::AutoStream::choice(&stdout)),
            color_errors: decide(anstream::AutoStream::choice(&io::stderr())),
            width: terminal.then(|| terminal_width(&stdout)).flatten(),
            stdout: BufWriter::with_capacity(32 * 1024, stdout),
        }
    }

    /// Whether a program reads the answer.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether stdout is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Whether stdout takes colours.
    pub fn has_color(&self) -> bool {
        self.color
    }

    /// Whether stderr takes colours.
    pub fn has_color_errors(&self) -> bool {
        self.color_errors
    }

    /// The width of the terminal in cells; `None` where there is none, and nothing is cut.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// `text` in `style`, where stdout takes colours.
    pub fn paint(&self, style: Style, text: &str) -> String {
        paint(self.color, style, text)
    }

    /// One line or several, already harmless.
    pub fn line(&mut self, text: impl AsRef<str>) -> Result<(), CliError> {
        self.stdout.write_all(text.as_ref().as_bytes())?;
        self.stdout.write_all(b"\n")?;
        Ok(())
    }

    /// One JSON value on a line of its own.
    pub fn value(&mut self, value: &Value) -> Result<(), CliError> {
        self.json_line(&value.to_string())
    }

    /// One line that is JSON already. On a terminal too it may hold what somebody else wrote.
    pub fn json_line(&mut self, json: &str) -> Result<(), CliError> {
        self.line(harmless_json(json))
    }

    /// Raw bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.stdout.write_all(bytes)?;
        Ok(())
    }

    /// Hands everything to the reader; streams do it line by line.
    pub fn flush(&mut self) -> Result<(), CliError> {
        self.stdout.flush()?;
        Ok(())
    }

    /// A remark for people on stderr. Programs that read JSON get none.
    pub fn note(&self, text: &str) {
        if !self.json {
            let dim = Style::new().dimmed();
            say(&paint(self.color_errors, dim, &crate::domain::text::many_lines(text)));
        }
    }

    /// An error on stderr: text, or a problem object.
    pub fn error(&self, error: &CliError) {
        let Some(text) = error.text() else { return };
        match self.json {
            true => say(&harmless_json(&Value::Object(error.problem()).to_string())),
            false => {
                let red = Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
                say(&format!("{} {text}", paint(self.color_errors, red, "error:")));
            }
        }
    }
}

/// `text` in `style` if `color`.
pub fn paint(color: bool, style: Style, text: &str) -> String {
    match color && style != Style::new() {
        true => format!("{style}{text}{style:#}"),
        false => text.to_owned(),
    }
}

fn say(line: &str) {
    // Nobody can be told that stderr is closed.
    let _ = writeln!(io::stderr(), "{line}");
}

/// The width of the terminal in cells, at least 20.
fn terminal_width(stdout: &Stdout) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stdout).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col).max(20))
}
