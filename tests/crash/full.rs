//! A disk without room. Where a file system of our own can be mounted the disk is a small one in memory, seen by
//! the test alone; elsewhere the limit on the size of files (RLIMIT_FSIZE) plays it, which always can.

use super::house::{House, andon};
use andon::domain::{IdRef, RunOutcome, TaskStatus};
use andon::engine::{Command, NewTask};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Names the folder of the small disk, and says that this is the process that works on it.
const SMALL_DISK: &str = "ANDON_TEST_SMALL_DISK";
/// How the disk is made small: `mount` or `limit`.
const HOW: &str = "ANDON_TEST_SMALL_DISK_BY";

/// Starts this test program again, with its one test `helper`, where the disk is small.
fn on_a_small_disk(how: &str) -> std::process::Command {
    let program = std::env::current_exe().unwrap();
    let helper = ["--exact", "full::helper_on_a_small_disk", "--nocapture"];
    let mut command;
    if how == "mount" {
        command = std::process::Command::new("unshare");
        command.arg("--mount");
        if !rustix::process::getuid().is_root() {
            command.arg("--map-root-user");
        }
        let script = format!("mount -t tmpfs -o size=3m none \"${SMALL_DISK}\" && exec \"$0\" \"$@\"");
        command.args(["sh", "-c", &script]).arg(program).args(helper);
    } else {
        // Whoever writes beyond the limit gets a signal that ends it, unless that is ignored from before.
        command = std::process::Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(program).args(helper);
    }
    command.env(HOW, how);
    command
}

fn can_mount() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new("unshare");
    command.arg("--mount");
    if !rustix::process::getuid().is_root() {
        command.arg("--map-root-user");
    }
    let tried = command.args(["mount", "-t", "tmpfs", "-o", "size=64k", "none"]).arg(folder.path()).output();
    tried.is_ok_and(|said| said.status.success())
}

fn survives(how: &str) {
    let folder = tempfile::tempdir().unwrap();
    let said = on_a_small_disk(how).env(SMALL_DISK, folder.path()).output().unwrap();
    let words = format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "by {how}: {words}");
    assert!(words.contains("it was full, and it went on"), "the helper did its work: {words}");
}

#[test]
fn on_a_full_disk_commands_are_refused_nothing_is_lost_and_the_daemon_goes_on_when_there_is_room() {
    survives(if can_mount() { "mount" } else { "limit" });
}

#[test]
fn the_same_holds_where_a_file_may_not_grow() {
    survives("limit");
}

/// The disk, filled and freed.
struct Disk {
    folder: PathBuf,
    by_limit: bool,
    before: Rlimit,
}

impl Disk {
    fn fill(&self, database: &Path, daemon: Pid) {
        if self.by_limit {
            let log = std::fs::metadata(with_ending(database, "-wal")).unwrap().len();
            self.limit(Rlimit { current: Some(log + 16 * 1024), maximum: self.before.maximum }, daemon);
        } else {
            let mut filler = std::fs::File::create(self.folder.join("filler")).unwrap();
            let mut block = vec![0u8; 4096];
            // Until there is no room for a single byte.
            while !block.is_empty() {
                if filler.write_all(&block).is_err() {
                    block.truncate(block.len() / 2);
                }
            }
        }
    }

    fn free(&self, daemon: Pid) {
        match self.by_limit {
            true => self.limit(self.before, daemon),
            false => std::fs::remove_file(self.folder.join("filler")).unwrap(),
        }
    }

    fn limit(&self, limit: Rlimit, daemon: Pid) {
        prlimit(Some(daemon), Resource::Fsize, limit).unwrap();
        setrlimit(Resource::Fsize, limit).unwrap();
    }

