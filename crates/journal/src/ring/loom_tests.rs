//! Every interleaving of lanes and the consumer, in chunks of four bytes.

use super::*;
use loom::thread::spawn;

const LANES: usize = 2;

/// A unit: its length, then the lane's number once for each other byte.
fn unit(lane: usize, bytes: usize) -> Vec<u8> {
    let mut unit = vec![narrow::to_u8(lane); bytes];
    unit[0] = narrow::to_u8(bytes);
    unit
}

/// Reads what is whole, which is units without a gap, and releases it. Counts the bytes by lane.
fn read_whole(consumer: &mut Consumer, read: &mut [usize; LANES]) {
    let (mut at, whole) = (consumer.position(), consumer.whole());
    let mut bytes = Vec::new();
    while at < whole {
        let piece = consumer.slice(at, whole);
        bytes.extend_from_slice(piece);
        at += piece.len() as u64;
    }
    let mut rest = &bytes[..];
    while let [length, ..] = rest {
        let (unit, behind) = rest.split_at(usize::from(*length));
        let lane = usize::from(unit[1]);
        assert!(unit[1..].iter().all(|byte| usize::from(*byte) == lane));
        read[lane] += unit.len();
        rest = behind;
    }
    consumer.release(whole);
}

/// Each lane puts units of these sizes, and withdraws after those followed by `true`; a unit with
/// an announcement of its own is put in one go.
/// The first so many chunks have frames already.
fn explore(units: [&'static [(usize, bool)]; LANES], looks: usize, chunks: u64) {
    loom::model(move || {
        let (lanes, ring) = Ring::with_lanes(3, LANES, 16).expect("address space");
        let mut consumer = ring.read_from_end();
        (0..chunks).for_each(|chunk| _ = ring.chunks.install(chunk));
        let threads: Vec<_> = std::iter::zip(lanes, units)
            .enumerate()
            .map(|(number, (mut lane, units))| {
                spawn(move || {
                    for (bytes, withdraws) in units {
                        let unit = unit(number, *bytes);
                        if *withdraws && !lane.is_announced {
                            lane.put(&unit);
                            continue;
                        }
                        let mut place = lane.take(unit.len() as u64);
                        lane.fill(&mut place, &unit);
                        if *withdraws {
                            lane.withdraw();
                        }
                    }
                })
            })
            .collect();
        let mut read = [0; LANES];
        for _ in 0..looks {
            read_whole(&mut consumer, &mut read);
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        read_whole(&mut consumer, &mut read);
        let sizes = units.map(|units| units.iter().map(|(bytes, _)| bytes).sum());
        assert_eq!(read, sizes, "each byte is read once");
    });
}

#[test]
fn what_is_declared_whole_is_whole() {
    explore([&[(2, true)], &[(2, true)]], 2, 2);
}

#[test]
fn a_batch_of_units_is_announced_once() {
    explore([&[(2, false), (2, true)], &[(3, true)]], 1, 3);
}

#[test]
fn a_lane_that_announces_again_takes_nothing_back() {
    explore([&[(2, true), (2, true)], &[(2, true)]], 1, 3);
}

#[test]
fn units_across_chunks_find_the_frames_of_others() {
    explore([&[(5, true)], &[(3, true)]], 1, 0);
}
