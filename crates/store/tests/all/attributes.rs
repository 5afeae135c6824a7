//! Attributes of strings: what each way to write a value does with them, in records of every form.

use base::{KeyHasher, Millis};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use store::value::bitmap::combine::{self, Operation};
use store::value::list::{End, ListLimit};
use store::value::long_string::WHOLE_BYTES_MAX;
use store::value::{bitmap, hyperloglog, list, string};
use store::{
    Access, Attributes, Cas, Change, Copies, Encoding, Event, Expiry, Fault, Interests, Key,
    Listener, ShardSet, Store, StoreConfig, ThreadContext, Unit,
};

const NOW: Millis = Millis(1_700_000_000_000);
const LATER: Option<Millis> = Some(Millis(1_800_000_000_000));
const FAR: Option<Millis> = Some(Millis(1 << 50));
const LEN_MAX: u64 = 512 << 20;
const LONG: usize = WHOLE_BYTES_MAX + 5_000;
const NAME: &[u8] = b"name";
const LONG_NAME: &[u8] = &[b'n'; 300];

/// All attributes.
const ALL: Attributes = Attributes {
    flags: 0x0102_0304,
    cas: Cas::Given(NonZeroU64::MIN),
    is_stale: true,
    is_won: true,
    is_key_in_base64: true,
};
/// What is left of all attributes when a value changes.
const CHANGED: Attributes = Attributes { cas: Cas::None, ..ALL };
const NONE: Attributes = Attributes {
    flags: 0,
    cas: Cas::None,
    is_stale: false,
    is_won: false,
    is_key_in_base64: false,
};

struct World {
    store: Store,
    thread: ThreadContext,
}

impl World {
    fn new() -> World {
        let (hasher, address_space) = (KeyHasher::from_seed(3), Some(1 << 30));
        let store = Store::new(StoreConfig { databases: 2, hasher, address_space });
        let store = store.expect("address space");
        let thread = store.thread_context().expect("a thread");
        World { store, thread }
    }

    fn key<'k>(&self, database: usize, name: &'k [u8]) -> Key<'k> {
        self.store.key(self.store.keyspace(database).expect("a database"), name)
    }

    fn with<T>(&mut self, name: &[u8], act: impl FnOnce(&mut Access<'_>, &Key<'_>) -> T) -> T {
        let key = self.key(0, name);
        let mut access = self.store.lock_all(&mut self.thread, ShardSet::all(), NOW).muted();
        act(&mut access, &key)
    }

    /// Sets a key with a deadline and attributes; it was fetched since.
    fn set(&mut self, name: &[u8], value: &[u8], deadline: Option<Millis>, attributes: Attributes) {
        let expiry = deadline.map_or(Expiry::Never, Expiry::At);
        self.with(name, |access, key| {
            let encoding = Encoding::of_new(value);
            access.set_string_with(key, value, encoding, expiry, attributes).expect("room");
            access.note_fetched(key);
        });
        self.assert_is(name, value, deadline, (attributes, true));
    }

    #[track_caller]
    fn assert_is(
        &mut self,
        name: &[u8],
        value: &[u8],
        deadline: Option<Millis>,
        (attributes, is_fetched): (Attributes, bool),
    ) {
        self.with(name, |access, key| {
            let found = access.read_value(key).expect("it is there");
            let string = found.string().expect("a string");
            assert!(string.to_vec() == value, "{} bytes, not {}", string.len(), value.len());
            let held = (found.deadline(), found.attributes(), found.is_fetched());
            assert_eq!(held, (deadline, attributes, is_fetched));
        });
    }

    fn attributes(&mut self, name: &[u8]) -> Option<Attributes> {
        self.with(name, |access, key| access.value(key).map(|value| value.attributes()))
    }
}

