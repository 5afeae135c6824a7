//! Clients that ask for too much: server memory for them, and waiting times of others.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::gate::waits_during;
use super::{Bench, Scenario, milliseconds, pin_client};
use crate::audience::{Audience, Seats};
use crate::control::encode_line as request;
use crate::generator::{Load, Sizes};
use crate::measure::{fill, measure, send_each};
use crate::process;
use crate::report::Section;
use crate::sampler::peak_during;
use crate::servers::{Kind, Launch, Program, Server};

/// Amount of load that clients make.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Time in which values of three types are made and removed.
    #[serde(rename = "ms", deserialize_with = "milliseconds")]
    time: Duration,
    /// Number of times that a value of a megabyte overwrites itself.
    overwrites: u64,
    /// GETs of a megabyte that are sent before the first reply is read.
    gets: usize,
    /// Members requested from a small set.
    picks: usize,
    /// Sets that are built and renamed in each of three parts.
    renames: u64,
    /// Connections that send one command and stay open.
    idle: usize,
    /// Clients that send requests and never read.
    deaf: usize,
    /// Commands in one pipeline.
    pipeline: usize,
    /// Bytes that a heap holds before it shrinks.
    bytes: u64,
    /// Elements of a list that is read whole.
    elements: u64,
    /// Keys that a client reads and may cache.
    cached: u64,
    /// Subscribers that do not read, and messages of 64 KB that are published to them.
    subscribers: usize,
    messages: u64,
}

/// Measured values, with their names and units.
type Found = Vec<(&'static str, f64, &'static str)>;

const ATTACKS: [fn(&Plan, &Server) -> Result<Found>; 12] = [
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
    cached,
    deaf_subscribers,
];

impl Scenario for Plan {
    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns("what | Varve .1 | Valkey .1 | unit");
        for attack in ATTACKS {
            let meet = |program: &Program| -> Result<Found> {
                let server = program.start(&Launch::default())?;
                let found = attack(self, &server)?;
                server.control()?.tell(&["PING"]).context("the server no longer answers")?;
                if server.kind == Kind::Varve {
                    server.end()?;
                }
                Ok(found)
            };
            let ours = meet(&bench.varve)?;
            let theirs = bench.valkey.as_ref().map(meet).transpose()?.unwrap_or_default();
            for (number, (what, value, unit)) in ours.into_iter().enumerate() {
                let other = theirs.get(number).map_or(f64::NAN, |(_, value, _)| *value);
                section.values(what, "", &[value, other]);
                section.remark(unit.to_owned());
                section.finding(what, Some(value), unit);
            }
        }
        Ok(())
    }
}

/// Makes and removes a collection of 150 elements, again and again, while another process wants the
/// same core.
fn push_and_delete(plan: &Plan, server: &Server) -> Result<Found> {
    let elements = |times| (0..150).map(move |it| format!(" element-{it:06}").repeat(times));
    let most = peak(server, || {
        beside_a_busy_process(|| {
            for (command, times) in [("RPUSH", 1), ("SADD", 1), ("HSET", 2)] {
                let turn = format!("{command} key{}; DEL key", elements(times).collect::<String>());
                let load = Load::of(turn, 1).on(1).pipelined(TURNS);
                measure(server, &load.lasting(plan.time / 3))?;
            }
            Ok(())
        })
    })?;
    Ok(vec![("make a collection of 150, DEL, in a loop, busy core", most, "MB")])
}

/// Overwrites a value of a megabyte with itself, again and again.
fn overwrite(plan: &Plan, server: &Server) -> Result<Found> {
    let load = Load::of(format!("SET key {{?{MEGABYTE}}}"), 1).count(plan.overwrites);
    let all = || measure(server, &load.on(1).pipelined(1)).map(drop);
    let most = peak(server, || beside_a_busy_process(all))?;
    Ok(vec![("SET of 1 MB over itself, busy core", most, "MB")])
}

/// Builds sets and renames them: the third part must leave no more memory than the first.
fn build_and_rename(plan: &Plan, server: &Server) -> Result<Found> {
    let members: String = (0..140).map(|number| format!(" member-{number:013}")).collect();
    let mut rests = Vec::new();
    for _ in 0..3 {
        for _ in 0..plan.renames / NAMES {
            send_each(server, &format!("SADD built:{{n}}{members}"), NAMES)?;
            send_each(server, "RENAME built:{n} live:{n}", NAMES)?;
        }
        thread::sleep(REST);
        rests.push(resident(server)?);
    }
    let grown = (rests[2] - rests[0]).max(0.0);
    Ok(vec![("build and RENAME: at rest after the third part, beside the first", grown, "MB")])
}

