//! One GET over the network: every host that is connected to, the first and each that a redirect leads to, is
//! looked up once, its addresses are checked, and the connection goes to the checked address and no other.

use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;
use thiserror::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, ResponseExt};

use super::address::{Allowed, is_public};
use crate::domain::text::{one_line, shortened};
use crate::tools::error::{ErrorClass, ToolError};

/// The most that is read of an answer, in bytes.
pub const BODY_LIMIT: u64 = 1024 * 1024;
/// How long a call may take in all.
pub const TIME_LIMIT: Duration = Duration::from_secs(20);
/// The most redirects that are followed.
pub const REDIRECT_LIMIT: u32 = 5;

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The address that it came from, after redirects.
    pub url: String,
    /// The status code.
    pub status: u16,
    /// The content type, in lower case, with its parameters.
    pub content_type: String,
    /// At most [`BODY_LIMIT`] bytes.
    pub body: Vec<u8>,
    /// Whether there was more.
    pub truncated: bool,
}

/// Fetches an address.
pub fn get(url: &str, allowed: &[Allowed]) -> Result<Fetched, ToolError> {
    get_by(url, Checked { inner: DefaultResolver::default(), allowed: allowed.to_vec() })
}

fn get_by(url: &str, resolver: impl Resolver) -> Result<Fetched, ToolError> {
    let uri = checked_url(url)?;
    let config = Agent::config_builder()
        .timeout_global(Some(TIME_LIMIT))
        .max_redirects(REDIRECT_LIMIT)
        .http_status_as_error(false)
        // A proxy would look the host up by itself, unchecked.
        .proxy(None)
        .user_agent(concat!("andon/", env!("CARGO_PKG_VERSION")))
        .accept("text/html, text/*, application/json, application/xml, */*;q=0.1")
        .build();
    let agent = Agent::with_parts(config, DefaultConnector::default(), resolver);
    let mut response = agent.get(uri).call().map_err(|error| explained(url, error))?;
    let header = |name: &str| {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_ascii_lowercase()
    };
    let content_type = header("content-type");
    let (url_now, status) = (response.get_uri().to_string(), response.status().as_u16());
    let mut body = Vec::new();
    let reader = response.body_mut().as_reader();
    if let Err(error) = reader.take(BODY_LIMIT + 1).read_to_end(&mut body) {
        return Err(explained(url, error.into()));
    }
    let truncated = body.len() as u64 > BODY_LIMIT;
    body.truncate(usize::try_from(BODY_LIMIT).unwrap_or(usize::MAX));
    Ok(Fetched { url: url_now, status, content_type, body, truncated })
}

fn checked_url(url: &str) -> Result<Uri, ToolError> {
    let wrong = |why: &str| {
        let shown = shortened(&one_line(url), 200);
        ToolError::invalid("invalid_url", format!("`{shown}` can't be fetched: {why}"))
    };
    let uri: Uri =
        url.trim().parse().map_err(|_| wrong("it is no address such as https://example.com/page"))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        Some(_) => return Err(wrong("only http and https are fetched")),
        None => return Err(wrong("it has to begin with https:// or http://")),
    }
    match uri.authority() {
        Some(authority) if authority.as_str().contains('@') => {
            Err(wrong("a name and a password in it would be sent along; leave them out"))
        }
        Some(authority) if !authority.host().is_empty() => Ok(uri),
        _ => Err(wrong("it names no host")),
    }
}

/// Looks hosts up, and hands out only addresses that may be fetched from.
#[derive(Debug)]
struct Checked<R> {
    inner: R,
    allowed: Vec<Allowed>,
}

impl<R: Resolver> Resolver for Checked<R> {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        let found = self.inner.resolve(uri, config, timeout)?;
        let may = |address: &SocketAddr| {
            is_public(address.ip()) || self.allowed.iter().any(|allowed| allowed.allows(&host, address.ip()))
        };
        let mut checked = self.empty();
        for address in found.iter().filter(|address| may(address)) {
            checked.push(*address);
        }
        match checked.is_empty() {
            true => {
                let addresses = found.iter().map(|address| address.ip().to_string()).collect();
                Err(ureq::Error::Other(Box::new(NotPublic { host, addresses })))
            }
            false => Ok(checked),
        }
    }
}

#[derive(Debug, Error)]
#[error("{host} is at {}, which is not on the public internet", addresses.join(", "))]
struct NotPublic {
    host: String,
    addresses: Vec<String>,
}

fn explained(url: &str, error: ureq::Error) -> ToolError {
    let shown = shortened(&one_line(url), 200);
    if let ureq::Error::Other(inner) = &error
        && let Some(not_public) = inner.downcast_ref::<NotPublic>()
    {
        return ToolError::new(
            ErrorClass::NotAllowed,
            "private_address",
            format!(
                "{shown} can't be fetched: {not_public}; `allow` in [web_fetch] of the configuration is for \
                 hosts and networks of one's own"
            ),
        );
    }
    let why = match &error {
        ureq::Error::Timeout(_) => format!("it took longer than {} s", TIME_LIMIT.as_secs()),
        ureq::Error::TooManyRedirects => format!("it led on more than {REDIRECT_LIMIT} times"),
        ureq::Error::HostNotFound => "no such host was found".to_owned(),
        ureq::Error::BadUri(why) => format!("it led to an address that is none ({})", one_line(why)),
        error => shortened(&one_line(&error.to_string()), 300),
    };
    ToolError::failed("fetch_failed", format!("{shown} could not be fetched: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A name server that gives another address each time.
    #[derive(Debug, Default)]
    struct Fickle(AtomicUsize);

    impl Resolver for Fickle {
        fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let mut found = self.empty();
            for address in ["127.0.0.1:9", "[::1]:9", "169.254.169.254:80"] {
                found.push(address.parse().unwrap());
            }
            Ok(found)
        }
    }

    #[test]
    fn a_name_that_leads_inside_is_refused_before_anything_is_connected() {
        let error =
            get_by("http://rebind.example/", Checked { inner: Fickle::default(), allowed: Vec::new() })
                .unwrap_err();
        assert_eq!((error.code, error.class), ("private_address", ErrorClass::NotAllowed));
        assert!(error.message.contains("169.254.169.254"), "{error}");
    }

    #[test]
    fn of_several_addresses_only_those_that_are_allowed_are_handed_out_and_looked_up_once() {
        let resolver =
            Checked { inner: Fickle::default(), allowed: vec![Allowed::parse("127.0.0.1").unwrap()] };
        let error = get_by("http://rebind.example:9/", resolver).unwrap_err();
        // Nobody listens there: it was connected to, and to that one only.
        assert_eq!(error.code, "fetch_failed", "{error}");
    }

    #[test]
    fn an_address_is_http_or_https_and_names_a_host_only() {
        for bad in [
            "",
            "x",
            "/etc/passwd",
            "file:///etc/passwd",
            "ftp://x/",
            "http://",
            "http://a:b@x/",
            "gopher://x",
            "http://a b/",
        ] {
            assert_eq!(checked_url(bad).unwrap_err().code, "invalid_url", "{bad}");
        }
        assert!(
            checked_url(" https://example.com/a?b=c ").is_ok() && checked_url("http://[::1]:80/").is_ok()
        );
    }
}
