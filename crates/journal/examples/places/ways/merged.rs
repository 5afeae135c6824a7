//! A buffer for each thread, with a ticket by atomic addition for each unit; the thread that writes
//! merges them in the order of tickets.

use super::{BATCH, Cost, Load, Sink, measure};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Units of one thread, handed over at the end of a batch.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    tickets: Vec<(u64, usize)>,
}

/// Batches of one thread that wait, and empty ones for use.
#[derive(Default)]
struct Queue {
    full: Mutex<VecDeque<Batch>>,
    empty: Mutex<Vec<Batch>>,
}

/// The batch of a thread that is being merged.
#[derive(Default)]
struct Head {
    batch: Batch,
    unit: usize,
    offset: usize,
}

pub fn run(load: &Load<'_>) -> Cost {
    let next_ticket = AtomicU64::new(0);
    let queues: Vec<Queue> = (0..load.threads).map(|_| Queue::default()).collect();
    let taker = |queue| {
        let next_ticket = &next_ticket;
        move |batch_units: usize| put(queue, next_ticket, load, batch_units)
    };
    let mut heads: Vec<Head> = (0..load.threads).map(|_| Head::default()).collect();
    let (mut sink, mut merged, mut next) = (Sink::new(), Vec::new(), 0);
    measure(load, queues.iter().map(taker).collect(), |_| {
        merge(&queues, &mut heads, &mut next, &mut merged);
        sink.write(&merged);
        let bytes = merged.len() as u64;
        merged.clear();
        bytes
    })
}

fn put(queue: &Queue, next_ticket: &AtomicU64, load: &Load<'_>, units: usize) {
    let mut batch = queue.empty.lock().expect("a queue").pop().unwrap_or_default();
    for _ in 0..units {
        let ticket = next_ticket.fetch_add(1, Ordering::Relaxed);
        batch.tickets.push((ticket, load.unit.len()));
        batch.bytes.extend_from_slice(load.unit);
    }
    queue.full.lock().expect("a queue").push_back(batch);
}

/// Appends units in the order of their tickets, until one is not there or much was merged.
fn merge(queues: &[Queue], heads: &mut [Head], next: &mut u64, merged: &mut Vec<u8>) {
    let mut lane = 0;
    while merged.len() < 1 << 20 {
        let lanes = heads.len();
        let found = (0..lanes)
            .map(|distance| (lane + distance) % lanes)
            .find(|lane| heads[*lane].ticket(&queues[*lane]) == Some(*next));
        let Some(found) = found else { return };
        lane = found;
        let head = &mut heads[lane];
        let bytes = head.batch.tickets[head.unit].1;
        merged.extend_from_slice(&head.batch.bytes[head.offset..head.offset + bytes]);
        head.offset += bytes;
        head.unit += 1;
        *next += 1;
    }
}

impl Head {
    /// The ticket of the thread's next unit.
    fn ticket(&mut self, queue: &Queue) -> Option<u64> {
        if self.unit == self.batch.tickets.len() {
            let batch = queue.full.lock().expect("a queue").pop_front()?;
            let mut old = std::mem::replace(&mut self.batch, batch);
            (self.unit, self.offset) = (0, 0);
            old.bytes.clear();
            old.tickets.clear();
            old.tickets.reserve(BATCH);
            queue.empty.lock().expect("a queue").push(old);
        }
        Some(self.batch.tickets[self.unit].0)
    }
}
