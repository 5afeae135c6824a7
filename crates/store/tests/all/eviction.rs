//! A limit while collections are written: memory stays within it, whole collections go, and those
//! that were not used go first.

use crate::windows::{KINDS, Window, grow, read};
use base::{KeyHasher, Millis, Random, ShardId};
use std::ops::Range;
use store::value::list::{self, End, ListLimit};
use store::{
    EvictionPolicy, Flush, Key, Kind, Limits, NoSpace, Store, StoreConfig, ThreadContext, Totals,
};

const START: u64 = 1_700_000_000_000;
/// Low, as each test writes several times as much.
const LIMIT: u64 = 12 << 20;
/// By as much a write of many elements may go beyond it, until the next one makes that good: its
/// nodes take more than their sum, and small heads keep little free for it.
const OVERDRAFT: u64 = LIMIT / 12;

struct World {
    store: Store,
    thread: ThreadContext,
    now: Millis,
}

impl World {
    fn new(eviction: EvictionPolicy) -> World {
        let hasher = KeyHasher::from_seed(3);
        let config = StoreConfig { databases: 1, hasher, address_space: None };
        let store = Store::new(config).expect("address space");
        let thread = store.thread_context().expect("a thread");
        let world = World { store, thread, now: Millis(START) };
        world.limit(eviction, LIMIT / 24);
        world
    }

    /// Limits the process, of whose bytes `other_bytes` are neither records nor index.
    fn limit(&self, eviction: EvictionPolicy, other_bytes: u64) {
        self.store.set_limits(&Limits {
            maxmemory: LIMIT,
            other_bytes,
            workers: 1,
            eviction,
            reclaim: heap::ReclaimPolicy::Original,
            lfu_log_factor: 10,
            lfu_decay_minutes: 1,
        });
    }

    /// Works on a key under its lock, once there is room for `bytes` bytes.
    fn on<T>(
        &mut self,
        number: u64,
        bytes: usize,
        work: impl FnOnce(&mut store::Access<'_>, &Key<'_>) -> T,
    ) -> Result<T, NoSpace> {
        let store = &self.store;
        let name = format!("key:{number}").into_bytes();
        let key = store.key(store.keyspace(0).expect("a database"), &name);
        store.enter(&self.thread);
        let reserved =
            if bytes > 0 { store.reserve(&mut self.thread, bytes, self.now) } else { Ok(()) };
        let done = reserved
            .map(|()| work(&mut store.lock(&mut self.thread, &key, self.now).muted(), &key));
        store.upkeep(&mut self.thread, self.now);
        store.free_some(&mut self.thread, 50);
        store.leave(&self.thread);
        let used = store.heap().touched_bytes() + store.index_bytes();
        assert!(used <= LIMIT + OVERDRAFT, "{used} bytes after {number}");
        done
    }

    fn write(&mut self, number: u64, kind: Kind, numbers: Range<u64>) -> Result<(), NoSpace> {
        let bytes = 60 * numbers.clone().count();
        let grown = self.on(number, bytes, |access, key| grow(access, key, kind, 7, numbers))?;
        grown.map_err(|_| NoSpace)
    }

    /// Reads a key without a trace.
    fn read(&mut self, number: u64) -> Option<Window> {
        self.on(number, 0, |access, key| read(access, key)).expect("no room is needed")
    }

    fn use_key(&mut self, number: u64) -> bool {
        self.on(number, 0, |access, key| access.read(key).is_some()).expect("no room is needed")
    }

    fn totals(&self) -> Totals {
        self.store.totals()
    }
}

/// Kinds in turn.
fn kind_of(number: u64) -> Kind {
    KINDS[(number % KINDS.len() as u64) as usize]
}

