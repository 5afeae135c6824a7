//! What the sender looks after: what is kept, who is silent, whether writes are let in.

use super::backlog::Backlog;
use super::link::{Gone, Link, State};
use super::sender::{BeforeStart, Lost, SenderThread};
use crate::journal::Reason;
use crate::limits;
use base::Steady;
use replication::spoken::PING;
use session::Instance;
use settings::general::DIR;
use settings::replication as rows;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use store::Store;

/// Most places that are kept for replicas whose connections were lost.
const LOST_MAX: usize = 100;
/// Least bytes of files for replicas, where no setting says how many.
const DISK_MIN: u64 = 1 << 30;

/// Most bytes of the stream in files that are kept for replicas.
pub fn disk_max(instance: &Instance) -> u64 {
    match rows::REPL_DISK_MAX.get(&instance.settings) {
        0 => instance.store.live_bytes().max(DISK_MIN),
        bytes => bytes,
    }
}

impl SenderThread {
    /// Keeps of the stream what replicas need, and what the settings ask for.
    pub(super) fn trim(&mut self) {
        let settings = &self.instance.settings;
        let disk_max = disk_max(&self.instance);
        let Some(backlog) = &mut self.backlog else { return };
        let directory = PathBuf::from(&*DIR.get(settings));
        let of_links = self.links.values().filter_map(Link::needs);
        let needed = of_links.chain(self.lost.iter().map(|it| it.position)).min();
        let needed = needed.unwrap_or(u64::MAX);
        let memory_max = rows::REPL_BACKLOG_SIZE.get(settings);
        let outcome = backlog.trim(memory_max, needed, &directory);
        let facts = &self.instance.replicas.backlog;
        let in_files = backlog.bytes_in_files();
        facts.first.store(backlog.first().wrapping_add(self.journal.shift()), Relaxed);
        facts.bytes_in_files.store(in_files, Relaxed);
        facts.bytes_in_memory.store(backlog.bytes_in_memory(), Relaxed);
        let of_snapshot = self.sync.as_ref().map_or(0, |sync| sync.parcel.bytes_in_memory());
        facts.snapshot_bytes.store(of_snapshot, Relaxed);
        let reason = match outcome {
            Err(error) => format!("it is slow, and what it lacks cannot be kept in `dir`: {error}"),
            Ok(()) if in_files > disk_max => {
                format!("it is slow: {in_files} bytes are kept in files for it (`repl-disk-max`)")
            }
            Ok(()) => return,
        };
        // Who is there comes before who may come back.
        if let Some(at) = self.furthest_lost(needed) {
            let Lost { who, .. } = self.lost.swap_remove(at);
            tracing::info!("Replica {who}, which is lost, keeps its place no longer: {reason}");
            return;
        }
        let last = self.links.iter().filter_map(|(token, link)| Some((link.needs()?, *token)));
        if let Some((_, token)) = last.min() {
            self.close(token, &Gone::Because(reason));
        }
    }

    fn furthest_lost(&self, needed: u64) -> Option<usize> {
        self.lost.iter().position(|it| it.position == needed)
    }

    /// Has a replica that is gone keep its place, as long as `repl-backlog-time` says.
    pub(super) fn keep_place(&mut self, link: &Link, who: &str) {
        let first = self.backlog.as_ref().map_or(0, Backlog::first);
        match link.state {
            // What it was sent and has not acknowledged may not have come.
            State::Follows(sent) => {
                let has = link.replica.acknowledged().wrapping_sub(self.journal.shift());
                self.keep_lost(who.to_owned(), if has < sent { has.max(first) } else { sent });
            }
            State::Loads(position) => self.keep_lost(who.to_owned(), position),
            _ => {}
        }
    }

