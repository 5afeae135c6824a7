//! Tracking of one client, as its own thread knows it.

use super::Tracking;
use super::prefixes::Prefix;
use super::tracker::{Tracker, TrackingOptions};
use crate::call::Call;
use crate::clients::Notice;
use crate::run::Execution;
use crate::session::{ReplyMode, Session};
use std::sync::Arc;
use wire::{Protocol, Reply};

/// Tracking of one client.
#[derive(Debug)]
pub struct OwnTracking {
    pub(crate) tracker: Arc<Tracker>,
    /// Prefixes behind which it is told of all changes.
    pub(crate) prefixes: Vec<Prefix>,
    /// True behind CLIENT CACHING, until the next command has run.
    pub(crate) is_exception: bool,
}

impl OwnTracking {
    /// Returns true if what the next command reads is entered into the table.
    pub(crate) fn enters_reads(&self) -> bool {
        let options = self.tracker.options;
        if options.contains(TrackingOptions::OPT_IN) {
            return self.is_exception;
        }
        let is_out = options.contains(TrackingOptions::OPT_OUT) && self.is_exception;
        !is_out && !options.contains(TrackingOptions::BROADCAST)
    }
}

/// Tells the client which keys were evicted to make room for its command, before the reply.
#[cold]
pub(crate) fn tell_evicted(call: &mut Call<'_>) {
    tell_own(call, true);
}

/// Tells the client what its command has changed, behind the reply, and ends the effect of CLIENT
/// CACHING.
#[cold]
pub(crate) fn tell_behind(call: &mut Call<'_>, execution: Execution) {
    // A client that waits has no reply yet.
    tell_own(call, execution != Execution::Waits);
    let is_in_transaction = call.session.open_queue().is_some();
    let is_client = call.row.parent.is_some_and(|parent| parent.name == "CLIENT");
    if execution != Execution::Held && !is_in_transaction && !is_client {
        call.session.set_caching_exception(false);
    }
}

fn tell_own(call: &mut Call<'_>, is_beside_reply: bool) {
    let Some(tracking) = &call.session.tracking else { return };
    if !tracking.tracker.has_own() {
        return;
    }
    let own = tracking.tracker.take_own();
    if call.session.protocol != Protocol::Resp3 {
        return;
    }
    if is_beside_reply && call.session.reply_mode == ReplyMode::On {
        own.iter().for_each(|invalid| invalid.write(&mut call.reply));
    } else {
        let mut bytes = Vec::new();
        let mut message = Reply::new(&mut bytes, Protocol::Resp3);
        own.iter().for_each(|invalid| invalid.write(&mut message));
        let client = &call.session.client;
        client.notify(Notice::Message(client.id, bytes.into()));
    }
}

impl Session {
    /// Sets whether the next command is an exception, as CLIENT CACHING asks.
    pub(crate) fn set_caching_exception(&mut self, is_exception: bool) {
        if let Some(tracking) = &mut self.tracking {
            tracking.is_exception = is_exception;
            self.enters_reads = tracking.enters_reads();
        }
    }
}

impl Tracking {
    /// Ends the tracking of a client.
    pub(crate) fn forget(&self, session: &mut Session) {
        session.enters_reads = false;
        let Some(tracking) = session.tracking.take() else { return };
        let client = tracking.tracker.client.id;
        tracking.prefixes.iter().for_each(|prefix| self.remove_prefix(prefix, client));
        self.end(client);
    }
}
