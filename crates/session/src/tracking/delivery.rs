//! Delivery of invalidations: messages in letters to their workers.

use super::pending::PendingInvalidation;
use super::prefixes::{All, Prefix};
use super::tracker::{Invalid, Tracker};
use crate::client::{Client, ClientFlags};
use crate::clients::Clients;
use crate::message::Message;
use crate::receivers::{Left, Outgoing, Receivers};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use wire::Protocol;

/// Messages that are about to leave.
pub(super) struct Delivery<'d> {
    clients: &'d Clients,
    messages: Vec<(Message, Receivers)>,
}

impl<'d> Delivery<'d> {
    pub fn new(clients: &'d Clients) -> Delivery<'d> {
        Delivery { clients, messages: Vec::new() }
    }

    /// Adds the messages for all that is pending. Keys behind the same prefix are one message.
    pub fn add(&mut self, pending: Vec<PendingInvalidation>, prefixes: &All) {
        // A key that several clients have changed has no author.
        let mut changed: BTreeMap<Box<[u8]>, u64> = BTreeMap::new();
        for invalidation in pending {
            match invalidation {
                PendingInvalidation::Read { invalid: Invalid::Key(key), trackers } => {
                    self.notify(&trackers, Some(&[&key]));
                }
                PendingInvalidation::Read { invalid: Invalid::Everything, trackers } => {
                    self.notify(&trackers, None)
                }
                PendingInvalidation::Changed { key, author } => {
                    let known = changed.entry(key).or_insert(author);
                    *known = if *known == author { author } else { 0 };
                }
            }
        }
        let mut by_prefix: HashMap<&Prefix, Vec<(&[u8], u64)>> = HashMap::new();
        for (key, author) in &changed {
            for prefix in prefixes.of(key) {
                by_prefix.entry(prefix).or_default().push((key, *author));
            }
        }
        for (prefix, keys) in by_prefix {
            self.broadcast(prefixes.trackers_of(prefix), &keys);
        }
    }

    fn broadcast(&mut self, trackers: &[Arc<Tracker>], keys: &[(&[u8], u64)]) {
        let authors: HashSet<u64> = keys.iter().map(|(_, author)| *author).collect();
        let is_excepted =
            |tracker: &Tracker| tracker.has_no_loop() && authors.contains(&tracker.client.id);
        let (excepted, others): (Vec<_>, Vec<_>) =
            trackers.iter().cloned().partition(|tracker| is_excepted(tracker));
        let all: Vec<&[u8]> = keys.iter().map(|(key, _)| *key).collect();
        self.notify(&others, Some(&all));
        for tracker in excepted {
            let of_others = keys.iter().filter(|(_, author)| *author != tracker.client.id);
            let of_others: Vec<&[u8]> = of_others.map(|(key, _)| *key).collect();
            if !of_others.is_empty() {
                self.notify(&[tracker], Some(&of_others));
            }
        }
    }

    /// Notifies clients, or those in their place, of keys; `None` for all keys.
    fn notify(&mut self, trackers: &[Arc<Tracker>], keys: Option<&[&[u8]]>) {
        let (mut direct, mut redirected) = (Receivers::default(), Receivers::default());
        for tracker in trackers {
            if tracker.redirection == 0 {
                if has_resp3(&tracker.client) {
                    direct.add(&tracker.client, Protocol::Resp3);
                }
            } else if let Some(other) = self.in_place_of(tracker) {
                let is_reached = has_resp3(&other) || other.flags().contains(ClientFlags::PUBSUB);
                if is_reached {
                    redirected.add(&other, Protocol::Resp3);
                }
            }
        }
        if !direct.is_empty() {
            self.messages.push((Message::invalidation(keys), direct));
        }
        if !redirected.is_empty() {
            self.messages.push((Message::redirected_invalidation(keys), redirected));
        }
    }

    /// Returns the client that is notified in the place of another. If it is gone, the other is
    /// notified that.
    fn in_place_of(&mut self, tracker: &Tracker) -> Option<Arc<Client>> {
        let there = self.clients.find(tracker.redirection);
        let is_leaving =
            |client: &Client| client.is_doomed() || client.flags().contains(ClientFlags::CLOSING);
        let there = there.filter(|client| !is_leaving(client));
        if there.is_none() {
            tracker.client.set_flag(ClientFlags::TRACKING_BROKEN, true);
            if has_resp3(&tracker.client) {
                let mut receivers = Receivers::default();
                receivers.add(&tracker.client, Protocol::Resp3);
                self.messages.push((Message::broken_redirection(tracker.redirection), receivers));
            }
        }
        there
    }

    /// Leaves the letters, and wakes who has to read them. Returns true if a worker has more mail
    /// than it is to have.
    pub fn leave(self) -> bool {
        let (messages, receivers): (Vec<_>, Vec<_>) = self.messages.into_iter().unzip();
        let mut outgoing = Outgoing::default();
        for (message, receivers) in messages.into_iter().zip(&receivers) {
            outgoing.add(receivers, |_| message);
        }
        let Left { sleepers, is_behind, .. } = outgoing.leave();
        sleepers.iter().for_each(|post| post.wake());
        is_behind
    }
}

fn has_resp3(client: &Client) -> bool {
    client.protocol.load(Relaxed) == 3
}
