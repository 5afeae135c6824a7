//! Excessively large replies.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::peak::Peak;
use super::plan::{Finding, Plan, megabytes};
use super::stream::Stream;
use crate::control::{Control, Reply};
use crate::servers::Server;

/// Asks for millions of members of a small set, with an output limit of a megabyte.
pub fn random_members(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let mut control = server.control()?;
    let members: Vec<_> = (0..1000).map(|number| format!("member-{number}")).collect();
    let mut add = vec!["SADD", "set"];
    add.extend(members.iter().map(String::as_str));
    control.ask(&add)?;
    let limit = "normal 1mb 1mb 1";
    control.ask(&["CONFIG", "SET", "client-output-buffer-limit", limit])?;
    let peak = Peak::watch(server);
    let is_over = AtomicBool::new(false);
    let longest = thread::scope(|scope| {
        let other = scope.spawn(|| longest_wait(&mut control, &is_over));
        let asked = ask_again_and_again(plan, server);
        is_over.store(true, Ordering::Relaxed);
        let longest = other.join().ok().context("the other client ended early")??;
        asked.map(|()| longest)
    })?;
    Ok(vec![
        megabytes("SRANDMEMBER -20,000,000 under an output limit of 1 MB", peak.most()),
        Finding {
            what: "the same: longest wait of another client",
            value: longest.as_secs_f64() * 1e3,
            unit: "ms",
        },
    ])
}

fn ask_again_and_again(plan: &Plan, server: &Server) -> Result<()> {
    for _ in 0..TIMES {
        let mut stream = Stream::open(server)?;
        stream.tell(&["SRANDMEMBER", "set", &format!("-{}", plan.picks)])?;
        let came = stream.read_to_end();
        ensure!(came < plan.picks * 10, "the client was not closed");
    }
    Ok(())
}

fn longest_wait(control: &mut Control, is_over: &AtomicBool) -> Result<Duration> {
    let mut longest = Duration::ZERO;
    while !is_over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        control.ask(&["SCARD", "set"])?;
        longest = longest.max(asked.elapsed());
        thread::sleep(Duration::from_micros(200));
    }
    Ok(longest)
}

/// Reads a whole long list: its shard is locked for the time of the command.
pub fn whole_list(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let mut control = server.control()?;
    let mut pushed = 0;
    while pushed < plan.elements {
        let count = (plan.elements - pushed).min(1000);
        let elements: Vec<_> =
            (pushed..pushed + count).map(|number| format!("e{number:015}")).collect();
        let mut push = vec!["RPUSH", "list"];
        push.extend(elements.iter().map(String::as_str));
        control.ask(&push)?;
        pushed += count;
    }
    let mut stream = Stream::open(server)?;
    let bytes = format!("*{}\r\n", plan.elements).len() as u64 + plan.elements * ELEMENT_BYTES;
    for _ in 0..TIMES {
        stream.tell(&["LRANGE", "list", "0", "-1"])?;
        stream.skip(bytes, 1 << 20, Duration::ZERO)?;
    }
    let Reply::Text(info) = control.ask(&["INFO", "commandstats"])? else {
        anyhow::bail!("INFO brought no text");
    };
    let line = info.lines().find(|line| line.starts_with("cmdstat_lrange:"));
    let micros = line.and_then(|line| line.split("usec_per_call=").nth(1)?.split(',').next());
    let micros: f64 = micros.context("INFO tells no time of LRANGE")?.parse()?;
    Ok(vec![Finding {
        what: "LRANGE of a million elements, in the server",
        value: micros / 1e3,
        unit: "ms",
    }])
}

const TIMES: usize = 10;
/// Bytes of an element of 16 bytes in a reply.
const ELEMENT_BYTES: u64 = "$16\r\n0123456789abcdef\r\n".len() as u64;
