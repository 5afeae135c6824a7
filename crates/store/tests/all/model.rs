//! The store against a `BTreeMap`, with the cleaner, expiry and lazy free at work at every step, a
//! journal that records all units, and snapshots now and then.

use crate::journaled::{self, Database, Follower, Journal, assert_same, report};
use base::{Clock, KeyHasher, Millis, Random};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use store::value::string;
use store::{
    Access, Attributes, Cas, Encoding, Expiry, Key, ScanFilter, Scanned, Store, StoreConfig,
    ThreadContext,
};

mod space;

const DATABASES: usize = 3;
const STEPS: u64 = if cfg!(miri) { 150 } else { 60_000 };
const VALUE_BYTES_MAX: usize = if cfg!(miri) { 3_000 } else { 60_000 };
/// Most steps while a snapshot takes one key.
const STEPS_PER_KEY: u64 = 4;
const LEN_MAX: u64 = 1 << 20;

/// Attributes of each key of a database that holds a string, and whether that was fetched. Of a key
/// that has expired they are left until it gets another string.
type Marked = BTreeMap<Vec<u8>, (Attributes, bool)>;

struct World {
    store: Arc<Store>,
    thread: ThreadContext,
    journal: Arc<Journal>,
    follower: Follower,
    clock: Clock,
    random: Random,
    models: Vec<Database>,
    marked: Vec<Marked>,
    /// The last CAS that was drawn.
    drawn: u64,
}

impl World {
    fn new(seed: u64) -> World {
        let config = StoreConfig {
            databases: DATABASES,
            hasher: KeyHasher::from_seed(seed),
            address_space: cfg!(miri).then_some(1 << 22),
        };
        let store = Arc::new(Store::new(config).expect("address space"));
        let mut thread = store.thread_context().expect("a thread");
        let journal = Arc::new(Journal::default());
        journal.join(&mut thread);
        store.exclusively(&thread, |store| store.set_journal(true));
        let clock = Clock::still(Millis(1_700_000_000_000));
        let (follower, models) = (Follower::new(DATABASES), vec![Database::new(); DATABASES]);
        let random = Random::from_seed(seed);
        let (marked, drawn) = (vec![Marked::new(); DATABASES], 0);
        World { store, thread, journal, follower, clock, random, models, marked, drawn }
    }

    fn any_key(&mut self) -> Vec<u8> {
        let number = self.random.below(STEPS / 20 + 10);
        format!("key:{number}").into_bytes()
    }

    fn any_value(&mut self) -> Vec<u8> {
        let len = match self.random.below(10) {
            0..=6 => self.random.below(100),
            7..=8 => self.random.below(3_000),
            _ => self.random.below(VALUE_BYTES_MAX as u64),
        };
        let byte = self.random.next() as u8;
        vec![byte; len as usize]
    }

    fn any_deadline(&mut self) -> Option<Millis> {
        let now = self.clock.now().0;
        self.random.one_in(3).then(|| Millis(now + 1 + self.random.below(5_000)))
    }

    fn step(&mut self) {
        let database = self.random.below(DATABASES as u64) as usize;
        let bytes = self.any_key();
        match self.random.below(1_000) {
            0..=299 => self.set(database, &bytes, false),
            300..=399 => self.set(database, &bytes, true),
            400..=449 => self.remove(database, &bytes),
            450..=489 => self.draw(database, &bytes),
            490..=529 => self.mark(database, &bytes),
            530..=549 => self.add(database, &bytes),
            550..=599 => self.resize(database, &bytes),
            600..=649 => self.append(database, &bytes),
            650..=749 => self.set_deadline(database, &bytes),
            750..=799 => self.rename(database, &bytes),
            800..=989 => self.check(database, &bytes),
            990..=993 => self.swap(),
            994..=995 => self.flush(database),
            _ => self.clock.advance(self.random.below(1_000)),
        }
        self.background_jobs();
    }

    fn background_jobs(&mut self) {
        let now = self.clock.now();
        self.store.enter(&self.thread);
        self.store.upkeep(&mut self.thread, now);
        self.store.clean_at_rest(&mut self.thread, 4096, now);
        self.store.free_some(&mut self.thread, 16);
        self.store.leave(&self.thread);
        self.store.heap().return_some(0);
        if self.random.one_in(200) {
            self.store.sweep_deadlines(&mut self.thread, now);
        }
    }

    /// Value and deadline in the model, once deadlines are looked at.
    fn expected(&mut self, database: usize, key: &[u8]) -> Option<(Vec<u8>, Option<Millis>)> {
        let now = self.clock.now();
        let model = &mut self.models[database];
        if model.get(key).is_some_and(|(_, deadline)| deadline.is_some_and(|it| it <= now)) {
            model.remove(key);
        }
        model.get(key).cloned()
    }

