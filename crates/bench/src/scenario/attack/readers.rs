//! Clients that read slowly or not at all, come in great numbers, or send without end.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::peak::Peak;
use super::plan::{Finding, Plan, megabytes};
use super::stream::{Stream, bulk_bytes};
use crate::control::encode;
use crate::process::raise_descriptor_limit;
use crate::servers::Server;

/// Sends all requests of one client at once, and reads the replies slowly.
pub fn slow(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    keep_value(server)?;
    let mut stream = Stream::open(server)?;
    let peak = Peak::watch(server);
    stream.send(encode(&["GET", "key"]).repeat(usize::try_from(plan.gets)?).as_bytes())?;
    stream.skip(plan.gets * bulk_bytes(VALUE_BYTES), VALUE_BYTES, Duration::from_millis(1))?;
    Ok(vec![megabytes("pipelined GETs of 1 MB, read slowly", peak.most())])
}

/// Sends requests of many clients that never read: with an output limit, and without one.
pub fn deaf(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    keep_value(server)?;
    let asked = encode(&["GET", "key"]).repeat(GETS_OF_DEAF);
    let mut found = Vec::new();
    for (limit, what) in LIMITS {
        let limit = format!("normal {limit} {limit} 0");
        server.control()?.ask(&["CONFIG", "SET", "client-output-buffer-limit", &limit])?;
        let peak = Peak::watch(server);
        let before = server.resident_bytes()?;
        let streams = (0..plan.deaf).map(|_| {
            let mut stream = Stream::open(server)?;
            stream.send(asked.as_bytes())?;
            Ok(stream)
        });
        let streams: Vec<_> = streams.collect::<Result<_>>()?;
        thread::sleep(SETTLE);
        let most = peak.most().saturating_sub(before);
        let each = most as f64 / 1e6 / plan.deaf as f64;
        found.push(Finding { what, value: each, unit: "MB" });
        drop(streams);
        thread::sleep(SETTLE);
    }
    Ok(found)
}

/// Opens many connections, each of which sends one command and stays open.
pub fn idle(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let most = plan.idle + 100;
    server.control()?.ask(&["CONFIG", "SET", "maxclients", &most.to_string()])?;
    raise_descriptor_limit(most);
    let before = server.resident_bytes()?;
    let streams = (0..plan.idle).map(|_| {
        let mut stream = Stream::open(server)?;
        stream.tell(&["PING"])?;
        stream.skip("+PONG\r\n".len() as u64, 64, Duration::ZERO)?;
        Ok(stream)
    });
    let streams: Vec<_> = streams.collect::<Result<_>>()?;
    thread::sleep(SETTLE);
    let each = server.resident_bytes()?.saturating_sub(before) as f64 / plan.idle as f64;
    drop(streams);
    Ok(vec![Finding { what: "idle connection, each", value: each / 1000.0, unit: "KB" }])
}

/// Sends a very long pipeline: once with replies read meanwhile, once with replies read at the end.
pub fn pipeline(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let commands = encode(&["SET", "key", "0123456789abcdef"]);
    let all = commands.repeat(usize::try_from(plan.pipeline)?);
    let replies = plan.pipeline * "+OK\r\n".len() as u64;
    let before = server.resident_bytes()?;
    let peak = Peak::watch(server);
    let mut stream = Stream::open(server)?;
    let mut sender = stream.clone()?;
    thread::scope(|scope| {
        let sent = scope.spawn(|| sender.send(all.as_bytes()));
        stream.skip(replies, 64 << 10, Duration::ZERO)?;
        sent.join().ok().context("the sender ended early")?
    })?;
    let along = megabytes("pipeline of a million commands, growth", peak.most() - before);
    let peak = Peak::watch(server);
    stream.send(all.as_bytes())?;
    stream.skip(replies, 64 << 10, Duration::ZERO)?;
    let after = megabytes("the same, read only after it was sent, growth", peak.most() - before);
    Ok(vec![along, after])
}

fn keep_value(server: &Server) -> Result<()> {
    server.control()?.ask(&["SET", "key", &"x".repeat(VALUE_BYTES)])?;
    Ok(())
}

const VALUE_BYTES: usize = 1 << 20;
const GETS_OF_DEAF: usize = 40;
const LIMITS: [(u64, &str); 2] = [
    (4_000_000, "client that never reads, under a limit of 4 MB, each"),
    (0, "client that never reads, without a limit, each"),
];
const SETTLE: Duration = Duration::from_secs(2);
