//! The gate with threads of the system.

use super::*;
use std::sync::atomic::AtomicU64;

#[test]
fn who_closes_last_acts_behind_who_was_inside_and_closes_too() {
    for _ in 0..if cfg!(miri) { 3 } else { 100 } {
        let (gate, order) = (Gate::new(), std::sync::Mutex::new(Vec::new()));
        let [inside, last] = [(); 2].map(|()| gate.join().expect("a member is left"));
        let note = |who| order.lock().expect("no panic").push(who);
        gate.enter(&inside);
        std::thread::scope(|scope| {
            scope.spawn(|| gate.close_last(&last, || note("last")));
            while !gate.is_closed() {
                std::thread::yield_now();
            }
            gate.close(&inside, || note("inside before"));
            gate.leave(&inside);
        });
        assert_eq!(*order.lock().expect("no panic"), ["inside before", "last"]);
    }
}

#[test]
fn several_who_close_last_do_not_wait_for_each_other() {
    let (gate, count) = (Gate::new(), AtomicU64::new(0));
    let rounds = if cfg!(miri) { 3 } else { 100 };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let member = gate.join().expect("a member is left");
                for _ in 0..rounds {
                    gate.enter(&member);
                    gate.close_last(&member, || count.fetch_add(1, Ordering::Relaxed));
                    gate.leave(&member);
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 3 * rounds);
}

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