    /// Attributes in the model of a key that is there.
    fn expected_mark(&mut self, database: usize, key: &[u8]) -> &mut (Attributes, bool) {
        self.marked[database].get_mut(key).expect("each string was set")
    }

    fn any_attributes(&mut self) -> Attributes {
        let number = self.random.next();
        let mut one_in_four = || self.random.one_in(4);
        let given = one_in_four().then(|| NonZeroU64::new(number)).flatten();
        Attributes {
            is_stale: one_in_four(),
            is_won: one_in_four(),
            is_key_in_base64: one_in_four(),
            cas: given.map_or(Cas::None, Cas::Given),
            flags: number as u32 >> self.random.below(40).min(31),
        }
    }

    fn set(&mut self, database: usize, bytes: &[u8], with_attributes: bool) {
        let attributes = with_attributes.then(|| self.any_attributes());
        let (value, deadline) = (self.any_value(), self.any_deadline());
        let now = self.clock.now();
        let key = key(&self.store, database, bytes);
        self.store.reserve(&mut self.thread, value.len() + 100, now).expect("room");
        let mut access = self.store.lock(&mut self.thread, &key, now);
        let expiry = deadline.map_or(Expiry::Never, Expiry::At);
        let encoding = Encoding::of_new(&value);
        match attributes {
            None => access.set_string(&key, &value, encoding, expiry),
            Some(all) => access.set_string_with(&key, &value, encoding, expiry, all),
        }
        .expect("room");
        report(&mut access, &key);
        self.models[database].insert(bytes.to_vec(), (value, deadline));
        self.marked[database].insert(bytes.to_vec(), (attributes.unwrap_or_default(), false));
    }

    /// Makes a change of a key, with as much room as its value may need.
    fn change<T>(
        &mut self,
        database: usize,
        bytes: &[u8],
        act: impl FnOnce(&mut Access<'_>, &Key<'_>) -> T,
    ) -> T {
        let now = self.clock.now();
        let key = key(&self.store, database, bytes);
        self.store.reserve(&mut self.thread, 2 * VALUE_BYTES_MAX + 100, now).expect("room");
        let mut access = self.store.lock(&mut self.thread, &key, now);
        act(&mut access, &key)
    }

    /// Notes that a key holds a changed value, or its first one.
    fn note_changed(&mut self, database: usize, bytes: &[u8], was_there: bool) {
        let kept = self.marked[database].get(bytes).filter(|_| was_there).copied();
        let (attributes, is_fetched) = kept.unwrap_or_default();
        let changed = (Attributes { cas: Cas::None, ..attributes }, is_fetched);
        self.marked[database].insert(bytes.to_vec(), changed);
    }

    /// Asks for the CAS of a key, of which nobody is told: nothing is reported.
    fn draw(&mut self, database: usize, bytes: &[u8]) {
        let is_there = self.expected(database, bytes).is_some();
        let drawn = self.change(database, bytes, |access, key| {
            let needed = access.bytes_to_draw(key);
            let drawn = access.draw_cas(key).expect("room");
            assert!(needed == 0 || access.bytes_to_draw(key) == 0);
            access.note_fetched(key);
            drawn
        });
        assert_eq!(drawn.is_some(), is_there);
        let Some(drawn) = drawn else { return };
        let (attributes, is_fetched) = self.expected_mark(database, bytes);
        *is_fetched = true;
        if let Some(number) = attributes.cas.number() {
            return assert_eq!(drawn, number, "it was drawn or given before");
        }
        attributes.cas = Cas::Drawn(drawn);
        assert!(drawn.get() > self.drawn, "each is drawn once");
        self.drawn = drawn.get();
    }

    fn mark(&mut self, database: usize, bytes: &[u8]) {
        let attributes = self.any_attributes();
        let is_there = self.expected(database, bytes).is_some();
        self.change(database, bytes, |access, key| {
            let changed = access.change_attributes(key, |it| *it = attributes);
            assert_eq!(changed, Ok(is_there.then_some(attributes)));
            report(access, key);
        });
        if is_there {
            self.expected_mark(database, bytes).0 = attributes;
        }
    }

    /// Appends to a string, which gives its record some slack.
    fn append(&mut self, database: usize, bytes: &[u8]) {
        let tail = vec![b'+'; self.random.below(60) as usize];
        let expected = self.expected(database, bytes);
        let (mut value, deadline) = expected.clone().unwrap_or_default();
        value.extend_from_slice(&tail);
        self.change(database, bytes, |access, key| {
            assert_eq!(string::append(access, key, &tail, LEN_MAX), Ok(value.len()));
            report(access, key);
        });
        self.models[database].insert(bytes.to_vec(), (value, deadline));
        self.note_changed(database, bytes, expected.is_some());
    }