/// Calls `act` with a fresh world in which a key has all attributes: names, values and deadlines
/// are those of every form of a record.
fn in_every_form(mut act: impl FnMut(World, &[u8], Vec<u8>, Option<Millis>)) {
    for name in [NAME, LONG_NAME] {
        for len in [0, 16, 255, 256, 70_000, WHOLE_BYTES_MAX, LONG] {
            for deadline in [None, LATER, FAR] {
                let (mut world, value) = (World::new(), vec![b'7'; len]);
                world.set(name, &value, deadline, ALL);
                act(world, name, value, deadline);
            }
        }
    }
}

#[test]
fn another_value_has_no_attributes() {
    in_every_form(|mut world, name, value, deadline| {
        for next in [value.clone(), vec![b'x'; value.len() + 1], b"short".to_vec(), vec![1; LONG]] {
            world.set(name, &value, deadline, ALL);
            world.with(name, |access, key| {
                access.set_string(key, &next, Encoding::Raw, Expiry::Keep).expect("room");
            });
            world.assert_is(name, &next, deadline, (NONE, false));
        }
    });
}

#[test]
fn a_string_that_was_received_apart_has_the_attributes_that_it_is_given() {
    let (mut world, bytes) = (World::new(), vec![b's'; LONG]);
    for attributes in [None, Some(ALL)] {
        world.set(NAME, b"value", None, CHANGED);
        world.with(NAME, |access, key| {
            let mut staged = access.stage(key.hash).expect("a collection");
            access.add_staged(&mut staged, &bytes).expect("room");
            let set = match attributes {
                None => access.set_staged(key, staged, Expiry::Never),
                Some(all) => access.set_staged_with(key, staged, Expiry::Never, all),
            };
            set.expect("room");
        });
        world.assert_is(NAME, &bytes, None, (attributes.unwrap_or(NONE), false));
    }
}

#[test]
fn what_takes_the_place_of_a_string_has_none_of_its_attributes() {
    let mut world = World::new();
    let limit = ListLimit::of_setting(-2);
    world.set(NAME, &[b'v'; 60], None, ALL);
    world.with(b"list", |access, key| {
        list::push(access, key, End::Back, [&b"element"[..]].into_iter(), limit, false)
            .expect("room");
        let name = beside(NAME, key);
        access.copy(key, &name).expect("room");
    });
    assert_eq!(world.attributes(NAME), Some(NONE));
    world.set(NAME, &[b'v'; 60], None, ALL);
    world.set(b"source", &[b'v'; 60], None, ALL);
    world.with(b"source", |access, key| {
        let name = beside(NAME, key);
        combine::store(access, Operation::Not, &name, &[*key]).expect("room");
    });
    world.assert_is(NAME, &[!b'v'; 60], None, (NONE, false));
}

/// A key of the same keyspace as another one.
fn beside<'k>(name: &'k [u8], other: &Key<'_>) -> Key<'k> {
    Key { bytes: name, hash: KeyHasher::from_seed(3).hash(name), keyspace: other.keyspace }
}

#[test]
fn a_change_leaves_all_but_the_cas() {
    in_every_form(|mut world, name, mut value, deadline| {
        for tail in [1, 40, 5_000] {
            world.set(name, &value, deadline, ALL);
            let tail = vec![b't'; tail];
            world.with(name, |access, key| {
                string::append(access, key, &tail, LEN_MAX).expect("room");
            });
            value.extend_from_slice(&tail);
            world.assert_is(name, &value, deadline, (CHANGED, true));
        }
        world.set(name, &value, deadline, ALL);
        world.with(name, |access, key| {
            string::set_range(access, key, 0, b"begin", LEN_MAX).expect("room");
        });
        let at = value.len().min(5);
        value.splice(..at, *b"begin");
        world.assert_is(name, &value, deadline, (CHANGED, true));
        world.set(name, &value, deadline, ALL);
        world.with(name, |access, key| {
            bitmap::set(access, key, 0, true).expect("room");
        });
        value[0] |= 0x80;
        world.assert_is(name, &value, deadline, (CHANGED, true));
    });
}

