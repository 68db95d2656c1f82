//! Real processes: what they print, how they end, and that nobody who comes from them is left.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that can not go on says so by panicking")]

use andon::process::{
    Child, Environment, Finished, Identity, Launch, LaunchError, LogFile, Proof, Stopper, identity, log,
    recover, subreaper,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TAG: &str = "ANDON_RUN_ID";

/// A tag that no other test has, nor the same test in another process at the same time.
fn unique(tag: &str) -> String {
    format!("{tag}_{}", std::process::id())
}

/// A shell line as a run of its own.
fn shell(line: &str, tag: &str) -> Launch {
    tagged(line, &unique(tag))
}

fn tagged(line: &str, tag: &str) -> Launch {
    Launch::new(["/bin/sh", "-c", line], Environment::allowed()).tagged(TAG, tag)
}

fn run(launch: Launch) -> Finished {
    run_with(launch, |_| {})
}

/// Runs to the end, after `meanwhile` had the child.
fn run_with(launch: Launch, meanwhile: impl FnOnce(&Child)) -> Finished {
    subreaper::install().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let child = launch.spawn().unwrap();
        meanwhile(&child);
        child.finish(|_, _| {}).await
    })
}

fn spawn_error(launch: Launch) -> LaunchError {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    launch.spawn().unwrap_err()
}

fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// The identity of the process whose number is in a file, once it is there.
fn identity_in(file: &Path) -> Identity {
    eventually("a process id in a file", || {
        let text = fs::read_to_string(file).ok()?;
        Identity::of(text.strip_suffix('\n')?.trim().parse().ok()?)
    })
}

fn pid_in(file: &Path) -> i32 {
    eventually("a process id in a file", || fs::read_to_string(file).ok()?.strip_suffix('\n')?.parse().ok())
}

fn is_gone(pid: i32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn both_streams_go_to_the_log_in_order_and_only_stdout_is_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let finished =
        run(shell("echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three", "r_streams")
            .logged(path.clone()));
    assert_eq!(log::read(&path).unwrap(), b"one\ntwo\nthree\n");
    assert_eq!(finished.exit.code, Some(0));
    assert_eq!(finished.exit.stdout_head, "one\nthree");
    assert_eq!(finished.exit.stderr_last_line, "two");
    assert_eq!(finished.proof, Proof::Dead { killed: 0 });
    assert!(!finished.stopped);
}

#[test]
fn a_silent_run_makes_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let finished = run(shell("exit 7", "r_silent").logged(folder.path().join("log")));
    assert_eq!(finished.exit.code, Some(7));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_exit_by_signal_is_told_as_such() {
    let finished = run(shell("kill -SEGV $$", "r_signal"));
    assert_eq!((finished.exit.code, finished.exit.signal), (None, Some(11)));
}

#[test]
fn bytes_that_are_no_text_arrive_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let finished = run(shell(r"printf 'a\377\376\033[2Jb'", "r_bytes").logged(path.clone()));
    assert_eq!(log::read(&path).unwrap(), b"a\xff\xfe\x1b[2Jb");
    assert_eq!(finished.exit.stdout_head, "a\u{fffd}\u{fffd}\x1b[2Jb");
}

#[test]
fn a_flood_stays_under_the_cap_and_its_head_and_end_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch = shell("echo begin; head -c 104857600 /dev/zero; echo; echo end", "r_flood");
    let cap = 1024 * 1024;
    let path = folder.path().join("log");
    launch.log = Some(LogFile { path: path.clone(), cap, goes_on: false });
    let finished = run(launch);
    assert_eq!(finished.exit.bytes, 104_857_600 + 11);
    let size: u64 =
        fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(size <= cap, "{size}");
    let text = log::read(&path).unwrap();
    assert!(text.starts_with(b"begin\n") && text.ends_with(b"\nend\n"));
    assert!(String::from_utf8_lossy(&text).contains("bytes were dropped here"));
    assert!(finished.exit.stdout_tail.ends_with("end"));
}

#[test]
fn what_a_run_leaves_in_the_background_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let line = format!("sleep 1000 >/dev/null 2>&1 & echo $! > {}", file.display());
    let finished = run(shell(&line, "r_background"));
    assert_eq!(finished.exit.code, Some(0));
    assert_eq!(finished.proof, Proof::Dead { killed: 1 });
    assert!(is_gone(pid_in(&file)));
}

