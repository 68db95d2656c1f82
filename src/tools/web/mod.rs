//! The tool `web_fetch`: one page of the web as text. [`fetch`] gets it, from addresses that [`address`] lets
//! through, and [`page`] makes text of HTML. It sends nothing but the request.

pub mod address;
pub mod fetch;
pub mod page;

use serde_json::{Value, json};

use super::error::ToolError;
use super::params::Params;
use super::shape::{Action, Field, Kind, Risk, Shape};
use crate::domain::text::{one_line, shortened};
use address::Allowed;

/// `web_fetch`
pub const WEB_FETCH: Shape = Shape {
    name: "web_fetch",
    about: "Gets a page by http or https and gives its title and text; text, JSON and XML only, the first MiB of \
            it, within 20 seconds.",
    risk: Risk::Read,
    fields: &[
        Field { name: "url", kind: Kind::Text, about: "its address" },
        Field { name: "raw", kind: Kind::Flag, about: "give HTML as it is" },
    ],
    actions: &[Action { name: "", about: "", needs: &["url"], takes: &["raw"] }],
};

/// Fetches a page; `allowed` may be fetched from though it is not public.
pub fn call(allowed: &[Allowed], params: &Params) -> Result<Value, ToolError> {
    let fetched = fetch::get(&params.text_or_empty("url"), allowed)?;
    let kind = fetched.content_type.split(';').next().unwrap_or_default().trim();
    if !is_text(kind) {
        let shown = shortened(&one_line(kind), 60);
        let message = match shown.is_empty() {
            true => format!("{} does not say what it is; only text, JSON and XML are taken", fetched.url),
            false => format!("{} is `{shown}`, and only text, JSON and XML are taken", fetched.url),
        };
        return Err(ToolError::failed("not_text", message));
    }
    let text = decoded(&fetched.body, &fetched.content_type);
    let mut result = json!({
        "url": fetched.url,
        "status": fetched.status,
        "content_type": fetched.content_type,
    });
    if fetched.truncated {
        result["truncated"] = json!(true);
    }
    let is_html = matches!(kind, "text/html" | "application/xhtml+xml");
    if is_html && !params.flag("raw").unwrap_or(false) {
        let page = page::read(&text);
        result["title"] = json!(page.title);
        result["text"] = json!(page.text);
    } else {
        result["text"] = json!(text);
    }
    match fetched.status {
        200..300 => Ok(result),
        status => {
            let message = format!("{} answered with status {status}", fetched.url);
            result["text"] = json!(shortened(result["text"].as_str().unwrap_or_default(), 2_000));
            Err(ToolError::failed("http_status", message).with_detail(result))
        }
    }
}

fn is_text(kind: &str) -> bool {
    let plain = ["application/json", "application/xml", "application/javascript", "application/x-ndjson"];
    kind.starts_with("text/") || plain.contains(&kind) || kind.ends_with("+json") || kind.ends_with("+xml")
}

/// The text of a body: Latin-1 where it says so, else UTF-8 with what is none of it replaced.
fn decoded(body: &[u8], content_type: &str) -> String {
    let charset = content_type.split("charset=").nth(1).unwrap_or_default();
    let charset = charset.split(';').next().unwrap_or_default().trim().trim_matches('"');
    match charset {
        "iso-8859-1" | "latin1" | "us-ascii" => body.iter().map(|byte| char::from(*byte)).collect(),
        _ => String::from_utf8_lossy(body).trim_start_matches('\u{feff}').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_text_and_how_it_is_read() {
        for kind in
            ["text/html", "text/plain", "application/json", "application/ld+json", "application/atom+xml"]
        {
            assert!(is_text(kind), "{kind}");
        }
        for kind in ["", "image/png", "application/octet-stream", "application/pdf"] {
            assert!(!is_text(kind), "{kind}");
        }
        assert_eq!(decoded(b"caf\xe9", "text/plain; charset=\"iso-8859-1\""), "café");
        assert_eq!(decoded("\u{feff}café".as_bytes(), "text/plain; charset=utf-8"), "café");
        assert_eq!(decoded(b"caf\xe9", "text/plain"), "caf\u{fffd}");
    }
}
