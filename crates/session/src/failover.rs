//! FAILOVER: the server and one of its replicas change roles, and no write is lost by it.
//!
//! ```text
//! FAILOVER ─▶ WaitsForSync ─ the target has all, or has to do ─▶ InProgress ─ accepted ─▶ Nothing
//!                  │                                                 │          a replica
//!                  └ ABORT, the time is over ─▶ Nothing              └ refused, ABORT ─▶ Nothing
//!                                                                    │          the primary
//!                                                                    └ ABORT in a transaction ─▶
//!                                                                      GivenUp ─ EXEC ─▶ Nothing
//! ```
//! 1. From the begin to the end writes of clients are held back, and nothing else takes a place in
//!    the stream: its offset stands still.
//! 2. In progress the server is a replica already: it tells the target to be the primary.
//! 3. The role changes in the moment in which the failover ends: a client that was held back finds
//!    no role that is over.

use crate::upstream::Primary;
use base::Steady;
use base::mutex::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicU8, Ordering::Acquire, Ordering::Release};

/// How far a failover has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum FailoverPhase {
    /// There is none.
    #[default]
    Nothing,
    /// A replica is to have all that there is.
    WaitsForSync,
    /// The replica is told to be the primary.
    InProgress,
    /// A transaction has given that up: the server is the primary again behind it.
    GivenUp,
}

impl FailoverPhase {
    /// What INFO calls it.
    pub fn name(self) -> &'static str {
        match self {
            FailoverPhase::Nothing => "no-failover",
            FailoverPhase::WaitsForSync => "waiting-for-sync",
            FailoverPhase::InProgress | FailoverPhase::GivenUp => "failover-in-progress",
        }
    }
}

/// What FAILOVER asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The replica that is to be the primary; whichever has all first, if none is named.
    pub target: Option<Primary>,
    /// When it is given up, or forced.
    pub until: Option<Steady>,
    /// True if the target is taken when the time is over, whatever it lacks.
    pub is_forced: bool,
}

impl Attempt {
    /// The target, as logs name it.
    pub fn target_name(&self) -> String {
        let named = |it: &Primary| format!("{}:{}", it.host, it.port);
        self.target.as_ref().map_or_else(|| "any replica".to_owned(), named)
    }
}

/// The failover at work, if there is one.
#[derive(Debug, Default)]
pub struct Failover {
    attempt: Mutex<Option<Attempt>>,
    phase: AtomicU8,
}

impl Failover {
    /// How far it has come.
    #[inline]
    pub fn phase(&self) -> FailoverPhase {
        match self.phase.load(Acquire) {
            0 => FailoverPhase::Nothing,
            1 => FailoverPhase::WaitsForSync,
            2 => FailoverPhase::InProgress,
            _ => FailoverPhase::GivenUp,
        }
    }

    /// True while there is one.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.phase() != FailoverPhase::Nothing
    }

    /// What was asked for; `None` if there is none.
    pub fn attempt(&self) -> Option<Attempt> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Attempt>> {
        self.attempt.lock()
    }

    /// Begins one, once `hold` has held writes back. Returns false if there is one.
    pub fn begin(&self, attempt: Attempt, hold: impl FnOnce()) -> bool {
        let mut present = self.lock();
        if present.is_some() {
            return false;
        }
        hold();
        tracing::info!("FAILOVER requested to {}.", attempt.target_name());
        *present = Some(attempt);
        self.phase.store(FailoverPhase::WaitsForSync as u8, Release);
        true
    }

    /// Goes on with a replica that is to be the primary now. Returns false if nobody waits for that
    /// any more. To be called while the gate is closed.
    pub fn proceed(&self, target: &Primary) -> bool {
        let mut present = self.lock();
        let waits = self.phase() == FailoverPhase::WaitsForSync;
        match &mut *present {
            Some(attempt) if waits => {
                attempt.target = Some(target.clone());
                self.phase.store(FailoverPhase::InProgress as u8, Release);
                true
            }
            _ => false,
        }
    }

    /// Gives up one in progress, which only the caller ends then. Until it does, clients are held
    /// back: the role is still the one of the failover. Returns what was asked for, or `None` if
    /// none is in progress.
    pub fn give_up(&self) -> Option<Attempt> {
        let present = self.lock();
        if self.phase() != FailoverPhase::InProgress {
            return None;
        }
        self.phase.store(FailoverPhase::GivenUp as u8, Release);
        present.clone()
    }

    /// Ends it in this phase, and has `release` let writes flow, before another one can begin.
    /// Nobody else ends it. Returns what was asked for, or `None` if it is in another phase.
    pub fn end(&self, phase: FailoverPhase, release: impl FnOnce()) -> Option<Attempt> {
        let mut present = self.lock();
        if self.phase() != phase {
            return None;
        }
        self.phase.store(FailoverPhase::Nothing as u8, Release);
        release();
        present.take()
    }

    /// Acts while there is none, and none begins. Does nothing if there is one.
    pub fn without_one(&self, act: impl FnOnce()) {
        let present = self.lock();
        if present.is_none() {
            act();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_at_a_time_and_each_phase_is_left_once() {
        let failover = Failover::default();
        let attempt = Attempt { target: None, until: None, is_forced: false };
        let target = Primary { host: "10.0.0.1".to_owned(), port: 7000 };
        assert!(!failover.proceed(&target) && failover.begin(attempt.clone(), || {}));
        assert!(!failover.begin(attempt.clone(), || panic!("held twice")));
        assert!(failover.end(FailoverPhase::InProgress, || panic!("released")).is_none());
        assert!(failover.proceed(&target) && !failover.proceed(&target));
        assert!(failover.end(FailoverPhase::WaitsForSync, || {}).is_none());
        assert!(failover.give_up().is_some() && failover.give_up().is_none());
        assert!(failover.is_active(), "until the role has changed");
        assert!(failover.end(FailoverPhase::InProgress, || panic!("released")).is_none());
        let ended = failover.end(FailoverPhase::GivenUp, || {}).expect("it was given up");
        assert_eq!(ended.target_name(), "10.0.0.1:7000");
        assert!(!failover.is_active() && failover.attempt().is_none());
        assert_eq!(attempt.target_name(), "any replica");
    }
}
