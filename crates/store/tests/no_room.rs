//! Values of all types where the address space is used up: a change is made or refused, what is
//! refused leaves no empty collection behind, and what is there can be read and removed.

use base::{KeyHasher, Millis, Random};
use store::value::hash::{Deadline, HashLimit, HashMut};
use store::value::list::{End, ListLimit};
use store::value::set::SetLimit;
use store::value::sorted_set::{SortedSetLimit, Terms};
use store::value::stream::{Add, NewId, NodeLimit};
use store::value::{hash, list, set, sorted_set, stream};
use store::{Access, Encoding, Expiry, Key, Lane, ShardSet, Store, StoreConfig};

const NOW: Millis = Millis(1_700_000_000_000);
/// An element that has a record of its own, which takes a slot of 8 MiB.
const LONG: usize = 600 << 10;

struct World {
    store: Store,
    lane: Lane,
}

impl World {
    fn new() -> World {
        let hasher = KeyHasher::from_seed(7);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(512 << 20) };
        let store = Store::new(config).expect("address space");
        let lane = store.lane().expect("a lane");
        World { store, lane }
    }

    fn on<T>(&mut self, name: &[u8], work: impl FnOnce(&mut Access<'_>, &Key<'_>) -> T) -> T {
        self.store.enter(&self.lane);
        let key = self.store.key(self.store.keyspace(0).expect("a database"), name);
        let done = work(&mut self.store.lock(&mut self.lane, &key, NOW), &key);
        self.store.leave(&self.lane);
        done
    }

    fn copy(&mut self, from: &[u8], to: &[u8]) {
        self.store.enter(&self.lane);
        let keyspace = self.store.keyspace(0).expect("a database");
        let (from, to) = (self.store.key(keyspace, from), self.store.key(keyspace, to));
        let mut access = self.store.lock_all(&mut self.lane, ShardSet::all(), NOW);
        assert_eq!(access.copy(&from, &to), Ok(true));
        drop(access);
        self.store.leave(&self.lane);
    }

    /// Takes all slots that are free: what is left is the rest of the lane's own segment.
    fn use_up(&mut self) {
        let limit = ListLimit::of_setting(-2);
        let long = vec![b'l'; LONG];
        let is_made = |world: &mut World, name: &[u8]| {
            world.on(name, |access, key| {
                list::push(access, key, End::Back, [&long[..]].into_iter(), limit, false).is_ok()
            })
        };
        assert!(is_made(self, b"first"));
        while is_made(self, b"first") {}
        let number = &mut 0_u64;
        while self.on(&number.to_le_bytes(), |access, key| {
            access.write(key, b"filling", Encoding::Raw, Expiry::Never).is_ok()
        }) {
            *number += 1;
        }
    }

    fn is_there(&mut self, name: &[u8]) -> bool {
        self.on(name, |access, key| access.peek(key).is_some())
    }
}

#[test]
fn a_list_whose_first_element_finds_no_room_is_not_made() {
    let mut world = World::new();
    world.use_up();
    let long = vec![b'l'; LONG];
    for setting in [-2, 1, i32::MAX] {
        let limit = ListLimit::of_setting(setting);
        let made = world.on(b"new", |access, key| {
            list::push(access, key, End::Back, [&long[..]].into_iter(), limit, false)
        });
        assert!(made.is_err());
        assert!(!world.is_there(b"new"));
    }
}

#[test]
fn members_leave_large_values_though_there_is_no_room_for_anything() {
    let mut world = World::new();
    let names: Vec<String> = (0..20_000).map(|number| format!("member:{number}")).collect();
    let texts = || names.iter().map(|name| name.as_bytes());
    let limit = SetLimit { integers: 0, members: 0, member_bytes: 0 };
    world.on(b"set", |access, key| set::add(access, key, texts(), limit)).expect("room");
    let limit = SortedSetLimit { members_max: 0, member_bytes_max: 0 };
    let pairs: Vec<(f64, &[u8])> = texts().enumerate().map(|(at, it)| (at as f64, it)).collect();
    world
        .on(b"zset", |access, key| {
            sorted_set::add(access, key, &pairs, Terms::default(), limit)
        })
        .expect("room");
    // The nodes of a copy have no room to spare, so those that are merged need other records.
    world.copy(b"set", b"copied set");
    world.copy(b"zset", b"copied zset");
    world.use_up();
    let mut random = Random::from_seed(3);
    let mut left: Vec<&[u8]> = texts().collect();
    while !left.is_empty() {
        let at = random.below(left.len() as u64) as usize;
        let gone = [left.swap_remove(at)];
        let gone = || gone.into_iter();
        assert_eq!(world.on(b"copied set", |access, key| set::remove(access, key, gone())), Ok(1));
        assert_eq!(world.on(b"copied zset", |access, key| sorted_set::remove(access, key, gone())), Ok(1));
    }
    assert!(!world.is_there(b"copied set") && !world.is_there(b"copied zset"));
}

fn text(random: &mut Random) -> Vec<u8> {
    let len = match random.below(40) {
        0..20 => random.below(20),
        20..32 => random.below(300),
        32..37 => random.below(3000),
        37 | 38 => random.below(60_000),
        _ => LONG as u64,
    };
    let mut text = vec![b'a' + random.below(3) as u8; len as usize];
    text.extend(random.below(50).to_string().bytes());
    text
}

