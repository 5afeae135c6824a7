//! Three ways from many threads to one stream. Each run has threads that put units in batches, and
//! one that copies all bytes away in order, as a write to a file does.

pub mod merged;
pub mod mutex;
pub mod ring;

use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Units between two moments at which a thread looks up from its work.
pub const BATCH: usize = 32;
/// Bytes on their way at which threads wait for the one that writes.
const AHEAD_MAX: u64 = 16 << 20;

/// What each thread of a run does.
pub struct Load<'a> {
    pub threads: usize,
    pub unit: &'a [u8],
    /// Units of each thread.
    pub units: usize,
}

/// What a run took.
pub struct Cost {
    taking: f64,
    others: f64,
    million_units_a_second: f64,
}

impl Cost {
    pub fn total(&self) -> f64 {
        self.taking + self.others
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text =
            format!("{:.1} + {:.1} ({:.1})", self.taking, self.others, self.million_units_a_second);
        f.pad(&text)
    }
}

/// Processor time of this thread in nanoseconds.
fn own_nanos() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}

/// Progress of the thread that writes, and of those that put.
pub struct Progress {
    pub put: AtomicU64,
    pub written: AtomicU64,
    pub running: AtomicUsize,
}

impl Progress {
    /// Called after a batch: waits while much is on its way.
    pub fn put(&self, bytes: usize) {
        let put = self.put.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        while put.saturating_sub(self.written.load(Ordering::Relaxed)) > AHEAD_MAX {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Where written bytes go: a copy that stands for the one into the page cache.
pub struct Sink {
    page: Vec<u8>,
}

impl Sink {
    pub fn new() -> Sink {
        Sink { page: vec![0; 64 << 10] }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(self.page.len()) {
            self.page[..piece.len()].copy_from_slice(piece);
            std::hint::black_box(&self.page);
        }
    }
}

/// Runs a thread for each taker and one writer, which is called until it finds nothing after all
/// takers have ended. A taker is called for each batch of units.
pub fn measure<T: FnMut(usize) + Send>(
    load: &Load<'_>,
    takers: Vec<T>,
    mut write: impl FnMut(&Progress) -> u64 + Send,
) -> Cost {
    let (put, written) = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = Progress { put, written, running: AtomicUsize::new(takers.len()) };
    let began = Instant::now();
    let (taking, others) = std::thread::scope(|scope| {
        let progress = &progress;
        let writer = scope.spawn(move || {
            let began = own_nanos();
            loop {
                let has_ended = progress.running.load(Ordering::Acquire) == 0;
                let bytes = write(progress);
                progress.written.fetch_add(bytes, Ordering::Relaxed);
                if bytes == 0 && has_ended {
                    return own_nanos() - began;
                } else if bytes == 0 {
                    std::thread::sleep(Duration::from_micros(20));
                }
            }
        });
        let takers: Vec<_> = takers
            .into_iter()
            .map(|mut take| {
                scope.spawn(move || {
                    let began = own_nanos();
                    let mut left = load.units;
                    while left > 0 {
                        let batch = left.min(BATCH);
                        take(batch);
                        progress.put(batch * load.unit.len());
                        left -= batch;
                    }
                    progress.running.fetch_sub(1, Ordering::Release);
                    own_nanos() - began
                })
            })
            .collect();
        let taking: u64 = takers.into_iter().map(|taker| taker.join().expect("a taker")).sum();
        (taking, writer.join().expect("the writer"))
    });
    let wall = began.elapsed().as_secs_f64();
    let all = (load.units * load.threads) as f64;
    Cost {
        taking: taking as f64 / all,
        others: others as f64 / all,
        million_units_a_second: all / wall / 1e6,
    }
}
