//! `stats`: what the server has done, and has.

use super::lines::Lines;
use ::settings::memory::MAXMEMORY;
use ::settings::network::{MAXCLIENTS, TIMEOUT};
use base::process;
use command::Call;
use session::MemcachedSums;
use std::sync::atomic::Ordering::Relaxed;
use store::KeyspaceFacts;

/// The version whose protocol is spoken.
const VERSION: &str = "1.6.45";

pub(super) fn general(call: &mut Call<'_>) {
    let sums = call.instance.statistics.memcached(call.instance.store.totals());
    let facts = call.instance.store.keyspace_facts(call.session.database);
    let mut lines = Lines::default();
    identity(&mut lines, call);
    connections(&mut lines, call, &sums);
    commands(&mut lines, &sums);
    traffic(&mut lines, call, &sums);
    index(&mut lines, call);
    work(&mut lines);
    items(&mut lines, &sums, facts);
    lines.answer(call);
}

fn identity(lines: &mut Lines, call: &Call<'_>) {
    let identity = &call.instance.identity;
    let used = process::processor_time();
    let seconds = |micros: u64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    lines.put_all(&[
        ("pid", &std::process::id()),
        ("uptime", &(call.instance.clock.steady().since(identity.started) / 1000)),
        ("time", &(call.now.0 / 1000)),
        ("version", &VERSION),
        ("libevent", &0),
        ("pointer_size", &usize::BITS),
        ("rusage_user", &seconds(used.user)),
        ("rusage_system", &seconds(used.system)),
    ]);
}

fn connections(lines: &mut Lines, call: &Call<'_>, sums: &MemcachedSums) {
    let clients = &call.instance.clients;
    let (mut outputs, mut output_bytes) = (0_u64, 0);
    let (mut inputs, mut input_bytes, mut free) = (0_u64, 0, 0);
    for client in clients.list() {
        let output = client.output_room.load(Relaxed);
        let of_it = client.query_free.load(Relaxed);
        let input = client.query_bytes.load(Relaxed) + of_it;
        (outputs, output_bytes) = (outputs + u64::from(output > 0), output_bytes + output);
        (inputs, input_bytes) = (inputs + u64::from(input > 0), input_bytes + input);
        free += of_it;
    }
    lines.put_all(&[
        ("max_connections", &MAXCLIENTS.get(&call.instance.settings)),
        ("curr_connections", &clients.count()),
        ("total_connections", &sums.connections),
        ("rejected_connections", &sums.rejected_connections),
        ("connection_structures", &clients.count()),
        ("response_obj_oom", &0),
        ("response_obj_count", &outputs),
        ("response_obj_bytes", &output_bytes),
        ("read_buf_count", &inputs),
        ("read_buf_bytes", &input_bytes),
        ("read_buf_bytes_free", &free),
        ("read_buf_oom", &0),
        ("reserved_fds", &0),
    ]);
}

fn commands(lines: &mut Lines, sums: &MemcachedSums) {
    let counts = &sums.commands;
    lines.put_all(&[
        ("cmd_get", &(counts.get_hits + counts.get_misses)),
        ("cmd_set", &counts.sets),
        ("cmd_flush", &counts.flushes),
        ("cmd_touch", &(counts.touch_hits + counts.touch_misses)),
        ("cmd_meta", &counts.debugs),
        ("get_hits", &counts.get_hits),
        ("get_misses", &counts.get_misses),
        ("get_expired", &counts.get_expired),
        ("get_flushed", &0),
        ("delete_misses", &counts.delete_misses),
        ("delete_hits", &counts.delete_hits),
        ("incr_misses", &counts.incr_misses),
        ("incr_hits", &counts.incr_hits),
        ("decr_misses", &counts.decr_misses),
        ("decr_hits", &counts.decr_hits),
        ("cas_misses", &counts.cas_misses),
        ("cas_hits", &counts.cas_hits),
        ("cas_badval", &counts.cas_badval),
        ("touch_hits", &counts.touch_hits),
        ("touch_misses", &counts.touch_misses),
        ("store_too_large", &counts.too_large),
        ("store_no_memory", &counts.no_memory),
        ("auth_cmds", &counts.auth_cmds),
        ("auth_errors", &counts.auth_errors),
    ]);
}

fn traffic(lines: &mut Lines, call: &Call<'_>, sums: &MemcachedSums) {
    if TIMEOUT.get(&call.instance.settings) > 0 {
        lines.put("idle_kicks", sums.server.timed_out_clients);
    }
    lines.put_all(&[
        ("bytes_read", &sums.server.input_bytes),
        ("bytes_written", &sums.server.output_bytes),
        ("limit_maxbytes", &MAXMEMORY.get(&call.instance.settings)),
        ("accepting_conns", &1),
        ("listen_disabled_num", &0),
        ("time_in_listen_disabled_us", &0),
        ("threads", &call.instance.identity.threads),
        ("conn_yields", &sums.commands.yields),
    ]);
}

fn index(lines: &mut Lines, call: &Call<'_>) {
    let store = &call.instance.store;
    let places = store.index_places(call.session.database);
    lines.put_all(&[
        ("hash_power_level", &places.checked_ilog2().unwrap_or(0)),
        ("hash_bytes", &store.index_bytes()),
        ("hash_is_expanding", &0),
    ]);
}

/// Memory is no slabs, and no crawler looks for what has expired.
fn work(lines: &mut Lines) {
    lines.put_zeros(&[
        "slab_reassign_rescues",
        "slab_reassign_chunk_rescues",
        "slab_reassign_inline_reclaim",
        "slab_reassign_busy_items",
        "slab_reassign_busy_deletes",
        "slab_reassign_busy_nomem",
    ]);
    lines.put("slab_reassign_last_busy_status", "none");
    lines.put_zeros(&[
        "slab_reassign_running",
        "slabs_moved",
        "lru_crawler_running",
        "lru_crawler_starts",
        "lru_maintainer_juggles",
        "malloc_fails",
        "log_worker_dropped",
        "log_worker_written",
        "log_watcher_skipped",
        "log_watcher_sent",
        "log_watchers",
        "unexpected_napi_ids",
        "round_robin_fallback",
    ]);
}

fn items(lines: &mut Lines, sums: &MemcachedSums, facts: KeyspaceFacts) {
    let MemcachedSums { commands, store, .. } = sums;
    lines.put_all(&[
        ("bytes", &facts.bytes),
        ("curr_items", &facts.keys),
        ("total_items", &commands.stored),
        ("slab_global_page_pool", &0),
        ("expired_unfetched", &store.expired_unfetched),
        ("evicted_unfetched", &store.evicted_unfetched),
        ("evicted_active", &0),
        ("evictions", &store.evicted),
        ("reclaimed", &store.expired),
        ("crawler_reclaimed", &store.expired_by_sweep),
        ("crawler_items_checked", &0),
        ("lrutail_reflocked", &0),
        ("moves_to_cold", &0),
        ("moves_to_warm", &0),
        ("moves_within_lru", &0),
        ("direct_reclaims", &0),
        ("lru_bumps_dropped", &0),
    ]);
}
