//! Limits that the settings put on memory, threads and slow clients.

use crate::connection::Connection;
use base::{Steady, process};
use session::{BASE_BYTES, Instance, Needs, Pause};
use settings::limits::PROTO_MAX_BULK_LEN;
use settings::memcached::MEMCACHED_MAX_ITEM_SIZE;
use settings::{
    ClientsMemory, MaxmemoryPolicy, OutputLimit, Settings, general, memory, replication,
};
use std::sync::atomic::Ordering::Relaxed;
use store::{EvictionPolicy, Limits, Store};

/// Fewest bytes that may limit the memory of clients: the server could not be spoken to otherwise.
const CLIENTS_MEMORY_MIN: u64 = 128 << 10;
/// Memory that a server and each of its workers come to take for themselves once there is work:
/// stacks, arenas, buffers that are used again.
const WORKING_BYTES: u64 = 2 << 20;
const WORKING_BYTES_OF_WORKER: u64 = 512 << 10;

/// Has the limits count what is beyond the memory that the server has for itself now. To be called
/// before there is data.
pub fn begin(instance: &Instance) {
    let heap = instance.store.heap();
    let own = heap.touched_bytes() + instance.store.index_bytes();
    let working = WORKING_BYTES + instance.identity.threads as u64 * WORKING_BYTES_OF_WORKER;
    let fixed = process::resident().anonymous.saturating_sub(own) + working;
    instance.memory.fixed_bytes.store(fixed, Relaxed);
    instance.memory.other_bytes.store(BASE_BYTES, Relaxed);
    apply(instance);
    warn_of_maxmemory(instance);
}

/// Passes the settings for memory on to the store.
pub fn apply(instance: &Instance) {
    let settings = &instance.settings;
    let is_loading = instance.loading.is_active();
    let is_importing = general::IMPORT_MODE.get(settings);
    // Nothing is removed whose removal could not be written either.
    let is_failing = instance.journal.failure().is_some();
    let is_paused = instance.paused() != Pause::Nothing;
    // A primary evicts for its replicas.
    let leaves_it =
        instance.upstream.is_replica() && replication::REPLICA_IGNORE_MAXMEMORY.get(settings);
    instance.keep_expired();
    let (expired, evicted) =
        (memory::LAZYFREE_LAZY_EXPIRE.get(settings), memory::LAZYFREE_LAZY_EVICTION.get(settings));
    instance.store.set_lazy_removals(expired, evicted);
    instance.store.set_limits(&Limits {
        maxmemory: if is_loading || leaves_it { 0 } else { memory::MAXMEMORY.get(settings) },
        other_bytes: instance.memory.other_bytes.load(Relaxed),
        workers: instance.identity.threads as u64,
        eviction: match memory::MAXMEMORY_POLICY.get(settings) {
            _ if is_importing || is_failing || is_paused || leaves_it => EvictionPolicy::NoEviction,
            policy => eviction_policy(policy),
        },
        reclaim: reclaim_policy(memory::RECLAIM_POLICY.get(settings)),
        lfu_log_factor: memory::LFU_LOG_FACTOR.get(settings),
        lfu_decay_minutes: memory::LFU_DECAY_TIME.get(settings),
    });
}

/// Logs what a `maxmemory` means that is not enough.
pub fn warn_of_maxmemory(instance: &Instance) {
    let (most, used) = (memory::MAXMEMORY.get(&instance.settings), instance.used_memory());
    if most == 0 {
        return;
    }
    if most < used {
        tracing::warn!(
            "`maxmemory` is {most} now, and {used} bytes are used: keys are evicted, or commands \
             that need memory are refused"
        );
    }
    let other = instance.memory.other_bytes.load(Relaxed);
    let least = Store::least_maxmemory(other, instance.identity.threads as u64);
    if most < least {
        let enough = least.div_ceil(1 << 20);
        tracing::warn!("`maxmemory` is too small for any key: {enough}mb would leave room");
    }
}

/// Bytes of a value that is always received: how much memory is left is asked when it has come.
const COMMON_ITEM_BYTES: u64 = 1 << 20;

