//! The board's first frame, in a pseudo-terminal.

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::io::Read;
use std::time::Instant;

use super::scratch::{ANDON, median, memory};
use super::verbs::filled;

/// From the start of the process until the first card is on the screen.
pub fn figure() {
    for n in [1_000, 10_000] {
        let scratch = filled(n);
        let (mut times, mut peak) = (Vec::new(), 0.0f64);
        for _ in 0..9 {
            let size = PtySize { rows: 45, cols: 160, pixel_width: 0, pixel_height: 0 };
            let pair = native_pty_system().openpty(size).unwrap();
            let mut command = CommandBuilder::new(ANDON);
            command.args([
                "--db",
                scratch.database().to_str().unwrap(),
                "--config",
                "/nonexistent/none.toml",
            ]);
            command.env("TERM", "xterm-256color");
            command.env("COLORFGBG", "15;0");
            let mut reader = pair.master.try_clone_reader().unwrap();
            let mut writer = pair.master.take_writer().unwrap();
            let begun = Instant::now();
            let mut child = pair.slave.spawn_command(command).unwrap();
            drop(pair.slave);
            let mut seen = Vec::new();
            let mut buffer = [0u8; 65_536];
            loop {
                let read = reader.read(&mut buffer).unwrap();
                assert!(read > 0, "the board ended");
                // It asks the terminal for its colours, and a terminal answers.
                if buffer[..read].windows(5).any(|w| w == b"\x1b]11;") {
                    std::io::Write::write_all(&mut writer, b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;c")
                        .unwrap();
                }
                seen.extend_from_slice(&buffer[..read]);
                if String::from_utf8_lossy(&seen).contains("flaky") {
                    break;
                }
            }
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            peak = peak.max(memory(child.process_id().unwrap(), "VmHWM"));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        println!("first frame at {n} cards: {:.0} ms, {peak:.0} MiB", median(times));
    }
}
