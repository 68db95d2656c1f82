//! Points where a test ends the process, as a power cut or `kill -9` would: before and after each commit and each
//! effect. `ANDON_FAULT=<point>:<n>` ends it the n-th time it passes there. Only in builds with debug assertions;
//! in a release nothing of this is compiled.

/// Ends the process where the environment names this point.
#[cfg(debug_assertions)]
pub(crate) fn point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI64, Ordering};

    static WANTED: OnceLock<Option<(String, AtomicI64)>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| {
        let value = std::env::var("ANDON_FAULT").ok()?;
        let (name, times) = value.rsplit_once(':')?;
        Some((name.to_owned(), AtomicI64::new(times.parse().ok()?)))
    });
    if let Some((point, left)) = wanted
        && point == name
        && left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        // Nothing is flushed, dropped or said.
        let me = rustix::process::getpid();
        // Where even that fails, an abort leaves as little time.
        let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
        std::process::abort();
    }
}

/// Nothing, in a release.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn point(_: &str) {}
