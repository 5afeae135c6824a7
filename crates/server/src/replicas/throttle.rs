//! Replicas that take less than writers put: INFO and the log tell of them.

use super::link::{Link, State, name};
use super::sender::SenderThread;
use base::Steady;
use session::{Outlook, SyncFacts};

impl SenderThread {
    /// Looks how replicas come along that lack something.
    pub(super) fn look_at_paces(&mut self, now: Steady) {
        let tail = self.journal.tail();
        for link in self.links.values_mut().filter(|link| link.replica.follows()) {
            let is_full = link.take_slow();
            link.pace.sample(now, (link.sent, tail), is_full);
            let lacks = lacks(link, tail);
            let outlook = link.pace.outlook(lacks);
            if link.is_syncing {
                tell(link, lacks, outlook);
            }
        }
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
             it will never catch up",
            name(link)
        );
    }
}
