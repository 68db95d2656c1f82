//! Answers that were begun, kept beside the database so that closing the dialogue or the program loses nothing.
//! One small file each; it goes when the question is answered.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::mpsc::UnboundedSender;

use super::event::Event;
use crate::domain::QuestionId;
use crate::engine::Engine;

/// Keeps drafts on a thread of its own; of several states of one text only the last is written.
pub struct Drafts {
    keep: Option<Sender<(QuestionId, String)>>,
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
    pub fn keep(&self, question: QuestionId, text: String) {
        if let Some(keep) = &self.keep {
            // The thread ends only with this sender.
            let _ = keep.send((question, text));
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

fn folder(database: &Path) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push("-drafts");
    database.with_file_name(name)
}

fn keep_all(folder: &Path, take: &Receiver<(QuestionId, String)>, send: &UnboundedSender<Event>) {
    let mut complained = false;
    while let Ok(first) = take.recv() {
        let mut last = std::collections::BTreeMap::from([first]);
        last.extend(take.try_iter());
        for (question, text) in last {
            if let Err(error) = write(folder, &question, &text)
                && !std::mem::replace(&mut complained, true)
            {
                let text = format!("what you type is not kept over a restart: {error}");
                // The loop may have ended meanwhile.
                let _ = send.send(Event::Trouble(text));
            }
        }
    }
}

fn is_id(name: &str) -> bool {
    name.starts_with("q_") && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

fn write(folder: &Path, question: &QuestionId, text: &str) -> io::Result<()> {
    if !is_id(question.as_str()) {
        return Ok(());
    }
    let path = folder.join(question.as_str());
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

/// The drafts of questions that are still open; those of others go.
fn load(folder: &Path, engine: &Engine) -> Vec<(QuestionId, String)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let Ok(open) = engine.questions(None) else { return Vec::new() };
    let mut drafts = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_id(&name) {
            continue;
        }
        let question = QuestionId(name);
        if open.iter().any(|asked| asked.question.id == question) {
            drafts.extend(fs::read_to_string(entry.path()).ok().map(|text| (question, text)));
        } else if let Err(error) = fs::remove_file(entry.path()) {
            tracing::debug!(%error, "a draft of a closed question stays");
        }
    }
    drafts
}