    /// Adds to a string, which mostly is no number.
    fn add(&mut self, database: usize, bytes: &[u8]) {
        let by = self.random.next().cast_signed() >> self.random.below(63);
        let expected = self.expected(database, bytes);
        let present = expected.as_ref().and_then(|(value, _)| text::parse_i64(value));
        let sum = present.unwrap_or(0).checked_add(by);
        let added = self.change(database, bytes, |access, key| {
            let added = string::add(access, key, by);
            report(access, key);
            added.ok()
        });
        let can_be = expected.is_none() || present.is_some();
        assert_eq!(added, sum.filter(|_| can_be));
        if let Some(sum) = added {
            let deadline = expected.as_ref().and_then(|(_, deadline)| *deadline);
            self.models[database].insert(bytes.to_vec(), (sum.to_string().into(), deadline));
            self.note_changed(database, bytes, expected.is_some());
        }
    }

    fn remove(&mut self, database: usize, bytes: &[u8]) {
        let expected = self.expected(database, bytes).is_some();
        let now = self.clock.now();
        let key = key(&self.store, database, bytes);
        let mut access = self.store.lock(&mut self.thread, &key, now);
        assert_eq!(access.remove(&key), expected);
        report(&mut access, &key);
        self.models[database].remove(bytes);
    }

    fn resize(&mut self, database: usize, bytes: &[u8]) {
        let expected = self.expected(database, bytes);
        let was_there = expected.is_some();
        let (mut value, deadline) = expected.unwrap_or_default();
        let len = (value.len() as u64 / 2 + self.random.below(400)) as usize;
        value.resize(len, 0);
        let now = self.clock.now();
        let key = key(&self.store, database, bytes);
        self.store.reserve(&mut self.thread, len + 100, now).expect("room");
        let mut access = self.store.lock(&mut self.thread, &key, now);
        assert_eq!(access.resize(&key, len).expect("room"), value);
        report(&mut access, &key);
        drop(access);
        self.models[database].insert(bytes.to_vec(), (value, deadline));
        self.note_changed(database, bytes, was_there);
    }

    fn set_deadline(&mut self, database: usize, bytes: &[u8]) {
        let deadline = self.any_deadline();
        let expected = self.expected(database, bytes);
        let now = self.clock.now();
        let key = key(&self.store, database, bytes);
        self.store.reserve(&mut self.thread, VALUE_BYTES_MAX + 100, now).expect("room");
        let mut access = self.store.lock(&mut self.thread, &key, now);
        assert_eq!(access.set_deadline(&key, deadline), Ok(expected.is_some()));
        report(&mut access, &key);
        if let Some((value, _)) = expected {
            self.models[database].insert(bytes.to_vec(), (value, deadline));
        }
    }

    fn rename(&mut self, database: usize, bytes: &[u8]) {
        let other = (database + self.random.below(2) as usize) % DATABASES;
        let target = [bytes, b"'"].concat();
        let expected = self.expected(database, bytes);
        let now = self.clock.now();
        let from = key(&self.store, database, bytes);
        let to = key(&self.store, other, &target);
        let mut shards = store::ShardSet::new();
        [from.hash, to.hash].into_iter().for_each(|hash| shards.add(hash));
        self.store.reserve(&mut self.thread, VALUE_BYTES_MAX + 1_000, now).expect("room");
        let mut access = self.store.lock_all(&mut self.thread, shards, now);
        assert_eq!(access.rename(&from, &to), Ok(expected.is_some()));
        [&from, &to].into_iter().for_each(|key| report(&mut access, key));
        drop(access);
        if let Some(value) = expected {
            self.models[database].remove(bytes);
            self.models[other].insert(target.clone(), value);
            let (attributes, is_fetched) = *self.expected_mark(database, bytes);
            let left = Attributes { cas: Cas::None, is_key_in_base64: false, ..attributes };
            self.marked[other].insert(target, (left, is_fetched));
        }
    }

    fn swap(&mut self) {
        let (one, other) = (self.random.below(3) as usize, self.random.below(3) as usize);
        self.store.enter(&self.thread);
        self.store.swap_databases(&mut self.thread, one, other, Millis(0));
        self.store.leave(&self.thread);
        self.models.swap(one, other);
        self.marked.swap(one, other);
    }

    fn flush(&mut self, database: usize) {
        self.store.enter(&self.thread);
        self.store.flush(&mut self.thread, store::Flush::One(database));
        self.store.leave(&self.thread);
        self.models[database].clear();
    }

