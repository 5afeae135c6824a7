//! Limits that the settings put on memory, threads and slow clients.

use crate::connection::Connection;
use base::Steady;
use session::{Instance, Pause};
use settings::{ClientsMemory, MaxmemoryPolicy, OutputLimit, Settings, general, memory};
use std::sync::atomic::Ordering::Relaxed;
use store::{EvictionPolicy, Limits, Store};

/// Fewest bytes that may limit the memory of clients: the server could not be spoken to otherwise.
const CLIENTS_MEMORY_MIN: u64 = 128 << 10;
/// Memory that threads and clients come to take once there is work, and the index of a few keys.
const WORKING_BYTES: u64 = 3 << 20;
/// Megabytes by which the memory of two starts may differ.
const SPREAD_MB: u64 = 3;

/// Passes the settings for memory on to the store.
pub fn apply(instance: &Instance) {
    let settings = &instance.settings;
    let is_loading = instance.loading.is_active();
    let is_importing = general::IMPORT_MODE.get(settings);
    // Nothing is removed whose removal could not be written either.
    let is_failing = instance.journal.failure().is_some();
    let is_paused = instance.paused() != Pause::Nothing;
    instance.keep_expired();
    instance.store.set_limits(&Limits {
        maxmemory: if is_loading { 0 } else { memory::MAXMEMORY.get(settings) },
        other_bytes: instance.memory.other_bytes.load(Relaxed),
        workers: instance.identity.threads as u64,
        eviction: match memory::MAXMEMORY_POLICY.get(settings) {
            _ if is_importing || is_failing || is_paused => EvictionPolicy::NoEviction,
            policy => eviction_policy(policy),
        },
        reclaim: reclaim_policy(memory::RECLAIM_POLICY.get(settings)),
        lfu_log_factor: memory::LFU_LOG_FACTOR.get(settings),
        lfu_decay_minutes: memory::LFU_DECAY_TIME.get(settings),
    });
}

/// Returns a `maxmemory` that leaves room for keys, in megabytes, where the present one leaves none
/// beside what the server itself takes.
pub fn enough_maxmemory(instance: &Instance) -> Option<u64> {
    let most = memory::MAXMEMORY.get(&instance.settings);
    let touched = instance.store.heap().touched_bytes();
    let outside = base::process::resident_bytes().saturating_sub(touched) + WORKING_BYTES;
    let least = Store::least_maxmemory(outside, instance.identity.threads as u64);
    (most != 0 && most < least).then(|| least.div_ceil(1 << 20) + SPREAD_MB)
}

/// Logs what a `maxmemory` means that was set while the server runs, if it is not enough.
pub fn warn_of_maxmemory(instance: &Instance) {
    let (most, used) = (memory::MAXMEMORY.get(&instance.settings), instance.used_memory());
    if most == 0 || most >= used {
        return;
    }
    tracing::warn!(
        "`maxmemory` is {most} now, and {used} bytes are used: keys are evicted, or commands that \
         need memory are refused"
    );
    if let Some(enough) = enough_maxmemory(instance) {
        tracing::warn!("The server itself takes `maxmemory`: {enough}mb would leave room for keys");
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
        0 => base::process::processors().min(8),
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
