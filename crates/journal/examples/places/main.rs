//! Taking places: processor time per unit of the threads that take them and of the one that writes
//! them out, for the ring, one buffer behind a mutex, and buffers of threads that are merged by
//! tickets. Last what it costs to fill a place without unsafe code.
//!
//! `cargo run --release -p journal --example places`, with the bytes of each run in MB as argument.

mod ways;

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Instant;
use ways::{Cost, Load, merged, mutex, ring};

const SIZES: [usize; 2] = [59, 1024];
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

type Way = fn(&Load<'_>) -> Cost;

fn main() {
    let argument = std::env::args().nth(1).and_then(|argument| argument.parse().ok());
    let megabytes: usize = argument.unwrap_or(512);
    println!("ns of processor time per unit: taking thread + other threads (million units/s)");
    for bytes in SIZES {
        let unit = vec![b'u'; bytes];
        println!("\nunits of {bytes} bytes");
        println!("{:>8} {:>22} {:>22} {:>22}", "threads", "ring", "mutex", "merged");
        for threads in THREADS {
            let units = megabytes * 1_000_000 / bytes / threads;
            let load = Load { threads, unit: &unit, units };
            let ways: [Way; 3] = [ring::run, mutex::run, merged::run];
            let costs = ways.map(|way| best_of_three(way, &load));
            let [ring, mutex, merged] = costs.map(|cost| cost.to_string());
            println!("{threads:>8} {ring:>22} {mutex:>22} {merged:>22}");
        }
    }
    println!("\nfilling places in one chunk, ns per unit");
    println!("{:>8} {:>8} {:>14} {:>14}", "bytes", "copied", "atomic bytes", "atomic words");
    SIZES.iter().for_each(|bytes| fill(*bytes));
}

fn best_of_three(way: Way, load: &Load<'_>) -> Cost {
    let runs = (0..3).map(|_| way(load));
    runs.min_by(|one, two| one.total().total_cmp(&two.total())).expect("three runs")
}

const ROOM: usize = 1 << 20;

fn fill(bytes: usize) {
    let unit: Vec<u8> = (0..bytes).map(|at| narrow::low_u8(at as u64)).collect();
    let mut plain = vec![0; ROOM];
    let copied = nanos(bytes, |at| plain[at..at + bytes].copy_from_slice(black_box(&unit)));
    let small: Vec<AtomicU8> = (0..ROOM).map(|_| AtomicU8::new(0)).collect();
    let by_byte = nanos(bytes, |at| {
        let place = &small[at..at + bytes];
        std::iter::zip(place, black_box(&unit)).for_each(|(to, from)| {
            to.store(*from, Ordering::Relaxed);
        });
    });
    let words: Vec<AtomicU64> = (0..ROOM / 8).map(|_| AtomicU64::new(0)).collect();
    let by_word = nanos(bytes, |at| fill_words(&words, at, black_box(&unit)));
    println!("{bytes:>8} {copied:>8.1} {by_byte:>14.1} {by_word:>14.1}");
    black_box((&plain, &small, &words));
}

/// Inner words are stored; those at the edges belong to two units, so their bits are added to
/// zeros.
fn fill_words(words: &[AtomicU64], at: usize, unit: &[u8]) {
    let word = |bytes: &[u8], shift: usize| {
        let mut word = [0; 8];
        word[shift..shift + bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let (front, rest) = unit.split_at(((8 - at % 8) % 8).min(unit.len()));
    let mut number = at / 8;
    if !front.is_empty() {
        words[number].fetch_or(word(front, at % 8), Ordering::Relaxed);
        number += 1;
    }
    let (inner, back) = rest.as_chunks::<8>();
    for bytes in inner {
        words[number].store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        number += 1;
    }
    if !back.is_empty() {
        words[number].fetch_or(word(back, 0), Ordering::Relaxed);
    }
}

fn nanos(bytes: usize, mut fill: impl FnMut(usize)) -> f64 {
    let places = ROOM / bytes - 1;
    let best = (0..50).map(|_| {
        let began = Instant::now();
        (0..places).for_each(|number| fill(number * bytes));
        began.elapsed().as_nanos() as f64 / places as f64
    });
    best.fold(f64::MAX, f64::min)
}
