//! Time in which a cache line comes from one core to another: the unit of what sharing costs on a
//! machine. Where cores are virtual, it changes with the places that their host gives them.

use crate::cores::Cores;
use crossbeam_utils::CachePadded;
use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

const ROUND_TRIPS: u64 = 20_000;

/// Sends a line to and fro between two cores; returns nanoseconds for one way.
pub fn measure(cores: &Cores, from: usize, to: usize) -> f64 {
    let line = CachePadded::new(AtomicU64::new(0));
    let wait_for = |turn: u64| {
        while line.load(Ordering::Acquire) != turn {
            hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            cores.pin(to);
            for trip in 0..ROUND_TRIPS {
                wait_for(2 * trip + 1);
                line.store(2 * trip + 2, Ordering::Release);
            }
        });
        let there = scope.spawn(|| {
            cores.pin(from);
            let began = Instant::now();
            for trip in 0..ROUND_TRIPS {
                line.store(2 * trip + 1, Ordering::Release);
                wait_for(2 * trip + 2);
            }
            began.elapsed().as_secs_f64() * 1e9 / (2 * ROUND_TRIPS) as f64
        });
        there.join().expect("no thread panics")
    })
}
