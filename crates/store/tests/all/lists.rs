//! Lists against deques, small and large ones, with the cleaner, expiry, lazy free, renames,
//! copies and flushes at work; and what is gone leaves no byte behind.

use base::{Clock, KeyHasher, Millis, Random};
use std::collections::{BTreeMap, VecDeque};
use store::value::list::{self, End, ListLimit, Pivot};
use store::{Access, EvictionPolicy, Key, Limits, ShardSet, Store, StoreConfig, ThreadContext};

const KEYS: u64 = 150;
const STEPS: u64 = 60_000;

type Model = BTreeMap<Vec<u8>, (VecDeque<Vec<u8>>, Option<Millis>)>;

struct World {
    store: Store,
    thread: ThreadContext,
    clock: Clock,
    random: Random,
    model: Model,
    limit: ListLimit,
}

impl World {
    fn new(seed: u64) -> World {
        let hasher = KeyHasher::from_seed(seed);
        let config = StoreConfig { databases: 2, hasher, address_space: Some(1 << 34) };
        let store = Store::new(config).expect("address space");
        // Small heads, so that the cleaner has victims.
        store.set_limits(&Limits {
            maxmemory: 256 << 20,
            other_bytes: 0,
            workers: 16,
            eviction: EvictionPolicy::NoEviction,
            reclaim: heap::ReclaimPolicy::Original,
            lfu_log_factor: 10,
            lfu_decay_minutes: 1,
        });
        let thread = store.thread_context().expect("a thread");
        let clock = Clock::still(Millis(1_700_000_000_000));
        let limit = ListLimit::of_setting(if seed.is_multiple_of(2) { -1 } else { 16 });
        let model = Model::new();
        World { store, thread, clock, random: Random::from_seed(seed), model, limit }
    }

    fn any_key(&mut self) -> Vec<u8> {
        format!("list:{}", self.random.below(KEYS)).into_bytes()
    }

    fn any_text(&mut self) -> Vec<u8> {
        match self.random.below(20) {
            0..=8 => self.random.below(300).to_string().into_bytes(),
            19 => vec![b'l'; self.random.below(3_000) as usize],
            _ => vec![self.random.next() as u8; self.random.below(40) as usize],
        }
    }

    fn any_end(&mut self) -> End {
        if self.random.one_in(2) { End::Front } else { End::Back }
    }

    /// Works on a key under its lock.
    fn on<T>(&mut self, bytes: &[u8], work: impl FnOnce(&mut Access<'_>, &Key<'_>) -> T) -> T {
        let now = self.clock.now();
        self.store.enter(&self.thread);
        let keyspace = self.store.keyspace(0).expect("the first database");
        let key = self.store.key(keyspace, bytes);
        self.store.reserve(&mut self.thread, 4_000, now).expect("room");
        let done = work(&mut self.store.lock(&mut self.thread, &key, now).muted(), &key);
        self.store.leave(&self.thread);
        done
    }

