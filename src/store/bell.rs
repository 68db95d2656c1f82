//! The bell: after a commit a writer rings a Unix datagram socket of each process that listens. It is a hint,
//! never the truth; an idle look at `PRAGMA data_version` twice a second is the safety net.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

use super::open::{beside, reader};

/// How often the safety net looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Longer than the step of any clock that folders with sockets in them are dated by.
const COARSE: Duration = Duration::from_millis(1_100);

/// Tells of changes, by this process or another.
pub struct Bell {
    path: PathBuf,
    ringer: Ringer,
    listening: OnceLock<()>,
}

/// Rings: tells this process at once, and the others by their sockets.
#[derive(Clone)]
pub(super) struct Ringer {
    folder: PathBuf,
    changes: Arc<watch::Sender<u64>>,
    /// As `changes`, without what this process's own dispatcher wrote.
    others: Arc<watch::Sender<u64>>,
    socket: Arc<Mutex<Option<UnixDatagram>>>,
    neighbours: Arc<Mutex<Neighbours>>,
    own: Arc<OnceLock<String>>,
}

impl Bell {
    pub(super) fn new(path: &Path) -> Bell {
        let ringer = Ringer {
            folder: beside(path, "-bells"),
            changes: Arc::new(watch::Sender::new(0)),
            others: Arc::new(watch::Sender::new(0)),
            socket: Arc::default(),
            neighbours: Arc::default(),
            own: Arc::default(),
        };
        Bell { path: path.to_owned(), ringer, listening: OnceLock::new() }
    }

    pub(super) fn ringer(&self) -> Ringer {
        self.ringer.clone()
    }

    /// Hears of every commit from now on; the number grows. The first call starts the thread that listens for
    /// other processes.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.listening.get_or_init(|| {
            let ringer = self.ringer.clone();
            let path = self.path.clone();
            // Without the thread only this process's own changes are heard, and a face still looks by itself.
            if let Err(error) = std::thread::Builder::new()
                .name("andon-bell".to_owned())
                .spawn(move || listen(&ringer, &path))
            {
                tracing::warn!(%error, "no thread to listen for other processes");
            }
        });
        self.ringer.changes.subscribe()
    }

    /// As [`Bell::listen`], without the commits of this process's own dispatcher.
    pub fn listen_to_others(&self) -> watch::Receiver<u64> {
        // Subscribed before the other, whose drop ends nothing.
        let others = self.ringer.others.subscribe();
        drop(self.listen());
        others
    }

    /// The sockets whose processes are gone without having removed them. Rings nobody.
    pub fn leftovers(&self) -> std::io::Result<Vec<PathBuf>> {
        let folder = match File::open(&self.ringer.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        let mut left = Vec::new();
        for entry in std::fs::read_dir(&self.ringer.folder)?.flatten() {
            let socket = UnixDatagram::unbound()?;
            let refused = socket.connect(through(&folder, Path::new(&entry.file_name())));
            if refused.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
                left.push(entry.path());
            }
        }
        Ok(left)
    }

    /// Tells the listeners of this process to look again.
    pub fn nudge(&self) {
        self.ringer.changes.send_modify(|n| *n += 1);
    }
}

impl Ringer {
    /// Tells everybody who listens; this process's own dispatcher only where it is not its own work.
    pub(super) fn ring(&self, told: bool) {
        self.changes.send_modify(|n| *n += 1);
        if told {
            self.others.send_modify(|n| *n += 1);
        }
        let mut others = self.neighbours.lock().unwrap_or_else(PoisonError::into_inner);
        if !others.are_current(&self.folder) {
            *others = Neighbours::listed(&self.folder, self.own.get());
        }
        let (Some(folder), false) = (&others.folder, others.names.is_empty()) else { return };
        for name in &others.names {
            let target = through(folder, Path::new(name));
            if self.send(&target).is_err_and(|kind| kind == ErrorKind::ConnectionRefused) {
                // Its process has gone; a socket that nobody is bound to can be swept by anybody. Another may
                // have swept it first, or it can't be swept: the next ring tries again.
                let _ = std::fs::remove_file(self.folder.join(name));
            }
        }
    }

