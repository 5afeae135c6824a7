//! Gate: every worker is inside while it works; a thread that must act on everything closes it.
//!
//! ```text
//! worker    | enter | connection | pass | connection | pass | ... | leave |
//! closer          closed ── half a millisecond ──▶ open, a pause ▶ closed ─▶ all outside: act
//! ```
//! `enter` costs a store, a fence and a load, `pass` a load. Closing waits until every other member
//! is outside, so the closer sees no command half done. If a member stays inside for long, the
//! closer opens the gate again and tries later, a little longer each time, so that one long command
//! delays the closer and not all workers. Once all who were inside when it came have been outside,
//! it is its turn: others who are inside came behind it, so that it keeps the gate closed for most
//! of the time, and for longer and longer. It never does so for good: a member may wait inside for
//! what another one does. A member that knows that it will stay for long says so: then the closer
//! waits with the gate open.

mod patience;
mod visits;

use crate::meanwhile::{self, Wait};
use crate::sync::{AtomicU32, Ordering, fence, unpark_all};
use crossbeam_utils::CachePadded;
use patience::Patience;
use std::time::Duration;
use visits::Visits;

/// Number of threads that may pass the gate.
pub const MEMBERS_MAX: usize = match () {
    () if cfg!(loom) => 2,
    () if cfg!(shuttle) => 5,
    // Two for each thread: one of them serves others while the thread waits for long.
    () => 256,
};

/// Time for other closers to go first.
const FOR_OTHERS: Duration = Duration::from_micros(50);

/// Gate that members pass and any of them may close.
#[derive(Debug)]
pub struct Gate {
    closed: AtomicU32,
    closer: crate::lock::Lock,
    /// Closers that have not begun to act.
    waiting: AtomicU32,
    visits: Box<[CachePadded<Visits>]>,
    members: AtomicU32,
}

/// One thread's membership of the gate; a clone is for the same thread.
#[derive(Clone, Debug)]
pub struct GateMember {
    number: usize,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate::new()
    }
}

impl Gate {
    /// Returns an open gate without members.
    pub fn new() -> Gate {
        Gate {
            closed: AtomicU32::new(0),
            closer: crate::lock::Lock::new(),
            waiting: AtomicU32::new(0),
            visits: (0..MEMBERS_MAX).map(|_| CachePadded::new(Visits::new())).collect(),
            members: AtomicU32::new(0),
        }
    }

    /// Adds a member for one more thread; `None` once there are `MEMBERS_MAX`.
    pub fn join(&self) -> Option<GateMember> {
        let number = self.members.fetch_add(1, Ordering::Relaxed) as usize;
        (number < MEMBERS_MAX).then_some(GateMember { number })
    }

    /// Enters the gate, waiting while it is closed.
    #[inline]
    pub fn enter(&self, member: &GateMember) {
        let visits = &self.visits[member.number];
        visits.begin();
        // Pairs with the fence of `close`: either the closer sees this member inside, or the member
        // sees the gate closed.
        fence(Ordering::SeqCst);
        if self.closed.load(Ordering::Acquire) != 0 {
            self.enter_slow(visits);
        }
    }

    /// Lets a waiting closer go first. To be called inside the gate, between two pieces of work.
    #[inline]
    pub fn pass(&self, member: &GateMember) {
        if self.closed.load(Ordering::Relaxed) != 0 {
            self.enter_slow(&self.visits[member.number]);
        }
    }

    /// Leaves the gate.
    #[inline]
    pub fn leave(&self, member: &GateMember) {
        self.visits[member.number].end();
    }

    /// Enters the gate if it is open. Returns false if it is closed.
    #[inline]
    pub fn try_enter(&self, member: &GateMember) -> bool {
        let visits = &self.visits[member.number];
        visits.begin();
        // As in `enter`.
        fence(Ordering::SeqCst);
        let is_open = self.closed.load(Ordering::Acquire) == 0;
        if !is_open {
            visits.end();
        }
        is_open
    }

