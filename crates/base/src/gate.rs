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
        // Before it counts as outside: a closer that acts sees the one or the other.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let was_inside = own.end();
        let _closer = self.closer.lock();
        let (mut patience, earlier) = (Patience::new(), self.visits_under_way());
        while !self.try_close(&mut patience) {
            if self.is_any_long() {
                meanwhile::sleep(meanwhile::PATIENCE);
            } else {
                patience.pause(self.have_ended(&earlier));
            }
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        let done = act();
        if was_inside {
            own.begin();
        }
        self.open();
        (done, patience.elapsed())
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

    /// Returns true if others wait to close the gate as well. They may have been inside before, and
    /// go on behind the caller with what they have begun. To be called while it is closed.
    pub fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
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
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn while_the_gate_is_closed_nobody_is_inside() {
        let gate = Gate::new();
        let (inside, rounds) = (AtomicU64::new(0), if cfg!(miri) { 20 } else { 10_000 });
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let member = gate.join().expect("a member is left");
                let (gate, inside) = (&gate, &inside);
                scope.spawn(move || {
                    for _ in 0..rounds {
                        gate.enter(&member);
                        inside.fetch_add(1, Ordering::Relaxed);
                        inside.fetch_sub(1, Ordering::Relaxed);
                        gate.leave(&member);
                    }
                });
            }
            let own = gate.join().expect("a member is left");
            for _ in 0..rounds / 10 {
                gate.close(&own, || assert_eq!(inside.load(Ordering::Relaxed), 0));
            }
        });
    }

    #[test]
    fn whoever_closes_the_gate_may_be_inside_and_is_so_afterwards() {
        let gate = Gate::new();
        let [own, other] = [(); 2].map(|()| gate.join().expect("a member is left"));
        gate.enter(&own);
        gate.close(&own, || ());
        let is_inside = |member: &GateMember| gate.visits[member.number].is_inside();
        assert!(is_inside(&own) && !is_inside(&other));
        gate.leave(&own);
        gate.close(&own, || ());
        assert!(!is_inside(&own));
    }

    #[test]
    fn a_single_try_to_close_ends_though_a_member_stays_inside() {
        let gate = Gate::new();
        let [staying, own] = [(); 2].map(|()| gate.join().expect("a member is left"));
        let is_inside = |member: &GateMember| gate.visits[member.number].is_inside();
        for was_inside in [true, false] {
            gate.enter(&staying);
            if was_inside {
                gate.enter(&own);
            }
            assert!(gate.close_once(&own, || ()).is_none());
            assert_eq!(is_inside(&own), was_inside);
            gate.leave(&staying);
            assert!(gate.close_once(&own, || ()).is_some());
            assert_eq!(is_inside(&own), was_inside);
            gate.leave(&own);
        }
        let _closer = gate.closer.lock();
        assert!(gate.close_once(&own, || ()).is_none());
    }

    #[test]
    fn while_somebody_stays_inside_others_come_in_although_the_gate_is_to_be_closed() {
        let gate = Gate::new();
        let [staying, passing, own] = [(); 3].map(|()| gate.join().expect("a member is left"));
        gate.enter(&staying);
        std::thread::scope(|scope| {
            let closer = scope.spawn(|| gate.close(&own, || ()));
            for _ in 0..8 {
                while gate.closed.load(Ordering::Relaxed) == 0 && !closer.is_finished() {
                    std::thread::yield_now();
                }
                // The closer gives up for a while, so this member enters.
                gate.enter(&passing);
                assert!(!closer.is_finished());
                gate.leave(&passing);
            }
            gate.leave(&staying);
        });
    }

    #[test]
    fn a_closer_has_its_turn_when_all_who_came_before_it_have_left() {
        let gate = Gate::new();
        let [first, second, third] = [(); 3].map(|()| gate.join().expect("a member is left"));
        gate.enter(&first);
        gate.enter(&second);
        let earlier = gate.visits_under_way();
        gate.enter(&third);
        gate.leave(&first);
        gate.enter(&first);
        assert!(!gate.have_ended(&earlier));
        gate.pass(&second);
        gate.leave(&third);
        assert!(!gate.have_ended(&earlier), "nobody has closed, so it was inside all the time");
        gate.leave(&second);
        assert!(gate.have_ended(&earlier));
        gate.enter(&second);
        assert!(gate.have_ended(&earlier));
    }

    #[test]
    fn a_member_that_waits_inside_for_another_does_not_keep_a_closer_out_for_ever() {
        let gate = Gate::new();
        let [staying, passing, own] = [(); 3].map(|()| gate.join().expect("a member is left"));
        gate.enter(&staying);
        std::thread::scope(|scope| {
            let closer = scope.spawn(|| gate.close(&own, || ()));
            let wait_for_closer = || {
                while gate.closed.load(Ordering::Relaxed) == 0 && !closer.is_finished() {
                    std::thread::yield_now();
                }
            };
            wait_for_closer();
            // From here on it may be the closer's turn, unless it was quick.
            gate.leave(&staying);
            gate.enter(&staying);
            for _ in 0..6 {
                if !closer.is_finished() {
                    wait_for_closer();
                }
                // The one who stays could be waiting for this.
                gate.enter(&passing);
                gate.leave(&passing);
            }
            gate.leave(&staying);
        });
    }

    #[test]
    fn while_a_member_stays_for_long_the_gate_is_open_and_closed_when_it_has_left() {
        let gate = Gate::new();
        let [staying, own] = [(); 2].map(|()| gate.join().expect("a member is left"));
        gate.enter(&staying);
        gate.stay_for_long(&staying);
        assert!(gate.is_any_long());
        std::thread::scope(|scope| {
            let closer = scope.spawn(|| gate.close(&own, || assert!(!gate.is_any_long())));
            // It looks for a moment, and opens again at once.
            while gate.closer.try_lock().is_some() {
                std::thread::yield_now();
            }
            while gate.is_closed() {
                std::thread::yield_now();
            }
            assert!(!closer.is_finished());
            gate.leave(&staying);
        });
        assert!(!gate.is_any_long(), "the next visit is another one");
        gate.enter(&staying);
        assert!(!gate.is_any_long());
    }

    #[test]
    fn a_gate_is_entered_without_waiting_only_while_it_is_open() {
        let gate = Gate::new();
        let [first, own] = [(); 2].map(|()| gate.join().expect("a member is left"));
        gate.close(&own, || {
            assert!(gate.is_closed() && !gate.try_enter(&first));
            assert!(!gate.visits[first.number].is_inside());
        });
        assert!(gate.try_enter(&first));
        gate.leave(&first);
    }

    #[test]
    fn two_that_are_inside_may_both_close() {
        let gate = Gate::new();
        let (closed, rounds) = (AtomicU64::new(0), if cfg!(miri) { 3 } else { 300 });
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let member = gate.join().expect("a member is left");
                let (gate, closed) = (&gate, &closed);
                scope.spawn(move || {
                    for _ in 0..rounds {
                        gate.enter(&member);
                        gate.close(&member, || {
                            assert_eq!(closed.fetch_add(1, Ordering::Relaxed) % 2, 0);
                            closed.fetch_add(1, Ordering::Relaxed);
                        });
                        gate.leave(&member);
                    }
                });
            }
        });
    }
}

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
