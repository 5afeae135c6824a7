//! Counts of changes, traffic and hits, and the progress of loading and saving.

use super::text::Text;
use command::Call;
use session::{DeniedFor, Topic};
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn persistence(text: &mut Text, call: &mut Call<'_>) {
    let loading = &call.instance.loading;
    let (is_active, is_beside) = (loading.is_active(), loading.is_beside());
    text.fields(&[
        ("loading", &u8::from(is_active && !is_beside)),
        ("async_loading", &u8::from(is_beside)),
    ]);
    snapshots(text, call);
    append_only_file(text, call);
    text.fields(&[
        ("module_fork_in_progress", &0),
        ("module_fork_last_cow_size", &0),
        ("slot_migration_fork_in_progress", &0),
    ]);
    bytes_of_append_only_file(text, call);
    if let Some(facts) = loading.facts(call.instance.clock.steady()) {
        let percent = 100.0 * facts.bytes as f64 / facts.total_bytes.max(1) as f64;
        text.fields(&[
            ("loading_start_time", &(facts.began / 1000)),
            ("loading_total_bytes", &facts.total_bytes),
            ("loading_rdb_used_mem", &loading.progress.used_memory.load(Relaxed)),
            ("loading_loaded_bytes", &facts.bytes),
            ("loading_loaded_perc", &format!("{percent:.2}")),
            ("loading_eta_seconds", &facts.seconds_left),
        ]);
    }
}

fn append_only_file(text: &mut Text, call: &Call<'_>) {
    let journal = &call.instance.journal;
    let is_on = settings::journal::APPENDONLY.get(&call.instance.settings);
    let rewrites = *journal.rewrites();
    let current = rewrites.began.map(|began| call.instance.clock.steady().since(began) / 1000);
    let ok = |is_ok| if is_ok { "ok" } else { "err" };
    let seconds = |seconds: Option<u64>| seconds.map_or("-1".to_owned(), |it| it.to_string());
    text.fields(&[
        ("aof_enabled", &u8::from(is_on)),
        ("aof_rewrite_in_progress", &u8::from(journal.is_rewriting.load(Relaxed))),
        ("aof_rewrite_scheduled", &u8::from(journal.is_scheduled.load(Relaxed))),
        ("aof_last_rewrite_time_sec", &seconds(rewrites.last_seconds)),
        ("aof_current_rewrite_time_sec", &seconds(current)),
        ("aof_last_bgrewrite_status", &ok(!rewrites.has_failed)),
        ("aof_rewrites", &rewrites.count),
        ("aof_rewrites_consecutive_failures", &rewrites.failed_in_a_row),
        ("aof_last_write_status", &ok(journal.failure().is_none())),
        ("aof_last_cow_size", &call.instance.data_files.saving().last_base_retained_bytes),
        ("aof_last_load_truncated_bytes", &call.instance.loading.truncated_bytes.load(Relaxed)),
        ("aof_last_load_passed_over", &call.instance.loading.passed_over.load(Relaxed)),
    ]);
}

fn bytes_of_append_only_file(text: &mut Text, call: &Call<'_>) {
    let journal = &call.instance.journal;
    if settings::journal::APPENDONLY.get(&call.instance.settings) {
        text.fields(&[
            ("aof_current_size", &journal.bytes.load(Relaxed)),
            ("aof_base_size", &journal.base_bytes.load(Relaxed)),
            ("aof_pending_rewrite", &u8::from(journal.is_scheduled.load(Relaxed))),
            ("aof_buffer_length", &journal.pending_bytes.load(Relaxed)),
            ("aof_pending_bio_fsync", &u8::from(journal.is_syncing.load(Relaxed))),
            ("aof_delayed_fsync", &journal.delayed_syncs.load(Relaxed)),
        ]);
    }
}

/// Seconds, or -1 where there are none.
fn or_none(seconds: Option<u64>) -> i64 {
    seconds.map_or(-1, |seconds| seconds as i64)
}

