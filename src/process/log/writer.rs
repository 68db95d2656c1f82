//! Writing a log under its cap.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{HEADER_LENGTH, beside, header, parse_header};

/// Writes one log from its first byte on. Once `write` returns, another process can read what was written; it is
/// not synced, so a power cut may lose it.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    head_length: u64,
    segment_length: u64,
    written: u64,
    file: Option<File>,
    /// How many bytes the open file still takes.
    room: u64,
}

impl Writer {
    /// A log at `path`, in a folder that exists, that takes at most `cap` bytes of disk. No file is made before
    /// the first byte.
    pub fn new(path: PathBuf, cap: u64) -> Self {
        let head_length = cap / 2;
        let segment_length = (cap / 4).saturating_sub(HEADER_LENGTH as u64).max(1);
        Self { path, head_length, segment_length, written: 0, file: None, room: head_length }
    }

    /// The log at `path`, written on from where another writer, which is gone, left it. One of another cap, or one
    /// that was damaged, is written on as well as can be.
    ///
    /// # Errors
    /// When its files can't be looked at.
    pub fn resume(path: PathBuf, cap: u64) -> io::Result<Self> {
        let mut writer = Writer::new(path, cap);
        let tail = beside(&writer.path, ".tail");
        let (at, start, taken, room) = match (start_of(&tail)?, length(&writer.path)?) {
            (Some(start), _) => {
                let taken = length(&tail)?.unwrap_or(0).saturating_sub(HEADER_LENGTH as u64);
                (tail, start, taken, writer.segment_length)
            }
            (None, Some(taken)) => (writer.path.clone(), 0, taken, writer.head_length),
            (None, None) => return Ok(writer),
        };
        writer.file = Some(OpenOptions::new().append(true).open(at)?);
        writer.written = start + taken;
        writer.room = room.saturating_sub(taken);
        Ok(writer)
    }

    /// How many bytes came in, dropped ones included.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// When the file system refuses, as a full one does. The log may then lack these bytes; the next call tries
    /// again.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.room == 0 {
                self.begin_segment()?;
            }
            let fits = bytes.len().min(usize::try_from(self.room).unwrap_or(usize::MAX));
            let (now, later) = bytes.split_at(fits);
            self.file()?.write_all(now)?;
            self.written += fits as u64;
            self.room -= fits as u64;
            bytes = later;
        }
        Ok(())
    }

    fn file(&mut self) -> io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(create(&self.path)?)),
        }
    }

    fn begin_segment(&mut self) -> io::Result<()> {
        let tail = beside(&self.path, ".tail");
        if self.written > self.head_length {
            std::fs::rename(&tail, beside(&self.path, ".tail-1"))?;
        }
        let mut file = create(&tail)?;
        file.write_all(&header(self.written))?;
        self.file = Some(file);
        self.room = self.segment_length;
        Ok(())
    }
}

fn length(path: &Path) -> io::Result<Option<u64>> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where in the stream the tail at `path` starts; `None` where there is none.
fn start_of(path: &Path) -> io::Result<Option<u64>> {
    let mut header = [0; HEADER_LENGTH];
    match File::open(path).and_then(|mut file| file.read_exact(&mut header)) {
        Ok(()) => Ok(parse_header(&header)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