#[test]
fn a_change_of_a_number_leaves_all_but_the_cas() {
    for (name, deadline) in [(NAME, None), (LONG_NAME, LATER)] {
        let mut world = World::new();
        for (value, by, sum) in [("9", 1, "10"), ("98", 1, "99"), ("1000", -1, "999")] {
            world.set(name, value.as_bytes(), deadline, ALL);
            world.with(name, |access, key| string::add(access, key, by).expect("room"));
            world.assert_is(name, sum.as_bytes(), deadline, (CHANGED, true));
        }
        world.set(name, b"1.5", deadline, ALL);
        world.with(name, |access, key| string::add_float(access, key, b"0.25").expect("room"));
        world.assert_is(name, b"1.75", deadline, (CHANGED, true));
    }
}

#[test]
fn a_sketch_that_counts_more_keeps_its_attributes() {
    let mut world = World::new();
    let add = |world: &mut World, number: u64, sparse_max: u64| {
        world.with(NAME, |access, key| {
            let element = number.to_le_bytes();
            let elements = [&element[..]].into_iter();
            hyperloglog::add(access, key, elements, sparse_max).expect("room")
        })
    };
    add(&mut world, 0, 3_000);
    let mark = |world: &mut World| {
        world.with(NAME, |access, key| {
            access.change_attributes(key, |it| *it = ALL).expect("room");
        });
    };
    for number in 1..40 {
        mark(&mut world);
        // The last ones turn it into a dense one, and change that where it lies.
        let added = add(&mut world, number, if number < 35 { 3_000 } else { 10 });
        let expected = if added > 0 { CHANGED } else { ALL };
        assert_eq!(world.attributes(NAME), Some(expected), "element {number}");
    }
}

#[test]
fn a_string_that_is_opened_for_a_bit_field_keeps_all_but_the_cas() {
    in_every_form(|mut world, name, _, _| {
        for last_bit in [7, 5_000, 9_000_000] {
            world.with(name, |access, key| {
                access.change_attributes(key, |it| *it = ALL).expect("room");
                let written = std::iter::once(0..1);
                let _ = bitmap::reaching(access, key, last_bit, written).expect("room");
            });
            assert_eq!(world.attributes(name), Some(CHANGED));
        }
    });
}

#[test]
fn a_deadline_leaves_all_of_them() {
    in_every_form(|mut world, name, value, _| {
        for deadline in [LATER, None, FAR, LATER, None] {
            let is_set = world.with(name, |access, key| access.set_deadline(key, deadline));
            assert_eq!(is_set, Ok(true));
            world.assert_is(name, &value, deadline, (ALL, true));
        }
    });
}

#[test]
fn under_another_key_all_go_along_but_the_cas() {
    in_every_form(|mut world, name, value, deadline| {
        let other_name = Attributes { is_key_in_base64: false, ..CHANGED };
        for (database, target, left) in
            [(0, &b"other"[..], other_name), (1, name, CHANGED), (1, &b"other"[..], other_name)]
        {
            let (from, to) = (world.key(0, name), world.key(database, target));
            for is_copy in [true, false] {
                world.set(name, &value, deadline, ALL);
                let mut access =
                    world.store.lock_all(&mut world.thread, ShardSet::all(), NOW).muted();
                let done =
                    if is_copy { access.copy(&from, &to) } else { access.rename(&from, &to) };
                assert_eq!(done, Ok(true));
                let source = access.value(&from).map(|value| value.attributes());
                assert_eq!(source, is_copy.then_some(ALL));
                let found = access.value(&to).expect("it is there");
                assert_eq!((found.attributes(), found.is_fetched()), (left, true));
                assert!(found.string().is_ok_and(|string| string == value[..]));
                assert_eq!(found.deadline(), deadline);
            }
        }
    });
}

