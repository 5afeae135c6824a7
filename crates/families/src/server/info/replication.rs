//! The role of the server, its replicas, and what is kept of the stream for them.

use super::text::Text;
use crate::replication::role::ROLE;
use command::Call;
use session::Phase;
use settings::replication::{MIN_REPLICAS_MAX_LAG, MIN_REPLICAS_TO_WRITE, REPL_BACKLOG_SIZE};
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn replication(text: &mut Text, call: &mut Call<'_>) {
    let (instance, settings) = (call.instance, &call.instance.settings);
    let (replicas, now) = (&instance.replicas, instance.clock.steady());
    let all = replicas.all();
    text.fields(&[("role", &ROLE), ("connected_slaves", &all.len())]);
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
        ("master_failover_state", &"no-failover"),
        ("master_replid", &id),
        ("master_replid2", &earlier.map_or(&*none, |it| it.id.as_str())),
        ("master_repl_offset", &offset),
        ("second_repl_offset", &earlier.map_or(-1, |it| it.upto.cast_signed() + 1)),
        ("repl_backlog_active", &u8::from(is_kept)),
        ("repl_backlog_size", &REPL_BACKLOG_SIZE.get(settings)),
        ("repl_backlog_first_byte_offset", &if is_kept { first + 1 } else { 0 }),
        ("repl_backlog_histlen", &if is_kept { offset.saturating_sub(first) } else { 0 }),
        ("repl_backlog_file_bytes", &backlog.bytes_in_files.load(Relaxed)),
    ]);
}
