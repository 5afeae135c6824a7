//! The role of the server, its replicas, and what is kept of the stream for them.

use super::text::Text;
use crate::replication::role;
use base::Steady;
use command::Call;
use session::{LinkState, Outlook, Phase, SyncFacts};
use settings::replication::{
    MIN_REPLICAS_MAX_LAG, MIN_REPLICAS_TO_WRITE, REPL_BACKLOG_SIZE, REPLICA_ANNOUNCED,
    REPLICA_HIDES_UNSYNCED, REPLICA_PRIORITY, REPLICA_READ_ONLY,
};
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn replication(text: &mut Text, call: &mut Call<'_>) {
    let (instance, settings) = (call.instance, &call.instance.settings);
    let (replicas, now) = (&instance.replicas, instance.clock.steady());
    let all = replicas.all();
    text.field("role", role::name(instance));
    upstream(text, call);
    text.field("connected_slaves", all.len());
    let most_silent = u64::from(MIN_REPLICAS_MAX_LAG.get(settings)) * 1000;
    if MIN_REPLICAS_TO_WRITE.get(settings) > 0 && most_silent > 0 {
        text.field("min_slaves_good_slaves", replicas.count_near(most_silent, now));
    }
    for (at, replica) in all.iter().enumerate() {
        let (address, port) = (replica.address(), replica.about.port);
        let (state, lag) = match replica.phase() {
            Phase::Waits => ("wait_bgsave", 0),
            Phase::Loads => ("send_bulk", 0),
            Phase::Online => ("online", replica.silent_for(now) / 1000),
        };
        let offset = replica.acknowledged();
        text.line(format_args!(
            "slave{at}:ip={address},port={port},state={state},offset={offset},lag={lag},\
             type=replica"
        ));
    }
    let (offset, backlog) = (replicas.offset(), &replicas.backlog);
    let history = replicas.history();
    let none = "0".repeat(40);
    let id = history.as_ref().map_or_else(|| none.clone(), |it| it.id().as_str().to_owned());
    let earlier = history.as_ref().and_then(|it| it.earlier().first());
    let is_kept = backlog.is_kept.load(Relaxed);
    let first = backlog.first.load(Relaxed);
    text.fields(&[
        ("replicas_waiting_psync", &0),
        ("master_failover_state", &replicas.failover.phase().name()),
        ("master_replid", &id),
        ("master_replid2", &earlier.map_or(&*none, |it| it.id.as_str())),
        ("master_repl_offset", &offset),
        ("second_repl_offset", &earlier.map_or(-1, |it| it.upto.cast_signed() + 1)),
        ("repl_backlog_active", &u8::from(is_kept)),
        ("repl_backlog_size", &REPL_BACKLOG_SIZE.get(settings)),
        ("repl_backlog_first_byte_offset", &if is_kept { first + 1 } else { 0 }),
        ("repl_backlog_histlen", &if is_kept { offset.saturating_sub(first) } else { 0 }),
        ("repl_backlog_file_bytes", &backlog.bytes_in_files.load(Relaxed)),
        ("repl_throttled_writers", &u8::from(replicas.throttles_writers.load(Relaxed))),
    ]);
    for (at, replica) in all.iter().enumerate() {
        if let Some(facts) = replica.sync() {
            sync(text, at, facts);
        }
    }
}

/// Tells how the full sync of a replica goes on.
fn sync(text: &mut Text, at: usize, facts: SyncFacts) {
    let SyncFacts { sent, left, rate, write_rate, outlook } = facts;
    let left = left.map_or_else(|| "unknown".to_owned(), |left| left.to_string());
    let caught_up = match outlook {
        Outlook::Unknown => "unknown".to_owned(),
        Outlook::Never => "never".to_owned(),
        Outlook::Seconds(seconds) => seconds.to_string(),
    };
    text.line(format_args!(
        "repl_sync{at}:sent_bytes={sent},left_bytes={left},bytes_per_sec={rate},\
         written_bytes_per_sec={write_rate},seconds_to_catch_up={caught_up}"
    ));
}

/// Tells of the primary that is followed, and of the link to it.
fn upstream(text: &mut Text, call: &Call<'_>) {
    let (instance, settings) = (call.instance, &call.instance.settings);
    let upstream = &instance.upstream;
    let Some(facts) = upstream.facts() else { return };
    let (now, offset) = (instance.clock.steady(), instance.replicas.offset());
    let is_up = facts.link == LinkState::Connected;
    let silent = now.since(Steady(upstream.heard_at.load(Relaxed))) / 1000;
    text.fields(&[
        ("master_host", &facts.primary.host),
        ("master_port", &facts.primary.port),
        ("master_link_status", &if is_up { "up" } else { "down" }),
        ("master_last_io_seconds_ago", &if is_up { silent.cast_signed() } else { -1 }),
        ("master_sync_in_progress", &u8::from(facts.link == LinkState::Sync)),
        ("slave_read_repl_offset", &upstream.received.load(Relaxed).max(offset)),
        ("slave_repl_offset", &offset),
        ("replicas_repl_buffer_size", &0),
        ("replicas_repl_buffer_peak", &0),
    ]);
    if facts.link == LinkState::Sync {
        let (total, read) =
            (upstream.transfer.total.load(Relaxed), upstream.transfer.read.load(Relaxed));
        let percent = if total > 0 { read as f64 * 100.0 / total as f64 } else { 0.0 };
        text.fields(&[
            ("master_sync_total_bytes", &total),
            ("master_sync_read_bytes", &read),
            ("master_sync_left_bytes", &(total.cast_signed() - read.cast_signed())),
            ("master_sync_perc", &format!("{percent:.2}")),
            ("master_sync_last_io_seconds_ago", &silent),
        ]);
    }
    if let Some(since) = facts.down_since.filter(|_| !is_up) {
        text.field("master_link_down_since_seconds", now.since(since) / 1000);
    }
    if let Some(reason) = &facts.stopped {
        text.field("master_link_stopped", reason);
    }
    // Sentinels pass over those with none.
    let is_hidden = REPLICA_HIDES_UNSYNCED.get(settings) && upstream.is_unsynced();
    let priority = if is_hidden { 0 } else { REPLICA_PRIORITY.get(settings) };
    text.fields(&[
        ("slave_priority", &priority),
        ("slave_read_only", &u8::from(REPLICA_READ_ONLY.get(settings))),
        ("replica_announced", &u8::from(REPLICA_ANNOUNCED.get(settings))),
    ]);
}