#[test]
fn a_pipe_that_a_background_process_holds_open_does_not_hold_the_run() {
    let begun = Instant::now();
    let finished = run(shell("sleep 1000 & echo done", "r_pipe"));
    assert_eq!(finished.exit.stdout_head, "done");
    assert_eq!(finished.proof, Proof::Dead { killed: 1 });
    assert!(begun.elapsed() < Duration::from_secs(100));
}

#[test]
fn a_background_process_that_never_stops_printing_does_not_hold_the_run() {
    let finished = run(shell("yes & yes >&2 & echo done", "r_yes"));
    assert_eq!(finished.exit.code, Some(0));
    assert_eq!(finished.proof, Proof::Dead { killed: 2 });
}

#[test]
fn who_leaves_the_group_and_the_session_is_ended_and_reaped_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let line = format!(
        "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000' >/dev/null 2>&1 & \
         until [ -e {0} ]; do sleep 0.01; done",
        file.display()
    );
    let finished = run(shell(&line, "r_escape"));
    assert_eq!(finished.exit.code, Some(0));
    assert_eq!(finished.proof, Proof::Dead { killed: 1 });
    assert!(is_gone(pid_in(&file)));
}

#[test]
fn who_also_wipes_its_environment_is_found_as_an_orphan() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let line = format!(
        "env -i setsid /bin/sh -c 'echo $$ > {0}.new; /bin/mv {0}.new {0}; exec /bin/sleep 1000' >/dev/null 2>&1 & \
         until [ -e {0} ]; do sleep 0.01; done",
        file.display()
    );
    run(shell(&line, "r_wiped"));
    let pid = pid_in(&file);
    eventually("its end", || is_gone(pid).then_some(()));
}

#[test]
fn an_escapee_of_one_run_outlives_the_end_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let line = format!("(setsid sleep 1000 >/dev/null 2>&1 & echo $! > {}) ; sleep 1000", file.display());
    let mut escapee = None;
    let finished = run_with(shell(&line, "r_first"), |child| {
        escapee = Some(identity_in(&file));
        let (line, stopper) = ("true", child.stopper());
        let second = std::thread::spawn(move || run(shell(line, "r_second"))).join().unwrap();
        assert_eq!(second.proof, Proof::Dead { killed: 0 });
        assert!(escapee.as_ref().unwrap().still_runs());
        stopper.stop(Duration::from_secs(10));
    });
    assert!(finished.stopped);
    assert!(matches!(finished.proof, Proof::Dead { killed } if killed >= 2), "{:?}", finished.proof);
    assert!(!escapee.unwrap().still_runs());
}

#[test]
fn a_stop_lets_a_process_say_goodbye() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let line =
        format!("trap 'echo bye; exit 3' TERM; echo $$ > {}; while :; do sleep 0.01; done", ready.display());
    let finished = run_with(shell(&line, "r_polite"), |child| {
        pid_in(&ready);
        child.stopper().stop(Duration::from_secs(60));
        child.stopper().stop(Duration::from_secs(60));
    });
    assert_eq!(finished.exit.code, Some(3));
    assert_eq!(finished.exit.stdout_head, "bye");
    assert!(finished.stopped);
}

#[test]
fn who_ignores_the_stop_is_killed_after_the_grace_with_all_its_descendants() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let line = format!(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > {}; while :; do sleep 0.01; done' & \
         while :; do sleep 0.01; done",
        file.display()
    );
    let finished = run_with(shell(&line, "r_stubborn"), |child| {
        pid_in(&file);
        child.stopper().stop(Duration::from_millis(100));
    });
    assert_eq!(finished.exit.signal, Some(9));
    assert!(matches!(finished.proof, Proof::Dead { .. }));
    assert!(is_gone(pid_in(&file)));
}

#[test]
fn a_second_stop_with_a_shorter_grace_hastens_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let line = format!("trap '' TERM; echo $$ > {}; while :; do sleep 0.01; done", ready.display());
    let finished = run_with(shell(&line, "r_hasten"), |child| {
        pid_in(&ready);
        let stopper = child.stopper();
        stopper.stop(Duration::from_secs(3_600));
        std::thread::spawn(move || stopper.stop(Duration::ZERO));
    });
    assert_eq!(finished.exit.signal, Some(9));
}