    fn is_full(&self, said: &Output) -> bool {
        let words = String::from_utf8_lossy(&said.stderr);
        let why = if self.by_limit { "limits of this process" } else { "the disk is full" };
        let plain = words.contains(why) && words.contains("nothing of this command was kept");
        assert!(said.status.success() || plain, "{:?}: {words}", said.status);
        if !said.status.success() {
            assert_eq!(said.status.code(), Some(6), "{words}");
            assert!(said.stdout.is_empty() && words.lines().count() <= 3, "{words}");
        }
        !said.status.success()
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// How much time of the processor a process has had.
fn cpu(pid: Pid) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    // Linux counts it in hundredths of a second on every machine (USER_HZ).
    Duration::from_millis(ticks * 10)
}

/// Not a test of its own: what the others do where the disk is small.
#[test]
fn helper_on_a_small_disk() {
    let Some(folder) = std::env::var_os(SMALL_DISK).map(PathBuf::from) else { return };
    let by_limit = std::env::var(HOW).unwrap() == "limit";
    let elsewhere = tempfile::tempdir().unwrap();
    let mut house = House::at(tempfile::tempdir_in(elsewhere.path()).unwrap(), folder.join("andon.db"));
    let disk = Disk { folder, by_limit, before: getrlimit(Resource::Fsize) };

    // One runs, one waits whose time will be over, and the disk gets full.
    let gate = elsewhere.path().join("gate");
    let runs = house.add("runs", &format!("while [ ! -e '{}' ]; do sleep 0.02; done", gate.display()), 0);
    let mut daemon = house.daemon_with(1, |_| {});
    house.wait("it runs", || house.starts().contains_key(&runs.id.0));
    let waits =
        NewTask { timeout_seconds: Some(2), start: true, title: "waits".into(), ..NewTask::default() };
    let waits = NewTask { executor: runs.executor.clone(), ..waits };
    let waits = house.run(Command::Create(Box::new(waits))).task().unwrap().clone();
    disk.fill(&house.database, daemon.pid());

    // Commands succeed or are refused in plain words, and what was acknowledged is there.
    let mut acknowledged = Vec::new();
    let text = "x".repeat(2_000);
    let add = || andon(&house.database).args(["add", "more", "--description", &text]).output().unwrap();
    let mut refused = 0;
    for _ in 0..2_000 {
        let said = add();
        match disk.is_full(&said) {
            true => refused += 1,
            false => acknowledged.push(String::from_utf8(said.stdout).unwrap().trim().to_owned()),
        }
        if refused == 5 {
            break;
        }
    }
    assert_eq!(refused, 5, "the disk never got full");
    assert!(disk.is_full(&house.andon(&["cancel", &runs.id.0])));
    assert!(house.andon(&["list", "--json"]).status.success(), "reading goes on");

    // The run ends, and the other's time is over, while nothing can be written: the daemon stays, and is calm.
    std::fs::write(&gate, "").unwrap();
    let (_never, nothing) = channel::<()>();
    let before = cpu(daemon.pid());
    assert!(nothing.recv_timeout(Duration::from_secs(4)).is_err());
    assert!(!daemon.is_dead(), "the daemon survives");
    let used = cpu(daemon.pid()) - before;
    assert!(used < Duration::from_millis(800), "it used {used:?} of 4 s to wait for room");
    assert_eq!(house.now(&runs).status, TaskStatus::Running);

    disk.free(daemon.pid());
    house.wait("what ended is settled", || house.now(&runs).status == TaskStatus::Success);
    house.wait("whose time was over has failed", || house.now(&waits).status == TaskStatus::Failed);
    let view = house.engine.task_view(&IdRef::Seq(runs.seq)).unwrap();
    let outcomes: Vec<_> = view.runs.iter().map(|r| r.outcome).collect();
    assert_eq!(outcomes, [Some(RunOutcome::Success)]);
    assert!(add().status.success(), "there is room again");
    for id in &acknowledged {
        assert!(house.engine.task(&IdRef::Full(id.clone())).is_ok(), "{id} was acknowledged");
    }
    assert_eq!(house.everything().len(), 2 + acknowledged.len() + 1, "and nothing that was refused is there");
    drop(daemon);
    let whole =
        rusqlite::Connection::open(&house.database)
            .unwrap()
            .query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(whole.unwrap(), "ok");
    println!("it was full, and it went on");
}
