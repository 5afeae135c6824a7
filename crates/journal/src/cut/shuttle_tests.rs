//! Many lanes, cuts one after the other and a journal that is turned off and on, under random
//! schedules.

use super::*;
use crate::ring::Lane;
use base::gate::{Gate, GateMember};
use shuttle::sync::atomic::AtomicBool;
use shuttle::sync::mpsc::{Receiver, Sender, channel};
use shuttle::thread::{spawn, yield_now};
use std::sync::Arc;

const LANES: usize = 3;
const UNITS: u8 = 6;
const CUTS: usize = 3;

struct Shared {
    gate: Gate,
    mark: CutMark,
    is_on: AtomicBool,
    ring: Arc<Ring>,
}

/// A lane's units: its number and theirs. Those are returned that were put.
fn put(shared: &Shared, member: &GateMember, lane_number: usize, mut lane: Lane) -> Vec<[u8; 2]> {
    let mut all = Vec::new();
    for number in 0..UNITS {
        shared.gate.enter(member);
        if shared.is_on.load(Ordering::Relaxed) {
            let unit = [narrow::to_u8(lane_number), number];
            let mut place = lane.take(2);
            lane.fill(&mut place, &unit[..1]);
            lane.fill(&mut place, &unit[1..]);
            lane.withdraw();
            all.push(unit);
        }
        shared.gate.pass(member);
        shared.gate.leave(member);
    }
    all
}

/// Cuts whenever it is asked to, and turns the journal on if it is off.
fn save(shared: &Shared, member: &GateMember, asked: &Receiver<()>, cuts: &Sender<u64>) {
    while asked.recv().is_ok() {
        let cut = shared.gate.close(member, || {
            let cut = shared.mark.mark(&shared.ring);
            shared.is_on.store(true, Ordering::Relaxed);
            cut
        });
        cuts.send(cut).expect("the writer waits for it");
    }
}

/// The writer: its files, each with the position at which it begins.
struct Writer {
    shared: Arc<Shared>,
    consumer: Consumer,
    files: Vec<(u64, Vec<u8>)>,
}

impl Writer {
    fn write(&mut self) {
        let limit = self.shared.mark.limit(&mut self.consumer);
        let (_, file) = self.files.last_mut().expect("a file");
        let mut at = self.consumer.position();
        while at < limit {
            let piece = self.consumer.slice(at, limit);
            file.extend_from_slice(piece);
            at += piece.len() as u64;
        }
        self.consumer.release(limit);
    }

    /// Has the saver cut, ends the file there and begins the next one.
    fn rotate(&mut self, ask: &Sender<()>, cuts: &Receiver<u64>) {
        ask.send(()).expect("the saver waits for it");
        let cut = loop {
            self.write();
            match cuts.try_recv() {
                Ok(cut) => break cut,
                Err(_) => yield_now(),
            }
        };
        assert!(self.consumer.whole() >= cut, "nobody filled a place at the cut");
        self.write();
        assert_eq!(self.consumer.position(), cut);
        self.files.push((cut, Vec::new()));
        self.shared.mark.clear();
    }

    /// Turns the journal off; the file ends with what was put.
    fn turn_off(&mut self, member: &GateMember) {
        let shared = Arc::clone(&self.shared);
        shared.gate.close(member, || shared.is_on.store(false, Ordering::Relaxed));
        self.write();
        assert_eq!(self.consumer.position(), shared.ring.tail());
        yield_now();
        assert_eq!(self.consumer.position(), shared.ring.tail(), "nothing more comes");
    }
}

fn units_are_in_the_file_of_their_positions(turns_off: bool) {
    let (lanes, ring) = Ring::with_lanes(0, LANES, 128).expect("address space");
    let consumer = ring.read_from_end();
    let (gate, mark) = (Gate::new(), CutMark::default());
    let [own, saver] = [(); 2].map(|()| gate.join().expect("a member is left"));
    let shared = Arc::new(Shared { gate, mark, is_on: AtomicBool::new(true), ring });
    let threads: Vec<_> = lanes
        .into_iter()
        .enumerate()
        .map(|(number, lane)| {
            let member = shared.gate.join().expect("a member is left");
            let shared = Arc::clone(&shared);
            spawn(move || put(&shared, &member, number, lane))
        })
        .collect();
    let ((ask, asked), (cut, cuts)) = (channel(), channel());
    let other = Arc::clone(&shared);
    let saver = spawn(move || save(&other, &saver, &asked, &cut));
    let mut writer = Writer { shared, consumer, files: vec![(0, Vec::new())] };
    for _ in 0..CUTS {
        if turns_off {
            writer.turn_off(&own);
        }
        writer.rotate(&ask, &cuts);
    }
    drop(ask);
    let put: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    saver.join().unwrap();
    writer.write();
    for (file, next) in writer.files.iter().zip(&writer.files[1..]) {
        assert_eq!(file.0 + file.1.len() as u64, next.0, "a file ends where the next one begins");
    }
    let stream: Vec<u8> = writer.files.into_iter().flat_map(|(_, bytes)| bytes).collect();
    for (number, put) in put.into_iter().enumerate() {
        let of_lane = stream.chunks(2).filter(|unit| usize::from(unit[0]) == number);
        assert!(of_lane.eq(put), "each unit is in one file, and in the order of its lane");
    }
}

#[test]
fn nothing_behind_a_cut_goes_into_the_file_before_it() {
    shuttle::check_random(|| units_are_in_the_file_of_their_positions(false), 3_000);
}

#[test]
fn a_journal_that_is_turned_off_and_on_again_misses_nothing_in_between() {
    shuttle::check_random(|| units_are_in_the_file_of_their_positions(true), 3_000);
}
