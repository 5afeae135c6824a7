//! What is done about replicas that take less than writers put: all are told of in INFO, and for
//! those that would never catch up writers may be slowed down.
//!
//! ```text
//! for each byte that the slowest takes, writers put half a byte at most
//! ```

use super::link::{Link, State, name};
use super::sender::SenderThread;
use base::Steady;
use session::{Outlook, SyncFacts};
use settings::replication::REPL_THROTTLE_WRITERS;
use std::sync::atomic::Ordering::Relaxed;

/// Part of what the slowest replica takes that writers may put.
const THROTTLED_PART: u64 = 2;
/// Bytes that they may put each millisecond whatever it takes.
const LEAST_PER_MILLI: u64 = 64;
/// Bytes that they may put at once behind a time without writes.
const CREDIT_MAX: u64 = 256 << 10;
/// Longest that a writer waits at a stretch.
const STALL_MILLIS_MAX: u64 = 1000;

impl SenderThread {
    /// Looks how replicas come along that lack something.
    pub(super) fn look_at_paces(&mut self, now: Steady) {
        let tail = self.journal.tail();
        let throttles =
            REPL_THROTTLE_WRITERS.get(&self.instance.settings) && !self.journal.reasons.follows();
        for link in self.links.values_mut().filter(|link| link.replica.follows()) {
            let is_full = link.take_slow();
            link.pace.sample(now, (link.sent, tail), is_full);
            let lacks = lacks(link, tail);
            let outlook = link.pace.outlook(lacks);
            if outlook == Outlook::Never && throttles && !link.is_waited_for {
                link.is_waited_for = true;
                link.paid = link.sent;
                tracing::warn!("Writers are slowed down until replica {} catches up", name(link));
            }
            link.is_waited_for &= throttles;
            if link.is_syncing {
                tell(link, lacks, outlook);
            }
        }
    }

    /// Lets writers go on as far as the slowest replica that they wait for allows.
    pub(super) fn pace_writers(&mut self, now: Steady) {
        let mut taken: Option<u64> = None;
        for link in self.links.values_mut().filter(|link| link.is_waited_for) {
            if link.has_caught_up {
                link.is_waited_for = false;
                tracing::info!("Replica {} has caught up: writers go on", name(link));
            } else if !matches!(link.state, State::Loads(_)) {
                let since = link.sent - std::mem::replace(&mut link.paid, link.sent);
                taken = Some(taken.map_or(since, |least| least.min(since)));
            }
        }
        let (journal, throttle) = (&self.journal, &mut self.throttle);
        let Some(taken) = taken else {
            if throttle.at.take().is_some() {
                throttle.waits_since = None;
                journal.let_writers_go_to(u64::MAX, &self.instance);
            }
            return self.instance.replicas.throttles_writers.store(false, Relaxed);
        };
        self.instance.replicas.throttles_writers.store(true, Relaxed);
        let tail = journal.tail();
        let Some(before) = throttle.at.replace(now) else {
            return journal.let_writers_go_to(tail, &self.instance);
        };
        let more = taken / THROTTLED_PART + now.since(before).saturating_mul(LEAST_PER_MILLI);
        let mut most = journal.writers_may_go_to().saturating_add(more).min(tail + CREDIT_MAX);
        if most >= tail {
            throttle.waits_since = None;
        } else if now.since(*throttle.waits_since.get_or_insert(now)) >= STALL_MILLIS_MAX {
            throttle.waits_since = None;
            most = tail;
        }
        journal.let_writers_go_to(most, &self.instance);
    }
}

/// Bytes that a replica lacks; `None` while nobody knows how long its snapshot is.
fn lacks(link: &Link, tail: u64) -> Option<u64> {
    match &link.state {
        State::Takes(taking) => {
            let (length, is_whole) = taking.parcel.length();
            let behind = tail.saturating_sub(taking.offset);
            is_whole.then_some(length.saturating_sub(taking.place) + behind)
        }
        State::Loads(at) | State::Follows(at) => Some(tail.saturating_sub(*at)),
        State::HandsOver(_) | State::Waits | State::Ends => None,
    }
}

/// Tells how a full sync goes on, and once in the log that it never ends at these rates.
fn tell(link: &mut Link, left: Option<u64>, outlook: Outlook) {
    let (rate, write_rate) = (link.pace.rate, link.pace.write_rate);
    let facts = SyncFacts { sent: link.sent, left, rate, write_rate, outlook };
    link.replica.set_sync(Some(facts));
    if outlook == Outlook::Never && !std::mem::replace(&mut link.has_warned, true) {
        tracing::warn!(
            "Replica {} takes {rate} bytes a second, and {write_rate} are written: at these rates \
             it will never catch up (`repl-throttle-writers` slows writers down)",
            name(link)
        );
    }
}
