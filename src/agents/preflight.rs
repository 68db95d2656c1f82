//! Whether the configured agents could be started, found out without starting them.

use super::settings::Settings;
use super::variables::CommonGround;
use crate::process::Launch;

/// The agents whose program could not be started, with the reason.
pub fn missing(settings: &Settings) -> Vec<(String, String)> {
    let ground = CommonGround::new(settings);
    let agents = settings.agents.values();
    agents
        .filter_map(|agent| {
            let launch = Launch::new(&agent.command, ground.environment());
            launch.program().err().map(|error| (agent.name.clone(), error.to_string()))
        })
        .collect()
}
