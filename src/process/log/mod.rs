//! The log of a run: what its processes printed, byte for byte, both streams in the order in which it arrived.
//!
//! On disk it is the file `NAME` with the first half of what fits under the cap, and nothing else for a log that
//! fits. Beyond that the end goes to `NAME.tail`; when that is a quarter of the cap long it becomes
//! `NAME.tail-1`, in place of the one before, and a new `NAME.tail` is begun. Each of the two starts with a
//! header that says where in the whole stream it begins, so every byte is where it belongs as soon as it is
//! written: whoever is killed in between loses nothing, and nobody has to put anything in order afterwards.
//!
//! [`Writer`] writes it, [`read`] puts it together with one line for what was dropped, [`Follow`] reads on.

mod reader;
mod writer;

pub use reader::{Follow, read, read_tail};
pub use writer::Writer;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// How many bytes of a log are kept unless something else is asked for: 16 MiB.
pub const DEFAULT_CAP: u64 = 16 * 1024 * 1024;

/// Begins each file of the tail.
const MAGIC: [u8; 8] = *b"andonlog";
/// The magic word, and the offset of the first byte in the whole stream.
const HEADER_LENGTH: usize = 16;

/// All files that a log may consist of, the head first.
pub fn files(path: &Path) -> [PathBuf; 3] {
    [path.to_owned(), beside(path, ".tail-1"), beside(path, ".tail")]
}

/// Removes a log; without effect where there is none.
///
/// # Errors
/// When a file of it can't be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    for file in files(path) {
        match std::fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn header(start: u64) -> [u8; HEADER_LENGTH] {
    let mut header = [0; HEADER_LENGTH];
    header[..8].copy_from_slice(&MAGIC);
    header[8..].copy_from_slice(&start.to_le_bytes());
    header
}

