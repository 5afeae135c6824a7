#!/usr/bin/env bash
# The first random bytes that aws-lc-rs draws in a process take some 30 ms of processor time; nothing but an environment variable at build time ends that.
#
# Software   aws-lc-rs 1.19.0 with aws-lc-sys 0.47.0, packages of crates.io, the default cryptography of rustls 0.23; Linux, x86-64
# Guess      Random bytes come from getrandom, as with OpenSSL and ring: the first call costs a system call and the setup of a generator,
#            tens of microseconds.
# Seen       The first call in a process gathers entropy from the jitter of the processor besides, and takes a thousand times as long as the
#            same call of the same package built with AWS_LC_SYS_NO_JITTER_ENTROPY=1. Later calls, also those of other threads, take
#            microseconds in both. So a server that makes its rules of TLS at the start, or a command-line tool that connects once with
#            rustls, is slower by as much; no feature of the crate and no call at run time turns it off.
# Output     first draw of the process: more than 5 ms as it is built by default
#            first draw of another thread: less than 1 ms
#            first draw of the process: less than 1 ms with AWS_LC_SYS_NO_JITTER_ENTROPY=1
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, a C compiler, and Rust with cargo.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "draw"
version = "0.0.0"
edition = "2021"

[dependencies]
aws-lc-rs = { version = "=1.19.0", default-features = false, features = ["aws-lc-sys"] }
aws-lc-sys = "=0.47.0"
TOML
cat >src/main.rs <<'RUST'
use std::time::{Duration, Instant};

fn draw() -> Duration {
    let began = Instant::now();
    aws_lc_rs::rand::fill(&mut [0; 32]).expect("random bytes");
    began.elapsed()
}

fn told(time: Duration) -> &'static str {
    match time.as_micros() {
        0..1000 => "less than 1 ms",
        1000..5000 => "1 to 5 ms",
        _ => "more than 5 ms",
    }
}

fn main() {
    let how = std::env::args().nth(1).expect("how it was built");
    println!("first draw of the process: {} {how}", told(draw()));
    if how.starts_with("as") {
        let other = std::thread::spawn(draw).join().expect("a time");
        println!("first draw of another thread: {}", told(other));
    }
}
RUST
export AWS_LC_SYS_USE_SYSTEM=0 AWS_LC_SYS_CMAKE_BUILDER=0
AWS_LC_SYS_NO_JITTER_ENTROPY=0 cargo build --quiet --release --target-dir default
AWS_LC_SYS_NO_JITTER_ENTROPY=1 cargo build --quiet --release --target-dir without
told=$(
  default/release/draw "as it is built by default"
  without/release/draw "with AWS_LC_SYS_NO_JITTER_ENTROPY=1"
)
printf '%s\n' "$told"
expected="first draw of the process: more than 5 ms as it is built by default
first draw of another thread: less than 1 ms
first draw of the process: less than 1 ms with AWS_LC_SYS_NO_JITTER_ENTROPY=1"
[[ $told == "$expected" ]] || {
  echo "it has changed" >&2
  exit 1
}
