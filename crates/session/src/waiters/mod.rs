//! Clients that wait for keys: who they are, in which lines they stand, and how a wait ends.
//!
//! A waiter keeps its whole request, and a thread that writes to one of its keys runs the request
//! once more for it. Its state makes sure that it gets one answer.

mod lines;
mod postponed;

use crate::client::Client;
use crate::clients::Clients;
use crate::database_key::DatabaseKey;
use crate::notice::{Answer, Notice};
use crate::waiter::{Request, State, Waiter};
use base::Steady;
use lines::{Lines, PLACE_BYTES};
use postponed::Postponed;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use wire::Reply;

/// All waiters, and counts of them.
#[derive(Debug, Default)]
pub struct Waiters {
    /// The lines in which they stand, one for each key.
    pub lines: Lines,
    count: AtomicU64,
    /// Number of waiters that have come, counted before they release the locks of their keys.
    arrivals: AtomicU64,
    /// Number of deadlines of waiters that workers keep.
    deadlines: AtomicU64,
    /// Bytes of all waiters and of their places in lines.
    bytes: AtomicU64,
    tickets: AtomicU64,
    /// Waiters whose turn has come in a pause.
    pub postponed: Postponed,
}

impl Waiters {
    /// Number of waiters.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.load(SeqCst)
    }

    /// Number of waiters with a deadline.
    pub fn deadlines(&self) -> u64 {
        self.deadlines.load(SeqCst)
    }

    /// Counts a deadline that a worker keeps for a waiter.
    pub fn count_deadline(&self) {
        self.deadlines.fetch_add(1, SeqCst);
    }

    /// Takes back one count of `count_deadline`.
    pub fn discount_deadline(&self) {
        self.deadlines.fetch_sub(1, SeqCst);
    }

    /// Bytes of all waiters: their requests, their places in lines, their deadlines.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(SeqCst) + self.deadlines() * size_of::<(Steady, u64)>() as u64
    }

    /// Number of keys that have waiters.
    pub fn keys(&self) -> usize {
        self.lines.keys()
    }

    /// Number of keys with a waiter that minds their loss.
    pub fn keys_that_may_be_lost(&self) -> usize {
        self.lines.minded().len()
    }

    /// Returns the number of waiters that have come so far. If it is the same before a look at the
    /// line of a key and under the lock of that key, none has come in between.
    pub fn arrivals(&self) -> u64 {
        self.arrivals.load(SeqCst)
    }

    /// Draws a number that is higher than all before; never zero.
    pub fn ticket(&self) -> u64 {
        self.tickets.fetch_add(1, SeqCst) + 1
    }

    /// Adds a waiter, the locks of whose keys are held, to their lines.
    pub fn add(&self, waiter: &Arc<Waiter>) {
        self.count.fetch_add(1, SeqCst);
        self.bytes.fetch_add(waiter.bytes, SeqCst);
        self.lines.add(waiter);
        self.arrivals.fetch_add(1, SeqCst);
    }

    /// Removes a waiter from all lines.
    pub fn remove(&self, waiter: &Arc<Waiter>) {
        self.lines.remove(waiter);
        self.bytes.fetch_sub(waiter.bytes, SeqCst);
        self.count.fetch_sub(1, SeqCst);
    }

    /// Takes a waiter whose turn has come out of its lines until no pause postpones commands. The
    /// locks of its keys are held, or it stands in no line.
    #[cold]
    pub fn postpone(&self, waiter: &Arc<Waiter>) {
        let mut state = waiter.state();
        if *state != State::Over {
            let place = self.ticket();
            *state = State::Postponed(place);
            self.postponed.add(place, waiter);
            self.lines.remove(waiter);
        }
    }

    /// Answers a waiter and removes it from all lines; returns false if it was answered before, or
    /// is postponed by a pause.
    pub fn answer(
        &self,
        clients: &Clients,
        waiter: &Arc<Waiter>,
        write: impl FnOnce(&mut Reply<'_>),
    ) -> bool {
        self.answer_behind(clients, waiter, 0, write)
    }

    /// As `answer`, with a reply that leaves once a position of the journal is safe.
    pub fn answer_behind(
        &self,
        clients: &Clients,
        waiter: &Arc<Waiter>,
        position: u64,
        write: impl FnOnce(&mut Reply<'_>),
    ) -> bool {
        let mut state = waiter.state();
        if *state != State::Waits {
            return false;
        }
        let mut bytes = Vec::new();
        write(&mut Reply::new(&mut bytes, waiter.client_state.protocol));
        *state = State::Over;
        drop(state);
        let Some(client) = clients.find(waiter.client) else {
            self.remove(waiter);
            return true;
        };
        self.remove_answered(waiter, &client);
        let unserved = Some(Arc::clone(waiter));
        let answer = Answer { reply: bytes, position, unserved };
        client.notify(Notice::Answer(client.id, answer));
        true
    }

    /// Removes the waiter of a disconnected client from all lines.
    pub fn forget(&self, client: &Client) {
        loop {
            let Some(waiter) = client.waiter().take() else { return };
            let state = std::mem::replace(&mut *waiter.state(), State::Over);
            match state {
                State::Waits => return self.remove(&waiter),
                State::Postponed(place) => {
                    self.postponed.remove(place);
                    return self.remove(&waiter);
                }
                // It may wait anew by now.
                State::Over => {}
            }
        }
    }

    /// Removes an answered waiter from all lines; its reply is to be sent.
    pub fn remove_answered(&self, waiter: &Arc<Waiter>, client: &Client) {
        self.remove(waiter);
        client.waiter().take();
    }
}

impl Waiter {
    /// Counts the bytes of the waiter, with a line for each of its keys.
    pub fn measure(&self) -> u64 {
        let keys: usize = self.keys.iter().map(|key| key.memory() + PLACE_BYTES).sum();
        let others: usize = self.others.iter().map(DatabaseKey::memory).sum();
        let spare = (self.keys.capacity() - self.keys.len()) * size_of::<DatabaseKey>()
            + (self.others.capacity() - self.others.len()) * size_of::<DatabaseKey>();
        let requests = self.sent.iter().chain([&self.request]).map(Request::memory).sum::<usize>();
        (size_of::<Waiter>() + requests + keys + others + spare) as u64
    }
}
