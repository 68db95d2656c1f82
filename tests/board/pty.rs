//! The real program on a terminal of its own: it takes the terminal, lends it, and gives it back.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(20);

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

struct Pty {
    folder: TempDir,
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Pty {
    fn open(editor: &str) -> Pty {
        let folder = tempfile::tempdir().unwrap();
        let size = PtySize { rows: 30, cols: 100, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_andon"));
        command.env_clear();
        for (name, value) in [
            ("PATH", "/usr/bin:/bin"),
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
            ("EDITOR", editor),
        ] {
            command.env(name, value);
        }
        command.env("HOME", folder.path());
        command.env("ANDON_DB", folder.path().join("andon.db"));
        command.cwd(folder.path());
        let child = pair.slave.spawn_command(command).unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(cells(30), cells(100), 0)));
        let mut output = pair.master.try_clone_reader().unwrap();
        let seen = screen.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                seen.lock().unwrap().process(&buffer[..count]);
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Pty { folder, child, master: pair.master, keys, screen }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    fn wait(&self, what: &str, is_there: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_there(self.screen.lock().unwrap().screen()) {
            assert!(Instant::now() < end, "waited in vain for {what}:\n{}", self.text());
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    fn until(&self, words: &str) {
        self.wait(words, |screen| screen.contents().contains(words));
    }

    /// Waits for the end; every mode that the board began must be over then.
    fn ended(&mut self) {
        let end = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "it did not end:\n{}", self.text());
            std::thread::park_timeout(Duration::from_millis(10));
        }
        self.wait("the terminal to be given back", |screen| {
            !screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor()
        });
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            // It may end in the same moment.
            let _ = self.child.kill();
        }
    }
}

#[test]
fn the_board_takes_the_terminal_follows_its_size_and_gives_it_back() {
    let mut pty = Pty::open("true");
    pty.until("This board is empty");
    assert!(pty.screen.lock().unwrap().screen().alternate_screen());
    pty.press("c");
    pty.until("new card");
    // A paste arrives as one piece: its letters are not keys, its line break does not send.
    pty.press("\x1b[200~修复 q?\nroof\x1b[201~");
    pty.until("修复 q? roof");
    pty.press("\r");
    pty.until("#1 修复 q? roof");
    let size = PtySize { rows: 14, cols: 58, pixel_width: 0, pixel_height: 0 };
    pty.screen.lock().unwrap().screen_mut().set_size(cells(14), cells(58));
    pty.master.resize(size).unwrap();
    pty.until("○ pending 1");
    pty.press("q");
    pty.ended();
}

#[test]
fn the_editor_gets_the_terminal_and_the_board_comes_back_whole() {
    let mut pty = Pty::open("sed -i s/roof/house/");
    pty.until("This board is empty");
    pty.press("cFix the roof\r");
    pty.until("#1 Fix the roof");
    pty.press("E");
    pty.until("#1 Fix the house");
    pty.until("default");
    assert!(pty.screen.lock().unwrap().screen().alternate_screen());
    let left = |path: &Path| {
        std::fs::read_dir(path).unwrap().flatten().any(|e| e.path().extension().is_some_and(|e| e == "md"))
    };
    assert!(!left(pty.folder.path()));
    pty.press("\x03");
    pty.ended();
}

#[test]
fn a_stop_that_is_not_granted_leaves_the_board_on_the_screen() {
    // Nobody could bring this program back with `fg`, so the system does not stop it.
    let mut pty = Pty::open("true");
    pty.until("This board is empty");
    pty.press("\x1a");
    pty.press("c");
    pty.until("new card");
    pty.press("\x03q");
    pty.ended();
}

#[test]
fn told_to_end_by_a_signal_it_gives_the_terminal_back() {
    let mut pty = Pty::open("true");
    pty.until("This board is empty");
    let pid = rustix::process::Pid::from_raw(pty.child.process_id().unwrap() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    pty.ended();
}