    fn on_two(
        &mut self,
        [one, other]: [&[u8]; 2],
        work: impl FnOnce(&mut Access<'_>, &Key<'_>, &Key<'_>) -> bool,
    ) -> bool {
        let now = self.clock.now();
        self.store.enter(&self.thread);
        let keyspace = self.store.keyspace(0).expect("the first database");
        let (one, other) = (self.store.key(keyspace, one), self.store.key(keyspace, other));
        let mut shards = ShardSet::new();
        [one.hash, other.hash].into_iter().for_each(|hash| shards.add(hash));
        let done =
            work(&mut self.store.lock_all(&mut self.thread, shards, now).muted(), &one, &other);
        self.store.leave(&self.thread);
        done
    }

    /// Value in the model, once deadlines are looked at.
    fn expected(&mut self, key: &[u8]) -> VecDeque<Vec<u8>> {
        let now = self.clock.now();
        if self.model.get(key).is_some_and(|(_, deadline)| deadline.is_some_and(|it| it <= now)) {
            self.model.remove(key);
        }
        self.model.get(key).map(|(list, _)| list.clone()).unwrap_or_default()
    }

    fn keep(&mut self, key: Vec<u8>, list: VecDeque<Vec<u8>>) {
        if list.is_empty() {
            self.model.remove(&key);
        } else {
            self.model.entry(key).or_default().0 = list;
        }
    }

    fn step(&mut self) {
        let key = self.any_key();
        match self.random.below(100) {
            0..=34 => self.push(key),
            35..=54 => self.pop(key),
            55..=64 => self.change_inside(key),
            65..=69 => self.remove_and_trim(key),
            70..=84 => self.check(&key),
            85..=88 => self.rename_or_copy(&key),
            89..=91 => self.expire(&key),
            92 => self.delete(&key),
            93 if self.random.one_in(150) => self.flush(),
            _ => self.clock.advance(self.random.below(300)),
        }
        self.background_jobs();
    }

    fn background_jobs(&mut self) {
        let now = self.clock.now();
        self.store.enter(&self.thread);
        self.store.upkeep(&mut self.thread, now);
        self.store.clean_at_rest(&mut self.thread, 16 << 10, now);
        self.store.free_some(&mut self.thread, 8);
        self.store.leave(&self.thread);
        self.store.heap().return_some(0);
        if self.random.one_in(100) {
            self.store.sweep_deadlines(&mut self.thread, now);
        }
    }

    fn push(&mut self, key: Vec<u8>) {
        let mut list = self.expected(&key);
        let (end, limit) = (self.any_end(), self.limit);
        let most = if self.random.one_in(4) { 400 } else { 6 };
        let count = 1 + self.random.below(most);
        let texts: Vec<Vec<u8>> = (0..count).map(|_| self.any_text()).collect();
        for text in &texts {
            match end {
                End::Front => list.push_front(text.clone()),
                End::Back => list.push_back(text.clone()),
            }
        }
        let len = self.on(&key, |access, key| {
            list::push(access, key, end, texts.iter().map(Vec::as_slice), limit, false)
        });
        assert_eq!(len, Ok(list.len() as u64));
        self.keep(key, list);
    }

    fn pop(&mut self, key: Vec<u8>) {
        let mut list = self.expected(&key);
        let (end, limit) = (self.any_end(), self.limit);
        let most = if self.random.one_in(8) { 200 } else { 4 };
        let count = 1 + self.random.below(most);
        let mut popped = Vec::new();
        let taken = self.on(&key, |access, key| {
            list::pop(access, key, end, count, limit, |it| popped.push(it.to_text()))
        });
        let wanted = count.min(list.len() as u64);
        assert_eq!(taken, Ok((!list.is_empty()).then_some(wanted)));
        for text in popped {
            let expected = if end == End::Front { list.pop_front() } else { list.pop_back() };
            assert_eq!(Some(text), expected);
        }
        self.keep(key, list);
    }

    fn change_inside(&mut self, key: Vec<u8>) {
        let mut list = self.expected(&key);
        let (text, limit) = (self.any_text(), self.limit);
        let at = self.random.below(list.len() as u64 + 1);
        if self.random.one_in(2) {
            let set = self.on(&key, |access, key| list::set(access, key, at as i64, &text, limit));
            let there = list.get_mut(at as usize).map(|old| *old = text);
            assert_eq!(set, Ok((!list.is_empty()).then_some(there.is_some())));
        } else if let Some(pivot) = list.get(at as usize).cloned() {
            let is_behind = self.random.one_in(2);
            let first = list.iter().position(|other| *other == pivot).expect("it is there");
            list.insert(first + usize::from(is_behind), text.clone());
            let len = self.on(&key, |access, key| {
                list::insert(access, key, Pivot { text: &pivot, is_behind }, &text, limit)
            });
            assert_eq!(len, Ok(Some(Some(list.len() as u64))));
        }
        self.keep(key, list);
    }

    fn remove_and_trim(&mut self, key: Vec<u8>) {
        let mut list = self.expected(&key);
        let limit = self.limit;
        if self.random.one_in(2) {
            let text = self.any_text();
            let count = self.random.below(7) as i64 - 3;
            let removed =
                self.on(&key, |access, key| list::remove(access, key, count, &text, limit));
            let before = list.len();
            list = without(&list, count, &text);
            assert_eq!(removed, Ok((before - list.len()) as u64));
        } else {
            let len = list.len() as u64;
            let (from, to) = (self.random.below(len / 4 + 1), self.random.below(len / 4 + 1));
            let end = -(to as i64) - 1;
            let gone =
                self.on(&key, |access, key| list::trim(access, key, from as i64, end, limit));
            let (begin, count) = list::range(len, from as i64, end);
            list = list.into_iter().skip(begin as usize).take(count as usize).collect();
            assert_eq!(gone, Ok(len - count));
        }
        self.keep(key, list);
    }

    fn check(&mut self, key: &[u8]) {
        let list = self.expected(key);
        let (forward, backward, len) = self.on(key, |access, key| {
            let Some(found) = list::read(access, key).expect("a list") else {
                return (Vec::new(), Vec::new(), 0);
            };
            let forward: Vec<Vec<u8>> = found.iter_from(0).map(|it| it.to_text()).collect();
            let last = found.len() - 1;
            let backward: Vec<Vec<u8>> =
                found.iter_back_from(last).map(|it| it.to_text()).collect();
            (forward, backward, found.len())
        });
        assert_eq!(len, list.len() as u64);
        assert_eq!(forward, Vec::from(list.clone()));
        assert!(backward.iter().eq(list.iter().rev()));
    }

    fn rename_or_copy(&mut self, from: &[u8]) {
        let to = self.any_key();
        if from == to {
            return;
        }
        self.expected(&to);
        let is_there = !self.expected(from).is_empty();
        let is_copy = self.random.one_in(2);
        let done = self.on_two([from, &to], |access, from, to| {
            let done = if is_copy { access.copy(from, to) } else { access.rename(from, to) };
            done.expect("room")
        });
        assert_eq!(done, is_there);
        if is_there {
            let value = self.model[from].clone();
            self.model.insert(to, value);
            if !is_copy {
                self.model.remove(from);
            }
        }
    }

    fn expire(&mut self, key: &[u8]) {
        self.expected(key);
        let deadline = Millis(self.clock.now().0 + 1 + self.random.below(2_000));
        let set = self.on(key, |access, key| access.set_deadline(key, Some(deadline)));
        let value = self.model.get_mut(key);
        assert_eq!(set, Ok(value.is_some()));
        if let Some((_, old)) = value {
            *old = Some(deadline);
        }
    }

    fn delete(&mut self, key: &[u8]) {
        let is_there = !self.expected(key).is_empty();
        assert_eq!(self.on(key, |access, key| access.remove(key)), is_there);
        self.model.remove(key);
    }

    fn flush(&mut self) {
        self.store.enter(&self.thread);
        self.store.flush(&mut self.thread, store::Flush::All);
        self.store.leave(&self.thread);
        self.model.clear();
    }

    /// Runs lazy free to the end.
    fn free_lazily(&mut self) {
        self.store.enter(&self.thread);
        while self.store.free_some(&mut self.thread, 1_000) {}
        self.store.leave(&self.thread);
    }
}

/// Elements that are left when up to `count` with a text are removed, as LREM counts.
fn without(list: &VecDeque<Vec<u8>>, count: i64, text: &[u8]) -> VecDeque<Vec<u8>> {
    let mut left = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
    let stays = |other: &&Vec<u8>| {
        let goes = *other == text && left > 0;
        left -= usize::from(goes);
        !goes
    };
    if count < 0 {
        let kept: Vec<Vec<u8>> = list.iter().rev().filter(stays).cloned().collect();
        return kept.into_iter().rev().collect();
    }
    list.iter().filter(stays).cloned().collect()
}

#[test]
fn elements_of_a_small_list_go_wherever_they_stand() {
    let mut world = World::new(0);
    let limit = world.limit;
    // Texts of one length share their code.
    for other in [&b"oooo"[..], b"others"] {
        for pattern in 0..256_u32 {
            let text = |at: u32| if pattern >> at & 1 == 1 { &b"wwww"[..] } else { other };
            let all: VecDeque<Vec<u8>> = (0..8).map(|at| text(at).to_vec()).collect();
            for count in [0, 1, 2, -1, -2] {
                let texts = all.iter().map(Vec::as_slice);
                let stored = world.on(b"l", |access, key| list::store(access, key, texts, limit));
                stored.expect("room");
                let removed =
                    world.on(b"l", |access, key| list::remove(access, key, count, b"wwww", limit));
                let kept = without(&all, count, b"wwww");
                assert_eq!(removed, Ok((all.len() - kept.len()) as u64));
                world.keep(b"l".to_vec(), kept);
                world.check(b"l");
                world.background_jobs();
            }
        }
    }
}

#[test]
fn lists_do_what_deques_do_and_leave_nothing_behind() {
    for seed in 0..4 {
        let mut world = World::new(seed);
        for _ in 0..STEPS / 4 {
            world.step();
        }
        let totals = world.store.totals();
        assert!(totals.moved_records > 1_000, "the cleaner moved {}", totals.moved_records);
        let keys: Vec<Vec<u8>> = world.model.keys().cloned().collect();
        keys.iter().for_each(|key| world.check(key));
        if seed.is_multiple_of(2) {
            world.flush();
        } else {
            (0..KEYS).for_each(|number| world.delete(format!("list:{number}").as_bytes()));
        }
        world.free_lazily();
        assert_eq!(world.store.live_bytes(), 0, "no record is left");
        assert_eq!(world.store.used_bytes(), world.store.index_bytes(), "and none is waited for");
        assert_eq!(world.store.keyspace_facts(0).bytes, 0);
    }
}