fn snapshots(text: &mut Text, call: &Call<'_>) {
    let saving = call.instance.data_files.saving();
    let current = saving.current.unwrap_or_default();
    let loaded = &call.instance.loading.progress;
    let changes = call.instance.store.totals().changes.saturating_sub(saving.changes_saved);
    text.fields(&[
        ("current_cow_peak", &current.retained_bytes_most),
        ("current_cow_size", &current.retained_bytes),
        ("current_cow_size_age", &0),
        ("current_fork_perc", &format_args!("{:.2}", current.percent())),
        ("current_save_keys_processed", &current.keys),
        ("current_save_keys_total", &current.total_keys),
        ("current_save_mb_per_sec", &format_args!("{:.2}", current.megabytes_per_second())),
        ("current_save_eta_seconds", &or_none(current.seconds_left())),
        ("rdb_changes_since_last_save", &changes),
        ("rdb_bgsave_in_progress", &u8::from(saving.current_seconds.is_some())),
        ("rdb_last_save_time", &saving.last_save),
        ("rdb_last_bgsave_status", &if saving.has_failed { "err" } else { "ok" }),
        ("rdb_last_bgsave_time_sec", &or_none(saving.last_seconds)),
        ("rdb_current_bgsave_time_sec", &or_none(saving.current_seconds)),
        ("rdb_saves", &saving.saves),
        ("rdb_last_cow_size", &saving.last_retained_bytes),
        ("rdb_last_load_keys_expired", &loaded.expired.load(Relaxed)),
        ("rdb_last_load_keys_loaded", &loaded.keys.load(Relaxed)),
    ]);
}

pub(super) fn stats(text: &mut Text, call: &mut Call<'_>) {
    traffic(text, call);
    keys(text, call);
    work(text, call);
}

#[expect(clippy::cast_possible_truncation, reason = "a rate is no such number")]
fn traffic(text: &mut Text, call: &Call<'_>) {
    let statistics = &call.instance.statistics;
    let (sums, rates) = (statistics.sums(), statistics.rates());
    let syncs = &call.instance.replicas.syncs;
    let kilobytes = |bytes: f64| format!("{:.2}", bytes / 1024.0);
    text.fields(&[
        ("total_connections_received", &statistics.connections.load(Relaxed)),
        ("total_commands_processed", &sums.calls()),
        ("instantaneous_ops_per_sec", &(rates.commands.round() as u64)),
        ("total_net_input_bytes", &sums.server.input_bytes),
        ("total_net_output_bytes", &sums.server.output_bytes),
        ("total_net_repl_input_bytes", &0),
        ("total_net_repl_output_bytes", &syncs.output_bytes.load(Relaxed)),
        ("total_net_cluster_slot_import_bytes", &0),
        ("total_net_cluster_slot_export_bytes", &0),
        ("instantaneous_input_kbps", &kilobytes(rates.input_bytes)),
        ("instantaneous_output_kbps", &kilobytes(rates.output_bytes)),
        ("instantaneous_input_repl_kbps", &"0.00"),
        ("instantaneous_output_repl_kbps", &"0.00"),
        ("rejected_connections", &statistics.rejected_connections.load(Relaxed)),
        ("sync_full", &syncs.full.load(Relaxed)),
        ("sync_partial_ok", &syncs.partial.load(Relaxed)),
        ("sync_partial_err", &syncs.partial_refused.load(Relaxed)),
    ]);
}

fn keys(text: &mut Text, call: &Call<'_>) {
    let pubsub = &call.instance.pubsub;
    let sockets = call.instance.carrier.get().map_or(0, |carrier| carrier.sockets());
    let server = call.instance.statistics.sums().server;
    let store = call.instance.statistics.since_reset(&call.instance.store.totals());
    text.fields(&[
        ("expired_keys", &store.expired),
        ("expired_keys_by_sweep", &store.expired_by_sweep),
        ("expired_fields", &store.expired_parts),
        ("expired_stale_perc", &"0.00"),
        ("expired_keys_with_volatile_items_stale_perc", &"0.00"),
        ("expired_time_cap_reached_count", &0),
        ("expire_cycle_cpu_milliseconds", &(server.sweep_nanos / 1_000_000)),
        ("evicted_keys", &store.evicted),
        ("evicted_clients", &server.evicted_clients),
        ("evicted_scripts", &call.instance.scripts.cache.evicted()),
        ("scripts_beside_others", &server.scripts_beside_others),
        ("scripts_one_at_a_time", &server.scripts_one_at_a_time),
        ("total_eviction_exceeded_time", &0),
        ("current_eviction_exceeded_time", &0),
        ("keyspace_hits", &store.hits),
        ("keyspace_misses", &store.misses),
        ("pubsub_channels", &pubsub.count(Topic::Channel)),
        ("pubsub_patterns", &pubsub.count(Topic::Pattern)),
        ("pubsubshard_channels", &pubsub.count(Topic::ShardChannel)),
        ("latest_fork_usec", &call.instance.data_files.saving().pause_micros),
        ("total_forks", &0),
        ("migrate_cached_sockets", &sockets),
        ("slave_expires_tracked_keys", &call.instance.local_deadlines.count()),
        ("active_defrag_hits", &0),
        ("active_defrag_misses", &0),
        ("active_defrag_key_hits", &0),
        ("active_defrag_key_misses", &0),
        ("total_active_defrag_time", &0),
        ("current_active_defrag_time", &0),
        ("tracking_total_keys", &call.instance.tracking.keys()),
        ("tracking_total_items", &call.instance.tracking.tracked_reads()),
        ("tracking_total_prefixes", &call.instance.tracking.prefixes()),
    ]);
}