/// Keys of `len` elements each are written, of which one in 64 is used all the time. Returns which
/// parts of those, and of the others, are left.
fn collections_come_and_go(policy: EvictionPolicy, count: u64, len: u64) -> [f64; 2] {
    let mut world = World::new(policy);
    let mut random = Random::from_seed(5);
    for number in 0..count {
        let written = world.write(number, kind_of(number), 1..1 + len);
        assert_eq!(written, Ok(()), "key {number}: {:?}", world.totals());
        world.now = Millis(world.now.0 + 1_000);
        for shard in (0..=u8::MAX).skip(number as usize % 16).step_by(16) {
            world.store.age_shard(&mut world.thread, ShardId(shard), 16.0);
        }
        for _ in 0..8 {
            world.use_key(random.below(number / 64 + 1) * 64);
        }
    }
    let mut left = [0, 0];
    for number in 0..count {
        // A collection that is present is complete.
        if let Some(window) = world.read(number) {
            assert_eq!(window, Window { kind: kind_of(number), salt: 7, numbers: 1..1 + len });
            left[usize::from(number % 64 != 0)] += 1;
        }
    }
    let evicted = world.totals().evicted;
    assert_eq!(evicted + left[0] + left[1], count);
    assert!(evicted > count / 8, "{evicted} of {count} were evicted");
    let used = count.div_ceil(64);
    [left[0] as f64 / used as f64, left[1] as f64 / (count - used) as f64]
}

#[test]
fn small_collections_are_evicted_as_a_whole_and_the_unused_go_first() {
    let [used, unused] = collections_come_and_go(EvictionPolicy::AllKeysLru, 20_000, 24);
    assert!(used > 0.9 && unused < 0.5, "{used} of those used are left, {unused} of the others");
}

#[test]
fn large_collections_are_evicted_as_a_whole_and_the_unused_go_first() {
    let [used, unused] = collections_come_and_go(EvictionPolicy::AllKeysLru, 3_000, 250);
    assert!(used > 0.9 && unused < 0.5, "{used} of those used are left, {unused} of the others");
}

#[test]
fn collections_of_any_size_are_evicted_by_chance() {
    for len in [40, 300, 5_000] {
        collections_come_and_go(EvictionPolicy::AllKeysRandom, 625_000 / (len + 2), len);
    }
}

#[test]
fn what_a_limit_refuses_is_written_once_others_are_deleted() {
    for len in [40, 1_000, 20_000] {
        let mut world = World::new(EvictionPolicy::NoEviction);
        let mut written = Vec::new();
        for number in 0..750_000 / len {
            if world.write(number, kind_of(number), 1..1 + len).is_ok() {
                written.push(number);
            }
        }
        let count = written.len();
        assert!((count as u64) < 625_000 / len, "{count} of {len} elements each");
        // Every other one, so that no segment becomes free by itself.
        for number in written.iter().step_by(2) {
            world.on(*number, 0, |access, key| access.remove(key)).expect("no room is needed");
        }
        let mut again = 0;
        for number in 0..count as u64 / 3 {
            again += u64::from(world.write(1 << 40 | number, kind_of(number), 1..1 + len).is_ok());
        }
        assert_eq!(again, count as u64 / 3, "of {count} with {len} elements each");
        for number in written.into_iter().skip(1).step_by(2) {
            assert!(world.read(number).is_some());
        }
    }
}

#[test]
fn a_limit_that_tightens_evicts_collections() {
    for len in [40, 1_000, 20_000, 37_500] {
        let mut world = World::new(EvictionPolicy::AllKeysLru);
        let count = 1_000_000 / len;
        for number in 0..count {
            if number == count / 2 {
                world.limit(EvictionPolicy::AllKeysLru, LIMIT / 2);
            }
            for from in (1..=len).step_by(20_000) {
                let numbers = from..(from + 20_000).min(1 + len);
                let written = world.write(number, kind_of(number), numbers);
                assert_eq!(written, Ok(()), "key {number} of {count}: {:?}", world.totals());
            }
        }
        let touched = world.store.heap().touched_bytes();
        assert!(touched <= LIMIT / 2, "{touched} with {len} elements each");
    }
}