    fn check(&mut self, database: usize, bytes: &[u8]) {
        let expected = self.expected(database, bytes);
        let now = self.clock.now();
        let key = key(&self.store, database, bytes);
        let mut access = self.store.lock(&mut self.thread, &key, now);
        let value = access.read_value(&key);
        let found = value.map(|value| (value.bytes().to_vec(), value.deadline()));
        let marked = value.map(|value| (value.attributes(), value.is_fetched()));
        assert_eq!(found, expected);
        let expected = expected.is_some().then(|| &self.marked[database][bytes]);
        assert_eq!(marked.as_ref(), expected);
    }

    /// Takes a snapshot while steps go on: it holds what the store and the maps held at the cut.
    fn save(&mut self, saver: &mut ThreadContext) {
        self.follow();
        let (store, now) = (Arc::clone(&self.store), self.clock.now());
        let (expected, models) = (self.follower.0.clone(), self.models.clone());
        let meanwhile = || (0..self.random.below(STEPS_PER_KEY)).for_each(|_| self.step());
        if let Some(saved) = journaled::save(&store, saver, now, || (), meanwhile) {
            assert_same(&saved, &expected, "the snapshot");
            let visible = |databases: Vec<Database>| {
                databases.into_iter().map(|mut it| {
                    it.retain(|_, (_, deadline)| deadline.is_none_or(|deadline| deadline > now));
                    it
                })
            };
            let [saved, models] = [saved, models].map(|it| visible(it).collect::<Vec<_>>());
            assert_same(&saved, &models, "the snapshot beside the maps");
        }
    }

    /// Executes what was recorded: that makes the data of the store.
    fn follow(&mut self) {
        self.follower.follow(&self.journal, self.journal.position());
        let held = journaled::read(&self.store, &mut self.thread);
        assert_same(&self.follower.0, &held, "what the journal makes");
    }

    fn verify(&mut self) {
        let now = self.clock.now();
        self.follow();
        self.store.sweep_deadlines(&mut self.thread, now);
        let (mut payload, mut dying) = (0, 0);
        for database in 0..DATABASES {
            let model = &mut self.models[database];
            // The sweep knows deadlines by ticks, so it may be one tick late.
            let unswept = |it: &&(Vec<u8>, Option<Millis>)| {
                it.1.is_some_and(|it| it <= now && it.0 + base::Tick::MILLIS > now.0)
            };
            let late = model.values().filter(unswept).count() as u64;
            let size = |it: &(Vec<u8>, Option<Millis>)| it.0.len() as u64 + 100;
            dying += model.values().filter(unswept).map(size).sum::<u64>();
            model.retain(|_, (_, deadline)| deadline.is_none_or(|it| it > now));
            let keyspace = self.store.keyspace(database).expect("a database");
            let mut keys = Vec::new();
            let all = Scanned { keyspace, now, filter: ScanFilter::default() };
            self.store.each_key(&mut self.thread, all, |key| {
                keys.push(key.to_vec());
                true
            });
            keys.sort();
            keys.dedup();
            assert!(keys.iter().eq(model.keys()), "the walk of database {database}");
            let with_deadline = model.values().filter(|it| it.1.is_some()).count() as u64;
            let facts = self.store.keyspace_facts(database);
            let possible = with_deadline..=with_deadline + late;
            assert!(possible.contains(&facts.with_deadline), "{facts:?} for {with_deadline}");
            payload += model.iter().map(|(key, it)| key.len() + it.0.len()).sum::<usize>() as u64;
            for key in keys {
                self.check(database, &key);
            }
        }
        let records: u64 = self.models.iter().map(|model| model.len() as u64).sum();
        self.store.enter(&self.thread);
        while self.store.free_some(&mut self.thread, 1_000) {}
        self.store.leave(&self.thread);
        let live = self.store.live_bytes();
        assert!(live >= payload && live <= payload + dying + records * 38, "{live} for {payload}");
    }
}

fn key<'k>(store: &Store, database: usize, bytes: &'k [u8]) -> Key<'k> {
    store.key(store.keyspace(database).expect("a database"), bytes)
}

#[test]
fn the_store_agrees_with_maps_while_everything_moves() {
    for seed in 1..if cfg!(miri) { 2 } else { 4 } {
        let mut world = World::new(seed);
        let mut saver = world.store.thread_context().expect("a thread");
        world.journal.join(&mut saver);
        for step in 0..STEPS {
            world.step();
            if step % (STEPS / 8) == 0 {
                world.verify();
            }
            if world.random.one_in(STEPS / 20) {
                world.save(&mut saver);
            }
        }
        world.verify();
    }
}
