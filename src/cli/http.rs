//! HTTP in this process: where it is served, if it is, from the command line and the configuration.

use std::net::{IpAddr, SocketAddr};

use super::context::Context;
use super::error::CliError;
use crate::api::mcp::{self, Limits};
use crate::api::{self, Options, ServeError, Server};
use crate::engine::Engine;

/// Serves where `--http`, or else the configuration, says; nothing with `--http off`, and nothing where neither says
/// so and `always` is false.
pub fn serve(context: &Context, engine: &Engine, always: bool) -> Result<Option<Server>, CliError> {
    let Some((address, or_any_port)) = address(context, always)? else { return Ok(None) };
    let http = &context.config()?.http;
    let options = Options {
        address,
        or_any_port,
        prefix: http.prefix.clone(),
        hosts: http.hosts.clone(),
        actor: context.actor().clone(),
        cwd: super::work::folder(None)?.into(),
        registry: super::registry::of(context)?,
    };
    let registry = super::registry::of(context)?;
    let server = api::start(engine, options, |api| mcp::http::route(api, registry, Limits::default()))?;
    Ok(Some(server))
}

/// The address, and whether another port will do where nobody asked for this one.
fn address(context: &Context, always: bool) -> Result<Option<(SocketAddr, bool)>, CliError> {
    let http = &context.config()?.http;
    match context.globals.http.as_deref().map(str::trim).filter(|given| !given.is_empty()) {
        Some(given) if given.eq_ignore_ascii_case("off") => Ok(None),
        Some(given) => Ok(Some((read(given)?, false))),
        None if always || http.enabled => {
            let default = crate::cli::config::Http::default().address;
            Ok(Some((http.address, http.address == default)))
        }
        None => Ok(None),
    }
}

/// An address with its port; a port alone is one of this machine.
fn read(given: &str) -> Result<SocketAddr, CliError> {
    let loopback = |port: u16| SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port);
    if let Ok(port) = given.trim_start_matches(':').parse() {
        return Ok(loopback(port));
    }
    if let Some(port) = given.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
        return Ok(loopback(port));
    }
    given.parse().map_err(|_| {
        let given = crate::domain::text::shortened(&crate::domain::text::one_line(given), 60);
        CliError::Usage(format!(
            "--http `{given}` is no address and port such as 127.0.0.1:7420; write one, or `off`"
        ))
    })
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        CliError::Failed(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_a_port_alone() {
        for (given, read_as) in [
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("7421", "127.0.0.1:7421"),
            (":0", "127.0.0.1:0"),
            ("localhost:9", "127.0.0.1:9"),
            ("[::1]:7420", "[::1]:7420"),
        ] {
            assert_eq!(read(given).unwrap().to_string(), read_as);
        }
        for bad in ["example.org:80", "127.0.0.1", "on", "127.0.0.1:99999", "-1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