/// Most bytes of a value that a client of Memcached's protocol may set. What memory can never hold
/// is refused before it comes, and not when all else has been evicted for it.
pub fn item_bytes_max(settings: &Settings) -> u64 {
    let most = match MEMCACHED_MAX_ITEM_SIZE.get(settings) {
        0 => PROTO_MAX_BULK_LEN.get(settings),
        bytes => bytes,
    };
    match memory::MAXMEMORY.get(settings) {
        0 => most,
        limit => most.min(limit.max(COMMON_ITEM_BYTES)),
    }
}

fn eviction_policy(setting: MaxmemoryPolicy) -> EvictionPolicy {
    match setting {
        MaxmemoryPolicy::NoEviction => EvictionPolicy::NoEviction,
        MaxmemoryPolicy::AllkeysLru => EvictionPolicy::AllKeysLru,
        MaxmemoryPolicy::AllkeysLfu => EvictionPolicy::AllKeysLfu,
        MaxmemoryPolicy::AllkeysRandom => EvictionPolicy::AllKeysRandom,
        MaxmemoryPolicy::VolatileLru => EvictionPolicy::VolatileLru,
        MaxmemoryPolicy::VolatileLfu => EvictionPolicy::VolatileLfu,
        MaxmemoryPolicy::VolatileRandom => EvictionPolicy::VolatileRandom,
        MaxmemoryPolicy::VolatileTtl => EvictionPolicy::VolatileTtl,
    }
}

fn reclaim_policy(setting: settings::ReclaimPolicy) -> heap::ReclaimPolicy {
    match setting {
        settings::ReclaimPolicy::Original => heap::ReclaimPolicy::Original,
        settings::ReclaimPolicy::Greedy => heap::ReclaimPolicy::Greedy,
        settings::ReclaimPolicy::Modified => heap::ReclaimPolicy::Modified,
    }
}

/// Returns the most bytes that all clients may take; `None` for no limit.
pub fn clients_memory_max(settings: &Settings) -> Option<u64> {
    let most = match memory::MAXMEMORY_CLIENTS.get(settings) {
        ClientsMemory::Unlimited => return None,
        ClientsMemory::Bytes(bytes) => bytes,
        ClientsMemory::Percent(percent) => match memory::MAXMEMORY.get(settings) {
            0 => return None,
            all => all / 100 * u64::from(percent) + all % 100 * u64::from(percent) / 100,
        },
    };
    Some(most.max(CLIENTS_MEMORY_MIN))
}

/// Returns the number of threads that execute commands: as set, or one per processor, at most
/// eight.
pub fn threads(settings: &Settings) -> usize {
    match general::THREADS.get(settings) {
        0 => process::processors().min(8),
        threads => threads,
    }
}

/// Returns true if the output of a client was above its soft limit for longer than it may be: never
/// when that is first seen.
pub fn is_too_slow(connection: &mut Connection, limit: &OutputLimit, now: Steady) -> bool {
    let soft = limit.soft_output().unwrap_or(u64::MAX);
    // A client that has caught up in between is granted all of the time again.
    if connection.take_lowest_output_memory() <= soft {
        connection.over_soft_limit_since = None;
    }
    if connection.output_memory() <= soft {
        connection.over_soft_limit_since = None;
        return false;
    }
    let since = *connection.over_soft_limit_since.get_or_insert(now);
    now.since(since) > u64::from(limit.soft_seconds) * 1000
}

/// Has a primary refuse writes while too few replicas were heard of lately, as the settings say.
pub fn grant_writes(instance: &Instance) {
    let (settings, now) = (&instance.settings, instance.clock.steady());
    let least = replication::MIN_REPLICAS_TO_WRITE.get(settings) as usize;
    let most_silent = u64::from(replication::MIN_REPLICAS_MAX_LAG.get(settings)) * 1000;
    let is_asked_for = least > 0 && most_silent > 0 && !instance.upstream.is_replica();
    if is_asked_for && instance.replicas.count_near(most_silent, now) < least {
        instance.clients.grants.withdraw(Needs::REPLICAS);
    } else {
        instance.clients.grants.restore(Needs::REPLICAS);
    }
}
