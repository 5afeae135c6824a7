//! How busy each worker is, and what follows for its connections.
//!
//! ```text
//! not busy   all connections are the first worker's, so what arrives first is done first
//! busy       a worker with much to do hands some connections to the one with the least
//! calm       workers hand their connections back to the first one
//! ```
//! Each worker measures itself, publishes the result, and decides about its own connections alone.
//! The arithmetic is here; the event loop moves the connections.

use crate::mail::Mailbox;
use base::Steady;
use session::Owner;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Milliseconds over which a worker measures its load.
pub const WINDOW_MILLIS: u64 = 10;
/// Share of its time, in thousandths, from which on a worker is busy.
const BUSY: u32 = 750;
/// Difference of two shares from which on connections are moved from one to the other.
const UNEVEN: u32 = 300;
/// Sum of all shares below which one worker is enough.
const CALM: u32 = 400;
/// Milliseconds after its last window for which a worker that is awake is not in a long command.
const FRESH_MILLIS: u64 = 2 * WINDOW_MILLIS;
/// Milliseconds for which the sum has to be below that.
const CALM_MILLIS: u64 = 1000;

/// The load of all workers.
#[derive(Debug)]
pub struct Balance {
    workers: Box<[Load]>,
    /// Worker that gets the next connection while they are dealt out in turn.
    next: AtomicUsize,
}

#[derive(Debug)]
struct Load {
    mailbox: Mailbox,
    /// The worker as owner of clients, once its event loop exists.
    owner: OnceLock<Owner>,
    /// Share of its time in which it is busy, in thousandths.
    share: AtomicU32,
    /// Moment at which it measured that, as a `Steady`.
    measured: AtomicU64,
}

/// What a worker is to do with its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Keep them.
    Keep,
    /// Hand this share of its active connections, in thousandths, to a worker.
    Share {
        /// Number of the worker.
        to: usize,
        /// Thousandths of the connections.
        part: u32,
    },
    /// Hand all of them to the first worker.
    Gather,
}

impl Balance {
    /// Returns the load of workers that have these mailboxes and nothing to do.
    pub fn new(mailboxes: Vec<Mailbox>) -> Balance {
        let load = |mailbox| Load {
            mailbox,
            owner: OnceLock::new(),
            share: AtomicU32::new(0),
            measured: AtomicU64::new(0),
        };
        Balance { workers: mailboxes.into_iter().map(load).collect(), next: AtomicUsize::new(0) }
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Sets the owner of the clients of a worker, which gets connections from then on.
    pub fn join(&self, worker: usize, owner: Owner) {
        // It is set once, when the worker begins.
        let _ = self.workers[worker].owner.set(owner);
    }

    /// Returns a worker's owner and mailbox; `None` if it has not begun.
    pub fn worker(&self, worker: usize) -> Option<(&Owner, &Mailbox)> {
        let load = &self.workers[worker];
        Some((load.owner.get()?, &load.mailbox))
    }

    /// Returns the worker for a new connection: the first, or while that is busy, or if
    /// connections stay where they are, each in turn.
    pub fn deal(&self, is_fixed: bool) -> usize {
        if is_fixed || self.share(0) >= BUSY {
            self.next.fetch_add(1, Relaxed) % self.workers.len()
        } else {
            0
        }
    }

    /// Returns the mailbox of a worker.
    pub fn mailbox(&self, worker: usize) -> &Mailbox {
        &self.workers[worker].mailbox
    }

    fn share(&self, worker: usize) -> u32 {
        self.workers[worker].share.load(Relaxed)
    }

    /// Publishes the share of its time in which a worker was busy, and returns what it is to do.
    /// `calm_for` is the number of milliseconds for which one worker would have been enough.
    pub fn advise(&self, worker: usize, share: u32, (now, calm_for): (Steady, u64)) -> Advice {
        let before = self.workers[worker].share.swap(share, Relaxed);
        self.workers[worker].measured.store(now.0, Relaxed);
        // One window may be that of a single long command, or one in which it hardly ran.
        if share >= BUSY && before >= BUSY {
            return self.relieve(worker, share, now);
        }
        if worker != 0 && calm_for >= CALM_MILLIS {
            return Advice::Gather;
        }
        Advice::Keep
    }

    /// Advises a busy worker.
    fn relieve(&self, worker: usize, share: u32, now: Steady) -> Advice {
        let others = (0..self.workers.len()).filter(|at| *at != worker);
        let others = others.filter(|at| self.workers[*at].can_take(now));
        let Some((least, to)) = others.map(|at| (self.share(at), at)).min() else {
            return Advice::Keep;
        };
        if share < least + UNEVEN {
            return Advice::Keep;
        }
        // So that both have the same to do.
        let moved = (share - least) / 2;
        // Others that are busy see it before that worker has measured it.
        self.workers[to].share.fetch_add(moved, Relaxed);
        Advice::Share { to, part: moved * 1000 / share }
    }

    /// Returns true if one worker would be enough for what all of them do.
    pub fn is_calm(&self) -> bool {
        self.workers.iter().map(|load| load.share.load(Relaxed)).sum::<u32>() < CALM
    }
}

impl Load {
    /// Returns true if the worker would soon serve what it is given: it has begun, and is not in
    /// the middle of a long command, during which it measures nothing.
    fn can_take(&self, now: Steady) -> bool {
        let measured = Steady(self.measured.load(Relaxed));
        let is_fresh = now.since(measured) <= FRESH_MILLIS;
        self.owner.get().is_some() && (is_fresh || self.mailbox.is_asleep())
    }
}

/// Returns the share of a window, in thousandths, in which a worker was busy: `served` of `elapsed`
/// nanoseconds, during which it had the processor for `ran`. A worker that has the processor for
/// less than a quarter of that is not busy: other programs are.
pub fn busy_share(elapsed: u64, served: u64, ran: u64) -> u32 {
    let thousandths = |part: u64| part.saturating_mul(1000) / elapsed.max(1);
    let share = thousandths(served).min(thousandths(ran).saturating_mul(4)).min(1000);
    u32::try_from(share).unwrap_or(1000)
}

#[cfg(test)]
mod tests {
    use super::{Advice, BUSY, Balance, CALM, CALM_MILLIS, FRESH_MILLIS, busy_share};
    use crate::mail::Mailbox;
    use base::Steady;
    use session::Owner;
    use std::sync::Arc;

