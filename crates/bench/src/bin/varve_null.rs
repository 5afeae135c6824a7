//! `varve-null [--port N] [--threads N] ...`: answers RESP and stores nothing.
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result, ensure};
use bench::null::{self, Replies};
use clap::Parser;

/// Answers commands of YCSB with constant replies of their kinds, all else with OK.
#[derive(Parser)]
#[command(name = "varve-null")]
struct Arguments {
    /// TCP port on 127.0.0.1.
    #[arg(long, default_value_t = 6390)]
    port: u16,

    /// Threads to which connections are dealt out.
    #[arg(long, default_value_t = 1)]
    threads: usize,

    /// Fields of a record, in replies to HGETALL; by default as in YCSB's core workloads.
    #[arg(long, default_value_t = 10)]
    fields: usize,

    /// Bytes in each field.
    #[arg(long, default_value_t = 100)]
    field_bytes: usize,

    /// Reply to everything but PING and INFO, in wire format.
    #[arg(long, conflicts_with_all = ["fields", "field_bytes"])]
    always: Option<String>,
}

fn main() -> Result<()> {
    let Arguments { port, threads, fields, field_bytes, always } = Arguments::parse();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .with_context(|| format!("cannot listen on port {port}"))?;
    let mut replies = Replies::new(fields, field_bytes);
    if let Some(reply) = always {
        ensure!(reply.ends_with("\r\n"), "--always {reply:?}: a reply ends with \\r\\n");
        replies = Replies::always(&reply);
    }
    null::serve(&listener, threads, &replies).context("the readiness loop failed")
}
