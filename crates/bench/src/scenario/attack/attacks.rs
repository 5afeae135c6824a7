//! The attacks: what clients send and read, and what is measured meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::stream::{Stream, request};
use super::{Finding, Plan};
use crate::generator::Sizes;
use crate::measure::{fill, send_each};
use crate::process;
use crate::sampler::Sampler;
use crate::scenario::gate::waits_during;
use crate::servers::Server;

pub(super) type Attack = fn(&Plan, &Server) -> Result<Vec<Finding>>;

pub(super) const ALL: [Attack; 10] = [
    push_and_delete,
    overwrite,
    build_and_rename,
    shrink,
    slow,
    deaf,
    idle,
    pipeline,
    random_members,
    whole_list,
];

/// Makes and removes a collection of 150 elements, again and again, while another process wants the
/// same core.
fn push_and_delete(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let elements = |times| (0..150).map(move |it| format!(" element-{it:06}").repeat(times));
    let mut stream = Stream::open(server)?;
    let most = most(server, || {
        for (command, times) in [("RPUSH", 1), ("SADD", 1), ("HSET", 2)] {
            let make = format!("{command} key{}", elements(times).collect::<String>());
            let turn = (request(&make) + &request("DEL key")).repeat(TURNS);
            let began = Instant::now();
            beside_a_busy_process(|| {
                while began.elapsed() < plan.time / 3 {
                    stream.exchange(&turn, TURNS * ":150\r\n:1\r\n".len())?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })?;
    Ok(vec![Finding::megabytes("make a collection of 150, DEL, in a loop, busy core", most)])
}

/// Overwrites a value of a megabyte with itself, again and again.
fn overwrite(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let (set, mut stream) = (set_a_megabyte(), Stream::open(server)?);
    let mut all = || (0..plan.overwrites).try_for_each(|_| stream.exchange(&set, OK));
    let most = most(server, || beside_a_busy_process(&mut all))?;
    Ok(vec![Finding::megabytes("SET of 1 MB over itself, busy core", most)])
}

/// Builds sets and renames them: the third part must leave no more memory than the first.
fn build_and_rename(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let members: String = (0..140).map(|number| format!(" member-{number:013}")).collect();
    let one = |it| {
        request(&format!("SADD built:{it}{members}"))
            + &request(&format!("RENAME built:{it} live:{it}"))
    };
    let turn: String = (0..NAMES).map(one).collect();
    let (mut stream, mut rests) = (Stream::open(server)?, Vec::new());
    for _ in 0..3 {
        for _ in 0..(plan.renames / NAMES).max(1) {
            stream.exchange(&turn, NAMES as usize * (":140\r\n".len() + OK))?;
        }
        thread::sleep(REST);
        rests.push(server.resident_bytes()?);
    }
    let what = "build and RENAME: at rest after the third part, beside the first";
    Ok(vec![Finding::megabytes(what, rests[2].saturating_sub(rests[0]))])
}

/// Fills a heap, overwrites a part of it, and flushes it.
fn shrink(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let keys = plan.bytes / 1000;
    fill(server, keys, &Sizes::fixed(1000))?;
    fill(server, keys / 2, &Sizes::fixed(900))?;
    server.control()?.tell(&["FLUSHALL"])?;
    thread::sleep(Duration::from_secs(10));
    let rest = server.resident_bytes()?;
    Ok(vec![Finding::megabytes("ten seconds after FLUSHALL of 1.4 GB", rest)])
}

/// Sends all requests of one client at once, and reads the replies slowly.
fn slow(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let mut stream = Stream::open(server)?;
    stream.exchange(&set_a_megabyte(), OK)?;
    let most = most(server, || {
        stream.send(&request("GET key").repeat(plan.gets))?;
        let reply = format!("${MEGABYTE}\r\n\r\n").len() + MEGABYTE;
        stream.skip(plan.gets * reply, MEGABYTE, Duration::from_millis(1))
    })?;
    Ok(vec![Finding::megabytes("pipelined GETs of 1 MB, read slowly", most)])
}

/// Sends requests of many clients that never read: with an output limit, and without one.
fn deaf(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    Stream::open(server)?.exchange(&set_a_megabyte(), OK)?;
    let mut found = Vec::new();
    for (limit, what) in [
        (4_000_000, "client that never reads, under a limit of 4 MB, each"),
        (0, "client that never reads, without a limit, each"),
    ] {
        limit_output(server, &format!("{limit} {limit} 0"))?;
        let before = server.resident_bytes()?;
        let mut streams = Vec::new();
        let most = most(server, || {
            for _ in 0..plan.deaf {
                let mut stream = Stream::open(server)?;
                stream.send(&request("GET key").repeat(GETS_OF_DEAF))?;
                streams.push(stream);
            }
            thread::sleep(SETTLE);
            Ok(())
        })?;
        found.push(Finding::megabytes(what, most.saturating_sub(before) / plan.deaf));
        drop(streams);
        thread::sleep(SETTLE);
    }
    Ok(found)
}

/// Opens many connections, each of which sends one command and stays open.
fn idle(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let most = plan.idle + 100;
    server.control()?.tell(&["CONFIG", "SET", "maxclients", &most.to_string()])?;
    process::raise_descriptor_limit(most);
    let before = server.resident_bytes()?;
    let mut streams = Vec::new();
    for _ in 0..plan.idle {
        let mut stream = Stream::open(server)?;
        stream.exchange(&request("PING"), "+PONG\r\n".len())?;
        streams.push(stream);
    }
    thread::sleep(SETTLE);
    let each = server.resident_bytes()?.saturating_sub(before) as f64 / plan.idle as f64;
    Ok(vec![Finding::new("idle connection, each", each / 1e3, "KB")])
}

/// Sends a very long pipeline: once with replies read meanwhile, once with replies read at the end.
fn pipeline(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    let all = request("SET key 0123456789abcdef").repeat(plan.pipeline);
    let before = server.resident_bytes()?;
    let mut stream = Stream::open(server)?;
    let mut sender = stream.clone()?;
    let along = most(server, || {
        thread::scope(|scope| {
            let sent = scope.spawn(|| sender.send(&all));
            stream.skip(plan.pipeline * OK, 64 << 10, Duration::ZERO)?;
            sent.join().ok().context("the sender ended early")?
        })
    })?;
    let after = most(server, || stream.exchange(&all, plan.pipeline * OK))?;
    Ok(vec![
        Finding::megabytes("pipeline of a million commands, growth", along - before),
        Finding::megabytes("the same, read only after it was sent, growth", after - before),
    ])
}

/// Asks for millions of members of a small set, with an output limit of a megabyte.
fn random_members(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    send_each(server, "SADD set member-{n}", 1000)?;
    let other = (server.control()?, &["SCARD set"][..]);
    limit_output(server, "1mb 1mb 1")?;
    let mut longest = Duration::ZERO;
    let most = most(server, || {
        let ask = || {
            for _ in 0..TIMES {
                let mut stream = Stream::open(server)?;
                stream.send(&request(&format!("SRANDMEMBER set -{}", plan.picks)))?;
                ensure!(stream.read_to_end() < plan.picks * 10, "the client was not closed");
            }
            Ok(())
        };
        (_, longest) = waits_during(vec![other], ask).map(|(asked, waits)| (asked, waits[0]))?;
        Ok(())
    })?;
    let longest = longest.as_secs_f64() * 1e3;
    Ok(vec![
        Finding::megabytes("SRANDMEMBER -20,000,000 under an output limit of 1 MB", most),
        Finding::new("the same: longest wait of another client", longest, "ms"),
    ])
}

/// Reads a whole long list: its shard is locked for the time of the command.
fn whole_list(plan: &Plan, server: &Server) -> Result<Vec<Finding>> {
    send_each(server, "RPUSH list e{n:15}", plan.elements)?;
    let elements = plan.elements as usize;
    let bytes = format!("*{elements}\r\n").len() + elements * "$16\r\ne012345678901234\r\n".len();
    let mut stream = Stream::open(server)?;
    for _ in 0..TIMES {
        stream.send(&request("LRANGE list 0 -1"))?;
        stream.skip(bytes, 1 << 20, Duration::ZERO)?;
    }
    let info = server.control()?.text(&["INFO", "commandstats"])?.unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("cmdstat_lrange:"));
    let micros = line.and_then(|line| line.split("usec_per_call=").nth(1)?.split(',').next());
    let micros: f64 = micros.context("INFO tells no time of LRANGE")?.parse()?;
    Ok(vec![Finding::new("LRANGE of a million elements, in the server", micros / 1e3, "ms")])
}

fn set_a_megabyte() -> String {
    request(&format!("SET key {}", "x".repeat(MEGABYTE)))
}

fn limit_output(server: &Server, limit: &str) -> Result<()> {
    let limit = format!("normal {limit}");
    server.control()?.tell(&["CONFIG", "SET", "client-output-buffer-limit", &limit])
}

/// Returns the most resident memory of a server during an action.
fn most(server: &Server, act: impl FnOnce() -> Result<()>) -> Result<u64> {
    let sampler = Sampler::start(Some(server.pid), SAMPLED_EVERY, Arc::default(), |_| {});
    let acted = act();
    let samples = sampler.stop();
    acted?;
    Ok(samples.into_iter().filter_map(|sample| sample.resident_bytes).max().unwrap_or(0))
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

const MEGABYTE: usize = 1 << 20;
/// Bytes of the reply to SET and RENAME.
const OK: usize = "+OK\r\n".len();
/// Collections that are made and removed in one write, and sets that are built.
const TURNS: usize = 50;
const NAMES: u64 = 200;
const GETS_OF_DEAF: usize = 40;
const TIMES: usize = 10;
const SAMPLED_EVERY: Duration = Duration::from_millis(5);
/// Time after which lazy free and cleaning are done.
const REST: Duration = Duration::from_secs(5);
const SETTLE: Duration = Duration::from_secs(2);
