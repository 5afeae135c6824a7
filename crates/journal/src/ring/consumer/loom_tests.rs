//! Every interleaving of two consumers, of which one is slow or goes away, and of lanes that use
//! the memory again which they have given up. Chunks have four bytes.

use super::*;
use crate::ring::{Lane, Place};
use loom::thread::spawn;

const LANES: usize = 2;
const START: u64 = 0;

fn ring() -> ([Lane; LANES], Arc<Ring>) {
    let (lanes, ring) = Ring::with_lanes(START, LANES, 16).expect("address space");
    (lanes.try_into().expect("as many lanes"), ring)
}

/// Reads the bytes between two positions, which is where they say how far they are from the start.
fn read(consumer: &Consumer, from: u64, to: u64) {
    let mut at = from;
    while at < to {
        let piece = consumer.slice(at, to);
        for byte in piece {
            assert_eq!(u64::from(*byte), at, "the byte of this position");
            at += 1;
        }
    }
}

/// Puts a unit of so many bytes.
fn put(lane: &mut Lane, bytes: u64) {
    let place = lane.take(bytes);
    fill(lane, place);
}

/// Fills a place with bytes of which each is its position.
fn fill(lane: &mut Lane, mut place: Place) {
    let unit: Vec<u8> = (place.at()..place.end()).map(narrow::low_u8).collect();
    lane.fill(&mut place, &unit);
    lane.withdraw();
}

fn read_and_release(consumer: &mut Consumer) {
    let whole = consumer.whole();
    read(consumer, consumer.position(), whole);
    consumer.release(whole);
}

#[test]
fn what_a_slow_consumer_needs_is_not_used_again_when_another_has_passed_it() {
    loom::model(|| {
        let ([mut lane, _other], ring) = ring();
        let [mut fast, mut slow] = [ring.read_from_end(), ring.read_from_end()];
        put(&mut lane, 5);
        let passes = spawn(move || {
            read_and_release(&mut fast);
            fast
        });
        let fills = spawn(move || put(&mut lane, 6));
        slow.whole();
        read(&slow, START, 5);
        drop(passes.join().unwrap());
        fills.join().unwrap();
        read(&slow, START, 5);
        slow.release(5);
        read_and_release(&mut slow);
        assert_eq!(slow.position(), 11);
    });
}

#[test]
fn a_consumer_that_goes_and_one_that_moves_leave_nothing_that_neither_needs() {
    loom::model(|| {
        let ([mut lane, _other], ring) = ring();
        let [mut moves, goes] = [ring.read_from_end(), ring.read_from_end()];
        put(&mut lane, 5);
        let gone = spawn(move || drop(goes));
        read_and_release(&mut moves);
        let fills = spawn(move || put(&mut lane, 6));
        gone.join().unwrap();
        fills.join().unwrap();
        assert_eq!(ring.released(), moves.position());
        read_and_release(&mut moves);
        assert_eq!((ring.released(), ring.tail()), (11, 11));
    });
}

#[test]
fn a_consumer_that_begins_where_another_leaves_has_its_bytes_or_is_refused() {
    loom::model(|| {
        let ([mut lane, _other], ring) = ring();
        let mut first = ring.read_from_end();
        put(&mut lane, 5);
        let passes = spawn(move || {
            read_and_release(&mut first);
            put(&mut lane, 6);
            first
        });
        match ring.read_from(START) {
            Ok(mut late) => {
                let whole = late.whole();
                assert!(whole >= START + 5, "it was put before");
                read(&late, START, whole);
                drop(passes.join().unwrap());
                read(&late, START, whole);
                read_and_release(&mut late);
            }
            Err(refused) => assert_eq!(refused, ReadFromError::Released(5)),
        }
    });
}

#[test]
fn without_a_consumer_lanes_give_up_what_is_whole_and_nothing_else() {
    loom::model(|| {
        let ([mut lane, mut late], ring) = ring();
        put(&mut lane, 2);
        let place = late.take(2);
        let fills = spawn(move || fill(&mut late, place));
        let passes = spawn(move || put(&mut lane, 5));
        let mut consumer = ring.read_from_end();
        read_and_release(&mut consumer);
        fills.join().unwrap();
        passes.join().unwrap();
        read_and_release(&mut consumer);
        assert_eq!((consumer.position(), ring.released()), (9, 9));
    });
}
