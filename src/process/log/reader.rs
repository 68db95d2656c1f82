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
    let mut follow = Follow::from_end(path.to_owned(), limit)?;
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
    /// Where in the stream the next byte is.
    offset: u64,
    /// How many bytes before that were dropped.
    dropped: u64,
    /// Whether what was given last ended in the middle of a line.
    within_line: bool,
}

impl Follow {
    /// From the first byte.
    pub fn from_start(path: PathBuf) -> Self {
        Self { path, offset: 0, dropped: 0, within_line: false }
    }

    /// From `limit` bytes before the end, or from the beginning of a shorter log. Where bytes were dropped there,
    /// from where they are missing, so that their line tells of all of them.
    ///
    /// # Errors
    /// When a file is there and can't be read.
    pub fn from_end(path: PathBuf, limit: u64) -> io::Result<Self> {
        let mut follow = Self::from_start(path);
        let Some(pieces) = Pieces::open(&follow.path)? else { return Ok(follow) };
        let begin = pieces.end().saturating_sub(limit);
        for piece in pieces.0 {
            let gap = piece.start.saturating_sub(follow.offset);
            if piece.start > begin {
                break;
            }
            follow.dropped += gap;
            follow.offset = piece.end().min(begin);
        }
        Ok(follow)
    }

    /// How many bytes of the stream lie before what comes next, dropped ones included.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many of those bytes were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What only comes after this moment.
    ///
    /// # Errors
    /// When a file is there and can't be read.
    pub fn from_now(path: PathBuf) -> io::Result<Self> {
        Self::from_end(path, 0)
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
        self.dropped += cut;
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
