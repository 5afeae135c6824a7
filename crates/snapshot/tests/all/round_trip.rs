//! Values return from their payloads, around the borders between small and large forms, and damaged
//! payloads store nothing.

use base::{KeyHasher, KeyspaceId, Millis};
use proptest::prelude::{any, prop_assert, proptest};
use rdb::Checks;
use snapshot::{Limits, dump, read_payload};
use std::collections::BTreeMap;
use store::value::hash::{HashLimit, HashMut};
use store::value::list::{End, ListLimit};
use store::value::set::SetLimit;
use store::value::sorted_set::{SortedSetLimit, Terms};
use store::value::stream::{self, Add, Id, NewId, NodeLimit};
use store::value::{hash, list, set, sorted_set};
use store::{Access, Encoding, Expiry, Kind, Store, StoreConfig, ThreadContext};

fn limits() -> Limits {
    Limits {
        list: ListLimit::of_setting(-2),
        set: SetLimit { integers: 512, members: 128, member_bytes: 64 },
        sorted_set: SortedSetLimit { members_max: 128, member_bytes_max: 64 },
        hash: HashLimit { fields: 512, text_bytes: 64 },
    }
}

const UNCHECKED: Checks = Checks { checksum: false, version: true };
const NODES: NodeLimit = NodeLimit { entries: 100, bytes: 4096 };
const NOW: Millis = Millis(1_700_000_000_000);

struct World {
    store: Store,
    thread: ThreadContext,
    keyspace: KeyspaceId,
}

impl World {
    fn new() -> World {
        let hasher = KeyHasher::from_seed(1);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(256 << 20) };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("a thread");
        let keyspace = store.keyspace(0).expect("the first database");
        World { store, thread, keyspace }
    }

    fn on<T>(&mut self, key: &str, act: impl FnOnce(&mut Access<'_>, &store::Key<'_>) -> T) -> T {
        let World { store, thread, keyspace } = self;
        let key = store.key(*keyspace, key.as_bytes());
        store.reserve(thread, 4 << 20, NOW).expect("room");
        store.enter(thread);
        let done = act(&mut store.lock(thread, &key, NOW).muted(), &key);
        store.leave(thread);
        done
    }

    fn dump(&mut self, key: &str, compresses: bool) -> Vec<u8> {
        self.on(key, |access, key| dump(access, key, rdb::Version::VALKEY, compresses))
            .expect("there is a value")
    }

    fn restore(&mut self, key: &str, payload: &[u8]) {
        let value =
            read_payload(payload, Checks::ALL, self.store.hasher()).expect("a good payload");
        self.on(key, |access, key| value.store(access, key, None, &limits())).expect("room");
    }

    /// Dumps the value of `k`, restores it as `l`, and checks that it is the same in all that a
    /// payload tells, and in its encoding.
    fn returns(&mut self) {
        for compresses in [false, true] {
            let payload = self.dump("k", compresses);
            self.on("l", |access, key| {
                access.set_string(key, b"old", Encoding::Raw, Expiry::Never)
            })
            .expect("room");
            self.restore("l", &payload);
            assert_eq!(self.dump("l", compresses), payload);
            let facts = |world: &mut World, key| {
                world.on(key, |access, key| {
                    let value = access.lookup_without_touch(key).expect("there is a value");
                    (value.kind, value.encoding, value.deadline)
                })
            };
            assert_eq!(facts(self, "l"), facts(self, "k"));
        }
    }
}

fn text(number: usize, len: usize) -> Vec<u8> {
    let mut text = format!("{number:x}-").into_bytes();
    text.resize(text.len().max(len), b'z');
    text
}

/// Numbers of elements around the borders of all forms.
const COUNTS: [usize; 12] = [1, 2, 127, 128, 129, 511, 512, 513, 700, 2_000, 5_000, 20_000];
/// Lengths of texts around the borders of all forms.
const LENGTHS: [usize; 9] = [0, 20, 63, 64, 65, 240, 3_000, 8_192, 8_200];

fn sizes() -> impl Iterator<Item = (usize, usize)> {
    let counts = COUNTS.into_iter().map(|count| (count, 0));
    counts.chain(LENGTHS.into_iter().flat_map(|len| [(3, len), (130, len)]))
}

#[test]
fn strings_return_in_one_piece_and_in_chunks() {
    let mut world = World::new();
    for len in [0, 1, 20, 21, 63, 64, 16_383, 16_384, 600_000] {
        for byte in [b'7', b'x'] {
            world
                .on("k", |access, key| {
                    let bytes = vec![byte; len];
                    access.set_string(key, &bytes, Encoding::of_new(&bytes), Expiry::Never)
                })
                .expect("room");
            world.returns();
        }
    }
}

#[test]
fn lists_return_around_each_border() {
    let mut world = World::new();
    for (count, len) in sizes() {
        world.on("k", |access, key| access.remove(key));
        let texts: Vec<Vec<u8>> = (0..count).map(|at| text(at, len)).collect();
        world.on("k", |access, key| {
            let texts = texts.iter().map(Vec::as_slice);
            list::push(access, key, End::Back, texts, limits().list, false).expect("room");
        });
        world.returns();
        let found: Vec<Vec<u8>> = world.on("l", |access, key| {
            let list = list::lookup_without_touch(access, key).expect("a list").expect("there");
            list.iter_from(0).map(store::Element::to_text).collect()
        });
        assert_eq!(found, texts);
    }
}