#[test]
fn a_stopped_process_is_woken_to_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let line = format!("echo $$ > {}; kill -STOP $$; sleep 1000", ready.display());
    let finished = run_with(shell(&line, "r_frozen"), |child| {
        pid_in(&ready);
        child.stopper().stop(Duration::from_secs(60));
    });
    assert_eq!(finished.exit.signal, Some(15));
}

#[test]
fn a_stop_that_was_asked_for_before_the_start_ends_it_at_once() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stopper = Stopper::new();
    stopper.stop(Duration::from_secs(60));
    let finished = runtime.block_on(async {
        let child = shell("sleep 1000", "r_early").spawn_stopped_by(stopper).unwrap();
        child.finish(|_, _| {}).await
    });
    assert_eq!(finished.exit.signal, Some(15));
}

#[test]
fn dead_orphans_are_reaped_when_a_run_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    // The grandchild loses its parent, then dies while the run goes on.
    let line = format!("sh -c 'sleep 0.05 & echo $! > {}'; sleep 0.3", file.display());
    let finished = run(shell(&line, "r_zombie"));
    assert!(matches!(finished.proof, Proof::Dead { .. }));
    assert!(is_gone(pid_in(&file)));
}

#[test]
fn a_secret_of_ours_is_not_in_its_environment_and_its_tag_is() {
    let ours = std::env::vars_os().chain([("SECRET_KEY".into(), "s3cret".into())]);
    let launch = Launch::new(["env"], Environment::allowed_from(ours)).tagged(TAG, "r_env");
    let printed = run(launch).exit.stdout_head;
    assert!(!printed.contains("s3cret") && printed.contains("ANDON_RUN_ID=r_env"), "{printed}");
    assert!(!printed.contains("CARGO"), "{printed}");
    assert!(printed.contains("PATH="));
}

#[test]
fn standard_input_is_empty_or_what_was_given() {
    assert_eq!(run(shell("cat; echo end", "r_null")).exit.stdout_head, "end");
    let mut launch = shell("cat", "r_stdin");
    launch.stdin = Some(b"{\"a\":1}".to_vec());
    assert_eq!(run(launch).exit.stdout_head, "{\"a\":1}");
    let mut launch = shell("exit 0", "r_unread");
    launch.stdin = Some(vec![b'x'; 1_000_000]);
    assert_eq!(run(launch).exit.code, Some(0));
}

#[test]
fn a_program_is_looked_for_in_its_own_path_and_a_relative_one_in_its_own_folder() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "greet", "#!/bin/sh\necho hello from $0\n");
    let mut environment = Environment::allowed();
    environment.set_os("PATH", folder.path());
    assert!(run(Launch::new(["greet"], environment.clone())).exit.stdout_head.starts_with("hello"));
    let mut launch = Launch::new(["./greet"], environment);
    launch.cwd = Some(folder.path().to_owned());
    assert!(run(launch).exit.stdout_head.starts_with("hello"));
}

fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn each_way_in_which_a_start_fails_has_its_own_words() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let launch = |program: &str| {
        let mut launch = Launch::new([program], Environment::allowed());
        launch.cwd = Some(here.to_owned());
        launch
    };
    assert!(matches!(spawn_error(launch("no-such-program-anywhere")), LaunchError::NotFound { .. }));
    assert!(matches!(spawn_error(launch("./nothing")), LaunchError::Missing { .. }));
    fs::write(here.join("plain"), "text").unwrap();
    assert!(matches!(spawn_error(launch("./plain")), LaunchError::NotExecutable { .. }));
    script(here, "headless", "echo no first line");
    assert!(matches!(spawn_error(launch("./headless")), LaunchError::NotAProgram { .. }));
    script(here, "orphaned", "#!/no/such/interpreter\n");
    assert!(matches!(spawn_error(launch("./orphaned")), LaunchError::InterpreterMissing { .. }));

    let mut gone = launch("true");
    gone.cwd = Some(here.join("gone"));
    assert!(matches!(spawn_error(gone), LaunchError::FolderGone { .. }));
    let mut file = launch("true");
    file.cwd = Some(here.join("plain"));
    assert!(matches!(spawn_error(file), LaunchError::NotAFolder { .. }));

    let long = Launch::new(["true".to_owned(), "x".repeat(4_000_000)], Environment::allowed());
    assert!(matches!(spawn_error(long), LaunchError::TooLong));
    assert!(matches!(spawn_error(Launch::new(["true", "a\0b"], Environment::allowed())), LaunchError::Nul));
    assert!(matches!(
        spawn_error(Launch::new(Vec::<String>::new(), Environment::allowed())),
        LaunchError::Empty
    ));
}

