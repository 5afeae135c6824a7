//! Values that are made and removed without end, and the memory left of a heap that has shrunk.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::peak::Peak;
use super::plan::{Finding, Plan, megabytes};
use super::stream::Stream;
use crate::control::encode;
use crate::generator::ValueSize;
use crate::process;
use crate::scenario::measure::fill;
use crate::servers::Server;

/// Makes and removes a collection of 150 elements, again and again, while another process wants the
/// same core.
pub fn push_and_delete(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let elements: Vec<_> = (0..150).map(|number| format!("element-{number:06}")).collect();
    let pairs: Vec<_> = elements.iter().flat_map(|it| [it.as_str(), it.as_str()]).collect();
    let singles: Vec<_> = elements.iter().map(String::as_str).collect();
    let kinds: [(&str, &[&str]); 3] = [("RPUSH", &singles), ("SADD", &singles), ("HSET", &pairs)];
    let mut stream = Stream::open(server)?;
    let peak = Peak::watch(server);
    for (command, words) in kinds {
        let make = encode(&[&[command, "key"], words].concat());
        let turn = format!("{make}{}", encode(&["DEL", "key"])).repeat(PIPELINE);
        let replies = (":150\r\n:1\r\n".len() * PIPELINE) as u64;
        beside_a_busy_process(|| {
            let began = Instant::now();
            while began.elapsed() < plan.seconds / 3 {
                stream.send(turn.as_bytes())?;
                stream.skip(replies, 64 << 10, Duration::ZERO)?;
            }
            Ok(())
        })?;
    }
    Ok(vec![megabytes("make a collection of 150, DEL, in a loop, busy core", peak.most())])
}

/// Overwrites a value of a megabyte with itself, again and again.
pub fn overwrite(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let set = encode(&["SET", "key", &"x".repeat(1 << 20)]);
    let mut stream = Stream::open(server)?;
    let peak = Peak::watch(server);
    beside_a_busy_process(|| {
        for _ in 0..plan.overwrites {
            stream.send(set.as_bytes())?;
            stream.skip("+OK\r\n".len() as u64, 64, Duration::ZERO)?;
        }
        Ok(())
    })?;
    Ok(vec![megabytes("SET of 1 MB over itself, busy core", peak.most())])
}

/// Builds sets and renames them: the third part must leave no more memory than the first.
pub fn build_and_rename(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let members: Vec<_> = (0..140).map(|number| format!("member-{number:013}")).collect();
    let members: Vec<_> = members.iter().map(String::as_str).collect();
    let mut stream = Stream::open(server)?;
    let mut rest = Vec::new();
    for _ in 0..3 {
        let mut left = plan.renames;
        while left > 0 {
            let count = left.min(NAMES);
            let (mut turn, mut replies) = (String::new(), 0);
            for number in 0..count {
                let (built, live) = (format!("built:{number}"), format!("live:{number}"));
                turn.push_str(&encode(&[&["SADD", built.as_str()], &members[..]].concat()));
                turn.push_str(&encode(&["RENAME", &built, &live]));
                replies += ":140\r\n+OK\r\n".len() as u64;
            }
            stream.send(turn.as_bytes())?;
            stream.skip(replies, 64 << 10, Duration::ZERO)?;
            left -= count;
        }
        thread::sleep(REST);
        rest.push(server.resident_bytes()?);
    }
    let grown = rest[2].saturating_sub(rest[0]);
    Ok(vec![megabytes("build and RENAME: at rest after the third part, beside the first", grown)])
}

/// Fills a heap, overwrites a part of it, and flushes it.
pub fn shrink(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let keys = plan.bytes / VALUE_BYTES as u64;
    fill(server, keys, ValueSize::Fixed(VALUE_BYTES))?;
    fill(server, keys / 2, ValueSize::Fixed(VALUE_BYTES * 9 / 10))?;
    server.control()?.ask(&["FLUSHALL"])?;
    thread::sleep(Duration::from_secs(10));
    let rest = server.resident_bytes()?;
    Ok(vec![megabytes("ten seconds after FLUSHALL of 1.4 GB", rest)])
}

/// Runs `act` while another process wants the server's core.
fn beside_a_busy_process(act: impl FnOnce() -> Result<()>) -> Result<()> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            process::pin_this_thread(0);
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let done = act();
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

const PIPELINE: usize = 50;
const NAMES: u64 = 200;
const VALUE_BYTES: usize = 1000;
/// Time after which lazy free and cleaning are done.
const REST: Duration = Duration::from_secs(5);
