//! Measures the parser: nanoseconds per request for a few shapes of pipelined requests.
//!
//! ```text
//! cargo run --release -p memcached --example parse_speed
//! ```

use memcached::{Limits, Progress, RequestParser};
use std::hint::black_box;
use std::time::Instant;
use wire::Span;

fn main() {
    let key = "memtier-12345678";
    let keys = format!("{key} ").repeat(100);
    for (name, request, per_request) in [
        ("mn", "mn\r\n".to_owned(), 1),
        ("get, 16-byte key", format!("get {key}\r\n"), 1),
        ("mg k v, 16-byte key", format!("mg {key} v\r\n"), 1),
        ("mg k b v, 12-byte key", format!("mg {} b v\r\n", "QUFB".repeat(4)), 1),
        ("set, 64-byte value", format!("set {key} 0 0 64\r\n{}\r\n", "v".repeat(64)), 1),
        ("ms, 64-byte value", format!("ms {key} 64 T0\r\n{}\r\n", "v".repeat(64)), 1),
        ("set, 1024-byte value", format!("set {key} 0 0 1024\r\n{}\r\n", "v".repeat(1024)), 1),
        ("get, 100 keys, each", format!("get {keys}\r\n"), 100),
    ] {
        let input = request.repeat(REQUESTS).into_bytes();
        println!("{name:24} {:8.1} ns", nanoseconds(&input) / f64::from(per_request));
    }
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
        while let Progress::Request(request) = parser.parse(rest, &mut spans, &limits) {
            black_box(&spans);
            spans.clear();
            rest = &rest[request.consumed..];
        }
        assert!(rest.is_empty());
        best = best.min(start.elapsed().as_nanos() as f64 / REQUESTS as f64);
    }
    best
}

const REQUESTS: usize = 1000;
const ROUNDS: usize = 2000;
