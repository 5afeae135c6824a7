//! Fills a directory with SET commands through the ring, as a server with one worker does, with a
//! sync once a second, then reads it: what both take.
//!
//! `cargo run --release -p journal --example append DIRECTORY [MILLION]`. Redis, Valkey and Varve
//! start from what it leaves.

use base::Steady;
use journal::disk::{Directory, Files};
use journal::inspect::inspect;
use journal::log::Log;
use journal::reader::AofReader;
use journal::set::Set;
use journal::sync_line::ReplicationId;
use journal::writer::{Start, SyncPolicy};
use journal::{Command, Lane, Ring, Words};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PENDING_BYTES_MAX: u64 = 16 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("a directory");
    let units = arguments.next().map_or(1, |millions| millions.parse().expect("millions"));
    let directory = Directory::open(Path::new(&path)).expect("a directory");
    let set = Set::open(directory, "appendonly.aof").expect("a set");
    let id = ReplicationId::parse(&[b'e'; 40]).expect("digits");
    let start = Start { position: 0, selected: 0, id, shift: 0 };
    let mut log = Log::begin(set, start, Steady(0)).expect("the first file");
    let (mut lanes, ring) = Ring::with_lanes(0, 1, 1 << 30).expect("address space");
    let mut consumer = ring.read_from_end();
    let mut lane = lanes.pop().expect("a lane");
    let has_ended = AtomicBool::new(false);
    let began = Instant::now();
    let now = || Steady(narrow::low_u64(began.elapsed().as_millis()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            put(&mut lane, units * 1_000_000);
            has_ended.store(true, Ordering::Release);
        });
        let mut is_last = false;
        while !is_last {
            is_last = has_ended.load(Ordering::Acquire);
            log.write(&mut consumer, now()).expect("written");
            consumer.release(log.written().position);
            consumer.prepare();
            if is_last || log.is_sync_due(SyncPolicy::EverySecond, now()) {
                let job = log.begin_sync(now()).expect("a line");
                let outcome = job.run();
                log.end_sync(job, &outcome);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{units} million units, {} bytes, {seconds:.2} s, {:.2} million/s",
        log.safe().bytes,
        units as f64 / seconds
    );
    read(&path);
}

/// Looks at all files of the directory and reads them again.
fn read(path: &str) {
    let set = Set::open(Directory::open(Path::new(path)).expect("a directory"), "appendonly.aof");
    let set = set.expect("a set");
    for entry in set.manifest().to_load() {
        let file = set.files().open(&entry.name).expect("a file");
        let began = Instant::now();
        let found = inspect(&file, 0).expect("read");
        let inspected = began.elapsed();
        let mut reader = AofReader::between(&file, 0, found.whole);
        let mut arguments = 0;
        while let Some(unit) = reader.next_unit().expect("inspected") {
            arguments += unit.commands().map(|command| command.len()).sum::<usize>();
        }
        let nanos = |time: Duration| time.as_nanos() as f64 / found.units.max(1) as f64;
        println!(
            "{}: {} units, {arguments} words, {:?}; inspected in {:.0} ns each, read in {:.0}",
            entry.name,
            found.units,
            found.state,
            nanos(inspected),
            nanos(began.elapsed() - inspected)
        );
    }
}

fn put(lane: &mut Lane, units: u64) {
    for number in 0..units {
        let words = [&b"SET"[..], &format!("key:{number:012}").into_bytes(), &[b'v'; 16]];
        let command = Command { database: 0, words: Words::Args(&words) };
        lane.put_unit(std::iter::once(command));
        if number % 32 == 31 {
            lane.withdraw();
            while lane.ring().pending_bytes() > PENDING_BYTES_MAX {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }
    lane.withdraw();
}