#[test]
fn a_change_of_attributes_leaves_the_value() {
    in_every_form(|mut world, name, value, deadline| {
        let drawn = world.with(name, |access, _| access.new_cas());
        let flags = [0, 1, 255, 256, 65_535, 65_536, u32::MAX];
        let all = flags.map(|flags| Attributes { flags, ..CHANGED });
        let first = Attributes { cas: drawn, is_won: true, ..NONE };
        for attributes in [NONE, first, ALL, NONE].into_iter().chain(all) {
            world.with(name, |access, key| {
                let changed = access.change_attributes(key, |it| *it = attributes);
                assert_eq!(changed, Ok(Some(attributes)));
            });
            world.assert_is(name, &value, deadline, (attributes, true));
        }
    });
}

#[test]
fn a_cas_is_drawn_once_for_each_value() {
    in_every_form(|mut world, name, mut value, deadline| {
        let draw = |world: &mut World| {
            let drawn = world.with(name, |access, key| access.draw_cas(key));
            drawn.expect("room").expect("it is there").get()
        };
        assert_eq!(draw(&mut world), 1, "it was given");
        world.set(name, &value, deadline, NONE);
        let first = draw(&mut world);
        assert_eq!(first, 1, "the clock is before 2026");
        assert_eq!(draw(&mut world), first);
        let drawn = Attributes { cas: Cas::Drawn(NonZeroU64::new(first).expect("one")), ..NONE };
        world.assert_is(name, &value, deadline, (drawn, true));
        world.with(name, |access, key| {
            string::append(access, key, b"!", LEN_MAX).expect("room");
            assert_eq!(access.bytes_to_draw(key), 0, "its place was kept");
        });
        value.push(b'!');
        world.assert_is(name, &value, deadline, (NONE, true));
        assert_eq!(draw(&mut world), first + 1);
    });
}

#[test]
fn a_cas_is_drawn_for_strings_that_are_there_alone() {
    let mut world = World::new();
    let limit = ListLimit::of_setting(-2);
    world.with(b"list", |access, key| {
        list::push(access, key, End::Back, [&b"element"[..]].into_iter(), limit, false)
            .expect("room");
        assert_eq!(access.draw_cas(key), Err(Fault::WrongKind));
        assert_eq!(access.change_attributes(key, |it| it.flags = 1), Err(Fault::WrongKind));
        access.note_fetched(key);
        assert_eq!(access.bytes_to_draw(key), 0);
        assert_eq!(access.value(key).map(|value| value.attributes()), Some(NONE));
    });
    world.with(b"missing", |access, key| {
        assert_eq!(access.draw_cas(key), Ok(None));
        assert_eq!(access.change_attributes(key, |it| it.flags = 1), Ok(None));
        assert_eq!(access.bytes_to_draw(key), 0);
    });
}

/// Counts of all that a listener is told.
#[derive(Debug, Default)]
struct Told(AtomicU64);

impl Listener for Told {
    fn before(&self, _: &Change<'_>) {
        self.0.fetch_add(1, Relaxed);
    }

