//! Every interleaving of a lane, a saver that cuts or turns the journal on, and the writer.

use super::*;
use crate::ring::Lane;
use base::gate::{Gate, GateMember};
use loom::model::Builder;
use loom::sync::atomic::AtomicBool;
use loom::thread::{JoinHandle, spawn};
use std::sync::Arc;

struct Shared {
    gate: Gate,
    mark: CutMark,
    is_on: AtomicBool,
}

impl Shared {
    /// Puts units, each under the gate, while the journal is on; returns what was put.
    fn put(&self, member: &GateMember, lane: &mut Lane) -> Vec<u8> {
        let mut put = Vec::new();
        for unit in [[1, 1], [2, 2]] {
            self.gate.enter(member);
            if self.is_on.load(Ordering::Relaxed) {
                let mut place = lane.take(2);
                lane.fill(&mut place, &unit);
                lane.withdraw();
                put.extend(unit);
            }
            self.gate.leave(member);
        }
        put
    }
}

/// Writes to a file what may be written.
fn write(consumer: &mut Consumer, mark: &CutMark, file: &mut Vec<u8>) {
    let (mut at, limit) = (consumer.position(), mark.limit(consumer));
    while at < limit {
        let piece = consumer.slice(at, limit);
        file.extend_from_slice(piece);
        at += piece.len() as u64;
    }
    consumer.release(at);
}

/// What the writer's thread has, and a lane's thread that puts units.
struct World {
    shared: Arc<Shared>,
    own: GateMember,
    consumer: Consumer,
    lane: JoinHandle<Vec<u8>>,
}

fn explore(is_on: bool, act: impl Fn(World) + Send + Sync + 'static) {
    let mut model = Builder::new();
    // All interleavings of three threads, one of which closes a gate, are too many.
    model.preemption_bound = Some(2);
    model.check(move || {
        let (mut lanes, ring) = Ring::with_lanes(0, 1, 16).expect("address space");
        let consumer = ring.read_from_end();
        let (gate, mark) = (Gate::new(), CutMark::default());
        let [member, own] = [(); 2].map(|()| gate.join().expect("a member is left"));
        let shared = Arc::new(Shared { gate, mark, is_on: AtomicBool::new(is_on) });
        let (other, mut lane) = (Arc::clone(&shared), lanes.pop().expect("a lane"));
        let lane = spawn(move || other.put(&member, &mut lane));
        act(World { shared, own, consumer, lane });
    });
}

#[test]
fn a_file_ends_at_the_cut_and_the_next_one_has_the_rest() {
    explore(true, |World { shared, own, mut consumer, lane }| {
        let (other, ring) = (Arc::clone(&shared), Arc::clone(consumer.ring()));
        let saver = spawn(move || other.gate.close(&own, || other.mark.mark(&ring)));
        let (mut old, mut new) = (Vec::new(), Vec::new());
        write(&mut consumer, &shared.mark, &mut old);
        let cut = saver.join().unwrap();
        assert!(consumer.whole() >= cut, "nobody filled a place at the cut");
        write(&mut consumer, &shared.mark, &mut old);
        assert_eq!(old.len() as u64, cut);
        shared.mark.clear();
        let put = lane.join().unwrap();
        write(&mut consumer, &shared.mark, &mut new);
        assert_eq!([old, new].concat(), put);
    });
}

#[test]
fn a_file_that_begins_when_the_journal_is_turned_on_has_all_units_behind_the_cut() {
    explore(false, |World { shared, own, mut consumer, lane }| {
        let (other, ring) = (Arc::clone(&shared), Arc::clone(consumer.ring()));
        let saver = spawn(move || {
            other.gate.close(&own, || {
                let cut = other.mark.mark(&ring);
                other.is_on.store(true, Ordering::Relaxed);
                cut
            })
        });
        let (mut nowhere, mut file) = (Vec::new(), Vec::new());
        write(&mut consumer, &shared.mark, &mut nowhere);
        assert_eq!(saver.join().unwrap(), consumer.position());
        shared.mark.clear();
        let put = lane.join().unwrap();
        write(&mut consumer, &shared.mark, &mut file);
        assert_eq!((nowhere, file), (Vec::new(), put));
    });
}

#[test]
fn when_the_journal_is_off_all_that_was_put_is_whole_and_nothing_more_comes() {
    explore(true, |World { shared, own, mut consumer, lane }| {
        let mut file = Vec::new();
        shared.gate.close(&own, || shared.is_on.store(false, Ordering::Relaxed));
        write(&mut consumer, &shared.mark, &mut file);
        let put = lane.join().unwrap();
        assert_eq!(consumer.ring().tail(), consumer.position());
        assert_eq!(file, put);
    });
}
