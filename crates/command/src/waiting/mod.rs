//! Clients that wait for keys: BLPOP and its like.
//!
//! ```text
//! handler finds nothing ──▶ Wait::begin, under the locks of its keys ──▶ a line per key
//! a write touches a key that somebody waits for ──▶ serve: the first in its line runs again,
//!                                                   before the locks of the key go
//! timeout, CLIENT UNBLOCK, disconnect ──▶ out of all lines
//! ```
//! A client waits with its whole request, which whoever writes to a key runs once more in its
//! place. It stands in the lines before its keys' locks are given up, so no write is missed; and
//! whoever answers it first, by its `state`, answers it alone.

mod serve;
mod timeout;
mod wait;
pub(crate) mod waiter;

pub use serve::{look_again, recheck, run};
pub use timeout::Timeout;
pub use wait::Wait;
pub use waiter::Wants;

use crate::clients::{Client, Notice};
use base::Millis;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use waiter::Place;
use wire::{Reply, Span};

/// Lines are kept in so many parts, each behind a lock of its own.
const PARTS: usize = 64;

/// A client that waits.
pub type Waiter = waiter::Waiter<Client>;

/// Who waits for one key, the first who came first.
#[derive(Debug, Default)]
struct Line {
    waiters: VecDeque<Arc<Waiter>>,
    /// Those among them who mind the loss of the key.
    minding: usize,
}

/// Everybody who waits.
#[derive(Debug)]
pub struct Waiters {
    parts: Vec<Mutex<HashMap<Place, Line>>>,
    hasher: RandomState,
    count: AtomicU64,
    /// Clients that wait until a deadline, as their workers know them.
    deadlines: AtomicU64,
    /// Bytes that all waiters and their places in lines take.
    bytes: AtomicU64,
    tickets: AtomicU64,
}

impl Default for Waiters {
    fn default() -> Waiters {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        Waiters {
            parts,
            hasher: RandomState::new(),
            count: AtomicU64::new(0),
            deadlines: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            tickets: AtomicU64::new(0),
        }
    }
}

