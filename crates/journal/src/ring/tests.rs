//! Places, chunks and announcements as one thread sees them, and many threads with many sizes.

use super::*;
use base::Random;

const CHUNK: u64 = CHUNK_BYTES as u64;
/// Small under Miri, which does a byte at a time.
const SPAN: usize = CHUNK_BYTES * if cfg!(miri) { 8 } else { 1024 };

fn ring(start: u64, lanes: usize) -> (Vec<Lane>, Consumer) {
    let (lanes, ring) = Ring::with_lanes(start, lanes, SPAN).expect("address space");
    let consumer = ring.read_from_end();
    (lanes, consumer)
}

fn put(lane: &mut Lane, bytes: &[u8]) -> u64 {
    let mut place = lane.take(bytes.len() as u64);
    lane.fill(&mut place, bytes);
    place.end()
}

fn read(consumer: &Consumer, from: u64, to: u64) -> Vec<u8> {
    let (mut at, mut out) = (from, Vec::new());
    while at < to {
        let piece = consumer.slice(at, to);
        out.extend_from_slice(piece);
        at += piece.len() as u64;
    }
    out
}

#[test]
fn units_stand_in_the_order_of_their_places() {
    let (mut lanes, mut consumer) = ring(1000, 2);
    let [first, second] = &mut lanes[..] else { unreachable!() };
    let mut late = first.take(3);
    assert_eq!(put(second, b"two"), 1006);
    first.fill(&mut late, b"on");
    first.fill(&mut late, b"e");
    first.withdraw();
    second.withdraw();
    assert_eq!(consumer.whole(), 1006);
    assert_eq!(consumer.slice(1000, 1006), b"onetwo");
}

#[test]
fn nothing_is_whole_behind_a_place_that_is_not_full() {
    let (mut lanes, mut consumer) = ring(0, 2);
    let [first, second] = &mut lanes[..] else { unreachable!() };
    put(second, b"before");
    second.withdraw();
    let mut late = first.take(1);
    put(second, b"behind");
    second.withdraw();
    assert_eq!(consumer.whole(), 6);
    first.fill(&mut late, b"!");
    assert_eq!(consumer.whole(), 6, "the lane has not withdrawn");
    first.withdraw();
    assert_eq!(consumer.whole(), 13);
}

#[test]
fn what_is_whole_stays_whole_when_a_lane_announces_again() {
    let (mut lanes, mut consumer) = ring(0, 1);
    put(&mut lanes[0], b"abc");
    lanes[0].withdraw();
    assert_eq!(consumer.whole(), 3);
    let mut place = lanes[0].take(3);
    assert_eq!(consumer.whole(), 3);
    lanes[0].fill(&mut place, b"def");
    lanes[0].withdraw();
    assert_eq!(consumer.whole(), 6);
}

#[test]
fn a_unit_spans_chunks() {
    let mut bytes = vec![7; CHUNK_BYTES * 2 + 100];
    bytes.chunks_mut(1 << 16).zip(0..).for_each(|(piece, number)| piece.fill(number));
    let start = u64::MAX / 2 - 50;
    let (mut lanes, mut consumer) = ring(start, 1);
    let end = put(&mut lanes[0], &bytes);
    lanes[0].withdraw();
    assert_eq!(consumer.whole(), end);
    assert!(consumer.slice(start, end).len() < CHUNK_BYTES);
    assert_eq!(read(&consumer, start, end), bytes);
    assert_eq!(consumer.ring().pending_bytes(), bytes.len() as u64);
    consumer.release(end);
    assert_eq!(consumer.ring().pending_bytes(), 0);
}

#[test]
fn memory_that_was_passed_is_used_again_and_given_back_when_idle() {
    let (mut lanes, mut consumer) = ring(0, 1);
    let unit = vec![7; CHUNK_BYTES / 4];
    for _ in 0..20 {
        put(&mut lanes[0], &unit);
        lanes[0].withdraw();
        let whole = consumer.whole();
        consumer.release(whole);
        assert!(consumer.ring().resident_bytes() <= 2 * CHUNK);
    }
    consumer.ring().trim();
    consumer.ring().trim();
    assert!(consumer.ring().resident_bytes() <= CHUNK);
    put(&mut lanes[0], &unit);
}

#[test]
fn a_lane_that_is_a_whole_table_ahead_waits_for_the_consumer() {
    const UNITS: u64 = if cfg!(miri) { 10 } else { 200 };
    let (mut lanes, ring) = Ring::with_lanes(0, 1, 4 * CHUNK_BYTES).expect("address space");
    let mut consumer = ring.read_from_end();
    let unit = vec![7; CHUNK_BYTES / 2 + 1];
    let end = UNITS * unit.len() as u64;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..UNITS {
                put(&mut lanes[0], &unit);
                lanes[0].withdraw();
            }
        });
        while consumer.position() < end {
            let whole = consumer.whole();
            assert!(consumer.ring().resident_bytes() <= 4 * CHUNK);
            consumer.release(whole);
            std::thread::yield_now();
        }
    });
}

