//! Rows that can't be: what the reconciler of a dispatcher repairs within seconds. Where nobody dispatches, `--fix`
//! does so for as long as that takes, with no slots, so that nothing else is begun.

use serde_json::json;
use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::report::Check;
use crate::cli::config::Config;
use crate::cli::dispatch;
use crate::cli::error::CliError;
use crate::domain::Finding;
use crate::engine::Engine;

/// How long repairs may take beyond the grace that runs are given.
const PATIENCE: Duration = Duration::from_secs(15);
/// The most rows that are told to a person one by one.
const TOLD: usize = 50;

/// Looks for such rows, and with `fix` has them repaired.
pub fn check(engine: &Engine, config: &Config, fix: bool) -> Result<Check, CliError> {
    let found = engine.findings()?;
    let left: HashSet<Finding> = match fix && !found.is_empty() {
        true => mend(engine, config)?.into_iter().collect(),
        false => found.iter().cloned().collect(),
    };
    let said = match found.len() {
        0 => "every card and workflow is as it must be".to_owned(),
        1 => "one row can't be".to_owned(),
        n => format!("{n} rows can't be"),
    };
    let mut check = Check::new("work", said).with_data(json!({ "findings": found }));
    for finding in found.iter().take(TOLD) {
        let about = match &finding.workflow {
            Some(workflow) => workflow.to_string(),
            None => format!("#{}", finding.seq),
        };
        let mended = (!left.contains(finding)).then(|| finding.kind.repair().to_owned());
        let what = format!("{about}: {}", finding.kind.cause());
        check = check.with_mended(what, finding.kind.repair(), mended);
    }
    if found.len() > TOLD {
        let rest = &found[TOLD..];
        let mended = rest.iter().all(|finding| !left.contains(finding)).then(|| "repaired".to_owned());
        check = check.with_mended(format!("and {} more", rest.len()), "repair them too", mended);
    }
    Ok(check)
}

/// Waits until a dispatcher has repaired everything: the one at work, or one that this process starts for that.
/// What is left when it takes too long.
fn mend(engine: &Engine, config: &Config) -> Result<Vec<Finding>, CliError> {
    // Where somebody dispatches by the time this one wants to, it only stands by.
    let own = match engine.has_dispatcher() {
        true => None,
        false => Some(dispatch::idle(engine, config)?),
    };
    let patience = Duration::from_secs(config.dispatch.grace_seconds.into()) + PATIENCE;
    let until_well = || -> Result<Vec<Finding>, CliError> {
        let end = Instant::now() + patience;
        loop {
            let seen = engine.last_seq()?;
            let left = engine.findings()?;
            if left.is_empty() || Instant::now() >= end {
                return Ok(left);
            }
            engine.wait_for_change(seen, Duration::from_millis(200))?;
        }
    };
    let left = until_well();
    if let Some(dispatcher) = own {
        dispatcher.stop();
        dispatcher.join();
    }
    left
}
