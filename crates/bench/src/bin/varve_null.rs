//! `varve-null [--port N] [--threads N] ...`: answers RESP and stores nothing.
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result, ensure};
use bench::null::{self, Replies, Shape};
use clap::Parser;

/// Answers GET, HGETALL, HMGET, ZADD and ZRANGEBYSCORE with constant replies, all else with OK.
#[derive(Parser)]
#[command(name = "varve-null")]
struct Arguments {
    /// TCP port on 127.0.0.1.
    #[arg(long, default_value_t = 6390)]
    port: u16,

    /// Threads to which connections are dealt out.
    #[arg(long, default_value_t = 1)]
    threads: usize,

    /// Fields of a record, in replies to HGETALL.
    #[arg(long, default_value_t = Shape::default().fields)]
    fields: usize,

    /// Bytes in each field.
    #[arg(long, default_value_t = Shape::default().field_bytes)]
    field_bytes: usize,

    /// Reply to everything but PING and INFO, in wire format.
    #[arg(long, conflicts_with_all = ["fields", "field_bytes"])]
    always: Option<String>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port))
        .with_context(|| format!("cannot listen on port {}", arguments.port))?;
    let (fields, field_bytes) = (arguments.fields, arguments.field_bytes);
    let replies = match &arguments.always {
        Some(reply) => {
            ensure!(reply.ends_with("\r\n"), "--always {reply:?}: a reply ends with \\r\\n");
            Replies::always(reply)
        }
        None => Replies::new(Shape { fields, field_bytes, ..Shape::default() }),
    };
    null::serve(&listener, arguments.threads, &replies).context("the readiness loop failed")
}
