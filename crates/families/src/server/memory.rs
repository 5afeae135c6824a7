//! MEMORY: use of memory.

use super::info::MemoryFacts;
use command::{Call, Outcome};
use heap::{SegmentFacts, SegmentState};
use session::{Instance, Refusal};
use std::sync::atomic::Ordering::Relaxed;
use wire::Reply;

/// Bytes of data below which there is too little to judge by.
const JUDGED_FROM: u64 = 5 << 20;
/// Thresholds from which on MEMORY DOCTOR reports a finding.
const PEAK_RATIO: f64 = 1.5;
const RESIDENT_RATIO: f64 = 1.4;
const UTILISATION_LEAST: f64 = 0.5;
const CLIENT_BYTES_MANY: u64 = 200 << 10;

pub(super) fn usage(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let mut at = 3;
    while at < args.len() {
        if !args.is(at, "SAMPLES") || at + 1 >= args.len() {
            return Err(Refusal::SYNTAX.into());
        }
        if args.integer(at + 1)? < 0 {
            return Err(Refusal::SYNTAX.into());
        }
        at += 2;
    }
    let (access, key, reply) = call.on_key(2);
    match access.memory_of(&key) {
        Some(bytes) => reply.integer(bytes as i64),
        None => reply.null(),
    }
    Ok(())
}

pub(super) fn doctor(call: &mut Call<'_>) -> Outcome {
    let facts = MemoryFacts::of(call.instance);
    let clients = call.instance.clients.count().max(1);
    let mut findings: Vec<String> = Vec::new();
    if facts.dataset < JUDGED_FROM {
        findings.push("There is too little data to judge by.".to_owned());
    } else {
        findings.extend(complaints(&facts, clients));
    }
    if findings.is_empty() {
        findings.push("Nothing looks unhealthy.".to_owned());
    }
    call.reply.verbatim(b"txt", findings.join("\n").as_bytes());
    Ok(())
}

fn complaints(facts: &MemoryFacts, clients: u64) -> Vec<String> {
    let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let mut findings = Vec::new();
    if ratio(facts.peak, facts.used) > PEAK_RATIO {
        findings.push(format!(
            "Peak: {} bytes were used once, now it is {}. The rest goes back to the system.",
            facts.peak, facts.used
        ));
    }
    if ratio(facts.resident, facts.used) > RESIDENT_RATIO {
        findings.push(format!(
            "Resident memory: {} bytes for {} that are used. MEMORY SEGMENTS shows where they are.",
            facts.resident, facts.used
        ));
    }
    if facts.utilisation() < UTILISATION_LEAST {
        let percent = facts.utilisation() * 100.0;
        findings.push(format!(
            "Segments: live records fill {percent:.0} % of them. The cleaner is behind, or rests."
        ));
    }
    if facts.clients / clients > CLIENT_BYTES_MANY {
        findings.push(format!(
            "Clients: {} bytes of buffers for {clients} clients. CLIENT LIST shows whose they are.",
            facts.clients
        ));
    }
    findings
}

pub(super) fn malloc_stats(call: &mut Call<'_>) -> Outcome {
    let facts = MemoryFacts::of(call.instance);
    let mut text = String::from("Records live in segments; MEMORY SEGMENTS lists them.\n");
    text.push_str(&format!("allocator: {}\n", call.instance.identity.allocator));
    for (name, value) in [
        ("touched bytes", facts.touched),
        ("pooled bytes", facts.pooled),
        ("live bytes", facts.live),
        ("index bytes", facts.index),
        ("resident bytes", facts.resident),
    ] {
        text.push_str(&format!("{name}: {value}\n"));
    }
    call.reply.verbatim(b"txt", text.as_bytes());
    Ok(())
}

pub(super) fn purge(call: &mut Call<'_>) -> Outcome {
    let heap = call.instance.store.heap();
    let keep = u64::from(heap.head_bytes());
    while heap.return_some(keep) {}
    call.reply.ok();
    Ok(())
}

pub(super) fn stats(call: &mut Call<'_>) -> Outcome {
    let facts = MemoryFacts::of(call.instance);
    let mark = call.reply.deferred_map();
    let mut count = write_totals(&mut call.reply, &facts, call.instance);
    count += write_databases(call);
    count += write_rest(&mut call.reply, &facts);
    call.reply.close_map(mark, count);
    Ok(())
}

fn write_numbers(reply: &mut Reply<'_>, numbers: &[(&str, u64)]) -> usize {
    for (name, value) in numbers {
        reply.bulk(name.as_bytes());
        reply.integer(*value as i64);
    }
    numbers.len()
}

fn write_totals(reply: &mut Reply<'_>, facts: &MemoryFacts, instance: &Instance) -> usize {
    let numbers = [
        ("peak.allocated", facts.peak),
        ("total.allocated", facts.used),
        ("startup.allocated", facts.base),
        ("replication.backlog", 0),
        ("replicas.repl.buffer", 0),
        ("clients.slaves", 0),
        ("clients.normal", facts.clients),
        ("cluster.links", 0),
        ("cluster.slot_import", 0),
        ("cluster.slot_export", 0),
        ("aof.buffer", instance.journal.resident_bytes.load(Relaxed)),
        ("lua.caches", instance.scripts.bytes()),
        ("functions.caches", instance.libraries.bytes()),
    ];
    write_numbers(reply, &numbers)
}

