//! What stands before every path: a foreign Host or Origin is turned away (a web page that the person has open must
//! not reach this program, not even by a name that it points here), then who brings no token. Counts every request.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header, uri::Authority};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::time::Instant;

use super::problem::Problem;
use super::{Api, Inner};

/// Paths that need no token: they say whether the program lives and nothing of what is in it.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// Lets a request through, with the role of its caller among its extensions, or turns it away.
pub async fn guard(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let mut response = match admit(&api.inner, &mut request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    api.inner.metrics.answered(&method, response.status(), begun.elapsed());
    response
}

fn admit(api: &Inner, request: &mut Request) -> Result<(), Problem> {
    let host = host(request.headers(), request.uri())?;
    if !is_ours(api, &host) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "foreign_host",
            "the Host of this request is not a name of this machine; use the address that `ready` named, or add the \
             name to [http] hosts in the configuration",
        ));
    }
    if !is_same_origin(request.headers(), &host) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "foreign_origin",
            "this request comes from a web page of another origin, and those are not served",
        ));
    }
    if OPEN.contains(&request.uri().path()) {
        return Ok(());
    }
    let role = api.tokens.role(request.headers()).ok_or_else(|| {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "no_token",
            "this request brings no token, or a wrong one; send `Authorization: Bearer TOKEN` with what `andon token` \
             prints",
        )
    })?;
    request.extensions_mut().insert(role);
    Ok(())
}

/// Whom the request is addressed to.
fn host(headers: &HeaderMap, uri: &Uri) -> Result<Authority, Problem> {
    let malformed =
        || Problem::malformed("bad_host", "a request needs one header Host, with a name and perhaps a port");
    let mut named = headers.get_all(header::HOST).iter();
    let host = match (uri.authority(), named.next()) {
        // RFC 9112, 3.2.2: the target in the request line counts, where there is one.
        (Some(authority), _) => authority.clone(),
        (None, Some(host)) => host.to_str().ok().and_then(|host| host.parse().ok()).ok_or_else(malformed)?,
        (None, None) => return Err(malformed()),
    };
    match named.next().is_none() && !host.as_str().contains('@') {
        true => Ok(host),
        false => Err(malformed()),
    }
}

/// Whether a name is ours. Where only the loopback is listened at: its names. Elsewhere any address will do, since
/// only names can be pointed at this machine by somebody else.
fn is_ours(api: &Inner, host: &Authority) -> bool {
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    let named = |known: &String| known.eq_ignore_ascii_case(name);
    if name.eq_ignore_ascii_case("localhost") || api.options.hosts.iter().any(named) {
        return true;
    }
    match name.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || !api.address.ip().is_loopback(),
        Err(_) => false,
    }
}

/// Whether a request that comes from a web page comes from one of ours. Programs send no Origin.
fn is_same_origin(headers: &HeaderMap, host: &Authority) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    origins.all(|origin| {
        let authority = origin
            .to_str()
            .ok()
            .and_then(|origin| origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")));
        authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host.as_str()))
    })
}
