//! Retries: two budgets, one counter, and how long to wait before the engine's own.

use serde_json::json;

use super::refusal::Refusal;
use super::task::Task;
use super::time::{Millis, SECOND_MS};

/// The first automatic retry waits this long; each further one twice as long.
pub const BACKOFF_FIRST_MS: Millis = SECOND_MS;
/// No automatic retry waits longer.
pub const BACKOFF_LIMIT_MS: Millis = 5 * 60 * SECOND_MS;

/// Whether the engine retries a failed attempt by itself.
pub fn retries_by_itself(task: &Task) -> bool {
    task.retry_count < task.retry_max && task.retry_count < task.max_retries
}

/// Whether anybody may retry the task; refused at `retry_count >= max_retries`.
pub fn may_retry(task: &Task) -> Result<(), Refusal> {
    if task.retry_count < task.max_retries {
        return Ok(());
    }
    Err(Refusal::state(
        "retries_exhausted",
        format!(
            "task #{seq} was retried {count} of {max} times; `andon edit {seq} --max-retries {more}` allows \
             another, `andon copy {seq}` starts afresh",
            seq = task.seq,
            count = task.retry_count,
            max = task.max_retries,
            more = task.retry_count + 1
        ),
    )
    .with_detail(json!({ "retry_count": task.retry_count, "max_retries": task.max_retries })))
}

/// How long the engine waits before automatic retry number `retry` (counted from 1), with up to a quarter of
/// jitter taken from `random`. The first is immediate for steps that ask for it by `retry_max`, since most such
/// faults are fleeting.
pub fn backoff(retry: u32, random: u64) -> Millis {
    if retry <= 1 {
        return 0;
    }
    let doubled = BACKOFF_FIRST_MS << (retry - 2).min(20);
    let base = doubled.min(BACKOFF_LIMIT_MS);
    base + (random % (base as u64 / 4)) as Millis
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_retries_within_retry_max_and_nobody_beyond_max_retries() {
        let task = |count, own, cap| Task {
            retry_count: count,
            retry_max: own,
            max_retries: cap,
            ..Task::default()
        };
        assert!(!retries_by_itself(&task(0, 0, 3)));
        assert!(retries_by_itself(&task(0, 1, 3)));
        assert!(!retries_by_itself(&task(1, 1, 3)));
        assert!(may_retry(&task(2, 0, 3)).is_ok());
        assert_eq!(may_retry(&task(3, 0, 3)).unwrap_err().code, "retries_exhausted");
        assert!(may_retry(&task(0, 0, 0)).is_err());
    }

    #[test]
    fn backoff_doubles_up_to_its_limit() {
        assert_eq!(backoff(1, 9), 0);
        assert_eq!(backoff(2, 0), 1_000);
        assert_eq!(backoff(3, 0), 2_000);
        assert_eq!(backoff(60, 0), BACKOFF_LIMIT_MS);
        assert!(backoff(60, u64::MAX) < BACKOFF_LIMIT_MS * 5 / 4);
    }
}