#[test]
fn sets_return_around_each_border() {
    let mut world = World::new();
    for (count, len) in sizes() {
        for is_integer in [false, true] {
            world.on("k", |access, key| access.remove(key));
            let member = |at: usize| match is_integer {
                true => (at as i64 * 70_001 - 9).to_string().into_bytes(),
                false => text(at, len),
            };
            let texts: Vec<Vec<u8>> = (0..count).map(member).collect();
            world.on("k", |access, key| {
                let texts = texts.iter().map(Vec::as_slice);
                set::add(access, key, texts, limits().set).expect("room");
            });
            world.returns();
        }
    }
}

#[test]
fn sorted_sets_return_around_each_border() {
    let mut world = World::new();
    for (count, len) in sizes() {
        world.on("k", |access, key| access.remove(key));
        world.on("k", |access, key| {
            for at in 0..count {
                let score = (at as f64 - 5.0) / 3.0;
                let pair = (score, &text(at, len)[..]);
                let added =
                    sorted_set::add(access, key, &[pair], Terms::default(), limits().sorted_set);
                added.expect("room");
            }
        });
        world.returns();
    }
}

#[test]
fn hashes_return_around_each_border_with_and_without_deadlines() {
    let mut world = World::new();
    for (count, len) in sizes() {
        for every in [usize::MAX, 3] {
            world.on("k", |access, key| access.remove(key));
            world.on("k", |access, key| {
                let mut hash = HashMut::open(access, key, limits().hash).expect("a hash");
                for at in 0..count {
                    let deadline = match at % every == 1 {
                        true => hash::Deadline::At(Millis(NOW.0 + 1_000 + at as u64)),
                        false => hash::Deadline::Never,
                    };
                    hash.set(&text(at, 0), &text(at, len), deadline).expect("room");
                }
            });
            world.fields_return(count);
        }
    }
}

type Fields = BTreeMap<Vec<u8>, (Vec<u8>, Option<Millis>)>;

impl World {
    fn fields(&mut self, key: &str) -> Fields {
        self.on(key, |access, key| {
            let hash = hash::lookup_without_touch(access, key).expect("a hash").expect("there");
            let row = |pair: hash::Pair<'_>| {
                (pair.field.to_text(), (pair.value.to_text(), pair.deadline))
            };
            hash.iter().map(row).collect()
        })
    }

    /// Compares field by field, since the order of a payload with deadlines may differ.
    fn fields_return(&mut self, count: usize) {
        let payload = self.dump("k", true);
        self.restore("l", &payload);
        let fields = self.fields("k");
        assert_eq!(fields.len(), count);
        assert_eq!(self.fields("l"), fields);
    }
}

#[test]
fn streams_return_with_nodes_and_counts() {
    let mut world = World::new();
    for (count, len) in sizes() {
        world.on("k", |access, key| access.remove(key));
        world.on("k", |access, key| {
            for at in 0..count {
                let id = Id { ms: 1 + at as u64 / 3, seq: at as u64 % 3 };
                let add =
                    Add { id: NewId::Given(id), only_existing: false, trim: None, limit: NODES };
                let value = text(at, len);
                let texts = [b"name".as_slice(), &value, b"other", b"7"];
                let texts = texts.into_iter().take(if at % 7 == 3 { 2 } else { 4 });
                stream::add(access, key, add, texts).expect("room");
            }
            stream::delete(access, key, [Id { ms: 1, seq: 1 }].into_iter()).expect("a stream");
        });
        world.returns();
    }
}

#[test]
fn damaged_payloads_are_refused_or_whole() {
    let mut world = World::new();
    for (count, len) in [(3, 0), (200, 20)] {
        world.on("k", |access, key| access.remove(key));
        world.on("k", |access, key| {
            let mut hash = HashMut::open(access, key, limits().hash).expect("a hash");
            for at in 0..count {
                hash.set(&text(at, 0), &text(at, len), hash::Deadline::Never).expect("room");
            }
        });
        let payload = world.dump("k", true);
        for at in 0..payload.len() - 8 {
            for bit in 0..8 {
                let mut damaged = payload.clone();
                damaged[at] ^= 1 << bit;
                assert!(
                    read_payload(&damaged, Checks::ALL, world.store.hasher()).is_err(),
                    "byte {at}"
                );
                if let Ok(value) = read_payload(&damaged, UNCHECKED, world.store.hasher()) {
                    world
                        .on("l", |access, key| value.store(access, key, None, &limits()))
                        .expect("room");
                    let kind = |access: &mut Access<'_>, key: &store::Key<'_>| {
                        access.lookup_without_touch(key).map(|value| value.kind)
                    };
                    assert!(world.on("l", kind).is_some_and(|kind| Kind::ALL.contains(&kind)));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_value_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let version = rdb::Version::VALKEY;
        let payload = rdb::seal_payload(bytes, version);
        let hasher = KeyHasher::from_seed(1);
        if let Ok(value) = read_payload(&payload, Checks::ALL, &hasher) {
            prop_assert!(value.byte_len() < 1 << 20);
        }
    }
}