/// Not a test by itself: a holder of a run, which the tests below start as a process and then kill.
#[test]
fn helper_that_holds_a_run() {
    let Ok(folder) = std::env::var("TEST_HOLDER_FOLDER") else { return };
    let line = format!(
        "cd {folder}; setsid sh -c 'echo $$ > escapee; exec sleep 1000' >/dev/null 2>&1 & \
         (trap '' TERM; echo $$ > member.new; mv member.new member; exec sleep 1000) & sleep 1000"
    );
    run_with(tagged(&line, &std::env::var("TEST_HOLDER_TAG").unwrap()), |child| {
        fs::write(Path::new(&folder).join("leader"), format!("{}\n", child.identity().pid)).unwrap();
    });
}

/// Starts a holder, waits until its run goes, kills the holder, and gives the identities of leader and escapee.
fn orphaned_run(tag: &str) -> (tempfile::TempDir, Identity, Identity) {
    let folder = tempfile::tempdir().unwrap();
    let mut holder = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "helper_that_holds_a_run", "--nocapture"])
        .env("TEST_HOLDER_FOLDER", folder.path())
        .env("TEST_HOLDER_TAG", unique(tag))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let leader = identity_in(&folder.path().join("leader"));
    let escapee = identity_in(&folder.path().join("escapee"));
    identity_in(&folder.path().join("member"));
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(leader.still_runs() && escapee.still_runs());
    (folder, leader, escapee)
}

#[test]
fn what_is_left_of_a_run_whose_holder_was_killed_is_ended() {
    let (_folder, leader, escapee) = orphaned_run("r_recover");
    let proof = recover(Some(&leader), (TAG, &unique("r_recover")), Duration::from_millis(200));
    assert!(matches!(proof, Proof::Dead { killed } if killed >= 3), "{proof:?}");
    assert!(!leader.still_runs() && !escapee.still_runs());
    let again = recover(Some(&leader), (TAG, &unique("r_recover")), Duration::from_millis(200));
    assert_eq!(again, Proof::Dead { killed: 0 });
}

#[test]
fn a_run_whose_process_was_never_recorded_is_found_by_its_tag() {
    let (_folder, leader, escapee) = orphaned_run("r_unrecorded");
    let proof = recover(None, (TAG, &unique("r_unrecorded")), Duration::from_millis(200));
    assert!(matches!(proof, Proof::Dead { killed } if killed >= 3), "{proof:?}");
    assert!(!leader.still_runs() && !escapee.still_runs());
}

#[test]
fn a_process_that_only_has_the_recorded_number_gets_no_signal() {
    let mut stranger = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let alive = Identity::of(stranger.id().cast_signed()).unwrap();

    let recycled = Identity { start_ticks: alive.start_ticks - 1, ..alive.clone() };
    assert_eq!(
        recover(Some(&recycled), (TAG, &unique("r_recycled")), Duration::ZERO),
        Proof::Dead { killed: 0 }
    );
    let before_the_boot = Identity { boot_id: "another".into(), ..alive.clone() };
    assert_eq!(
        recover(Some(&before_the_boot), (TAG, &unique("r_boot")), Duration::ZERO),
        Proof::Dead { killed: 0 }
    );

    assert!(alive.still_runs());
    assert_eq!(alive.boot_id, identity::boot_id());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_process_knows_the_run_it_is_inside_of_even_without_the_variables() {
    let line = format!(
        "env -i TEST_FIND_INSIDE=1 {} --exact helper_that_looks_around --nocapture",
        std::env::current_exe().unwrap().display()
    );
    let mut launch = shell(&line, "r_inside");
    launch.environment.set("ANDON_TASK_ID", "t_inside");
    let printed = run(launch).exit.stdout_head;
    assert!(printed.contains(&format!("inside {} t_inside", unique("r_inside"))), "{printed}");
}

/// Not a test by itself: prints which run it is inside of.
#[test]
fn helper_that_looks_around() {
    if std::env::var_os("TEST_FIND_INSIDE").is_some() {
        let inside = andon::process::inside::find().unwrap();
        println!("inside {} {}", inside.run_id, inside.task_id);
    }
}
