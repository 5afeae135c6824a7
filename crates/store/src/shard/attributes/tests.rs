//! Attributes of a few keys against a map, in little memory, so that Miri can follow every step.

use super::*;
use crate::attributes::Cas;
use crate::key::{Encoding, Key};
use crate::shard::{Event, Guard, ShardSet, Shards, ThreadContext};
use base::{Gate, KeyHasher, KeyspaceId, Random};
use heap::Head;
use std::collections::BTreeMap;
use std::sync::Arc;

const STEPS: usize = if cfg!(miri) { 60 } else { 40_000 };
const NOW: Millis = Millis(1_000);
const STRING: ValueTag = ValueTag::new(Kind::String, Encoding::Raw);
const NAMES: [&[u8]; 4] = [b"a", b"b", b"another", &[b'n'; 260]];

/// All that is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    value: Vec<u8>,
    deadline: Option<Millis>,
    attributes: Attributes,
    is_fetched: bool,
}

struct World {
    shards: Arc<Shards>,
    thread: ThreadContext,
    survivors: Head,
    random: Random,
    model: BTreeMap<&'static [u8], Held>,
}

impl World {
    fn new(seed: u64) -> World {
        let shards = Shards::new(1, KeyHasher::from_seed(seed), Some(64 << 20));
        let gate = Gate::new();
        World {
            shards: shards.expect("address space"),
            thread: ThreadContext::new(gate.join().expect("the first thread"), 0),
            survivors: Head::new(),
            random: Random::from_seed(seed),
            model: BTreeMap::new(),
        }
    }

    fn with<T>(&mut self, name: &[u8], act: impl FnOnce(&mut Guard<'_>, &Key<'_>) -> T) -> T {
        let key = self.shards.key(KeyspaceId(0), name);
        let mut guard = self.shards.lock_all(&mut self.thread, ShardSet::all(), NOW);
        let done = act(&mut guard, &key);
        guard.report_changes(1, Event::string("set"), &key);
        done
    }

    fn any(&mut self) -> Held {
        let len = [0, 5, 20, 250, 300][self.random.below(5) as usize];
        let number = self.random.next();
        let cas = NonZeroU64::new(number).filter(|_| self.random.one_in(3));
        let attributes = Attributes {
            flags: (number >> 32) as u32 >> (number % 32),
            cas: cas.map_or(Cas::None, Cas::Given),
            is_stale: self.random.one_in(3),
            is_won: self.random.one_in(5),
            is_key_in_base64: self.random.one_in(5),
        };
        let deadlines = [None, None, Some(Millis(2_000)), Some(Millis(1 << 60))];
        let deadline = deadlines[self.random.below(4) as usize];
        Held { value: vec![number as u8; len], deadline, attributes, is_fetched: false }
    }

    fn step(&mut self) {
        let name = NAMES[self.random.below(NAMES.len() as u64) as usize];
        let (next, choice) = (self.any(), self.random.below(10));
        let Some(mut held) = self.model.get(name).cloned().filter(|_| choice > 1) else {
            return self.replace(name, next, choice == 0);
        };
        let void = Attributes { cas: Cas::None, ..held.attributes };
        match choice {
            2 => self.relocate(name),
            3 => return self.copy(name),
            _ => self.with(name, |guard, key| {
                let mut key = guard.key_mut(key);
                match choice {
                    4 => {
                        key.resize_as(STRING.fetched_as(key.value_tag()), next.value.len())
                            .expect("room");
                        held.value.resize(next.value.len(), 0);
                        held.attributes = void;
                    }
                    5 => {
                        key.begin_change(STRING);
                        held.value.fill(7);
                        key.bytes_mut().fill(7);
                        held.attributes = void;
                    }
                    6 => {
                        key.set_deadline(next.deadline).expect("room");
                        held.deadline = next.deadline;
                    }
                    7 => {
                        key.set_attributes(next.attributes).expect("room");
                        held.attributes = next.attributes;
                    }
                    8 => {
                        let number = key.draw_cas().expect("room");
                        if held.attributes.cas == Cas::None {
                            held.attributes.cas = Cas::Drawn(number);
                        }
                        assert_eq!(held.attributes.cas.number(), Some(number));
                    }
                    _ => {
                        assert_eq!(key.note_fetched(), held.is_fetched);
                        held.is_fetched = true;
                    }
                }
            }),
        }
        self.model.insert(name, held);
    }

    fn replace(&mut self, name: &'static [u8], mut next: Held, has_attributes: bool) {
        if !has_attributes {
            next.attributes = Attributes::default();
        }
        self.with(name, |guard, key| {
            let mut key = guard.key_mut(key);
            let Held { value, deadline, attributes, .. } = &next;
            let kept = attributes.in_place_of(key.kept_attributes());
            if has_attributes {
                key.replace_with(STRING, value, *deadline, kept).expect("room");
            } else {
                key.replace_until(STRING, value, *deadline).expect("room");
            }
        });
        self.model.insert(name, next);
    }

    fn relocate(&mut self, name: &[u8]) {
        let key = self.shards.key(KeyspaceId(0), name);
        let mut guard = self.shards.lock_quietly(&mut self.thread, key.hash.shard(), NOW);
        let at = guard.lookup_without_touch(&key).expect("it is there").location();
        let mut found = guard.key_at(key.keyspace, key.hash, at).expect("it lies there");
        assert!(found.relocate(&mut self.survivors, true));
    }

    /// Copies the value of a key to that of the next name.
    fn copy(&mut self, name: &'static [u8]) {
        let at = NAMES.iter().position(|it| *it == name).expect("a name");
        let target = NAMES[(at + 1) % NAMES.len()];
        let to = self.shards.key(KeyspaceId(0), target);
        self.with(name, |guard, from| guard.copy_value(from, &to, None).expect("room"));
        let mut held = self.model[name].clone();
        held.attributes.cas = Cas::None;
        held.attributes.is_key_in_base64 = false;
        self.model.insert(target, held);
    }

    fn verify(&mut self) {
        for name in NAMES {
            let key = self.shards.key(KeyspaceId(0), name);
            let guard = self.shards.lock_quietly(&mut self.thread, key.hash.shard(), NOW);
            let held = guard.lookup_without_touch(&key).map(|it| Held {
                value: it.bytes().to_vec(),
                deadline: it.deadline(),
                attributes: it.attributes(),
                is_fetched: it.is_fetched(),
            });
            assert_eq!(held.as_ref(), self.model.get(name));
        }
        let indexed: u64 = self.shards.counts_of(KeyspaceId(0)).map(|index| index.bytes()).sum();
        assert_eq!(self.thread.counters.live_bytes.get(), indexed);
    }
}

#[test]
fn attributes_stay_with_their_value_wherever_it_goes() {
    for seed in 0..if cfg!(miri) { 1 } else { 3 } {
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.step();
            world.verify();
        }
    }
}
