//! Consumers at positions of their own: what stays in memory for which of them, and what does not.

use super::*;
use crate::ring::{Lane, Slowest};

const CHUNK: u64 = CHUNK_BYTES as u64;
const START: u64 = 100;

/// A ring of eight chunks with one lane and the consumers' stream.
fn ring() -> (Lane, Arc<Ring>) {
    let (mut lanes, ring) = Ring::with_lanes(START, 1, 8 * CHUNK_BYTES).expect("address space");
    (lanes.pop().expect("a lane"), ring)
}

/// Puts units of half a chunk, each of another byte. Returns the position behind them.
fn put(lane: &mut Lane, numbers: std::ops::Range<u8>) -> u64 {
    for number in numbers {
        lane.put(&[number; CHUNK_BYTES / 2]);
    }
    lane.ring().tail()
}

/// The number that is in each byte of the unit at a position.
fn number_at(consumer: &Consumer, position: u64) -> u8 {
    let (mut at, end) = (position, position + CHUNK / 2);
    let number = consumer.slice(at, end)[0];
    let unit = [number; CHUNK_BYTES / 2];
    while at < end {
        let piece = consumer.slice(at, end);
        assert!(*piece == unit[..piece.len()], "one unit");
        at += piece.len() as u64;
    }
    number
}

/// Position of a unit that `put` has put.
fn position_of(number: u64) -> u64 {
    START + number * CHUNK / 2
}

#[test]
fn what_the_slowest_consumer_needs_stays_and_others_go_on() {
    let (mut lane, ring) = ring();
    let [mut fast, mut slow] = [ring.read_from_end(), ring.read_from_end()];
    put(&mut lane, 0..6);
    slow.whole();
    let kept = slow.slice(START, START + 10);
    let whole = fast.whole();
    fast.release(whole);
    put(&mut lane, 6..13);
    assert_eq!(kept, [0; 10], "what is borrowed stays what it is");
    for number in 0..6 {
        assert_eq!(u64::from(number_at(&slow, position_of(number))), number);
    }
    assert_eq!(ring.pending_bytes(), 13 * CHUNK / 2);
    slow.release(position_of(6));
    assert_eq!(ring.pending_bytes(), 7 * CHUNK / 2, "both have passed the first six");
    let whole = fast.whole();
    fast.release(whole);
    assert_eq!(ring.pending_bytes(), 7 * CHUNK / 2, "the slow one has passed no more");
}

#[test]
fn a_slowest_consumer_that_goes_gives_up_what_the_others_have_passed() {
    let (mut lane, ring) = ring();
    let [mut left, gone] = [ring.read_from_end(), ring.read_from_end()];
    put(&mut lane, 0..6);
    left.whole();
    left.release(position_of(4));
    assert_eq!(ring.released(), START);
    drop(gone);
    assert_eq!(ring.released(), position_of(4));
    assert_eq!(number_at(&left, position_of(4)), 4);
}

#[test]
fn the_last_consumer_gives_up_all_that_is_whole() {
    let (mut lane, ring) = ring();
    let last = ring.read_from_end();
    let end = put(&mut lane, 0..6);
    drop(last);
    assert_eq!((ring.released(), ring.pending_bytes()), (end, 0));
    ring.trim();
    ring.trim();
    assert!(ring.resident_bytes() <= CHUNK);
}

#[test]
fn nothing_grows_where_there_is_no_consumer() {
    let (mut lane, ring) = ring();
    for number in 0..40 {
        put(&mut lane, number..number + 1);
        assert!(ring.resident_bytes() <= 2 * CHUNK);
    }
    let mut late = ring.read_from_end();
    assert_eq!(late.position(), ring.tail());
    put(&mut lane, 40..41);
    late.whole();
    assert_eq!(number_at(&late, position_of(40)), 40);
}

#[test]
fn a_consumer_begins_at_any_position_in_memory_and_is_refused_below_and_ahead() {
    let (mut lane, ring) = ring();
    let mut first = ring.read_from_end();
    let end = put(&mut lane, 0..6);
    first.whole();
    first.release(position_of(3));
    let mut late = ring.read_from(position_of(3)).expect("in memory");
    first.release(end);
    assert_eq!(late.whole(), end);
    assert_eq!(number_at(&late, position_of(3)), 3);
    let refused = |position| ring.read_from(position).expect_err("not in memory");
    assert_eq!(refused(position_of(3) - 1), ReadFromError::Released(position_of(3)));
    assert_eq!(refused(end + 1), ReadFromError::Ahead(end));
    drop(late);
    assert_eq!(refused(position_of(3)), ReadFromError::Released(end));
    assert_eq!(ring.read_from(end).expect("the end").position(), end);
}

#[test]
fn a_consumer_that_begins_at_the_end_gets_the_unit_that_is_being_filled() {
    let (mut lane, ring) = ring();
    let mut place = lane.take(4);
    let mut consumer = ring.read_from_end();
    assert_eq!((consumer.position(), consumer.whole()), (START, START));
    lane.fill(&mut place, b"unit");
    lane.withdraw();
    assert_eq!(consumer.whole(), place.end());
    assert_eq!(consumer.slice(START, place.end()), b"unit");
}