#[test]
fn volatile_policies_evict_keys_with_a_deadline_anywhere_then_refuse_writes() {
    for one_in in [1, 20, 500, 2_500] {
        let mut world = World::new(EvictionPolicy::VolatileLru);
        let text = [b'x'; 500];
        let mut refused_at = None;
        for number in 0..50_000_u64 {
            let deadline = Millis(START + 1_000_000_000);
            let expiry = if number % one_in == 0 && number < 15_000 {
                store::Expiry::At(deadline)
            } else {
                store::Expiry::Never
            };
            let written = world.on(number, 600, |access, key| {
                access.set_string(key, &text, store::Encoding::Raw, expiry)
            });
            if !matches!(written, Ok(Ok(()))) {
                refused_at = Some(number);
                break;
            }
        }
        let refused_at = refused_at.expect("a limit");
        assert_eq!(world.store.keyspace_facts(0).with_deadline, 0, "one in {one_in}");
        let volatile = (refused_at.min(15_000)).div_ceil(one_in);
        assert_eq!(world.totals().evicted, volatile, "one in {one_in}, refused at {refused_at}");
        // A refused write moves nothing.
        let moved = world.totals().moved_bytes;
        let again = world.on(1 << 40, 600, |_, _| ());
        assert!(again.is_err() && world.totals().moved_bytes - moved < 1 << 20);
    }
}

#[test]
fn lowered_limits_evict_although_nobody_writes() {
    for (policy, len) in [(EvictionPolicy::AllKeysLru, 24), (EvictionPolicy::AllKeysRandom, 3_000)]
    {
        let mut world = World::new(policy);
        for number in 0..5_000 * 24 / len {
            assert_eq!(world.write(number, kind_of(number), 1..1 + len), Ok(()));
        }
        let (before, kept) = (world.totals().evicted, world.store.live_bytes() / 2);
        assert!(!evict(&mut world), "what is alive is within the limits");
        world.limit(policy, LIMIT - LIMIT / 16 - world.store.index_bytes() - kept);
        while evict(&mut world) {}
        let left = world.store.used_bytes() - world.store.index_bytes();
        assert!(left <= kept && left > kept / 2, "{left} bytes are left of {kept}");
        assert!(world.totals().evicted > before);
    }
}

fn evict(world: &mut World) -> bool {
    world.store.enter(&world.thread);
    let is_more = world.store.evict_beyond_limits(&mut world.thread, world.now);
    world.store.free_some(&mut world.thread, 50);
    world.store.leave(&world.thread);
    is_more
}

/// Room is asked for by the bytes of a request, before anybody knows how long the list is that has
/// to move as a whole.
#[test]
fn what_grows_by_a_little_is_never_refused() {
    let (mut world, mut random) = (World::new(EvictionPolicy::AllKeysLru), Random::from_seed(6));
    let (text, limit) = ([b'x'; 1_000], ListLimit::of_setting(-5));
    for turn in 0..15_000 {
        let pushed = world.on(random.below(500), text.len() + 100, |access, key| {
            list::push(access, key, End::Back, [&text[..]].into_iter(), limit, false)
        });
        assert!(matches!(pushed, Ok(Ok(_))), "turn {turn}: {pushed:?}, {:?}", world.totals());
    }
    assert!(world.totals().evicted > 100, "{:?}", world.totals());
}

#[test]
fn lazy_free_counts_collections_and_flushed_keys() {
    let mut world = World::new(EvictionPolicy::NoEviction);
    for number in 0..100 {
        assert_eq!(world.write(number, kind_of(number), 1..4), Ok(()));
    }
    assert_eq!(world.write(100, kind_of(0), 1..3_000), Ok(()));
    assert_eq!(world.store.waiting_for_lazy_free(), 0);
    assert_eq!(world.store.flush(&mut world.thread, Flush::All), 101);
    assert_eq!(world.store.waiting_for_lazy_free(), 101);
    while world.store.waiting_for_lazy_free() > 0 {
        world.on(0, 0, |_, _| ()).expect("no room is needed");
    }
    assert_eq!(world.totals().lazily_freed, 101);
}

#[test]
fn values_larger_than_a_head_are_evicted_for_others() {
    for policy in [EvictionPolicy::AllKeysLru, EvictionPolicy::AllKeysRandom] {
        let mut world = World::new(policy);
        for (number, size) in
            (0..3_000).zip([40_000, 60_000, 70_000, 200_000, 600_000].into_iter().cycle())
        {
            let text = vec![b'x'; size];
            let written = world.on(number, size + 100, |access, key| {
                access.set_string(key, &text, store::Encoding::Raw, store::Expiry::Never)
            });
            assert!(matches!(written, Ok(Ok(()))), "{number} of {size}: {:?}", world.totals());
        }
        assert!(world.totals().evicted > 2_000);
    }
}