/// Writes the part of the index that belongs to each database, in proportion to its keys. Returns
/// the number of databases that have keys.
#[expect(clippy::cast_possible_truncation, reason = "no more than the whole index takes")]
fn write_databases(call: &mut Call<'_>) -> usize {
    let store = &call.instance.store;
    let (index, mut count) = (store.index_bytes(), 0);
    let all: u64 = (0..store.databases()).map(|database| store.len(database)).sum();
    for database in 0..store.databases() {
        let keys = store.len(database);
        if keys == 0 {
            continue;
        }
        let bytes = (index as f64 * keys as f64 / all.max(keys) as f64) as u64;
        call.reply.bulk(format!("db.{database}").as_bytes());
        call.reply.map(2);
        let numbers = [("overhead.hashtable.main", bytes), ("overhead.hashtable.expires", 0)];
        write_numbers(&mut call.reply, &numbers);
        count += 1;
    }
    count
}

fn write_rest(reply: &mut Reply<'_>, facts: &MemoryFacts) -> usize {
    let (used, active, resident) = (facts.used, facts.active(), facts.resident);
    let mut count = write_numbers(
        reply,
        &[
            ("overhead.db.hashtable.lut", facts.index),
            ("overhead.db.hashtable.rehashing", 0),
            ("overhead.total", facts.overhead()),
            ("db.dict.rehashing.count", 0),
            ("keys.count", facts.keys),
            ("keys.bytes-per-key", (used - facts.base).checked_div(facts.keys).unwrap_or(0)),
            ("dataset.bytes", facts.dataset),
        ],
    );
    count += write_ratios(
        reply,
        &[
            ("dataset.percentage", facts.dataset_percent()),
            ("peak.percentage", facts.peak_percent()),
        ],
    );
    count += write_numbers(
        reply,
        &[
            ("allocator.allocated", used),
            ("allocator.active", active),
            ("allocator.resident", resident),
            ("allocator.muzzy", 0),
        ],
    );
    for (ratio, bytes, more, less) in [
        ("allocator-fragmentation.ratio", "allocator-fragmentation.bytes", active, used),
        ("allocator-rss.ratio", "allocator-rss.bytes", resident, active),
        ("rss-overhead.ratio", "rss-overhead.bytes", resident, resident),
        ("fragmentation", "fragmentation.bytes", resident, used),
    ] {
        count += write_ratios(reply, &[(ratio, more as f64 / less.max(1) as f64)]);
        reply.bulk(bytes.as_bytes());
        reply.integer(MemoryFacts::excess(more, less));
        count += 1;
    }
    count
}

fn write_ratios(reply: &mut Reply<'_>, ratios: &[(&str, f64)]) -> usize {
    for (name, value) in ratios {
        reply.bulk(name.as_bytes());
        reply.double(*value);
    }
    ratios.len()
}

/// MEMORY SEGMENTS, a command of Varve's own: the segments in use, in the order of their ids.
pub(super) fn segments(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let most = match args.len() {
        2 => usize::MAX,
        4 if args.is(2, "COUNT") => usize::try_from(args.integer(3)?)
            .ok()
            .filter(|count| *count > 0)
            .ok_or(Refusal::of("ERR COUNT must be positive"))?,
        _ => return Err(Refusal::SYNTAX.into()),
    };
    let mut all = call.instance.store.heap().segments();
    all.truncate(most);
    call.reply.array(all.len());
    for segment in &all {
        write_segment(&mut call.reply, segment, call.now);
    }
    Ok(())
}

fn write_segment(reply: &mut Reply<'_>, segment: &SegmentFacts, now: base::Millis) {
    reply.map(8);
    reply.bulk(b"id");
    reply.integer(segment.id.0.into());
    reply.bulk(b"state");
    reply.bulk(state_name(segment.state).as_bytes());
    reply.bulk(b"written");
    reply.integer(segment.written as i64);
    reply.bulk(b"live");
    reply.integer(segment.live as i64);
    reply.bulk(b"utilisation");
    reply.double(segment.live as f64 / segment.written.max(1) as f64);
    reply.bulk(b"records");
    reply.integer(segment.records.into());
    reply.bulk(b"live-records");
    reply.integer(segment.live_records.into());
    reply.bulk(b"age");
    reply.integer((now.distance(segment.born) / 1000) as i64);
}

fn state_name(state: SegmentState) -> &'static str {
    match state {
        SegmentState::Free => "free",
        SegmentState::Open => "open",
        SegmentState::Sealed => "sealed",
        SegmentState::Cleaning => "cleaning",
        SegmentState::Dedicated => "dedicated",
    }
}