    fn keep_lost(&mut self, who: String, position: u64) {
        let now = self.instance.clock.steady();
        let millis = u64::from(rows::REPL_BACKLOG_TIME.get(&self.instance.settings)) * 1000;
        if self.backlog.is_none() || millis == 0 {
            return;
        }
        if self.lost.len() == LOST_MAX {
            self.lost.remove(0);
        }
        self.lost.push(Lost { who, position, until: now.after(millis) });
    }

    /// Looks after what changes slowly.
    pub(super) fn look(&mut self, now: Steady) {
        let settings = &self.instance.settings;
        let timeout = u64::from(rows::REPL_TIMEOUT.get(settings)) * 1000;
        let period = u64::from(rows::REPL_PING_REPLICA_PERIOD.get(settings)) * 1000;
        let mut gone = Vec::new();
        for (token, link) in &mut self.links {
            let waits = match &link.state {
                State::Waits => true,
                State::Takes(taking) => !taking.has_begun,
                _ => false,
            };
            let outcome = if waits {
                // By this it knows that its primary lives.
                link.say("\n")
            } else if link.replica.silent_for(now) > timeout {
                Err(Gone::Because("it is silent for longer than `repl-timeout`".to_owned()))
            } else {
                Ok(())
            };
            if let Err(reason) = outcome {
                gone.push((*token, reason));
            }
        }
        gone.into_iter().for_each(|(token, reason)| self.close(token, &reason));
        self.look_at_paces(now);
        // While the server ends or fails over the offset stands still.
        let puts = !self.journal.reasons.follows() && !self.instance.clients.postpones_writes();
        if puts && self.has_online() && now.since(self.pinged_at) >= period {
            self.pinged_at = now;
            self.lane.lock().put_aside(PING);
        }
        limits::grant_writes(&self.instance);
        self.lost.retain(|it| it.until > now);
        self.in_files.take_if(|it| it.until <= now);
        self.give_up_backlog(now);
        // Clients that do not wait any more are forgotten.
        command::answer_acknowledged(&self.instance);
    }

    /// Keeps nothing any more, when there has been no replica for long.
    pub(super) fn give_up_backlog(&mut self, now: Steady) {
        let is_kept = !self.links.is_empty() || self.journal.reasons.follows();
        if is_kept || self.backlog.is_none() {
            self.alone_since = None;
            return;
        }
        let since = *self.alone_since.get_or_insert(now);
        let ttl = rows::REPL_BACKLOG_TTL.get(&self.instance.settings);
        if ttl > 0 && now.since(since) >= ttl.saturating_mul(1000) {
            tracing::info!(
                "Replication backlog freed after {ttl} seconds without connected replicas."
            );
            self.drop_backlog();
        }
    }

    /// Keeps the stream from now on, though there is no replica yet.
    pub(super) fn begin_backlog(&mut self) {
        if self.backlog.is_some() {
            return;
        }
        let journal = &self.journal;
        let backlog = self.instance.store.exclusively(&self.thread, |store| {
            journal.reasons.add(store, Reason::REPLICAS);
            Backlog::of(journal.ring())
        });
        let position = backlog.first();
        self.backlog = Some(backlog);
        if let Some(files) = self.door.take_stream_in_files() {
            self.keep_lost("of before the start".to_owned(), position);
            let until = self.lost.last().map(|it| it.until);
            self.in_files = until.map(|until| BeforeStart { files, end: position, until });
        }
        self.instance.replicas.backlog.is_kept.store(true, Relaxed);
    }

    pub(super) fn drop_backlog(&mut self) {
        let journal = &self.journal;
        let drop_reason = |store: &Store| journal.reasons.drop(store, Reason::REPLICAS);
        self.instance.store.exclusively(&self.thread, drop_reason);
        self.backlog = None;
        self.lost.clear();
        self.in_files = None;
        let facts = &self.instance.replicas.backlog;
        facts.is_kept.store(false, Relaxed);
        facts.bytes_in_files.store(0, Relaxed);
        facts.bytes_in_memory.store(0, Relaxed);
    }
}