#[test]
fn the_chunk_behind_the_tail_is_made_ready() {
    let (mut lanes, consumer) = ring(CHUNK - 1, 1);
    consumer.prepare();
    consumer.prepare();
    assert_eq!(consumer.ring().resident_bytes(), CHUNK);
    put(&mut lanes[0], b"ab");
    lanes[0].withdraw();
    assert_eq!(consumer.ring().resident_bytes(), 2 * CHUNK);
}

#[test]
#[should_panic(expected = "a place was not filled")]
fn a_lane_does_not_withdraw_while_a_place_is_open() {
    let (mut lanes, _consumer) = ring(0, 1);
    let _place = lanes[0].take(1);
    lanes[0].withdraw();
}

#[test]
#[should_panic(expected = "not this place")]
fn a_lane_does_not_fill_the_place_of_another() {
    let (mut lanes, _consumer) = ring(0, 2);
    let mut place = lanes[0].take(1);
    lanes[1].fill(&mut place, b"x");
}

#[test]
#[should_panic(expected = "not this place")]
fn a_place_is_not_filled_beyond_its_end() {
    let (mut lanes, _consumer) = ring(0, 1);
    let mut place = lanes[0].take(1);
    lanes[0].fill(&mut place, b"xy");
}

#[test]
#[should_panic(expected = "not to be read")]
fn what_is_not_whole_is_not_read() {
    let (mut lanes, mut consumer) = ring(0, 1);
    let _place = lanes[0].take(1);
    consumer.whole();
    consumer.slice(0, 1);
}

#[test]
fn a_lane_that_goes_with_an_open_place_leaves_no_hole() {
    let (mut lanes, mut consumer) = ring(0, 2);
    let place = lanes[0].take(5);
    lanes.remove(0);
    put(&mut lanes[0], b"later");
    lanes[0].withdraw();
    assert_eq!((place.end(), consumer.whole()), (5, 0));
}

/// Header of a unit of the test below: lane, number in the lane, length.
fn unit(lane: usize, number: u32, bytes: usize) -> Vec<u8> {
    let mut unit = vec![narrow::to_u8(lane)];
    unit.extend(number.to_le_bytes());
    unit.extend(narrow::to_u32(bytes).to_le_bytes());
    unit.resize(9 + bytes, narrow::low_u8(u64::from(number)));
    unit
}

/// Takes whole units off the front of what was read; returns how many bytes they had.
fn check(read: &[u8], numbers: &mut [u32]) -> usize {
    let mut at = 0;
    while at < read.len() {
        let lane = usize::from(read[at]);
        let word = |from: usize| u32::from_le_bytes(read[from..from + 4].try_into().unwrap());
        let (number, bytes) = (word(at + 1), word(at + 5) as usize);
        assert_eq!(number, numbers[lane], "units of a lane stand in its order");
        numbers[lane] += 1;
        let body = &read[at + 9..at + 9 + bytes];
        assert!(body.iter().all(|byte| *byte == narrow::low_u8(u64::from(number))));
        at += 9 + bytes;
    }
    at
}

#[test]
fn many_lanes_with_sizes_around_a_chunk_and_late_bytes_make_one_stream() {
    const LANES: usize = 4;
    let units = if cfg!(miri) { 8 } else { 2_000 };
    let start = 5 * CHUNK - 40;
    let (lanes, mut consumer) = ring(start, LANES);
    let running = AtomicUsize::new(LANES);
    let mut numbers = [0; LANES];
    std::thread::scope(|scope| {
        for (lane_number, mut lane) in lanes.into_iter().enumerate() {
            let running = &running;
            scope.spawn(move || {
                let mut random = Random::from_seed(lane_number as u64);
                for number in 0..units {
                    let bytes = match random.below(if cfg!(miri) { 9 } else { 40 }) {
                        0 if !cfg!(miri) => CHUNK_BYTES - 20 + random.below(40) as usize,
                        _ => random.below(200) as usize,
                    };
                    let unit = unit(lane_number, number, bytes);
                    let mut place = lane.take(unit.len() as u64);
                    let (front, back) = unit.split_at(random.below(unit.len() as u64) as usize);
                    lane.fill(&mut place, front);
                    if random.one_in(5) {
                        std::thread::yield_now();
                    }
                    lane.fill(&mut place, back);
                    if random.one_in(3) {
                        lane.withdraw();
                    }
                    while lane.ring().pending_bytes() > SPAN as u64 / 4 {
                        lane.withdraw();
                        std::thread::yield_now();
                    }
                }
                drop(lane);
                running.fetch_sub(1, Ordering::Release);
            });
        }
        let mut at = start;
        loop {
            let has_ended = running.load(Ordering::Acquire) == 0;
            let whole = consumer.whole();
            let bytes = read(&consumer, at, whole);
            assert_eq!(check(&bytes, &mut numbers), bytes.len(), "whole ends with a unit");
            consumer.release(whole);
            consumer.prepare();
            consumer.ring().trim();
            at = whole;
            if has_ended {
                break;
            }
        }
    });
    assert_eq!((consumer.whole(), numbers), (consumer.ring().tail(), [units; LANES]));
}