#[test]
fn explore() {
    for seed in 0..60 {
        let mut random = Random::from_seed(seed);
        let mut world = World::new();
        for step in 0..3000 {
            let name = [b"lshzx"[random.below(5) as usize], b'0' + random.below(6) as u8];
            let texts: Vec<Vec<u8>> = (0..=random.below(4)).map(|_| text(&mut random)).collect();
            let pairs: Vec<(&[u8], &[u8])> =
                texts.iter().zip(texts.iter().rev()).map(|(a, b)| (&a[..], &b[..])).collect();
            let scored: Vec<(f64, &[u8])> =
                texts.iter().map(|t| (random.below(100) as f64 / 8.0, &t[..])).collect();
            let removes = random.below(100) < if step / 300 % 2 == 0 { 15 } else { 60 };
            let pick = random.below(1000);
            let small = random.one_in(2);
            let outcome: Result<(), ()> = world.on(&name, |access, key| {
                let all = || texts.iter().map(Vec::as_slice);
                if removes && pick < 20 {
                    access.remove(key);
                    return Ok(());
                }
                match (name[0], removes) {
                    (b'l', false) => {
                        let limit = ListLimit::of_setting([-1, -2, -5, 3, 128][pick as usize % 5]);
                        let end = if small { End::Front } else { End::Back };
                        match pick % 4 {
                            0 => list::set(access, key, 1, &texts[0], limit).map(drop),
                            _ => list::push(access, key, end, all(), limit, false).map(drop),
                        }
                        .map_err(drop)
                    }
                    (b'l', true) => {
                        let limit = ListLimit::of_setting(-2);
                        match pick % 3 {
                            0 => list::remove(access, key, 0, &texts[0], limit).map(drop),
                            1 => list::trim(access, key, 1, -2, limit).map(drop),
                            _ => list::pop(access, key, End::Back, 1 + pick % 20, limit, |_| ())
                                .map(drop),
                        }
                        .map_err(drop)
                    }
                    (b's', false) => {
                        let limit = SetLimit { integers: 5, members: 3 + pick % 90, member_bytes: 64 };
                        set::add(access, key, all(), limit).map(drop).map_err(drop)
                    }
                    (b's', true) => match pick % 2 {
                        0 => set::remove(access, key, all()).map(drop).map_err(drop),
                        _ => {
                            let limit = SetLimit { integers: 5, members: 9, member_bytes: 64 };
                            match set::pop(access, key, 1 + pick % 9, limit).map_err(drop)? {
                                Some(pop) => pop.finish(|_| ()).map_err(drop),
                                None => Ok(()),
                            }
                        }
                    },
                    (b'h', false) => {
                        let limit = HashLimit { fields: 3 + pick % 40, text_bytes: 64 };
                        let mut hash = HashMut::open(access, key, limit).map_err(drop)?;
                        if small {
                            hash.set_all(pairs.iter().copied()).map(drop).map_err(drop)
                        } else {
                            let at = Deadline::At(Millis(NOW.0 + 1000));
                            hash.set(&texts[0], &texts[0], at).map(drop).map_err(drop)
                        }
                    }
                    (b'h', true) => {
                        let limit = HashLimit { fields: 3 + pick % 40, text_bytes: 64 };
                        let mut hash = HashMut::open(access, key, limit).map_err(drop)?;
                        for text in &texts {
                            hash.remove(text);
                        }
                        Ok(())
                    }
                    (b'z', false) => {
                        let limit = SortedSetLimit { members_max: pick % 50, member_bytes_max: 64 };
                        sorted_set::add(access, key, &scored, Terms::default(), limit)
                            .map(drop)
                            .map_err(drop)
                    }
                    (b'z', true) => match pick % 2 {
                        0 => sorted_set::remove(access, key, all()).map(drop).map_err(drop),
                        _ => sorted_set::pop(access, key, sorted_set::End::Min, pick % 9, |_, _| ())
                            .map(drop)
                            .map_err(drop),
                    },
                    (_, false) => {
                        let limit = NodeLimit { entries: 10, bytes: 4096 };
                        let how = Add { id: NewId::Now, only_existing: false, trim: None, limit };
                        let words = pairs.iter().flat_map(|(a, b)| [*a, *b]);
                        if pick < 200 {
                            stream::group::create(access, key, b"group", None, None, true).map_err(drop)
                        } else if pick < 600 {
                            stream::group::read_group(access, key, stream::group::GroupRead {
                                group: b"group", consumer: &texts[0], after: None, count: pick % 20, no_ack: false,
                            }, |_| ()).map(drop).map_err(drop)
                        } else {
                            stream::add(access, key, how, words).map(drop).map_err(drop)
                        }
                    }
                    (_, true) => stream::trim(access, key, stream::Trim {
                        to: stream::Bound::Length(pick % 30), whole_nodes: None,
                    }).map(drop).map_err(drop),
                }
            });
            let _ = outcome;
            world.on(&name, |access, key| match name[0] {
                b'l' => assert!(list::peek(access, key).unwrap().is_none_or(|it| it.len() > 0)),
                b's' => assert!(set::peek(access, key).unwrap().is_none_or(|it| it.len() > 0)),
                b'h' => assert!(hash::peek(access, key).unwrap().is_none_or(|it| it.len() > 0)),
                b'z' => assert!(sorted_set::peek(access, key).unwrap().is_none_or(|it| it.len() > 0)),
                _ => {}
            });
            world.store.enter(&world.lane);
            world.store.upkeep(&mut world.lane, NOW);
            if pick % 7 == 0 {
                world.store.reap_some(&world.lane, 1000);
            }
            world.store.leave(&world.lane);
        }
    }
}
