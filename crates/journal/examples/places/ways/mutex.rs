//! One buffer behind a mutex, exchanged for an empty one by the thread that writes.

use super::{Cost, Load, Sink, measure};
use std::sync::Mutex;

pub fn run(load: &Load<'_>) -> Cost {
    let shared = Mutex::new(Vec::with_capacity(32 << 20));
    let taker = |_| {
        |batch: usize| {
            for _ in 0..batch {
                shared.lock().expect("the buffer").extend_from_slice(load.unit);
            }
        }
    };
    let (mut sink, mut other) = (Sink::new(), Vec::with_capacity(32 << 20));
    measure(load, (0..load.threads).map(taker).collect(), |_| {
        std::mem::swap(&mut *shared.lock().expect("the buffer"), &mut other);
        sink.write(&other);
        let bytes = other.len() as u64;
        other.clear();
        bytes
    })
}
