//! Values of all types where the address space is used up: a change is made or refused, a value
//! that cannot get its first element is not made, and what is there can be read and removed.

use base::{KeyHasher, Millis, Random};
use store::value::hash::{Deadline, HashLimit, HashMut};
use store::value::list::{End, ListLimit};
use store::value::set::SetLimit;
use store::value::sorted_set::{SortedSetLimit, Terms};
use store::value::stream::group::{self, GroupRead};
use store::value::stream::{Add, Bound, NewId, NodeLimit, Trim};
use store::value::{hash, list, set, sorted_set, stream};
use store::{Access, Element, Encoding, Expiry, Key, ShardSet, Store, StoreConfig, ThreadContext};

const NOW: Millis = Millis(1_700_000_000_000);
/// An element that has a record of its own, which takes a slot of 8 MiB.
const LONG: usize = 600 << 10;
/// Names of values begin with the letter of their type.
const TYPES: [u8; 5] = *b"lshzx";

struct World {
    store: Store,
    thread: ThreadContext,
}

impl World {
    fn new() -> World {
        let hasher = KeyHasher::from_seed(7);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(1 << 30) };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("a thread");
        World { store, thread }
    }

    fn on<T>(&mut self, name: &[u8], work: impl FnOnce(&mut Access<'_>, &Key<'_>) -> T) -> T {
        self.store.enter(&self.thread);
        let key = self.store.key(self.store.keyspace(0).expect("a database"), name);
        let done = work(&mut self.store.lock(&mut self.thread, &key, NOW).muted(), &key);
        self.store.leave(&self.thread);
        done
    }

    fn copy(&mut self, from: &[u8], to: &[u8]) {
        self.store.enter(&self.thread);
        let keyspace = self.store.keyspace(0).expect("a database");
        let (from, to) = (self.store.key(keyspace, from), self.store.key(keyspace, to));
        let mut access = self.store.lock_all(&mut self.thread, ShardSet::all(), NOW).muted();
        assert_eq!(access.copy(&from, &to), Ok(true));
        drop(access);
        self.store.leave(&self.thread);
    }

    /// Takes all slots that a write may take, and then the rest of the thread's own segment, as far
    /// as strings of `len` bytes fill it.
    fn use_up(&mut self, len: usize) {
        let (limit, long) = (ListLimit::of_setting(-2), vec![b'l'; LONG]);
        let more = |access: &mut Access<'_>, key: &Key<'_>| {
            list::push(access, key, End::Back, [&long[..]].into_iter(), limit, false)
        };
        while self.on(b"long elements", more).is_ok() {}
        let value = vec![b'v'; len];
        let mut number = 0_u64;
        while self.on(&number.to_le_bytes(), |access, key| {
            access.set_string(key, &value, Encoding::Raw, Expiry::Never).is_ok()
        }) {
            number += 1;
        }
    }

    /// Elements of a value; `None` if there is none.
    fn len(&mut self, name: &[u8]) -> Option<u64> {
        self.on(name, |access, key| match name[0] {
            b'l' => list::lookup_without_touch(access, key).expect("a list").map(|it| it.len()),
            b's' => set::lookup_without_touch(access, key).expect("a set").map(|it| it.len()),
            b'h' => hash::lookup_without_touch(access, key).expect("a hash").map(|it| it.len()),
            b'z' => sorted_set::lookup_without_touch(access, key)
                .expect("a sorted set")
                .map(|it| it.len()),
            _ => stream::lookup_without_touch(access, key).expect("a stream").map(|it| it.len()),
        })
    }
}

/// A random request.
struct Wish {
    texts: Vec<Vec<u8>>,
    number: u64,
}

impl Wish {
    fn new(random: &mut Random) -> Wish {
        let texts = (0..=random.below(4)).map(|_| Wish::text(random)).collect();
        Wish { texts, number: random.below(1_000) }
    }

    fn text(random: &mut Random) -> Vec<u8> {
        let len = match random.below(40) {
            0..20 => random.below(20),
            20..32 => random.below(300),
            32..37 => random.below(3_000),
            37 | 38 => random.below(60_000),
            _ => LONG as u64,
        };
        let mut text = vec![b'a' + random.below(3) as u8; len as usize];
        text.extend(random.below(50).to_string().bytes());
        text
    }

