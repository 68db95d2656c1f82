//! The tools `read_file` and `write_file`: texts inside the task's folder, read by lines and replaced whole.

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use super::error::{ErrorClass, ToolError};
use super::folder::{Folder, Missing, Place, from_errno, from_io};
use super::params::Params;
use super::shape::{Action, Field, Kind, Risk, Shape};
use crate::engine::is_of_a_database;

/// The largest file that is read or written, in bytes.
pub const FILE_LIMIT: u64 = 16 * 1024 * 1024;
/// The most text that one call gives back, in bytes.
pub const CONTENT_LIMIT: usize = 256 * 1024;

/// `read_file`
pub const READ: Shape = Shape {
    name: "read_file",
    about: "Reads a text file (UTF-8, up to 16 MiB) inside the task's folder, by lines, at most 256 KiB at a \
            time; `next_offset` in the result is where to go on.",
    risk: Risk::Read,
    fields: &[
        Field { name: "path", kind: Kind::Text, about: "the file, from the task's folder" },
        Field { name: "offset", kind: Kind::Whole(1, i64::MAX), about: "the first line, counted from 1" },
        Field { name: "limit", kind: Kind::Whole(1, i64::MAX), about: "how many lines at most" },
    ],
    actions: &[Action { name: "", about: "", needs: &["path"], takes: &["offset", "limit"] }],
};

/// `write_file`
pub const WRITE: Shape = Shape {
    name: "write_file",
    about: "Writes a text file (up to 16 MiB) inside the task's folder: makes it, with the folders on the way, \
            or replaces all of it at once. An existing file keeps its permissions.",
    risk: Risk::Write,
    fields: &[
        Field { name: "path", kind: Kind::Text, about: "the file, from the task's folder" },
        Field { name: "content", kind: Kind::Text, about: "all that shall be in it" },
    ],
    actions: &[Action { name: "", about: "", needs: &["path", "content"], takes: &[] }],
};

/// Reads lines of a file.
pub fn read(folder: &Folder, params: &Params) -> Result<Value, ToolError> {
    let place = folder.place(&params.text_or_empty("path"), Missing::Refuse)?;
    let text = whole_text(&place)?;
    let first = params.whole("offset").and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
    let limit = params.whole("limit").and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    let total = text.split_inclusive('\n').count();
    if first > total.max(1) {
        let message = format!("{} has {total} lines; line {first} is after its end", place.shown);
        return Err(ToolError::invalid("after_end", message));
    }
    let mut content = String::new();
    let mut lines = 0;
    let mut cut = false;
    for line in text.split_inclusive('\n').skip(first - 1).take(limit) {
        let room = CONTENT_LIMIT - content.len();
        if line.len() > room {
            // A line longer than all that fits is the only one that is cut; any other begins the next page.
            if lines == 0 {
                content.push_str(&line[..line.floor_char_boundary(room)]);
                lines = 1;
                cut = true;
            }
            break;
        }
        content.push_str(line);
        lines += 1;
    }
    let next = first + lines;
    Ok(json!({
        "path": place.shown,
        "content": content,
        "first_line": first,
        "lines": lines,
        "total_lines": total,
        "line_cut": cut,
        "next_offset": if next <= total { json!(next) } else { Value::Null },
    }))
}

/// Refuses the files of a database that this process has open: opening and closing one by hand would drop the
/// locks that SQLite holds on it, and the next two writers would destroy it.
fn refuse_database(place: &Place) -> Result<(), ToolError> {
    // What is not there or can't be looked at is told by the opening.
    let Ok(stat) = rustix::fs::statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW) else {
        return Ok(());
    };
    match is_of_a_database(stat.st_dev, stat.st_ino) {
        false => Ok(()),
        true => Err(ToolError::new(
            ErrorClass::NotAllowed,
            "own_database",
            format!(
                "{} is Andon's own database, which is open; the tools `task` and `workflow` read and change what is in it",
                place.shown
            ),
        )),
    }
}

fn whole_text(place: &Place) -> Result<String, ToolError> {
    refuse_database(place)?;
    // Without NONBLOCK the opening of a named pipe waits for a writer for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&place.folder, &place.name, flags, Mode::empty())
        .map_err(|error| from_errno(error, &place.shown))?;
    let size = regular(&file, &place.shown)?.1;
    let too_large = |size: u64| {
        let message = format!(
            "{} has {size} bytes and at most {FILE_LIMIT} are read; take a part of it with `exec` (head, sed -n)",
            place.shown
        );
        ToolError::failed("too_large", message)
    };
    if size > FILE_LIMIT {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    File::from(file)
        .take(FILE_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| from_io(&error, &place.shown))?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(too_large(bytes.len() as u64));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!(
            "{} is not UTF-8 text (byte {at} is the first that does not fit); look at it with `exec` (file, xxd)",
            place.shown
        );
        ToolError::failed("not_text", message)
    })
}