/// Fills a heap, overwrites a part of it, and flushes it.
fn shrink(plan: &Plan, server: &Server) -> Result<Found> {
    let keys = plan.bytes / 1000;
    fill(server, keys, &Sizes::fixed(1000))?;
    fill(server, keys / 2, &Sizes::fixed(900))?;
    server.control()?.tell(&["FLUSHALL"])?;
    thread::sleep(2 * REST);
    Ok(vec![("ten seconds after FLUSHALL of 1.4 GB", resident(server)?, "MB")])
}

/// Sends all requests of one client at once, and reads the replies slowly.
fn slow(plan: &Plan, server: &Server) -> Result<Found> {
    set_a_megabyte(server)?;
    let mut stream = open(server)?;
    let most = peak(server, || {
        stream.write_all(request("GET key").repeat(plan.gets).as_bytes())?;
        let mut reply = vec![0; format!("${MEGABYTE}\r\n\r\n").len() + MEGABYTE];
        for _ in 0..plan.gets {
            stream.read_exact(&mut reply).context("reading")?;
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    })?;
    Ok(vec![("pipelined GETs of 1 MB, read slowly", most, "MB")])
}

/// Sends requests of many clients that never read: with an output limit, and without one.
fn deaf(plan: &Plan, server: &Server) -> Result<Found> {
    set_a_megabyte(server)?;
    let mut found = Vec::new();
    for (limit, what) in [
        (4_000_000, "client that never reads, under a limit of 4 MB, each"),
        (0, "client that never reads, without a limit, each"),
    ] {
        limit_output(server, &format!("{limit} {limit} 0"))?;
        let (before, sends) = (resident(server)?, vec!["GET key".to_owned(); GETS_OF_DEAF]);
        let seats = Seats { clients: plan.deaf, sends, answered: false, reads: false };
        let (most, deaf) = peak_during(server.pid, || {
            let deaf = Audience::join(server, &seats)?;
            thread::sleep(SETTLE);
            Ok(deaf)
        })?;
        let most = most / 1e6;
        found.push((what, (most - before).max(0.0) / plan.deaf as f64, "MB"));
        drop(deaf);
        thread::sleep(SETTLE);
    }
    Ok(found)
}

/// Opens many connections, each of which sends one command and stays open.
fn idle(plan: &Plan, server: &Server) -> Result<Found> {
    let most = plan.idle as u64 + 100;
    server.control()?.tell(&["CONFIG", "SET", "maxclients", &most.to_string()])?;
    let (before, sends) = (resident(server)?, vec!["PING".to_owned()]);
    let seats = Seats { clients: plan.idle, sends, answered: true, reads: false };
    let _idle = Audience::join(server, &seats)?;
    thread::sleep(SETTLE);
    let each = (resident(server)? - before).max(0.0) / plan.idle as f64;
    Ok(vec![("idle connection, each", each * 1e3, "KB")])
}

/// Sends a very long pipeline: once with replies read meanwhile, once with replies read at the end.
fn pipeline(plan: &Plan, server: &Server) -> Result<Found> {
    let line = "SET key 0123456789abcdef";
    let load = Load::of(line, 1).on(1).pipelined(plan.pipeline).count(plan.pipeline as u64);
    let before = resident(server)?;
    let along = peak(server, || measure(server, &load).map(drop))?;
    let (all, mut stream) = (request(line).repeat(plan.pipeline), open(server)?);
    let after = peak(server, || {
        stream.write_all(all.as_bytes()).context("sending")?;
        stream.read_exact(&mut vec![0; plan.pipeline * "+OK\r\n".len()]).context("reading")
    })?;
    Ok(vec![
        ("pipeline of a million commands, growth", along - before, "MB"),
        ("the same, read only after it was sent, growth", after - before, "MB"),
    ])
}

/// Asks for millions of members of a small set, with an output limit of a megabyte.
fn random_members(plan: &Plan, server: &Server) -> Result<Found> {
    send_each(server, "SADD set member-{n}", 1000)?;
    let other = (server.control()?, &["SCARD set"][..]);
    limit_output(server, "1mb 1mb 1")?;
    let asked = Load::of(format!("SRANDMEMBER set -{}", plan.picks), 1);
    let asked = asked.on(1).pipelined(1).count(1);
    let ask = || {
        for _ in 0..TIMES {
            let whole = measure(server, &asked);
            ensure!(whole.is_err(), "the client was not closed");
        }
        Ok(())
    };
    let (most, (_, waits)) = peak_during(server.pid, || waits_during(vec![other], ask))?;
    Ok(vec![
        ("SRANDMEMBER -20,000,000 under an output limit of 1 MB", most / 1e6, "MB"),
        ("the same: longest wait of another client", waits[0].as_secs_f64() * 1e3, "ms"),
    ])
}

/// Reads a whole long list: its shard is locked for the time of the command.
fn whole_list(plan: &Plan, server: &Server) -> Result<Found> {
    send_each(server, "RPUSH list e{n:15}", plan.elements)?;
    measure(server, &Load::of("LRANGE list 0 -1", 1).on(1).pipelined(1).count(TIMES))?;
    let micros = server.micros_per_call("lrange")?;
    Ok(vec![("LRANGE of a million elements, in the server", micros / 1e3, "ms")])
}

/// Reads many keys as a client that is told when they change.
fn cached(plan: &Plan, server: &Server) -> Result<Found> {
    send_each(server, "SET key:{n:12} {?16}", plan.cached)?;
    let read = |opens: &[&str]| {
        let opens = opens.iter().map(|it| (*it).to_owned()).collect();
        let load = Load { opens, ..Load::each("GET key:{n:12}", plan.cached).on(1) };
        measure(server, &load)
    };
    read(&[])?;
    let before = resident(server)?;
    let _client = Audience::join(server, &Seats::of(1, &TRACKS))?;
    read(&TRACKS)?;
    let each = (resident(server)? - before) * 1e6 / plan.cached as f64;
    Ok(vec![("key of 16 bytes that a client may have cached, each", each, "bytes")])
}

/// Publishes large messages to very many clients: to some few messages while they read, and then
/// until those that do not read have been cut off.
fn deaf_subscribers(plan: &Plan, server: &Server) -> Result<Found> {
    let most = (plan.subscribers + 100).to_string();
    server.control()?.tell(&["CONFIG", "SET", "maxclients", &most])?;
    let publish = Load::of(format!("PUBLISH channel {{?{}}}", 64 << 10), 1).on(1).pipelined(1);
    let p99 = |count| -> Result<f64> {
        let measured = measure(server, &publish.clone().count(count))?;
        Ok(measured.outcome.latencies.value_at_quantile(0.99) as f64 / 1e6)
    };
    let seats = Seats::of(plan.subscribers, &["SUBSCRIBE channel"]);
    let readers = Audience::join(server, &seats)?;
    let beside_readers = p99(plan.messages / 200 + 1)?;
    drop(readers);
    thread::sleep(SETTLE);
    let _deaf = Audience::join(server, &Seats { reads: false, ..seats })?;
    let (most, beside_deaf) = peak_during(server.pid, || p99(plan.messages))?;
    let left = server.control()?.integer("PUBLISH channel end")?;
    ensure!(left == 0, "{left} of those who do not read are still there");
    Ok(vec![
        ("10,000 subscribers that do not read, 1 GB", most / 1e6, "MB"),
        ("the same: p99 of PUBLISH", beside_deaf, "ms"),
        ("p99 of PUBLISH to 10,000 subscribers that read", beside_readers, "ms"),
    ])
}

fn set_a_megabyte(server: &Server) -> Result<()> {
    server.control()?.tell(&["SET", "key", &"x".repeat(MEGABYTE)])
}

fn limit_output(server: &Server, limit: &str) -> Result<()> {
    let limit = format!("normal {limit}");
    server.control()?.tell(&["CONFIG", "SET", "client-output-buffer-limit", &limit])
}

/// Returns the resident memory of a server in megabytes.
fn resident(server: &Server) -> Result<f64> {
    Ok(server.resident_bytes()? as f64 / 1e6)
}

/// Returns the most megabytes of a server during an action.
fn peak(server: &Server, act: impl FnOnce() -> Result<()>) -> Result<f64> {
    Ok(peak_during(server.pid, act)?.0 / 1e6)
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

/// Opens a blocking connection.
fn open(server: &Server) -> Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// What a client sends that is told when keys change.
const TRACKS: [&str; 1] = ["CLIENT TRACKING ON"];
const PATIENCE: Duration = Duration::from_secs(60);
const MEGABYTE: usize = 1 << 20;
/// Collections that are made and removed in one write, and sets that are built before renames.
const TURNS: usize = 50;
const NAMES: u64 = 1000;
const GETS_OF_DEAF: usize = 40;
const TIMES: u64 = 10;
/// Time after which lazy free and cleaning are done.
const REST: Duration = Duration::from_secs(5);
const SETTLE: Duration = Duration::from_secs(2);
