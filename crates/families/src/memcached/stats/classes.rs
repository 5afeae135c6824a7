//! `stats items` and `stats slabs`: all items are in one class.

use super::lines::Lines;
use command::Call;
use session::MemcachedSums;
use store::KeyspaceFacts;

/// Names of Memcached's parts of a class, by how lately items were used, which are not there.
const AGES: [&str; 2] = ["age_hot", "age_warm"];

fn facts_of(call: &Call<'_>) -> (KeyspaceFacts, MemcachedSums) {
    let store = &call.instance.store;
    let sums = call.instance.statistics.memcached(store.totals());
    (store.keyspace_facts(call.session.database), sums)
}

pub(super) fn items(call: &mut Call<'_>) {
    let (facts, sums) = facts_of(call);
    let mut lines = Lines::default();
    if facts.keys > 0 {
        write_items(&mut lines, facts, &sums);
    }
    lines.answer(call);
}

fn write_items(lines: &mut Lines, facts: KeyspaceFacts, sums: &MemcachedSums) {
    let MemcachedSums { commands, store, .. } = sums;
    let mut put = |name: &str, value: u64| lines.put(format_args!("items:1:{name}"), value);
    put("number", facts.keys);
    put("number_hot", 0);
    put("number_warm", 0);
    put("number_cold", facts.keys);
    AGES.iter().for_each(|name| put(name, 0));
    put("age", 0);
    put("mem_requested", facts.bytes);
    put("evicted", store.evicted);
    put("evicted_nonzero", 0);
    put("evicted_time", 0);
    put("outofmemory", commands.no_memory);
    put("tailrepairs", 0);
    put("reclaimed", store.expired);
    put("expired_unfetched", store.expired_unfetched);
    put("evicted_unfetched", store.evicted_unfetched);
    put("evicted_active", 0);
    put("crawler_reclaimed", store.expired_by_sweep);
    for name in [
        "crawler_items_checked",
        "lrutail_reflocked",
        "moves_to_cold",
        "moves_to_warm",
        "moves_within_lru",
        "direct_reclaims",
        "hits_to_hot",
        "hits_to_warm",
    ] {
        put(name, 0);
    }
    put("hits_to_cold", commands.get_hits);
    put("hits_to_temp", 0);
}

/// Tells of the class as if each item had a chunk of its own, of the mean size of items.
pub(super) fn slabs(call: &mut Call<'_>) {
    let (facts, sums) = facts_of(call);
    let held = call.instance.store.heap().touched_bytes();
    let mut lines = Lines::default();
    let bytes = facts.bytes.checked_div(facts.keys).unwrap_or(0);
    let free = held.saturating_sub(facts.bytes).checked_div(bytes).unwrap_or(0);
    write_class(&mut lines, &sums, bytes, (facts.keys, free));
    lines.put("active_slabs", 1);
    lines.put("total_malloced", held);
    lines.answer(call);
}

fn write_class(lines: &mut Lines, sums: &MemcachedSums, bytes: u64, (used, free): (u64, u64)) {
    let per_page = PAGE_BYTES.checked_div(bytes).unwrap_or(0).max(1);
    let counts = &sums.commands;
    for (name, value) in [
        ("chunk_size", bytes),
        ("chunks_per_page", per_page),
        ("total_pages", (used + free).div_ceil(per_page)),
        ("total_chunks", used + free),
        ("used_chunks", used),
        ("free_chunks", free),
        ("free_chunks_end", 0),
        ("get_hits", counts.get_hits),
        ("cmd_set", counts.sets),
        ("delete_hits", counts.delete_hits),
        ("incr_hits", counts.incr_hits),
        ("decr_hits", counts.decr_hits),
        ("cas_hits", counts.cas_hits),
        ("cas_badval", counts.cas_badval),
        ("touch_hits", counts.touch_hits),
    ] {
        lines.put(format_args!("1:{name}"), value);
    }
}

/// Bytes of a page of chunks in Memcached.
const PAGE_BYTES: u64 = 1 << 20;
