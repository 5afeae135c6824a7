//! Settings of memory: limits, eviction, reclaiming.

use crate::choice::{MaxmemoryPolicy, ReclaimPolicy};
use crate::row::{integer, memory, memory_or_percent, one_of, yes_no};
use crate::value::ClientsMemory;

super::declare::rows! { from super::general::END;
    MAXMEMORY: u64 = memory("maxmemory", 0..=18446744073709551615, 0,
        "Most memory that data, clients and buffers may use, in bytes. What the server has for \
         itself counts as one megabyte, whatever it is. 0: no limit.");
    MAXMEMORY_POLICY: MaxmemoryPolicy = one_of("maxmemory-policy", MaxmemoryPolicy::NAMES,
        MaxmemoryPolicy::NoEviction as usize,
        "What gives way when `maxmemory` is reached.");
    MAXMEMORY_SAMPLES: u32 = integer("maxmemory-samples", 1..=64, 5,
        "Keys compared to find one to evict; more is closer to ideal and slower.")
        .idle("all records of a segment are compared");
    MAXMEMORY_EVICTION_TENACITY: u32 = integer("maxmemory-eviction-tenacity", 0..=100, 10,
        "How long evicting may delay a command, from 0 (shortest) to 100 (until it is done).")
        .idle("a write pays for the room that it needs");
    MAXMEMORY_CLIENTS: ClientsMemory = memory_or_percent("maxmemory-clients",
        -100..=9223372036854775807, 0,
        "Most memory for all clients, in bytes or as a percentage of `maxmemory`: beyond it the \
         largest are closed, those with CLIENT NO-EVICT excepted. 0: no limit.");
    LFU_LOG_FACTOR: u32 = integer("lfu-log-factor", 0..=2147483647, 10,
        "How slowly the counter of uses grows under the `lfu` policies.");
    LFU_DECAY_TIME: u32 = integer("lfu-decay-time", 0..=2147483647, 1,
        "Minutes after which the counter of uses of a key falls by one. 0: it never falls.");
    LAZYFREE_LAZY_EVICTION: bool = yes_no("lazyfree-lazy-eviction", true,
        "The append-only file tells an evicted key by UNLINK, and else by DEL: whoever executes \
         that may free it in the background. Here, removing costs the same at any size.");
    LAZYFREE_LAZY_EXPIRE: bool = yes_no("lazyfree-lazy-expire", true,
        "The append-only file tells a key that has expired by UNLINK, and else by DEL.");
    LAZYFREE_LAZY_SERVER_DEL: bool = yes_no("lazyfree-lazy-server-del", true,
        "The append-only file tells a key that SPOP has emptied, or RESTORE has removed, by \
         UNLINK, and else by DEL.");
    LAZYFREE_LAZY_USER_DEL: bool = yes_no("lazyfree-lazy-user-del", true,
        "DEL frees like UNLINK.")
        .idle("removing costs the same at any size");
    LAZYFREE_LAZY_USER_FLUSH: bool = yes_no("lazyfree-lazy-user-flush", true,
        "FLUSHDB and FLUSHALL without SYNC or ASYNC work in the background.")
        .idle("a flush takes a moment at any size");
    RECLAIM_POLICY: ReclaimPolicy = one_of("reclaim-policy", ReclaimPolicy::NAMES,
        ReclaimPolicy::Original as usize,
        "Which segment of memory is emptied first when space is reclaimed.");
}