    fn unit(&self, _: &Unit, _: store::Author) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn nobody_is_told_that_a_cas_is_drawn_or_a_string_fetched() {
    let (mut world, told) = (World::new(), Arc::new(Told::default()));
    let listener: Arc<dyn Listener> = told.clone();
    world.set(NAME, b"value", None, NONE);
    world.store.add_listener(&listener);
    world.store.set_interest(Interests::all(), true);
    let changes = world.store.totals().changes;
    let key = world.key(0, NAME);
    let mut access = world.store.lock(&mut world.thread, &key, NOW);
    assert!(access.bytes_to_draw(&key) > 0);
    access.draw_cas(&key).expect("room").expect("it is there");
    access.note_fetched(&key);
    drop(access);
    assert_eq!((told.0.load(Relaxed), world.store.totals().changes), (0, changes));
    let mut access = world.store.lock(&mut world.thread, &key, NOW);
    access.change_attributes(&key, |it| it.flags = 1).expect("room");
    access.report_changes(1, Event::string("set"), &key);
    drop(access);
    assert!(told.0.load(Relaxed) > 0, "flags are data");
}

#[test]
fn a_snapshot_has_attributes_and_draws_hand_nothing_over() {
    let mut world = World::new();
    let names: Vec<Vec<u8>> = (0..200).map(|number| format!("key:{number}").into()).collect();
    for (at, name) in names.iter().enumerate() {
        let attributes = if at % 2 == 0 { ALL } else { NONE };
        let value = vec![b'v'; if at % 50 == 0 { LONG } else { at }];
        world.set(name, &value, None, attributes);
    }
    let World { store, thread } = &mut world;
    let mut saver = store.thread_context().expect("a thread");
    let mut cut = store.cut(&mut saver, NOW, || ()).expect("there is no other snapshot");
    let keyspace = store.keyspace(0).expect("a database");
    for name in &names {
        let key = store.key(keyspace, name);
        let mut access = store.lock(thread, &key, NOW);
        access.draw_cas(&key).expect("room").expect("it is there");
        access.note_fetched(&key);
    }
    assert_eq!(store.bytes_handed_over(), 0);
    let key = store.key(keyspace, &names[0]);
    let mut access = store.lock(thread, &key, NOW).muted();
    access.change_attributes(&key, |it| it.flags = 9).expect("room");
    drop(access);
    assert!(store.bytes_handed_over() > 0, "flags are data");
    let (mut copies, mut found) = (Copies::default(), 0);
    while cut.take(&mut copies) {
        for copied in copies.iter() {
            let at = names.iter().position(|name| name == copied.key()).expect("a key");
            let expected = if at % 2 == 0 { ALL } else { NONE };
            let attributes = copied.attributes();
            assert_eq!(Attributes { cas: expected.cas, ..attributes }, expected);
            let len = cut.read(&copied, |value| value.string().expect("a string").len());
            assert_eq!(len, if at % 50 == 0 { LONG } else { at });
            cut.let_go(&copied);
            found += 1;
        }
    }
    assert_eq!(found, names.len());
}

#[test]
fn the_cleaner_moves_attributes_and_leaves_empty_places_behind() {
    let mut world = World::new();
    let name = |number: u64| format!("key:{number:06}").into_bytes();
    let keys = 60_000;
    let of = |number: u64| match number % 3 {
        0 => ALL,
        1 => Attributes { flags: 200, ..NONE },
        _ => NONE,
    };
    for number in 0..keys {
        world.set(&name(number), &[b'v'; 200], None, of(number));
        if number % 3 == 2 {
            // A place for a CAS that is void.
            world.with(&name(number), |access, key| {
                access.draw_cas(key).expect("room");
                access.change_attributes(key, |it| it.cas = Cas::None).expect("room");
            });
        }
    }
    for number in (0..keys).filter(|number| number % 2 == 0) {
        assert!(world.with(&name(number), |access, key| access.remove(key)));
    }
    world.store.enter(&world.thread);
    while world.store.clean_at_rest(&mut world.thread, 1 << 20, NOW) {}
    world.store.leave(&world.thread);
    assert!(world.store.totals().moved_records > keys / 6);
    let mut places = 0;
    for number in (0..keys).filter(|number| number % 2 == 1) {
        world.assert_is(&name(number), &[b'v'; 200], None, (of(number), true));
        let needed = world.with(&name(number), |access, key| access.bytes_to_draw(key));
        places += u64::from(number % 3 == 2 && needed == 0);
    }
    assert!(places < keys / 12, "{places} places in which nothing stands");
}

#[test]
fn a_string_that_was_fetched_is_shown_in_the_same_encoding() {
    let mut world = World::new();
    for (value, encoding) in [(&b"12"[..], Encoding::Int), (b"text", Encoding::Embedded)] {
        world.set(NAME, value, None, NONE);
        let shown = world.with(NAME, |access, key| access.read(key).map(|value| value.encoding));
        assert_eq!(shown, Some(encoding));
    }
    world.with(NAME, |access, key| string::append(access, key, b"!", LEN_MAX).expect("room"));
    let shown = world.with(NAME, |access, key| access.read(key).map(|value| value.encoding));
    assert_eq!(shown, Some(Encoding::Raw));
}
