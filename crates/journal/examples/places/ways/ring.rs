//! The ring: an addition for each unit, filled in place.

use super::{Cost, Load, Sink, measure};
use journal::{Lane, Ring};

pub fn run(load: &Load<'_>) -> Cost {
    let (lanes, stream) = Ring::with_lanes(0, load.threads, 1 << 30).expect("address space");
    let mut consumer = stream.read_from_end();
    let taker = |mut lane: Lane| {
        move |batch: usize| {
            for _ in 0..batch {
                let mut place = lane.take(load.unit.len() as u64);
                lane.fill(&mut place, load.unit);
            }
            lane.withdraw();
        }
    };
    let mut sink = Sink::new();
    measure(load, lanes.into_iter().map(taker).collect(), move |_| {
        let (from, whole) = (consumer.position(), consumer.whole());
        let mut at = from;
        while at < whole {
            let piece = consumer.slice(at, whole);
            sink.write(piece);
            at += piece.len() as u64;
        }
        consumer.release(whole);
        consumer.prepare();
        whole - from
    })
}
