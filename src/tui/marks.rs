//! Until where each board was seen, kept beside the drafts: one small file, replaced whole.

use serde_json::{Map, Value, json};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use super::away::Mark;

const NAME: &str = "seen.json";

/// Until where a board was seen; nothing where that is not known.
pub fn load(folder: &Path, board: &str) -> Option<Mark> {
    let marks = read(folder);
    let mark = marks.get(board)?;
    Some(Mark { seq: mark.get("seq")?.as_i64()?, at_ms: mark.get("at_ms")?.as_i64()? })
}

/// Keeps until where a board was seen. Another board of the same database that writes in the same moment may win;
/// then a line is told once more.
pub fn keep(folder: &Path, board: &str, mark: Mark) -> io::Result<()> {
    let mut marks = read(folder);
    marks.insert(board.to_owned(), json!({ "seq": mark.seq, "at_ms": mark.at_ms }));
    if !folder.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let new = folder.join(NAME).with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(Value::Object(marks).to_string().as_bytes())?;
    fs::rename(&new, folder.join(NAME))
}

/// A file that can't be read is as good as none: then nothing is told.
fn read(folder: &Path) -> Map<String, Value> {
    let text = fs::read_to_string(folder.join(NAME)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_board_has_its_own_mark_and_damage_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drafts");
        let mark = |seq| Mark { seq, at_ms: 7 };
        keep(&path, "default", mark(3)).unwrap();
        keep(&path, "网站", mark(4)).unwrap();
        assert_eq!((load(&path, "default"), load(&path, "网站")), (Some(mark(3)), Some(mark(4))));
        assert_eq!(load(&path, "ideas"), None);
        fs::write(path.join(NAME), "{").unwrap();
        assert_eq!(load(&path, "default"), None);
    }
}
