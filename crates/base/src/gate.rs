//! The gate: everyone passes it once per batch; whoever must act on everything closes it.
//!
//! Passing costs a store and a load. Closing waits until every other lane is outside, so the
//! closer sees no command half done. A worker that wants to close leaves its own lane first,
//! which it may do between two commands, since no shard lock is held there.

use crate::sync::{AtomicBool, AtomicU32, Ordering, fence, park, relax, unpark_all};
use crossbeam_utils::CachePadded;

/// Number of threads that may pass the gate.
pub const LANES_MAX: usize = match () {
    () if cfg!(loom) => 2,
    () if cfg!(shuttle) => 4,
    () => 128,
};

/// See the module page.
#[derive(Debug)]
pub struct Gate {
    closed: AtomicU32,
    closer: crate::lock::Lock,
    inside: Box<[CachePadded<AtomicBool>]>,
    lanes: AtomicU32,
}

/// One thread's way through the gate.
#[derive(Debug)]
pub struct GateLane {
    number: usize,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate::new()
    }
}

impl Gate {
    /// An open gate without lanes.
    pub fn new() -> Gate {
        Gate {
            closed: AtomicU32::new(0),
            closer: crate::lock::Lock::new(),
            inside: (0..LANES_MAX).map(|_| CachePadded::new(AtomicBool::new(false))).collect(),
            lanes: AtomicU32::new(0),
        }
    }

    /// A lane for one more thread; `None` once `LANES_MAX` are given out.
    pub fn lane(&self) -> Option<GateLane> {
        let number = self.lanes.fetch_add(1, Ordering::Relaxed) as usize;
        (number < LANES_MAX).then_some(GateLane { number })
    }

    /// Goes in, waiting while the gate is closed.
    #[inline]
    pub fn enter(&self, lane: &GateLane) {
        let inside = &self.inside[lane.number];
        inside.store(true, Ordering::Relaxed);
        // Pairs with the fence of `close`: either the closer sees this lane inside, or the lane
        // sees the gate closed.
        fence(Ordering::SeqCst);
        if self.closed.load(Ordering::Acquire) != 0 {
            self.enter_slow(inside);
        }
    }

    /// Goes out.
    #[inline]
    pub fn leave(&self, lane: &GateLane) {
        self.inside[lane.number].store(false, Ordering::Release);
    }

    #[cold]
    fn enter_slow(&self, inside: &AtomicBool) {
        loop {
            inside.store(false, Ordering::Release);
            while self.closed.load(Ordering::Acquire) != 0 {
                park(&self.closed, 1);
            }
            inside.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.closed.load(Ordering::Acquire) == 0 {
                return;
            }
        }
    }

    /// Runs `act` while nobody is inside. The caller must not be inside and must hold no lock.
    pub fn close<T>(&self, act: impl FnOnce() -> T) -> T {
        let _closer = self.closer.lock();
        self.closed.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        for inside in self.inside.iter() {
            let mut looks = 0_u32;
            while inside.load(Ordering::Acquire) {
                looks += 1;
                if looks > 1_000 { yield_now() } else { relax() }
            }
        }
        let done = act();
        self.closed.store(0, Ordering::Release);
        unpark_all(&self.closed);
        done
    }
}

fn yield_now() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(shuttle)]
    shuttle::thread::yield_now();
    #[cfg(not(any(loom, shuttle)))]
    std::thread::yield_now();
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn while_the_gate_is_closed_nobody_is_inside() {
        let gate = Gate::new();
        let (inside, rounds) = (AtomicU64::new(0), if cfg!(miri) { 20 } else { 10_000 });
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let lane = gate.lane().expect("a lane is left");
                let (gate, inside) = (&gate, &inside);
                scope.spawn(move || {
                    for _ in 0..rounds {
                        gate.enter(&lane);
                        inside.fetch_add(1, Ordering::Relaxed);
                        inside.fetch_sub(1, Ordering::Relaxed);
                        gate.leave(&lane);
                    }
                });
            }
            for _ in 0..rounds / 10 {
                gate.close(|| assert_eq!(inside.load(Ordering::Relaxed), 0));
            }
        });
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    #[test]
    fn a_closer_and_a_passer_never_overlap() {
        loom::model(|| {
            let shared = Arc::new((Gate::new(), UnsafeCell::new(0)));
            let lane = shared.0.lane().expect("a lane is left");
            let other = Arc::clone(&shared);
            let thread = loom::thread::spawn(move || {
                other.0.enter(&lane);
                // SAFETY: inside the gate; loom reports any overlap with the closer.
                other.1.with_mut(|value| unsafe { *value += 1 });
                other.0.leave(&lane);
            });
            // SAFETY: the gate is closed.
            shared.0.close(|| shared.1.with_mut(|value| unsafe { *value += 1 }));
            thread.join().unwrap();
        });
    }
}

#[cfg(all(test, shuttle))]
mod shuttle_tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Guarded {
        gate: Gate,
        inside: AtomicUsize,
        closed: AtomicBool,
    }

    impl Guarded {
        fn pass(&self, lane: &GateLane) {
            self.gate.enter(lane);
            self.inside.fetch_add(1, Ordering::Relaxed);
            assert!(!self.closed.load(Ordering::Relaxed));
            self.inside.fetch_sub(1, Ordering::Relaxed);
            self.gate.leave(lane);
        }

        fn close(&self) {
            self.gate.close(|| {
                assert!(!self.closed.swap(true, Ordering::Relaxed));
                shuttle::thread::yield_now();
                assert_eq!(self.inside.load(Ordering::Relaxed), 0);
                self.closed.store(false, Ordering::Relaxed);
            });
        }
    }

    #[test]
    fn several_closers_take_turns_and_all_who_pass_get_through() {
        shuttle::check_random(
            || {
                let shared = Arc::new(Guarded::default());
                let passer = |_| {
                    let (shared, lane) = (Arc::clone(&shared), shared.gate.lane().unwrap());
                    shuttle::thread::spawn(move || (0..3).for_each(|_| shared.pass(&lane)))
                };
                let closer = |_| {
                    let shared = Arc::clone(&shared);
                    shuttle::thread::spawn(move || (0..2).for_each(|_| shared.close()))
                };
                let threads: Vec<_> = (0..3).map(passer).chain((0..2).map(closer)).collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            },
            5_000,
        );
    }
}
