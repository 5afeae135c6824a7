//! `varve-null [--port N]`: answers RESP and stores nothing.
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
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port))
        .with_context(|| format!("cannot listen on port {}", arguments.port))?;
    bench::null::serve(&listener).context("the readiness loop failed")
}
