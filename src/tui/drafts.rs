//! Answers that were begun, kept beside the database so that closing the dialogue or the program loses nothing.
//! One small file each; it goes when the question is answered.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::mpsc::UnboundedSender;

use super::away::Mark;
use super::event::Event;
use super::lamps::{self, LampKey};
use super::marks;
use crate::domain::{IdRef, QuestionId, WaitState};
use crate::engine::{Engine, EngineError};

/// What is kept.
enum Kept {
    Draft(LampKey, String),
    Seen(String, Mark),
}

/// Keeps drafts on a thread of its own; of several states of one text only the last is written.
pub struct Drafts {
    keep: Option<Sender<Kept>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drafts {
    /// Reads the drafts that are there, then keeps new ones.
    pub fn start(engine: &Engine, send: UnboundedSender<Event>) -> io::Result<Drafts> {
        let folder = folder(engine.path());
        let engine = engine.clone();
        let (keep, take) = channel();
        let thread = std::thread::Builder::new().name("andon-board-drafts".to_owned()).spawn(move || {
            // The loop may have ended already.
            let _ = send.send(Event::Drafts(load(&folder, &engine)));
            keep_all(&folder, &take, &send);
        })?;
        Ok(Drafts { keep: Some(keep), thread: Some(thread) })
    }

    /// Keeps a text; an empty one drops the draft.
    pub fn keep(&self, key: LampKey, text: String) {
        if let Some(keep) = &self.keep {
            // The thread ends only with this sender.
            let _ = keep.send(Kept::Draft(key, text));
        }
    }

    /// Keeps until where a board was seen.
    pub fn keep_seen(&self, board: String, mark: Mark) {
        if let Some(keep) = &self.keep {
            // As above.
            let _ = keep.send(Kept::Seen(board, mark));
        }
    }
}

impl Drop for Drafts {
    /// Waits until the last text is on disk.
    fn drop(&mut self) {
        self.keep = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the drafts' thread ended in a fault of the program");
        }
    }
}

/// The folder beside the database.
pub fn folder(database: &Path) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push("-drafts");
    database.with_file_name(name)
}

fn keep_all(folder: &Path, take: &Receiver<Kept>, send: &UnboundedSender<Event>) {
    let mut complained = false;
    while let Ok(first) = take.recv() {
        let mut last = std::collections::BTreeMap::new();
        for kept in std::iter::once(first).chain(take.try_iter()) {
            match kept {
                Kept::Draft(key, text) => drop(last.insert(key, text)),
                Kept::Seen(board, mark) => {
                    if let Err(error) = marks::keep(folder, &board, mark) {
                        tracing::info!(%error, "until where the board was seen is not kept");
                    }
                }
            }
        }
        for (key, text) in last {
            if let Err(error) = write(folder, &key, &text)
                && !std::mem::replace(&mut complained, true)
            {
                let text = format!("what you type is not kept over a restart: {error}");
                // The loop may have ended meanwhile.
                let _ = send.send(Event::Trouble(text));
            }
        }
    }
}

/// Whether a file's name is that of a lamp. Others in the folder are not ours.
fn is_key(name: &str) -> bool {
    let lamp = name.starts_with("q_") || name.contains("-t_");
    lamp && name.bytes().all(|b| matches!(b, b'_' | b'-') || b.is_ascii_alphanumeric())
}

fn write(folder: &Path, key: &LampKey, text: &str) -> io::Result<()> {
    if !is_key(&key.0) {
        return Ok(());
    }
    let path = folder.join(&key.0);
    if text.trim().is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    if !folder.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&new, &path)
}

/// The drafts of lamps that are still lit; those of others go. What can't be judged now stays.
fn load(folder: &Path, engine: &Engine) -> Vec<(LampKey, String)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut drafts = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_key(&name) {
            continue;
        }
        match is_lit(&name, engine) {
            Ok(true) => {
                drafts.extend(fs::read_to_string(entry.path()).ok().map(|text| (LampKey(name), text)))
            }
            Ok(false) => {
                if let Err(error) = fs::remove_file(entry.path()) {
                    tracing::debug!(%error, "a draft of a lamp that went out stays");
                }
            }
            Err(error) => tracing::debug!(%error, "whether a draft is still wanted is not known"),
        }
    }
    drafts
}

/// Whether the lamp of this name is lit now.
fn is_lit(name: &str, engine: &Engine) -> Result<bool, EngineError> {
    let found = match task_of(name) {
        Some(task) => engine
            .task_view(&IdRef::Full(task.to_owned()))
            .map(|view| lamps::key(&view.card, engine.now()).is_some_and(|key| key.0 == name)),
        None => engine.question(&QuestionId(name.to_owned())).map(|found| found.state == WaitState::Open),
    };
    match found {
        Err(EngineError::Refused(_)) => Ok(false),
        found => found,
    }
}

/// The task in the name of a lamp that is not a question's.
fn task_of(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('-')?;
    rest.rsplit_once('-').map(|(task, _)| task)
}
