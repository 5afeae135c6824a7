//! Measures the parser: nanoseconds per request for a few shapes of pipelined requests.
//!
//! ```text
//! cargo run --release -p wire --example parse_speed
//! ```

use std::hint::black_box;
use std::time::Instant;

use wire::{Limits, Progress, Protocol, Reply, RequestParser, Span};

fn main() {
    let key = "memtier-12345678";
    for (name, arguments) in [
        ("PING", vec!["PING".to_owned()]),
        ("GET, 16-byte key", vec!["GET".to_owned(), key.to_owned()]),
        ("SET, 64-byte value", vec!["SET".to_owned(), key.to_owned(), "v".repeat(64)]),
        ("SET, 1024-byte value", vec!["SET".to_owned(), key.to_owned(), "v".repeat(1024)]),
        (
            "MSET, 100 pairs",
            std::iter::once("MSET").chain(["key:00001"; 200]).map(str::to_owned).collect(),
        ),
    ] {
        println!("{name:24} {:8.1} ns/request", nanoseconds(&pipeline(&arguments)));
    }
    println!("{:24} {:8.1} ns/reply", "bulk, 64 bytes", nanoseconds_bulk());
}

fn pipeline(arguments: &[String]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", arguments.len());
    for argument in arguments {
        request.push_str(&format!("${}\r\n{argument}\r\n", argument.len()));
    }
    request.repeat(REQUESTS).into_bytes()
}

/// Returns nanoseconds per request: the best of several rounds over the whole pipeline.
fn nanoseconds(input: &[u8]) -> f64 {
    let limits = Limits::default();
    let mut parser = RequestParser::new();
    let mut spans: Vec<Span> = Vec::with_capacity(1024);
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut rest = black_box(input);
        while let Ok(Progress::Complete { consumed }) = parser.parse(rest, &mut spans, &limits) {
            black_box(&spans);
            spans.clear();
            rest = &rest[consumed..];
        }
        best = best.min(start.elapsed().as_nanos() as f64 / REQUESTS as f64);
    }
    best
}

fn nanoseconds_bulk() -> f64 {
    let value = [b'v'; 64];
    let mut out = Vec::with_capacity(128 * REQUESTS);
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        out.clear();
        let start = Instant::now();
        let mut reply = Reply::new(&mut out, Protocol::Resp2);
        for _ in 0..REQUESTS {
            reply.bulk(black_box(&value));
        }
        best = best.min(start.elapsed().as_nanos() as f64 / REQUESTS as f64);
        black_box(&out);
    }
    best
}

const REQUESTS: usize = 1000;
const ROUNDS: usize = 2000;