    fn all(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.texts.iter().map(Vec::as_slice)
    }

    fn pairs(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + Clone {
        self.all().zip(self.all())
    }

    fn list_limit(&self) -> ListLimit {
        ListLimit::of_setting([-1, -2, -5, 3, 128][self.number as usize % 5])
    }

    fn set_limit(&self) -> SetLimit {
        SetLimit { integers: 5, members: 3 + self.number % 90, member_bytes: 64 }
    }

    fn hash_limit(&self) -> HashLimit {
        HashLimit { fields: 3 + self.number % 40, text_bytes: 64 }
    }

    fn sorted_set_limit(&self) -> SortedSetLimit {
        SortedSetLimit { members_max: self.number % 50, member_bytes_max: 64 }
    }

    /// Adds something to a value, which is created if need be; returns false if that is refused.
    fn put(&self, access: &mut Access<'_>, key: &Key<'_>) -> bool {
        let Wish { texts, number } = self;
        match key.bytes[0] {
            b'l' if number.is_multiple_of(4) => {
                list::set(access, key, 1, &texts[0], self.list_limit()).is_ok()
            }
            b'l' => {
                let end = if number.is_multiple_of(2) { End::Front } else { End::Back };
                list::push(access, key, end, self.all(), self.list_limit(), false).is_ok()
            }
            b's' => set::add(access, key, self.all(), self.set_limit()).is_ok(),
            b'h' => self.put_into_hash(access, key),
            b'z' => {
                let pairs: Vec<(f64, &[u8])> =
                    self.all().map(|text| ((text.len() % 100) as f64 / 8.0, text)).collect();
                let limit = self.sorted_set_limit();
                sorted_set::add(access, key, &pairs, Terms::default(), limit).is_ok()
            }
            _ => self.put_into_stream(access, key),
        }
    }

    fn put_into_hash(&self, access: &mut Access<'_>, key: &Key<'_>) -> bool {
        let mut hash = HashMut::open(access, key, self.hash_limit()).expect("a hash");
        if self.number.is_multiple_of(2) {
            return hash.set_all(self.pairs()).is_ok();
        }
        let deadline = Deadline::At(Millis(NOW.0 + self.number));
        hash.set(&self.texts[0], &self.texts[0], deadline).is_ok()
    }

    fn put_into_stream(&self, access: &mut Access<'_>, key: &Key<'_>) -> bool {
        let Wish { texts, number } = self;
        if number.is_multiple_of(5) {
            return group::create(access, key, b"group", None, None, true).is_ok();
        }
        if number % 5 == 1 {
            let (group, consumer) = (&b"group"[..], &texts[0][..]);
            let read =
                GroupRead { group, consumer, after: None, count: number % 20, no_ack: false };
            return group::read_group(access, key, read, |_| ()).is_ok();
        }
        let limit = NodeLimit { entries: 10, bytes: 4096 };
        let how = Add { id: NewId::Now, only_existing: false, trim: None, limit };
        stream::add(access, key, how, self.pairs().flat_map(|(a, b)| [a, b])).is_ok()
    }

    /// Removes something from a value.
    fn take(&self, access: &mut Access<'_>, key: &Key<'_>) -> bool {
        let Wish { texts, number } = self;
        let is_first_way = number.is_multiple_of(2);
        match key.bytes[0] {
            b'l' if is_first_way => {
                list::remove(access, key, 0, &texts[0], self.list_limit()).is_ok()
            }
            b'l' => {
                let limit = self.list_limit();
                list::pop(access, key, End::Back, 1 + number % 20, limit, |_| ()).is_ok()
            }
            b's' if is_first_way => set::remove(access, key, self.all()).is_ok(),
            b's' => {
                let pop = set::pop(access, key, 1 + number % 9, self.set_limit()).expect("a set");
                pop.is_none_or(|pop| pop.finish(|_| ()).is_ok())
            }
            b'h' => {
                let hash = HashMut::open(access, key, self.hash_limit());
                let mut hash = hash.expect("a hash");
                self.all().any(|field| hash.remove(field))
            }
            b'z' if is_first_way => sorted_set::remove(access, key, self.all()).is_ok(),
            b'z' => {
                let end = sorted_set::End::Min;
                sorted_set::pop(access, key, end, number % 9, |_, _| ()).is_ok()
            }
            _ => {
                let trim = Trim { to: Bound::Length(number % 30), whole_nodes: None };
                stream::trim(access, key, trim).is_ok()
            }
        }
    }
}

#[test]
fn a_value_whose_first_element_finds_no_room_is_not_made() {
    for (filling, name) in (20..400).step_by(20).zip(TYPES.iter().cycle()) {
        let mut world = World::new();
        world.use_up(filling);
        // A small value, one that is a tree though it is small, and a record of its own.
        for (len, number) in [(10, 1), (100, 2), (10_000, 3), (LONG, 7)] {
            let wish = Wish { texts: vec![vec![b'e'; len]], number };
            let name = [*name, b'0' + number as u8];
            let is_made = world.on(&name, |access, key| wish.put(access, key));
            let len = world.len(&name);
            assert_eq!(len, is_made.then_some(1), "{len:?} of {}", name.escape_ascii());
        }
    }
}

#[test]
fn a_list_stays_as_it_was_where_there_is_no_room_for_what_is_stored_over_it() {
    let mut world = World::new();
    let limit = ListLimit::of_setting(-2);
    let (old, new) = ([&b"old"[..]; 3], [&b"new"[..], &vec![b'n'; LONG], b"more"]);
    let store = |world: &mut World, texts: &[&[u8]]| {
        let texts = texts.iter().copied();
        world.on(b"list", |access, key| list::store(access, key, texts, limit).is_ok())
    };
    assert!(store(&mut world, &new));
    assert_eq!(world.len(b"list"), Some(3));
    assert!(store(&mut world, &old));
    world.use_up(100);
    assert!(!store(&mut world, &new));
    let elements = world.on(b"list", |access, key| {
        let list = list::lookup_without_touch(access, key).expect("a list").expect("it is there");
        list.iter_from(0).map(Element::to_text).collect::<Vec<_>>()
    });
    assert_eq!(elements, old);
    assert!(store(&mut world, &[]));
    assert_eq!(world.len(b"list"), None);
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
    let add = |access: &mut Access<'_>, key: &Key<'_>| {
        sorted_set::add(access, key, &pairs, Terms::default(), limit)
    };
    world.on(b"zset", add).expect("room");
    // The nodes of a copy have no room to spare, so those that are merged need other records.
    world.copy(b"set", b"second set");
    world.copy(b"zset", b"zset copied");
    world.use_up(8);
    let mut random = Random::from_seed(3);
    let mut left: Vec<&[u8]> = texts().collect();
    while !left.is_empty() {
        let at = random.below(left.len() as u64) as usize;
        let gone = [left.swap_remove(at)];
        let gone = || gone.into_iter();
        let removed = world.on(b"second set", |access, key| set::remove(access, key, gone()));
        assert_eq!(removed, Ok(1));
        let removed =
            world.on(b"zset copied", |access, key| sorted_set::remove(access, key, gone()));
        assert_eq!(removed, Ok(1));
    }
    assert_eq!((world.len(b"second set"), world.len(b"zset copied")), (None, None));
}

#[test]
fn values_stay_whole_while_the_last_slots_come_and_go() {
    let mut random = Random::from_seed(11);
    let (mut world, mut refused) = (World::new(), 0);
    for step in 0..20_000 {
        let name = [TYPES[random.below(5) as usize], b'0' + random.below(6) as u8];
        let (wish, is_fuller) = (Wish::new(&mut random), step / 1_000 % 2 == 0);
        let takes = random.below(100) < if is_fuller { 10 } else { 60 };
        let is_done = world.on(&name, |access, key| match takes {
            true if wish.number < 10 => access.remove(key),
            true => wish.take(access, key),
            false => wish.put(access, key),
        });
        refused += u64::from(!takes && !is_done);
        assert!(name[0] == b'x' || world.len(&name) != Some(0), "{}", name.escape_ascii());
        world.store.enter(&world.thread);
        world.store.upkeep(&mut world.thread, NOW);
        world.store.free_some(&mut world.thread, wish.number as usize);
        world.store.leave(&world.thread);
    }
    assert!(refused > 100, "{refused}");
}
