//! Prints what a call from a script to its host costs, beside the loop around it and the rest of
//! a run: `cargo run --release -p script --example crossing`.

use std::time::Instant;

use script::{Call, Host, Input, Interpreter, LogLevel, Options, Protocol, Replication};

/// A host whose every command returns a number.
struct Seven;

impl Host for Seven {
    fn call(&mut self, _: &Call<'_>, reply: &mut Vec<u8>) -> u32 {
        reply.extend_from_slice(b":7\r\n");
        0
    }

    fn log(&mut self, _: LogLevel, _: &[u8]) {}

    fn replicate(&mut self, _: Replication) {}

    fn may_call(&mut self, _: &[&[u8]]) -> Option<bool> {
        None
    }
}

fn main() {
    let mut interpreter = Interpreter::new(&Options::default()).expect("there is memory");
    println!("an interpreter takes {} bytes", interpreter.memory_bytes());
    let empty = best(&mut interpreter, "for i = 1, 1000000 do end", 1_000_000);
    println!("an empty turn of a loop      {empty:6.1} ns");
    for (name, call) in [
        ("redis.call('GET', KEYS[1])", "redis.call('GET', KEYS[1])"),
        ("redis.call('SET', KEYS[1], i)", "redis.call('SET', KEYS[1], i)"),
        ("redis.pcall('PING')", "redis.pcall('PING')"),
    ] {
        let source = format!("for i = 1, 1000000 do {call} end");
        let turn = best(&mut interpreter, &source, 1_000_000);
        println!("{name:<29}{:6.1} ns", turn - empty);
    }
    let run = best_of_runs(&mut interpreter);
    println!("a run of `return 1`          {run:6.1} ns");
}

/// Returns the nanoseconds of one of so many turns, in the best of five runs.
fn best(interpreter: &mut Interpreter, source: &str, turns: u32) -> f64 {
    let function = interpreter.compile(source.as_bytes()).expect("valid");
    let input = Input { keys: &[b"key"], arguments: &[], protocol: Protocol::Resp2 };
    let once = |_| {
        let start = Instant::now();
        interpreter.run(&function, input, &mut Seven, &mut Vec::new());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(turns)
    };
    (0..5).map(once).fold(f64::INFINITY, f64::min)
}

fn best_of_runs(interpreter: &mut Interpreter) -> f64 {
    let function = interpreter.compile(b"return 1").expect("valid");
    let input = Input { keys: &[b"key"], arguments: &[b"1"], protocol: Protocol::Resp2 };
    let mut reply = Vec::new();
    let hundred_thousand = |_| {
        let start = Instant::now();
        for _ in 0..100_000 {
            reply.clear();
            interpreter.run(&function, input, &mut Seven, &mut reply);
        }
        start.elapsed().as_secs_f64() * 1e4
    };
    (0..5).map(hundred_thousand).fold(f64::INFINITY, f64::min)
}
