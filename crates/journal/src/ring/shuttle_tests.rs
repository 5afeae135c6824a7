//! Many lanes, units around the border of a chunk and bytes filled late, under random schedules.

use super::*;
use shuttle::thread::{spawn, yield_now};

const LANES: usize = 3;
const UNITS: usize = 8;
const START: u64 = 10;

/// A unit: lane, number and length, then the sum of the three for each other byte.
fn unit(lane: usize, number: usize) -> Vec<u8> {
    let bytes = 3 + (lane * 5 + number * 3) % 7;
    let mut unit = vec![narrow::to_u8(lane + number + bytes); bytes];
    unit[..3].copy_from_slice(&[lane, number, bytes].map(narrow::to_u8));
    unit
}

fn write(lane_number: usize, mut lane: Lane) {
    let mut waits: Option<(Place, Vec<u8>)> = None;
    for number in 0..UNITS {
        let unit = unit(lane_number, number);
        let mut place = lane.take(unit.len() as u64);
        let late = number % 2;
        lane.fill(&mut place, &unit[..unit.len() - late]);
        if let Some((mut place, end)) = waits.take() {
            lane.fill(&mut place, &end);
        }
        if late > 0 {
            waits = Some((place, unit[unit.len() - late..].to_vec()));
        } else if number % 4 != 2 {
            lane.withdraw();
        }
        while lane.ring().pending_bytes() > 60 && waits.is_none() {
            lane.withdraw();
            yield_now();
        }
    }
    if let Some((mut place, end)) = waits {
        lane.fill(&mut place, &end);
    }
}

fn read_whole(consumer: &mut Consumer, numbers: &mut [usize; LANES]) {
    let (mut at, whole) = (consumer.position(), consumer.whole());
    let mut bytes = Vec::new();
    while at < whole {
        let piece = consumer.slice(at, whole);
        bytes.extend_from_slice(piece);
        at += piece.len() as u64;
    }
    let mut rest = &bytes[..];
    while let [lane, number, length, ..] = rest {
        let lane = usize::from(*lane);
        assert_eq!(usize::from(*number), numbers[lane], "a lane's units stand in its order");
        assert_eq!(rest[..usize::from(*length)], unit(lane, numbers[lane]));
        numbers[lane] += 1;
        rest = &rest[usize::from(*length)..];
    }
    assert!(rest.is_empty(), "what is whole ends with a unit");
    consumer.release(whole);
}

#[test]
fn the_stream_is_whole_units_each_once_and_in_order() {
    shuttle::check_random(
        || {
            let (lanes, ring) = Ring::with_lanes(START, LANES, 128).expect("address space");
            let mut consumer = ring.read_from_end();
            let threads: Vec<_> = lanes
                .into_iter()
                .enumerate()
                .map(|(number, lane)| spawn(move || write(number, lane)))
                .collect();
            let mut numbers = [0; LANES];
            while numbers != [UNITS; LANES] {
                read_whole(&mut consumer, &mut numbers);
                consumer.prepare();
                ring.trim();
                yield_now();
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(consumer.position(), ring.tail());
        },
        3_000,
    );
}