/// The permissions and size of a regular file; anything else is refused.
fn regular(file: &OwnedFd, shown: &str) -> Result<(Mode, u64), ToolError> {
    let stat = rustix::fs::fstat(file).map_err(|error| from_errno(error, shown))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let mode = Mode::from_raw_mode(stat.st_mode) & Mode::from_raw_mode(0o777);
            Ok((mode, u64::try_from(stat.st_size).unwrap_or(0)))
        }
        FileType::Directory => Err(from_errno(Errno::ISDIR, shown)),
        _ => Err(ToolError::invalid(
            "not_a_file",
            format!("{shown} is a pipe, socket or device; only plain files are opened"),
        )),
    }
}

/// Replaces a file, or makes it.
pub fn write(folder: &Folder, params: &Params) -> Result<Value, ToolError> {
    let content = params.text_or_empty("content");
    if content.len() as u64 > FILE_LIMIT {
        let message = format!("the content has {} bytes and at most {FILE_LIMIT} are written", content.len());
        return Err(ToolError::invalid("too_large", message));
    }
    let place = folder.place(&params.text_or_empty("path"), Missing::Make)?;
    let before = mode_before(&place)?;
    replace(&place, content.as_bytes(), before).map_err(|error| from_io(&error, &place.shown))?;
    Ok(json!({ "path": place.shown, "bytes": content.len(), "created": before.is_none() }))
}

/// The permissions of the file that is there, if one is. Opened for writing, so that a read-only file is
/// refused: renaming over it would get round its permissions.
fn mode_before(place: &Place) -> Result<Option<Mode>, ToolError> {
    refuse_database(place)?;
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::openat(&place.folder, &place.name, flags, Mode::empty()) {
        Ok(file) => Ok(Some(regular(&file, &place.shown)?.0)),
        Err(Errno::NOENT) => Ok(None),
        // A named pipe without a reader, or a socket.
        Err(Errno::NXIO) => Err(ToolError::invalid(
            "not_a_file",
            format!("{} is a pipe, socket or device; only plain files are opened", place.shown),
        )),
        Err(error) => Err(from_errno(error, &place.shown)),
    }
}

/// Writes beside the file and renames: whoever reads sees the old text or the new one, never a part.
fn replace(place: &Place, bytes: &[u8], mode: Option<Mode>) -> std::io::Result<()> {
    let (beside, file) = create_beside(place)?;
    let mut file = File::from(file);
    let written = (|| {
        file.write_all(bytes)?;
        if let Some(mode) = mode {
            rustix::fs::fchmod(&file, mode)?;
        }
        file.sync_all()?;
        rustix::fs::renameat(&place.folder, &beside, &place.folder, &place.name)?;
        Ok(())
    })();
    if written.is_err() {
        // The first error is the one to tell; a file that stays behind has a name that says whose it is.
        let _ = rustix::fs::unlinkat(&place.folder, &beside, AtFlags::empty());
    }
    written
}