    /// Returns true if a member would wait at the gate.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed) != 0
    }

    /// Tells closers that a member will stay inside for long, so that they do not keep others out
    /// while they wait for it.
    pub fn stay_for_long(&self, member: &GateMember) {
        self.visits[member.number].mark_long();
    }

    #[cold]
    fn enter_slow(&self, visits: &Visits) {
        let mut wait = Wait::new();
        loop {
            visits.end();
            while self.closed.load(Ordering::Acquire) != 0 {
                wait.park(&self.closed, 1);
            }
            visits.begin();
            fence(Ordering::SeqCst);
            if self.closed.load(Ordering::Acquire) == 0 {
                return;
            }
        }
    }

    /// Runs `act` while no other member is inside. The caller may be inside: it counts as outside
    /// until `act` begins, so another closer may come first, and as inside from then on without a
    /// gap. The caller must hold no lock.
    pub fn close<T>(&self, member: &GateMember, act: impl FnOnce() -> T) -> T {
        self.close_timed(member, act).0
    }

    /// Does what `close` does, and tells for how long others were kept out.
    pub fn close_timed<T>(&self, member: &GateMember, act: impl FnOnce() -> T) -> (T, Duration) {
        let own = &self.visits[member.number];
        // Before it counts as outside: `close_last` sees the one or the other.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let was_inside = own.end();
        let _closer = self.closer.lock();
        let waited = self.wait_until_closed();
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        let done = act();
        if was_inside {
            own.begin();
        }
        self.open();
        (done, waited)
    }

    /// Does what `close` does, behind all other closers that wait: they may have been inside
    /// before, and go on with what they have begun there. Two that come so do not wait for each
    /// other.
    pub fn close_last<T>(&self, member: &GateMember, act: impl FnOnce() -> T) -> T {
        let own = &self.visits[member.number];
        let was_inside = own.end();
        loop {
            let closer = self.closer.lock();
            self.wait_until_closed();
            if self.waiting.load(Ordering::SeqCst) == 0 {
                let done = act();
                if was_inside {
                    own.begin();
                }
                self.open();
                return done;
            }
            self.open();
            drop(closer);
            meanwhile::sleep(FOR_OTHERS);
        }
    }

    /// Waits until the gate is closed and all others are outside, with the lock of closers. Returns
    /// for how long others were kept out.
    fn wait_until_closed(&self) -> Duration {
        let (mut patience, earlier) = (Patience::new(), self.visits_under_way());
        while !self.try_close(&mut patience) {
            if self.is_any_long() {
                meanwhile::sleep(meanwhile::PATIENCE);
            } else {
                patience.pause(self.have_ended(&earlier));
            }
        }
        patience.elapsed()
    }

    /// Makes one try to do what `close` does; `None` if a member stays inside for long, or another
    /// closer is at it.
    pub fn close_once<T>(&self, member: &GateMember, act: impl FnOnce() -> T) -> Option<T> {
        let own = &self.visits[member.number];
        let was_inside = own.end();
        let closer = self.closer.try_lock();
        let is_closed = closer.is_some() && self.try_close(&mut Patience::new());
        let done = is_closed.then(act);
        if is_closed {
            if was_inside {
                own.begin();
            }
            self.open();
        } else if was_inside {
            self.enter(member);
        }
        done
    }

    /// Returns true if a member has said that it stays for long.
    fn is_any_long(&self) -> bool {
        self.visits.iter().any(|visits| visits.is_long())
    }

    /// Returns the numbers of the visits that are under way, by member.
    fn visits_under_way(&self) -> Vec<(usize, u32)> {
        let visits = self.visits.iter().enumerate();
        visits.filter_map(|(member, visits)| Some((member, visits.under_way()?))).collect()
    }

    /// Returns true if all these visits have ended.
    fn have_ended(&self, visits: &[(usize, u32)]) -> bool {
        visits.iter().all(|(member, visit)| self.visits[*member].under_way() != Some(*visit))
    }

    /// Closes the gate. Opens it again and returns false if a member stays inside for longer than
    /// `patience`.
    fn try_close(&self, patience: &mut Patience) -> bool {
        self.closed.store(1, Ordering::Relaxed);
        // Pairs with the fence of `enter`.
        fence(Ordering::SeqCst);
        patience.begin();
        for visits in self.visits.iter() {
            while visits.is_inside() {
                if visits.is_long() || !patience.wait() {
                    self.open();
                    return false;
                }
            }
        }
        true
    }

    fn open(&self) {
        self.closed.store(0, Ordering::Release);
        unpark_all(&self.closed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    type Guarded = (Gate, UnsafeCell<i32>);

    /// Adds one to what the gate guards; loom reports any overlap.
    ///
    /// # Safety
    /// The caller is inside the gate, or has closed it.
    unsafe fn add(shared: &Guarded) {
        // SAFETY: as the caller promises.
        shared.1.with_mut(|value| unsafe { *value += 1 });
    }

    /// Runs `close` beside a member that passes.
    fn beside_a_passer(close: fn(&Guarded, &GateMember)) {
        loom::model(move || {
            let shared = Arc::new((Gate::new(), UnsafeCell::new(0)));
            let [member, own] = [(); 2].map(|()| shared.0.join().expect("a member is left"));
            let other = Arc::clone(&shared);
            let thread = loom::thread::spawn(move || {
                other.0.enter(&member);
                // SAFETY: inside the gate.
                unsafe { add(&other) };
                other.0.pass(&member);
                // SAFETY: as above.
                unsafe { add(&other) };
                other.0.leave(&member);
            });
            close(&shared, &own);
            thread.join().unwrap();
        });
    }

    #[test]
    fn a_closer_and_a_passer_never_overlap() {
        // SAFETY: the gate is closed.
        beside_a_passer(|shared, own| shared.0.close(own, || unsafe { add(shared) }));
    }

    #[test]
    fn a_closer_with_a_single_try_and_a_passer_never_overlap() {
        beside_a_passer(|shared, own| {
            shared.0.enter(own);
            // SAFETY: the gate is closed.
            shared.0.close_once(own, || unsafe { add(shared) });
            shared.0.leave(own);
        });
    }

    #[test]
    fn two_closers_who_are_inside_never_overlap() {
        // All interleavings of two closers that both wait are too many.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let shared = Arc::new((Gate::new(), UnsafeCell::new(0)));
            let [member, own] = [(); 2].map(|()| shared.0.join().expect("a member is left"));
            let close = |shared: &Guarded, member: &GateMember| {
                shared.0.enter(member);
                // SAFETY: the gate is closed.
                shared.0.close(member, || unsafe { add(shared) });
                shared.0.leave(member);
            };
            let other = Arc::clone(&shared);
            let thread = loom::thread::spawn(move || close(&other, &member));
            close(&shared, &own);
            thread.join().unwrap();
        });
    }
}

