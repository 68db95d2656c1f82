//! Reading a log, whole or on from where one was. Works on the files alone, whether their writer lives or not.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{HEADER_LENGTH, beside, parse_header};

/// The most that one step of following gives.
const STEP: u64 = 256 * 1024;

/// The whole log: the head, one line that says how many bytes were dropped if any were, and the end. Empty where
/// nothing was printed yet.
///
/// # Errors
/// When a file is there and can't be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut follow = Follow::from_start(path.to_owned());
    let mut whole = Vec::new();
    loop {
        let more = follow.next()?;
        if more.is_empty() {
            return Ok(whole);
        }
        whole.extend_from_slice(&more);
    }
}

/// The last `limit` bytes of a log; may begin in the middle of a line.
///
/// # Errors
/// When a file is there and can't be read.
pub fn read_tail(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (mut follow, _) = Follow::from_end(path.to_owned(), limit)?;
    let mut tail = Vec::new();
    loop {
        let more = follow.next()?;
        if more.is_empty() {
            let surplus = tail.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
            tail.drain(..surplus);
            return Ok(tail);
        }
        tail.extend_from_slice(&more);
    }
}

/// Reads a log on from where it was read to.
#[derive(Debug, Clone)]
pub struct Follow {
    path: PathBuf,
    offset: u64,
    /// Whether what was given last ended in the middle of a line.
    within_line: bool,
}

impl Follow {
    /// From the first byte.
    pub fn from_start(path: PathBuf) -> Self {
        Self::from(path, 0)
    }

    /// What only comes after this moment.
    ///
    /// # Errors
    /// When a file is there and can't be read.
    pub fn from_now(path: PathBuf) -> io::Result<Self> {
        let offset = Pieces::open(&path)?.map_or(0, |pieces| pieces.end());
        Ok(Self::from(path, offset))
    }

    /// From `limit` bytes before its end at this moment, and how many bytes before that are left out; from the
    /// first byte where it is not longer.
    ///
    /// # Errors
    /// When a file is there and can't be read.
    pub fn from_end(path: PathBuf, limit: u64) -> io::Result<(Self, u64)> {
        let end = Pieces::open(&path)?.map_or(0, |pieces| pieces.end());
        let offset = end.saturating_sub(limit);
        Ok((Self::from(path, offset), offset))
    }

    fn from(path: PathBuf, offset: u64) -> Self {
        Self { path, offset, within_line: false }
    }

    /// What came since, some 256 KiB at most; empty when there is nothing new. Where bytes were dropped in
    /// between, one line says how many.
    ///
    /// # Errors
    /// When a file is there and can't be read.
    #[expect(
        clippy::should_implement_trait,
        reason = "an empty answer is not the end, as it is of an iterator"
    )]
    pub fn next(&mut self) -> io::Result<Vec<u8>> {
        let Some(pieces) = Pieces::open(&self.path)? else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        for piece in pieces.0 {
            let end = piece.end();
            if end <= self.offset {
                continue;
            }
            if piece.start > self.offset {
                self.tell_of_gap(piece.start, &mut out);
            }
            let more = piece.read_from(self.offset)?;
            self.offset += more.len() as u64;
            self.within_line = more.last().map_or(self.within_line, |byte| *byte != b'\n');
            out.extend_from_slice(&more);
            if self.offset < end || out.len() as u64 >= STEP {
                break;
            }
        }
        Ok(out)
    }

    fn tell_of_gap(&mut self, start: u64, out: &mut Vec<u8>) {
        if self.within_line {
            out.push(b'\n');
        }
        let cut = start - self.offset;
        let line = format!("[andon: {cut} bytes were dropped here; the log is at its cap]\n");
        out.extend_from_slice(line.as_bytes());
        self.offset = start;
        self.within_line = false;
    }
}

/// One file of a log: which part of the stream it holds.
struct Piece {
    file: File,
    /// Where in the stream it starts.
    start: u64,
    /// How many bytes of the stream it holds.
    length: u64,
    /// Where in the file they start.
    skip: u64,
}

impl Piece {
    fn end(&self) -> u64 {
        self.start + self.length
    }

    fn read_from(mut self, offset: u64) -> io::Result<Vec<u8>> {
        let limit = (self.end() - offset).min(STEP);
        self.file.seek(SeekFrom::Start(self.skip + offset - self.start))?;
        let mut bytes = Vec::new();
        self.file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The files of a log in the order of the stream.
struct Pieces(Vec<Piece>);

impl Pieces {
    /// `None` where there is no log yet.
    fn open(path: &Path) -> io::Result<Option<Pieces>> {
        // The younger first: while we look, the writer may make the younger the older one and begin another.
        // Then the younger is missed for once or seen twice, and the order of their starts puts it right.
        let younger = open_segment(&beside(path, ".tail"))?;
        let older = open_segment(&beside(path, ".tail-1"))?;
        let Some(file) = open(path)? else { return Ok(None) };
        let length = file.metadata()?.len();
        let mut pieces = vec![Piece { file, start: 0, length, skip: 0 }];
        pieces.extend([older, younger].into_iter().flatten());
        pieces.sort_by_key(|piece| piece.start);
        Ok(Some(Pieces(pieces)))
    }

    fn end(&self) -> u64 {
        self.0.iter().map(Piece::end).max().unwrap_or(0)
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn open_segment(path: &Path) -> io::Result<Option<Piece>> {
    let Some(mut file) = open(path)? else { return Ok(None) };
    let mut header = Vec::with_capacity(HEADER_LENGTH);
    (&mut file).take(HEADER_LENGTH as u64).read_to_end(&mut header)?;
    let skip = HEADER_LENGTH as u64;
    let length = file.metadata()?.len().saturating_sub(skip);
    Ok(parse_header(&header).map(|start| Piece { file, start, length, skip }))
}
