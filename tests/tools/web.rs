//! Fetching pages, from a server of the test's own.

use andon::tools::Registry;
use andon::tools::web::address::Allowed;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{House, text};

/// A server that answers each path with what `answer` says, and counts its callers. It ends with the test's process.
struct Server {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn new(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counted = asked.clone();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::Relaxed);
                let mut request = [0; 4096];
                let length = stream.read(&mut request).unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
                assert!(request.starts_with("GET "), "{request}");
                // A caller that has read enough hangs up.
                let _ = stream.write_all(&answer(&path));
            }
        });
        Server { address, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn ok(kind: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n").into_bytes();
    answer.extend_from_slice(body.as_ref());
    answer
}

fn to(place: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .into_bytes()
}

/// A house whose pages may come from this machine's first loopback address, and no other private one.
fn house() -> House {
    let registry = Registry::new(None).allowing([Allowed::parse("127.0.0.1").unwrap()]);
    House { registry, ..House::new() }
}

fn fetch(url: &str) -> Value {
    json!({ "tool": "web_fetch", "url": url })
}

#[test]
fn a_page_is_given_as_title_and_text_or_raw() {
    let html = "<title>News</title><script>x()</script><p>Hello <b>world</b></p>";
    let server = Server::new(move |path| match path {
        "/page" => ok("text/html; charset=utf-8", html),
        "/data" => ok("application/json", "{\"a\":1}"),
        _ => to("/page"),
    });
    let house = house();
    let page = house.call(fetch(&server.url("/page")));
    assert_eq!(
        (text(&page, "title"), text(&page, "text"), &page["status"]),
        ("News", "Hello world", &json!(200))
    );
    let raw = house.call(json!({ "tool": "web_fetch", "url": server.url("/page"), "raw": true }));
    assert_eq!(text(&raw, "text"), html);
    assert_eq!(text(&house.call(fetch(&server.url("/data"))), "text"), "{\"a\":1}");
    let moved = house.call(fetch(&server.url("/old")));
    assert_eq!(text(&moved, "url"), server.url("/page"));
}

#[test]
fn an_address_inside_is_refused_unless_it_is_allowed_and_nobody_is_asked() {
    let server = Server::new(|_| ok("text/plain", "secret"));
    let house = House::new();
    let port = server.address.port();
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "169.254.169.254",
        "2130706433",
        "0x7f.1",
    ] {
        let (error, exit) = house.refused(fetch(&format!("http://{host}:{port}/")));
        assert_eq!((text(&error, "code"), exit), ("private_address", 5), "{host}: {error}");
    }
    assert_eq!(server.asked.load(Ordering::Relaxed), 0);
}

#[test]
fn each_redirect_is_checked_and_there_are_five_at_most() {
    let inside = Server::new(|_| ok("text/plain", "secret"));
    let port = inside.address.port();
    let server = Server::new(move |path| match path.strip_prefix("/again/") {
        Some("0") => ok("text/plain", "end"),
        Some(left) => to(&format!("/again/{}", left.parse::<u32>().unwrap() - 1)),
        None if path == "/ftp" => to("ftp://127.0.0.1/x"),
        None => to(&format!("http://127.0.0.2:{port}/")),
    });
    let house = house();
    let (error, exit) = house.refused(fetch(&server.url("/inside")));
    assert_eq!((text(&error, "code"), exit), ("private_address", 5), "{error}");
    assert_eq!(inside.asked.load(Ordering::Relaxed), 0);
    assert_eq!(text(&house.call(fetch(&server.url("/again/5"))), "text"), "end");
    let (error, _) = house.refused(fetch(&server.url("/again/6")));
    assert!(text(&error, "message").contains("more than 5 times"), "{error}");
    let (error, _) = house.refused(fetch(&server.url("/ftp")));
    assert_eq!(text(&error, "code"), "fetch_failed", "{error}");
}

#[test]
fn only_text_is_taken_and_no_more_than_the_limit() {
    let server = Server::new(|path| {
        match path {
        "/picture" => ok("image/png", "PNG"),
        "/unknown" => b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx".to_vec(),
        "/gone" => b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\nConnection: close\r\n\r\ngone".to_vec(),
        "/nonsense" => b"\x00\xff nonsense\r\n\r\n".to_vec(),
        _ => ok("text/plain", vec![b'x'; 3_000_000]),
    }
    });
    let house = house();
    for (path, code) in [
        ("/picture", "not_text"),
        ("/unknown", "not_text"),
        ("/gone", "http_status"),
        ("/nonsense", "fetch_failed"),
    ] {
        let (error, exit) = house.refused(fetch(&server.url(path)));
        assert_eq!((text(&error, "code"), exit), (code, 1), "{error}");
    }
    let flood = house.call(fetch(&server.url("/flood")));
    assert_eq!((text(&flood, "text").len(), &flood["truncated"]), (1024 * 1024, &json!(true)));
}

#[test]
fn what_is_no_web_address_is_refused() {
    let house = house();
    for url in [
        "",
        "etc/passwd",
        "file:///etc/passwd",
        "ftp://example.com/",
        "http://user:pw@example.com/",
        "http://",
    ] {
        let (error, exit) = house.refused(fetch(url));
        assert_eq!((text(&error, "code"), exit), ("invalid_url", 2), "{url}");
    }
    assert_eq!(house.refused(json!({ "tool": "web_fetch" })).1, 2);
}