/// Where in the stream this file starts; `None` for a file that is not (yet) one of a tail.
fn parse_header(bytes: &[u8]) -> Option<u64> {
    let start = bytes.strip_prefix(&MAGIC)?.get(..8)?;
    Some(u64::from_le_bytes(start.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn log_of(cap: u64, chunks: &[&[u8]]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.log");
        let mut writer = Writer::new(path.clone(), cap);
        for chunk in chunks {
            writer.write(chunk).unwrap();
        }
        (folder, path)
    }

    #[test]
    fn nothing_is_made_before_the_first_byte() {
        let (_folder, path) = log_of(100, &[b""]);
        assert!(!path.exists());
        assert_eq!(read(&path).unwrap(), b"");
    }

    #[test]
    fn a_log_that_fits_is_one_raw_file_only_for_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, path) = log_of(100, &[b"one\n", b"\xff\x1b[31m two\n"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"one\n\xff\x1b[31m two\n");
        assert_eq!(read(&path).unwrap(), std::fs::read(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_flood_keeps_its_head_and_its_end_and_says_what_is_missing() {
        let lines: Vec<u8> = (0..10_000).flat_map(|n| format!("{n:07}\n").into_bytes()).collect();
        let chunks: Vec<&[u8]> = lines.chunks(777).collect();
        let (_folder, path) = log_of(8_000, &chunks);
        let on_disk: u64 =
            files(&path).iter().filter_map(|file| std::fs::metadata(file).ok()).map(|m| m.len()).sum();
        assert!(on_disk <= 8_000, "{on_disk}");
        let text = String::from_utf8(read(&path).unwrap()).unwrap();
        assert!(text.starts_with("0000000\n0000001\n"));
        assert!(text.ends_with("0009998\n0009999\n"));
        let marker = text.lines().find(|line| line.contains("bytes")).unwrap();
        let cut: u64 = marker.split(' ').find_map(|word| word.parse().ok()).unwrap();
        assert_eq!(cut + text.len() as u64 - marker.len() as u64 - 1, lines.len() as u64);
    }

    #[test]
    fn a_log_that_is_written_on_by_another_writer_is_the_same_as_by_one() {
        let lines: Vec<u8> = (0..2_000).flat_map(|n| format!("{n:07}\n").into_bytes()).collect();
        for cut in [0, 100, 1_000, 2_000, 2_500, 9_000, 15_999] {
            let (_one, whole) = log_of(4_000, &[&lines]);
            let (_two, path) = log_of(4_000, &[&lines[..cut]]);
            let mut writer = Writer::resume(path.clone(), 4_000).unwrap();
            assert_eq!(writer.written(), cut as u64);
            writer.write(&lines[cut..]).unwrap();
            assert_eq!(read(&path).unwrap(), read(&whole).unwrap(), "{cut}");
        }
    }

    #[test]
    fn a_log_just_over_its_head_has_nothing_missing() {
        let bytes: Vec<u8> = (0..900u32).map(|n| (n % 251) as u8).collect();
        let (_folder, path) = log_of(1_000, &[&bytes]);
        assert_eq!(read(&path).unwrap(), bytes);
    }

    #[test]
    fn following_gives_every_byte_once_and_goes_over_what_was_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.log");
        let mut follow = Follow::from_start(path.clone());
        assert_eq!(follow.next().unwrap(), b"");
        let mut writer = Writer::new(path.clone(), 1_000);
        let mut seen = Vec::new();
        for n in 0..100 {
            writer.write(format!("line {n}\n").as_bytes()).unwrap();
            seen.extend(follow.next().unwrap());
        }
        let wanted: String = (0..100).map(|n| format!("line {n}\n")).collect();
        assert_eq!(String::from_utf8(seen).unwrap(), wanted);

        writer.write("x".repeat(5_000).as_bytes()).unwrap();
        writer.write(b"end\n").unwrap();
        let rest = String::from_utf8(follow.next().unwrap()).unwrap();
        assert!(rest.contains("bytes") && rest.ends_with("xend\n"), "{rest}");
        assert_eq!(follow.next().unwrap(), b"");
    }

    #[test]
    fn the_end_can_be_read_alone() {
        let (_folder, path) = log_of(1_000, &[b"a\nb\nc\n"]);
        assert_eq!(read_tail(&path, 4).unwrap(), b"b\nc\n");
        assert_eq!(read_tail(&path, 400).unwrap(), b"a\nb\nc\n");
        let (_folder, path) = log_of(1_000, &[&b"x".repeat(5_000), b"end\n"]);
        assert_eq!(read_tail(&path, 5).unwrap(), b"xend\n");
    }

    #[test]
    fn who_begins_near_the_end_is_told_of_the_whole_gap() {
        let (_folder, path) = log_of(1_000, &[&b"x".repeat(5_000), b"end\n"]);
        let whole = read(&path).unwrap().len() as u64;
        let mut all = Follow::from_start(path.clone());
        while !all.next().unwrap().is_empty() {}
        assert_eq!((all.offset(), all.dropped() > 4_000), (5_004, true));
        // The tail is shorter than what is asked for, so that lies where bytes are missing.
        let mut near = Follow::from_end(path.clone(), 3_000).unwrap();
        assert_eq!((near.offset(), near.dropped()), (500, 0));
        let rest = String::from_utf8(near.next().unwrap()).unwrap();
        assert!(rest.contains(&format!(" {} bytes", all.dropped())), "{rest}");
        assert_eq!(
            rest.len() as u64,
            whole - 500 - 1,
            "the gap follows an unfinished line for who read it all"
        );
        let nearer = Follow::from_end(path, 100).unwrap();
        assert_eq!((nearer.offset(), nearer.dropped()), (4_904, all.dropped()));
    }

    #[test]
    fn a_tail_whose_header_is_not_there_yet_is_no_tail() {
        let (_folder, path) = log_of(1_000, &[b"abc"]);
        std::fs::File::create(beside(&path, ".tail")).unwrap().write_all(b"ando").unwrap();
        assert_eq!(read(&path).unwrap(), b"abc");
    }

    #[test]
    fn removing_leaves_no_file() {
        let (folder, path) = log_of(100, &[&b"x".repeat(5_000)]);
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