impl Waiters {
    /// Clients that wait.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.load(SeqCst)
    }

    /// Clients that will give up at a deadline.
    pub fn deadlines(&self) -> u64 {
        self.deadlines.load(SeqCst)
    }

    /// Counts a client that a worker will have given up at a deadline.
    pub fn count_deadline(&self) {
        self.deadlines.fetch_add(1, SeqCst);
    }

    /// Takes back what `count_deadline` counted.
    pub fn discount_deadline(&self) {
        self.deadlines.fetch_sub(1, SeqCst);
    }

    /// Bytes that those who wait take: their requests, their places in lines, their deadlines.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(SeqCst) + self.deadlines() * size_of::<(Millis, u64)>() as u64
    }

    fn part(&self, place: &Place) -> MutexGuard<'_, HashMap<Place, Line>> {
        let part = narrow::to_usize(self.hasher.hash_one(place)) % PARTS;
        self.parts[part].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keys that somebody waits for.
    pub fn keys(&self) -> usize {
        let len = |part: &Mutex<HashMap<Place, Line>>| {
            part.lock().unwrap_or_else(PoisonError::into_inner).len()
        };
        self.parts.iter().map(len).sum()
    }

    /// Keys whose loss somebody minds.
    pub fn keys_that_may_be_lost(&self) -> usize {
        self.places(|line| line.minding > 0).len()
    }

    /// The places of lines that are chosen.
    fn places(&self, choose: impl Fn(&Line) -> bool) -> Vec<Place> {
        let mut places = Vec::new();
        for part in &self.parts {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            places.extend(part.iter().filter(|(_, line)| choose(line)).map(|(at, _)| at.clone()));
        }
        places
    }

    /// The first in the line of a place who came after somebody with a ticket, and whether anybody
    /// there minds the loss of the key.
    fn next(&self, place: &Place, ticket: u64) -> Option<(Arc<Waiter>, bool)> {
        let part = self.part(place);
        let line = part.get(place)?;
        // Tickets of one line rise: they are drawn under the lock of its key.
        let at = line.waiters.partition_point(|waiter| waiter.ticket <= ticket);
        line.waiters.get(at).map(|waiter| (Arc::clone(waiter), line.minding > 0))
    }

    /// Whether anybody waits at a place.
    fn has(&self, place: &Place) -> bool {
        self.part(place).contains_key(place)
    }

    /// The first few in the line of a place who came after somebody with a ticket.
    fn line(&self, place: &Place, ticket: u64, most: usize) -> Vec<Arc<Waiter>> {
        let part = self.part(place);
        let Some(line) = part.get(place) else { return Vec::new() };
        let at = line.waiters.partition_point(|waiter| waiter.ticket <= ticket);
        line.waiters.iter().skip(at).take(most).cloned().collect()
    }

    fn add(&self, waiter: &Arc<Waiter>) {
        self.count.fetch_add(1, SeqCst);
        self.bytes.fetch_add(waiter.bytes(), SeqCst);
        for place in &waiter.places {
            let mut part = self.part(place);
            let line = part.entry(place.clone()).or_default();
            line.waiters.push_back(Arc::clone(waiter));
            line.minding += usize::from(waiter.wants.minds_loss);
        }
    }

    fn remove(&self, waiter: &Arc<Waiter>) {
        for place in &waiter.places {
            let mut part = self.part(place);
            let Some(line) = part.get_mut(place) else { continue };
            let at = line.waiters.iter().position(|other| Arc::ptr_eq(other, waiter));
            if at.and_then(|at| line.waiters.remove(at)).is_some() {
                line.minding -= usize::from(waiter.wants.minds_loss);
            }
            if line.waiters.is_empty() {
                part.remove(place);
            }
        }
        self.bytes.fetch_sub(waiter.bytes(), SeqCst);
        self.count.fetch_sub(1, SeqCst);
    }

    /// Ends a waiting with a reply, unless somebody did already.
    pub fn answer(&self, waiter: &Arc<Waiter>, write: impl FnOnce(&mut Reply<'_>)) -> bool {
        let mut is_answered = waiter.is_answered();
        if *is_answered {
            return false;
        }
        let mut bytes = Vec::new();
        write(&mut Reply::new(&mut bytes, waiter.manner.protocol));
        *is_answered = true;
        drop(is_answered);
        self.let_go(waiter, bytes);
        true
    }

    /// Ends a waiting as its timeout does.
    pub fn time_out(&self, waiter: &Arc<Waiter>) -> bool {
        self.answer(waiter, |reply| reply.null_array())
    }

    /// Takes a client out of all lines, because it is gone.
    pub fn forget(&self, client: &Client) {
        let Some(waiter) = client.waiter().take() else { return };
        let mut is_answered = waiter.is_answered();
        if !std::mem::replace(&mut *is_answered, true) {
            drop(is_answered);
            self.remove(&waiter);
        }
    }

    /// Takes an answered client out of all lines and sends its reply.
    fn let_go(&self, waiter: &Arc<Waiter>, reply: Vec<u8>) {
        self.remove(waiter);
        waiter.client.waiter().take();
        waiter.client.notify(Notice::Answer(waiter.client.id, reply));
    }
}

impl Waiter {
    /// Bytes that it takes, with a line for each of its keys.
    fn bytes(&self) -> u64 {
        let line = size_of::<(Place, Line)>() + size_of::<Arc<Waiter>>();
        // The key of a place stands in the line and in the waiter.
        let place = |(_, key): &Place| 2 * key.len() + size_of::<Place>() + line;
        let places: usize = self.places.iter().map(place).sum();
        let request = self.request.len() + self.spans.len() * size_of::<Span>();
        (size_of::<Waiter>() + request + places) as u64
    }
}
