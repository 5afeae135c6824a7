//! A flush that was asked for with a delay: Memcached's `flush_all SECONDS`.
//!
//! ```text
//! flush_all 5  ─▶ asked: the database, and when; one that was asked for before is forgotten
//! flush_all    ─▶ forgotten
//! background jobs, when it is due ─▶ taken, and done as FLUSHDB is, for files and replicas too
//!                 on a replica    ─▶ forgotten: its primary says what goes
//! ```
//! There is one at most, and it is known to this server alone: who restarts or takes over the role
//! of primary does not flush.

use base::Millis;
use base::mutex::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Time of a flush that nobody has asked for.
const NEVER: u64 = u64::MAX;

/// A flush that may be to come.
#[derive(Debug)]
pub struct PendingFlush {
    /// Milliseconds since 1970 at which it is due, for a look without the lock.
    due: AtomicU64,
    asked: Mutex<Option<Asked>>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    due: Millis,
    database: usize,
}

impl Default for PendingFlush {
    fn default() -> Self {
        PendingFlush { due: AtomicU64::new(NEVER), asked: Mutex::default() }
    }
}

impl PendingFlush {
    /// Asks for a flush of a database at a time, in the place of the one that was asked for before.
    pub fn ask(&self, database: usize, due: Millis) {
        let mut asked = self.asked.lock();
        *asked = Some(Asked { due, database });
        self.due.store(due.0, Relaxed);
    }

    /// Forgets the flush that was asked for.
    pub fn forget(&self) {
        let mut asked = self.asked.lock();
        *asked = None;
        self.due.store(NEVER, Relaxed);
    }

    /// Returns the time at which a flush is due, if there is one to come.
    pub fn due(&self) -> Option<Millis> {
        Some(self.due.load(Relaxed)).filter(|due| *due != NEVER).map(Millis)
    }

    /// Takes a flush that is due at `now`, and returns its database. It is not asked for any more.
    pub fn take_due(&self, now: Millis) -> Option<usize> {
        let mut asked = self.asked.lock();
        let Asked { database, .. } = (*asked).filter(|it| it.due <= now)?;
        *asked = None;
        self.due.store(NEVER, Relaxed);
        Some(database)
    }
}

#[cfg(test)]
mod tests {
    use super::PendingFlush;
    use base::Millis;

    #[test]
    fn there_is_one_flush_and_it_is_taken_once_when_it_is_due() {
        let pending = PendingFlush::default();
        assert_eq!((pending.due(), pending.take_due(Millis(u64::MAX))), (None, None));
        pending.ask(3, Millis(100));
        pending.ask(4, Millis(200));
        assert_eq!((pending.due(), pending.take_due(Millis(199))), (Some(Millis(200)), None));
        assert_eq!(pending.take_due(Millis(200)), Some(4), "the later request counts");
        assert_eq!((pending.due(), pending.take_due(Millis(300))), (None, None));
        pending.ask(3, Millis(100));
        pending.forget();
        assert_eq!((pending.due(), pending.take_due(Millis(300))), (None, None));
    }
}