fn create_beside(place: &Place) -> std::io::Result<(String, OwnedFd)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let name = format!(".andon-{:016x}.tmp", getrandom::u64().map_err(std::io::Error::other)?);
        match rustix::fs::openat(&place.folder, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((name, file)),
            Err(Errno::EXIST) => continue,
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_step;
    use super::*;
    use serde_json::Map;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    fn call(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    fn read_step(folder: &Path, path: &str) -> Result<String, ToolError> {
        run_step("read_file", &call(json!({ "path": path })), folder)
    }

    fn write_step(folder: &Path, path: &str, content: &str) -> Result<String, ToolError> {
        run_step("write_file", &call(json!({ "path": path, "content": content })), folder)
    }

    fn lines(folder: &Path, params: Value) -> Result<Value, ToolError> {
        read(&Folder::new(folder, folder)?, &Params::read(&READ, &call(params))?)
    }

    #[test]
    fn a_file_is_written_with_its_folders_and_read_back() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(
            write_step(home.path(), "a/b/笔记.txt", "日本\n").unwrap(),
            "wrote 7 bytes to a/b/笔记.txt"
        );
        assert_eq!(read_step(home.path(), "a/b/笔记.txt").unwrap(), "日本\n");
        let absolute = home.path().join("a/b/笔记.txt");
        assert_eq!(read_step(home.path(), absolute.to_str().unwrap()).unwrap(), "日本\n");
        let left: Vec<_> = fs::read_dir(home.path().join("a/b")).unwrap().collect();
        assert_eq!(left.len(), 1, "no temporary file stays");
    }

    #[test]
    fn nothing_outside_of_the_folder_is_touched() {
        let home = tempfile::tempdir().unwrap();
        let inside = home.path().join("task");
        fs::create_dir(&inside).unwrap();
        fs::write(home.path().join("secret"), "s").unwrap();
        symlink("../secret", inside.join("out")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        symlink("../nothing", inside.join("dangling")).unwrap();
        let secret = home.path().join("secret");
        let twin = home.path().join("task-other");
        fs::create_dir(&twin).unwrap();
        fs::write(twin.join("f"), "s").unwrap();
        for path in [
            "../secret",
            "x/../../secret",
            secret.to_str().unwrap(),
            twin.join("f").to_str().unwrap(),
            "out",
            "up/secret",
            "up/new/file",
            "dangling",
        ] {
            for error in [read_step(&inside, path).unwrap_err(), write_step(&inside, path, "x").unwrap_err()]
            {
                assert_eq!(error.code, "outside_folder", "{path}: {error}");
                assert_eq!(error.class.exit_code(), 5);
            }
        }
        assert_eq!(fs::read_to_string(&secret).unwrap(), "s");
        assert!(!home.path().join("nothing").exists() && !home.path().join("new").exists());
    }

    #[test]
    fn links_within_the_folder_are_followed_and_stay_links() {
        let home = tempfile::tempdir().unwrap();
        write_step(home.path(), "real/file", "one").unwrap();
        symlink("real", home.path().join("link")).unwrap();
        symlink("real/file", home.path().join("direct")).unwrap();
        assert_eq!(read_step(home.path(), "link/file").unwrap(), "one");
        write_step(home.path(), "direct", "two").unwrap();
        assert!(home.path().join("direct").is_symlink());
        assert_eq!(read_step(home.path(), "real/file").unwrap(), "two");
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions_and_a_read_only_one_stays() {
        let home = tempfile::tempdir().unwrap();
        let script = home.path().join("run.sh");
        fs::write(&script, "old").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
        write_step(home.path(), "run.sh", "new").unwrap();
        assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o750);
        if !rustix::process::geteuid().is_root() {
            fs::set_permissions(&script, fs::Permissions::from_mode(0o440)).unwrap();
            assert_eq!(write_step(home.path(), "run.sh", "x").unwrap_err().code, "no_permission");
        }
    }

    #[test]
    fn pipes_folders_and_bytes_that_are_no_text_are_named() {
        let home = tempfile::tempdir().unwrap();
        let pipe = home.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        fs::write(home.path().join("bytes"), b"abc\xff\xfe").unwrap();
        fs::create_dir(home.path().join("dir")).unwrap();
        let code = |path: &str| read_step(home.path(), path).unwrap_err().code;
        assert_eq!(code("pipe"), "not_a_file");
        assert_eq!(code("dir"), "not_a_file");
        assert_eq!(code("dir/"), "not_a_file");
        assert_eq!(code("."), "not_a_file");
        assert_eq!(code("bytes/x"), "not_a_file");
        assert_eq!(code("absent"), "no_such_file");
        assert_eq!(code("nul\0"), "invalid_path");
        let error = read_step(home.path(), "bytes").unwrap_err();
        assert!(error.message.contains("byte 3"), "{error}");
        for path in ["pipe", "dir", "bytes/x"] {
            assert_eq!(write_step(home.path(), path, "x").unwrap_err().code, "not_a_file", "{path}");
        }
    }

    #[test]
    fn a_file_is_read_by_lines_and_says_where_to_go_on() {
        let home = tempfile::tempdir().unwrap();
        write_step(home.path(), "f", "1\n2\n3\n4").unwrap();
        let page = lines(home.path(), json!({ "path": "f", "offset": 2, "limit": 2 })).unwrap();
        assert_eq!((page["content"].as_str(), page["next_offset"].as_u64()), (Some("2\n3\n"), Some(4)));
        let last = lines(home.path(), json!({ "path": "f", "offset": 4 })).unwrap();
        assert_eq!((last["content"].as_str(), &last["next_offset"]), (Some("4"), &Value::Null));
        assert_eq!(lines(home.path(), json!({ "path": "f", "offset": 5 })).unwrap_err().code, "after_end");
        write_step(home.path(), "empty", "").unwrap();
        assert_eq!(lines(home.path(), json!({ "path": "empty" })).unwrap()["total_lines"], 0);
    }

    #[test]
    fn large_texts_come_in_pages_and_enormous_ones_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let long = "界".repeat(CONTENT_LIMIT);
        write_step(home.path(), "f", &format!("{long}\nnext\n")).unwrap();
        let page = lines(home.path(), json!({ "path": "f" })).unwrap();
        assert_eq!((page["line_cut"].as_bool(), page["next_offset"].as_u64()), (Some(true), Some(2)));
        assert!(page["content"].as_str().unwrap().len() <= CONTENT_LIMIT);
        let file = File::create(home.path().join("huge")).unwrap();
        file.set_len(FILE_LIMIT + 1).unwrap();
        assert_eq!(read_step(home.path(), "huge").unwrap_err().code, "too_large");
        let too_much = "x".repeat(FILE_LIMIT as usize + 1);
        assert_eq!(write_step(home.path(), "new", &too_much).unwrap_err().code, "too_large");
        assert!(!home.path().join("new").exists());
    }

    #[test]
    fn unknown_and_missing_fields_are_told_together() {
        let home = tempfile::tempdir().unwrap();
        let error = run_step("write_file", &call(json!({ "path": 5, "contents": "x" })), home.path());
        let message = error.unwrap_err().message;
        for part in ["`path` must be a text", "did you mean `content`?", "`content` is missing"] {
            assert!(message.contains(part), "{part} in {message}");
        }
    }
}