    /// The moment of a test, at which it has not been calm.
    const NOW: (Steady, u64) = (Steady(0), 0);

    fn three_with(shares: [u32; 3]) -> Balance {
        let mailbox = || Mailbox::new(|| (), Arc::default()).0;
        let balance = Balance::new(vec![mailbox(), mailbox(), mailbox()]);
        for (worker, share) in shares.into_iter().enumerate() {
            balance.join(worker, Owner::default());
            balance.advise(worker, share.min(BUSY - 1), NOW);
        }
        balance
    }

    #[test]
    fn a_busy_worker_hands_half_of_the_difference_to_the_one_with_the_least_to_do() {
        let balance = three_with([0, 400, 100]);
        assert_eq!(balance.advise(0, 1000, NOW), Advice::Keep, "for one window only");
        assert_eq!(balance.advise(0, 900, NOW), Advice::Share { to: 2, part: 444 });
        // It counts from then on.
        assert_eq!(balance.share(2), 500);
        balance.advise(1, 1000, NOW);
        assert_eq!(balance.advise(1, 1000, NOW), Advice::Share { to: 2, part: 250 });
    }

    #[test]
    fn workers_that_have_about_the_same_to_do_keep_their_connections() {
        let balance = three_with([0, 700, 700]);
        assert_eq!([0; 3].map(|_| balance.advise(0, 990, NOW)), [Advice::Keep; 3]);
        assert_eq!(balance.advise(0, 500, NOW), Advice::Keep);
        assert_eq!(three_with([0, 0, 0]).advise(1, BUSY - 1, NOW), Advice::Keep);
    }

    #[test]
    fn a_worker_that_has_not_begun_gets_nothing() {
        let mailbox = || Mailbox::new(|| (), Arc::default()).0;
        let balance = Balance::new(vec![mailbox(), mailbox()]);
        balance.join(0, Owner::default());
        assert_eq!([0; 3].map(|_| balance.advise(0, 1000, NOW)), [Advice::Keep; 3]);
    }

    #[test]
    fn a_worker_in_the_middle_of_a_long_command_gets_nothing() {
        let ends = [(); 2].map(|()| Mailbox::new(|| (), Arc::default()));
        let balance = Balance::new(ends.iter().map(|(mailbox, _)| mailbox.clone()).collect());
        balance.join(0, Owner::default());
        balance.join(1, Owner::default());
        balance.advise(1, 50, NOW);
        let later = (Steady(FRESH_MILLIS + 1), 0);
        assert_eq!([0; 3].map(|_| balance.advise(0, 1000, later)), [Advice::Keep; 3]);
        // One that sleeps measures nothing either.
        assert!(ends[1].1.fall_asleep());
        assert_eq!(balance.advise(0, 1000, later), Advice::Share { to: 1, part: 475 });
    }

    #[test]
    fn connections_gather_at_the_first_worker_when_it_has_been_calm_for_long() {
        let balance = three_with([CALM / 2, CALM / 4, 0]);
        assert!(balance.is_calm());
        assert_eq!(balance.advise(1, CALM / 4, (Steady(0), CALM_MILLIS - 1)), Advice::Keep);
        assert_eq!(balance.advise(1, CALM / 4, (Steady(0), CALM_MILLIS)), Advice::Gather);
        assert_eq!(
            balance.advise(0, CALM / 2, (Steady(0), CALM_MILLIS)),
            Advice::Keep,
            "it is the first"
        );
        assert!(!three_with([CALM / 2, CALM / 2, 0]).is_calm());
    }

    #[test]
    fn new_connections_are_the_first_workers_until_it_is_busy() {
        let balance = three_with([0, 0, 0]);
        assert_eq!([0; 3].map(|_| balance.deal(false)), [0, 0, 0]);
        assert_eq!([0; 4].map(|_| balance.deal(true)), [0, 1, 2, 0]);
        balance.advise(0, BUSY, NOW);
        assert_eq!([0; 3].map(|_| balance.deal(false)), [1, 2, 0]);
    }

    #[test]
    fn a_worker_that_seldom_gets_the_processor_is_not_busy() {
        assert_eq!(busy_share(10_000_000, 8_000_000, 8_000_000), 800);
        assert_eq!(busy_share(10_000_000, 9_900_000, 300_000), 120);
        assert_eq!(busy_share(10_000_000, 9_900_000, 2_500_000), 990);
        assert_eq!(busy_share(10_000_000, 30_000_000, 30_000_000), 1000);
        assert_eq!(busy_share(0, 0, 0), 0);
    }
}