    fn send(&self, target: &Path) -> Result<(), ErrorKind> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        if socket.is_none() {
            let fresh = UnixDatagram::unbound().map_err(|e| e.kind())?;
            fresh.set_nonblocking(true).map_err(|e| e.kind())?;
            *socket = Some(fresh);
        }
        match &*socket {
            // A full queue means that its owner was rung already.
            Some(socket) => socket.send_to(&[1], target).map(|_| ()).map_err(|e| e.kind()),
            None => Ok(()),
        }
    }
}

/// The sockets of the other processes, and since when they were these.
#[derive(Default)]
struct Neighbours {
    folder: Option<File>,
    names: Vec<OsString>,
    modified: Option<SystemTime>,
    listed: Option<SystemTime>,
}

impl Neighbours {
    fn listed(path: &Path, own: Option<&String>) -> Neighbours {
        // The times first: what comes after is listed again.
        let (listed, modified) = (SystemTime::now(), modified(path));
        let names = std::fs::read_dir(path).map(|entries| {
            let names = entries.flatten().map(|entry| entry.file_name());
            names.filter(|name| own.is_none_or(|own| name.to_str() != Some(own))).collect()
        });
        Neighbours {
            folder: File::open(path).ok(),
            names: names.unwrap_or_default(),
            modified,
            listed: Some(listed),
        }
    }

    /// Whether nobody came or went since they were listed. The clock of a folder is coarse: what was changed just
    /// before it was listed may change again without a trace.
    fn are_current(&self, path: &Path) -> bool {
        let settled = |(listed, modified): (SystemTime, SystemTime)| {
            listed.duration_since(modified).is_ok_and(|age| age > COARSE)
        };
        self.listed.zip(self.modified).is_some_and(settled) && modified(path) == self.modified
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|found| found.modified()).ok()
}

/// A socket's path may be longer than the 107 bytes that the system takes: on Linux it is named through its
/// folder's descriptor.
fn through(folder: &File, name: &Path) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name)
}

fn bind(ringer: &Ringer) -> std::io::Result<(UnixDatagram, PathBuf)> {
    if !ringer.folder.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(&ringer.folder)?;
    }
    let folder = File::open(&ringer.folder)?;
    let mut random = [0u8; 4];
    // Without randomness the name is the process id alone, which is unique among the living.
    let _ = getrandom::fill(&mut random);
    let name = format!("{}-{:08x}", std::process::id(), u32::from_ne_bytes(random));
    let socket = UnixDatagram::bind(through(&folder, Path::new(&name)))?;
    socket.set_read_timeout(Some(LOOK_EVERY))?;
    let at = ringer.folder.join(&name);
    // Set once, by the only thread that binds.
    let _ = ringer.own.set(name);
    Ok((socket, at))
}

/// Removes the socket's file when the listener ends.
struct Swept(PathBuf);

impl Drop for Swept {
    fn drop(&mut self) {
        // Whoever rings next sweeps what is left.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn listen(ringer: &Ringer, path: &Path) {
    let bound =
        bind(ringer).inspect_err(|error| tracing::warn!(%error, "no doorbell; looking twice a second")).ok();
    let (socket, _swept) = match bound {
        Some((socket, at)) => (Some(socket), Some(Swept(at))),
        None => (None, None),
    };
    let connection = reader(path).ok();
    let version = |c: &rusqlite::Connection| {
        c.prepare_cached("PRAGMA data_version")
            .and_then(|mut s| s.query_row([], |row| row.get::<_, i64>(0)))
            .ok()
    };
    let mut seen = connection.as_ref().and_then(version);
    let mut byte = [0u8; 8];
    // Ends with the process, or when nobody holds the store any more.
    while Arc::strong_count(&ringer.changes) > 1 {
        let rung = match &socket {
            Some(socket) => socket.recv(&mut byte).is_ok(),
            None => {
                std::thread::sleep(LOOK_EVERY);
                false
            }
        };
        let now = connection.as_ref().and_then(version);
        if rung || now != seen {
            seen = now;
            ringer.changes.send_modify(|n| *n += 1);
            ringer.others.send_modify(|n| *n += 1);
        }
    }
}