#[test]
fn what_is_being_filled_stays_though_each_consumer_is_behind_it() {
    let (mut lanes, ring) = Ring::with_lanes(START, 2, 8 * CHUNK_BYTES).expect("address space");
    let [open, other] = &mut lanes[..] else { unreachable!() };
    let earlier = ring.read_from_end();
    let mut place = open.take(CHUNK);
    put(other, 0..4);
    let mut consumer = ring.read_from(ring.tail()).expect("not released");
    drop(earlier);
    assert!(consumer.whole() <= place.at() && ring.released() <= place.at());
    open.fill(&mut place, &vec![1; CHUNK_BYTES]);
    open.withdraw();
    let end = put(other, 4..5);
    assert_eq!(consumer.whole(), end);
    assert_eq!(number_at(&consumer, consumer.position()), 4);
    consumer.release(end);
    assert_eq!(ring.released(), end);
}

#[test]
fn the_slowest_consumer_is_known_and_ends_when_its_owner_sees_that_it_was_dismissed() {
    let (mut lane, ring) = ring();
    assert_eq!(ring.slowest(), None);
    let [mut fast, slow] = [ring.read_from_end(), ring.read_from_end()];
    let end = put(&mut lane, 0..2);
    fast.whole();
    fast.release(end);
    let slowest = Slowest { consumer: slow.id(), position: START, behind_bytes: CHUNK };
    assert_eq!(ring.slowest(), Some(slowest));
    assert!(ring.dismiss(slow.id()));
    assert!(slow.is_dismissed() && !fast.is_dismissed());
    assert_eq!(ring.released(), START, "its owner may be reading");
    let id = slow.id();
    drop(slow);
    assert_eq!(ring.released(), end);
    assert!(!ring.dismiss(id), "it has ended");
}

#[test]
#[should_panic(expected = "not to be read")]
fn what_was_released_is_not_read() {
    let (mut lane, ring) = ring();
    let [mut consumer, _pins] = [ring.read_from_end(), ring.read_from_end()];
    put(&mut lane, 0..1);
    consumer.whole();
    consumer.release(START + 1);
    consumer.slice(START, START + 1);
}

#[test]
#[should_panic(expected = "the stream has begun")]
fn a_stream_does_not_begin_elsewhere_under_a_consumer() {
    let (_lane, ring) = ring();
    let _consumer = ring.read_from_end();
    ring.begin_at(START, 0);
}

/// Reads units of three bytes, of which each is the unit's number, from the consumer's position on.
/// Returns the number behind them.
fn read_units(consumer: &mut Consumer, mut number: u8) -> u8 {
    let (mut at, whole) = (consumer.position(), consumer.whole());
    let mut bytes = Vec::new();
    while at < whole {
        let piece = consumer.slice(at, whole);
        bytes.extend_from_slice(piece);
        at += piece.len() as u64;
    }
    for unit in bytes.chunks(3) {
        assert_eq!(unit, [number; 3]);
        number += 1;
    }
    consumer.release(whole);
    number
}

#[test]
fn a_slow_consumer_holds_a_lane_up_at_the_end_of_the_table_until_it_goes() {
    const UNITS: u8 = 40;
    let (mut lane, ring) = ring();
    let [mut fast, slow] = [ring.read_from_end(), ring.read_from_end()];
    let mut slow = Some(slow);
    std::thread::scope(|scope| {
        scope.spawn(|| put(&mut lane, 0..UNITS));
        while fast.position() < position_of(u64::from(UNITS)) {
            let whole = fast.whole();
            fast.release(whole);
            assert!(ring.resident_bytes() <= 8 * CHUNK);
            // The table has room for little more than this while the slow consumer is there.
            if fast.position() >= START + 7 * CHUNK
                && let Some(mut slow) = slow.take()
            {
                slow.whole();
                assert_eq!(number_at(&slow, START), 0, "it has held up the lane");
            }
            std::thread::yield_now();
        }
    });
}

#[test]
fn consumers_in_threads_read_the_same_stream_though_one_goes_and_one_is_late() {
    const UNITS: u8 = if cfg!(miri) { 20 } else { 200 };
    let start = CHUNK - 10;
    let (mut lanes, ring) = Ring::with_lanes(start, 1, 8 * CHUNK_BYTES).expect("address space");
    let [goes, stays, mut late] = [(); 3].map(|()| ring.read_from_end());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..UNITS {
                lanes[0].put(&[number; 3]);
                std::thread::yield_now();
            }
        });
        for (until, mut consumer) in [(UNITS / 2, goes), (UNITS, stays)] {
            scope.spawn(move || {
                let mut number = 0;
                while number < until {
                    number = read_units(&mut consumer, number);
                    std::thread::yield_now();
                }
            });
        }
    });
    assert_eq!(ring.released(), start, "the late one needs all of it");
    assert_eq!(read_units(&mut late, 0), UNITS);
    assert_eq!(ring.released(), start + 3 * u64::from(UNITS));
}