#[expect(clippy::cast_possible_truncation, reason = "a rate is no such number")]
fn work(text: &mut Text, call: &Call<'_>) {
    let statistics = &call.instance.statistics;
    let (sums, rates) = (statistics.sums(), statistics.rates());
    let server = sums.server;
    let loop_nanos = sums.command_nanos().saturating_sub(server.outstanding_nanos);
    let denied = |reason| call.instance.access.log.count(reason);
    let left_out = call.instance.loading.left_out.load(Relaxed)
        + call.instance.upstream.left_out.load(Relaxed);
    let mean_micros = rates.iteration_nanos / rates.iterations.max(1.0) / 1000.0;
    text.fields(&[
        ("unexpected_error_replies", &left_out),
        ("total_error_replies", &statistics.refusals()),
        ("dump_payload_sanitizations", &0),
        ("total_reads_processed", &server.reads),
        ("total_writes_processed", &server.writes),
        ("io_threaded_reads_processed", &0),
        ("io_threaded_writes_processed", &0),
        ("io_threaded_freed_objects", &0),
        ("io_threaded_accept_processed", &0),
        ("io_threaded_poll_processed", &0),
        ("io_threaded_total_prefetch_batches", &0),
        ("io_threaded_total_prefetch_entries", &0),
        ("client_query_buffer_limit_disconnections", &server.query_limit_closed),
        ("client_output_buffer_limit_disconnections", &server.output_limit_closed),
        ("reply_buffer_shrinks", &0),
        ("reply_buffer_expands", &0),
        ("eventloop_cycles", &server.iterations),
        ("eventloop_duration_sum", &(server.iteration_nanos / 1000)),
        ("eventloop_duration_cmd_sum", &(loop_nanos / 1000)),
        ("instantaneous_eventloop_cycles_per_sec", &(rates.iterations.round() as u64)),
        ("instantaneous_eventloop_duration_usec", &(mean_micros.round() as u64)),
        ("acl_access_denied_auth", &denied(DeniedFor::Login)),
        ("acl_access_denied_cmd", &denied(DeniedFor::Command)),
        ("acl_access_denied_key", &denied(DeniedFor::Key)),
        ("acl_access_denied_channel", &denied(DeniedFor::Channel)),
        ("acl_access_denied_tls_cert", &denied(DeniedFor::Certificate)),
        ("acl_access_denied_db", &denied(DeniedFor::Database)),
        ("moved_connections", &statistics.moved_connections.load(Relaxed)),
    ]);
    handshakes(text, call);
}

/// Handshakes of TLS.
fn handshakes(text: &mut Text, call: &Call<'_>) {
    let tls = &call.instance.tls;
    text.fields(&[
        ("tls_handshakes", &tls.done.load(Relaxed)),
        ("tls_handshakes_resumed", &tls.resumed.load(Relaxed)),
        ("tls_handshakes_failed", &tls.failed.load(Relaxed)),
        ("tls_handshakes_waiting", &tls.waiting.load(Relaxed)),
        ("tls_newest_failure", &*tls.newest_failure.lock()),
    ]);
}

/// Durations of loop iterations, in microseconds. Workers do not write the append-only file.
pub(super) fn debug(text: &mut Text, call: &mut Call<'_>) {
    let statistics = &call.instance.statistics;
    let background_nanos = statistics.sums().server.background_nanos;
    text.fields(&[
        ("eventloop_duration_aof_sum", &0),
        ("eventloop_duration_cron_sum", &(background_nanos / 1000)),
        ("eventloop_duration_max", &(statistics.longest_iteration_nanos.load(Relaxed) / 1000)),
        ("eventloop_cmd_per_cycle_max", &statistics.most_commands.load(Relaxed)),
    ]);
}
