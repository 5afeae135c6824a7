//! `varve-null [--port N] [--threads N]`: answers RESP and stores nothing.
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};
use clap::Parser;

/// Answers SET with OK, GET with a fixed value of 16 bytes, anything else with OK.
#[derive(Parser)]
#[command(name = "varve-null")]
struct Arguments {
    /// TCP port on 127.0.0.1.
    #[arg(long, default_value_t = 6390)]
    port: u16,

    /// Threads to which connections are dealt out.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port))
        .with_context(|| format!("cannot listen on port {}", arguments.port))?;
    bench::null::serve(&listener, arguments.threads).context("the readiness loop failed")
}
