//! A segment that empties is recycled once, however its last records die.

use base::{KeyspaceId, Location, Millis};
use heap::{Draft, Head, Heap, NoAttributes, Purpose, SegmentState};
use std::sync::Barrier;
use std::thread;

const ROUNDS: usize = if cfg!(miri) { 10 } else { 3_000 };
const VALUE: usize = 1_500;
const SPACE: usize = if cfg!(miri) { 1 << 23 } else { 1 << 28 };

fn record() -> Draft<'static> {
    Draft {
        is_node: false,
        grows: false,
        keyspace: KeyspaceId(0),
        value_tag: 0,
        key: b"key",
        value_len: VALUE,
        room: VALUE,
        deadline: None,
        attributes: NoAttributes,
    }
}

/// Two records in a segment of their own, which is sealed.
fn pair(heap: &Heap, head: &mut Head) -> [Location; 2] {
    let mut one = || head.append(heap, &record(), Purpose::Late, Millis(1), |_| ()).expect("room");
    let both = [one(), one()];
    head.seal(heap);
    both
}

#[test]
fn a_segment_filled_anew_survives_the_burial_of_its_last_content() {
    let (heap, mut head) = (Heap::with_address_space(SPACE).expect("address space"), Head::new());
    let footprint = record().footprint();
    for round in 0..ROUNDS {
        let old = pair(&heap, &mut head);
        let begin = Barrier::new(3);
        let new = thread::scope(|scope| {
            for at in old {
                let (heap, begin) = (&heap, &begin);
                scope.spawn(move || {
                    begin.wait();
                    // SAFETY: each record is marked once, by one thread.
                    unsafe { heap.mark_dead(at, footprint) };
                });
            }
            begin.wait();
            // As soon as the segment is free, it is filled again with as many bytes.
            (0..8).map(|_| pair(&heap, &mut head)).collect::<Vec<_>>()
        });
        let kept = heap.segments();
        for at in new.iter().flatten() {
            let is_kept =
                |it: &heap::SegmentFacts| it.id == at.segment() && it.state == SegmentState::Sealed;
            assert!(kept.iter().any(is_kept), "round {round}: a live segment was recycled");
        }
        // SAFETY: they are marked once.
        new.iter().flatten().for_each(|at| unsafe { heap.mark_dead(*at, footprint) });
        assert!(heap.segments().is_empty());
    }
}
