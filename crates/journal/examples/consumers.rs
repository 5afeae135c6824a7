//! What consumers cost: a step of one of them, and a unit of a lane beside them. For comparison a
//! step where each consumer has an atomic, all of which are looked at without a lock.
//!
//! `cargo run --release -p journal --example consumers`

use crossbeam_utils::CachePadded;
use journal::{Consumer, Ring};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const CONSUMERS: [usize; 5] = [0, 1, 2, 8, 64];
const ROUNDS: usize = 20_000;
/// Units of a round.
const UNITS: usize = 64;
const UNIT: [u8; 59] = [b'u'; 59];

fn main() {
    println!("{:>8} {:>10} {:>10} {:>12}", "consumers", "step, ns", "unit, ns", "atomics, ns");
    for count in CONSUMERS {
        let runs = (0..9).map(|_| run(count));
        let best = |one: (f64, f64), two: (f64, f64)| (one.0.min(two.0), one.1.min(two.1));
        let (step, unit) = runs.reduce(best).expect("a run");
        let atomics = (0..9).map(|_| step_atomics(count)).fold(f64::MAX, f64::min);
        println!("{count:>8} {step:>10.1} {unit:>10.1} {atomics:>12.1}");
    }
}

/// Nanoseconds of a step of one consumer, of which each goes on by a round, and of a unit.
fn run(count: usize) -> (f64, f64) {
    let (mut lanes, ring) = Ring::with_lanes(0, 1, 1 << 30).expect("address space");
    let mut consumers: Vec<Consumer> = (0..count).map(|_| ring.read_from_end()).collect();
    let (mut steps, mut units) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        (0..UNITS).for_each(|_| _ = lanes[0].put_request(&UNIT));
        units += began.elapsed();
        let ends: Vec<u64> = consumers.iter_mut().map(Consumer::whole).collect();
        let began = Instant::now();
        std::iter::zip(&mut consumers, ends).for_each(|(consumer, end)| consumer.release(end));
        steps += began.elapsed();
    }
    let nanos = |time: Duration| time.as_nanos() as f64 / ROUNDS as f64;
    (nanos(steps) / count.max(1) as f64, nanos(units) / UNITS as f64)
}

/// The same with an atomic for each consumer: a step stores one and looks at all.
fn step_atomics(count: usize) -> f64 {
    let positions: Vec<CachePadded<AtomicU64>> = (0..count).map(|_| Default::default()).collect();
    let mut steps = Duration::ZERO;
    for round in 0..ROUNDS as u64 {
        let began = Instant::now();
        for position in &positions {
            position.store(round, Ordering::SeqCst);
            let all = positions.iter().map(|position| position.load(Ordering::SeqCst));
            black_box(all.min());
        }
        steps += began.elapsed();
    }
    steps.as_nanos() as f64 / (ROUNDS * count.max(1)) as f64
}