#[cfg(all(test, shuttle))]
mod shuttle_tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    #[derive(Default)]
    struct Guarded {
        gate: Gate,
        inside: AtomicUsize,
        closed: AtomicBool,
    }

    impl Guarded {
        fn pass(&self, member: &GateMember) {
            self.gate.enter(member);
            for _ in 0..2 {
                self.inside.fetch_add(1, Ordering::Relaxed);
                assert!(!self.closed.load(Ordering::Relaxed));
                self.inside.fetch_sub(1, Ordering::Relaxed);
                self.gate.pass(member);
            }
            self.gate.leave(member);
        }

        fn close(&self, member: &GateMember) {
            self.gate.close(member, || {
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
                    let (shared, member) = (Arc::clone(&shared), shared.gate.join().unwrap());
                    shuttle::thread::spawn(move || (0..3).for_each(|_| shared.pass(&member)))
                };
                let closer = |number: usize| {
                    let (shared, member) = (Arc::clone(&shared), shared.gate.join().unwrap());
                    shuttle::thread::spawn(move || {
                        for _ in 0..2 {
                            // One of the two closes from inside.
                            if number == 0 {
                                shared.gate.enter(&member);
                            }
                            shared.close(&member);
                            shared.gate.leave(&member);
                        }
                    })
                };
                let threads: Vec<_> = (0..3).map(passer).chain((0..2).map(closer)).collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            },
            5_000,
        );
    }
}
