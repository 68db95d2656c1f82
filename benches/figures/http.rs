//! HTTP on loopback: how long a list takes, and whether those who follow the events slow the dispatch down.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::time::{Duration, Instant};

use andon::domain::Actor;
use andon::engine::{Command, NewTask};

use super::drain::{SHELL, until_idle};
use super::scratch::{Scratch, jobs, median, memory, per_second};

/// Cards that the list is made of.
const CARDS: usize = 10_000;
/// Requests, one every 20 ms.
const REQUESTS: usize = 500;
/// Clients that follow the events.
const STREAMS: usize = 200;

pub fn figure() {
    list();
    let alone = median((0..3).map(|_| drained_beside(0)).collect());
    let beside = median((0..3).map(|_| drained_beside(STREAMS)).collect());
    println!(
        "http: drain of 2,000 at {beside:.0} a second beside {STREAMS} event streams, {alone:.0} beside none, ratio {:.2}",
        beside / alone
    );
}

fn list() {
    let scratch = Scratch::new();
    let cards = (0..CARDS).map(|n| NewTask { title: format!("card {n}"), ..NewTask::default() });
    scratch.engine().execute(Command::CreateMany(cards.collect()), &Actor::operator("bench")).unwrap();
    let (mut daemon, address, token) = served(&scratch);
    let mut connection = BufReader::new(TcpStream::connect(&address).unwrap());
    let mut took = Vec::new();
    for _ in 0..REQUESTS {
        let begun = Instant::now();
        let length = ask(&mut connection, &address, &token, "/api/v1/tasks");
        assert!(length > 10_000, "a page of tasks");
        took.push(begun.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(Duration::from_millis(20).saturating_sub(begun.elapsed()));
    }
    took.sort_by(f64::total_cmp);
    println!(
        "http: GET /tasks over {CARDS} cards, 50 a second: median {:.1} ms, p99 {:.1} ms",
        took[REQUESTS / 2],
        took[REQUESTS * 99 / 100]
    );
    end(&mut daemon);
}

fn drained_beside(streams: usize) -> f64 {
    let scratch = Scratch::new();
    let engine = scratch.engine();
    let (mut daemon, address, token) = served(&scratch);
    let followers: Vec<TcpStream> = (0..streams).map(|_| follow(&address, &token)).collect();
    let readers: Vec<_> = followers
        .into_iter()
        .map(|mut stream| {
            std::thread::Builder::new()
                .stack_size(64 * 1024)
                .spawn(move || {
                    let mut bytes = [0; 16 * 1024];
                    while stream.read(&mut bytes).is_ok_and(|n| n > 0) {}
                })
                .unwrap()
        })
        .collect();
    let n = 2_000;
    let begun = Instant::now();
    engine.execute(Command::CreateMany(jobs(n, SHELL)), &Actor::operator("bench")).unwrap();
    until_idle(&engine);
    let rate = per_second(n, begun.elapsed());
    if streams > 0 {
        println!("http: {:.1} MiB of memory with {streams} event streams", memory(daemon.id(), "VmRSS:"));
    }
    end(&mut daemon);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    rate
}

fn served(scratch: &Scratch) -> (Child, String, String) {
    let mut daemon = scratch
        .andon(&["--headless", "--http", "127.0.0.1:0", "--parallel", "2"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let address = ready.trim().strip_prefix("ready http://").unwrap().to_owned();
    let token = scratch.andon(&["token"]).stdout(std::process::Stdio::piped()).output().unwrap().stdout;
    (daemon, address, String::from_utf8(token).unwrap().trim().to_owned())
}

fn end(daemon: &mut Child) {
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

/// One request on a connection that stays open; the length of the answer's body.
fn ask(connection: &mut BufReader<TcpStream>, address: &str, token: &str, path: &str) -> usize {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
    connection.get_mut().write_all(request.as_bytes()).unwrap();
    let (mut line, mut length) = (String::new(), 0);
    connection.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    while line.trim() != "" {
        line.clear();
        connection.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).unwrap();
    length
}

fn follow(address: &str, token: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let request =
        format!("GET /api/v1/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}
