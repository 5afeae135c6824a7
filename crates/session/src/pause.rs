//! Commands of all clients that are postponed for a while: by CLIENT PAUSE, before the server ends,
//! during a failover, and where the disk is far behind. Each ends its own.
//!
//! ```text
//! pause, postpone_writes ──▶ `UNPAUSED` or `WRITES_FLOW` is not granted ──▶ postponed, of the
//!                                     first request behind the end of the pause: granted again
//! stall_changes          ──▶ `JOURNAL_ROOM` is not granted ──▶ resume_changes: granted again
//! ```

use crate::clients::Clients;
use crate::needs::Needs;
use base::Steady;
use std::sync::atomic::Ordering::Relaxed;

/// Commands that CLIENT PAUSE postpones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Pause {
    /// None.
    #[default]
    Nothing = 0,
    /// Those that change data.
    Writes = 1,
    /// All.
    Everything = 2,
}

/// Who postpones writes without a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Holder {
    /// The end of the server: its last snapshot is made.
    End = 1,
    /// A failover.
    Failover = 2,
}

impl Clients {
    /// Postpones commands until `until`; a longer or stricter pause is not made shorter or milder.
    pub fn pause(&self, what: Pause, until: Steady, now: Steady) {
        let _pausing = self.pausing.lock();
        let present = self.paused(now);
        let until_present =
            if present == Pause::Nothing { 0 } else { self.paused_until.load(Relaxed) };
        self.paused_until.store(until.0.max(until_present), Relaxed);
        self.paused.store((what as u8).max(present as u8), Relaxed);
        self.grants.withdraw(match what {
            Pause::Nothing => Needs::empty(),
            Pause::Writes => Needs::WRITES_FLOW,
            Pause::Everything => Needs::UNPAUSED,
        });
    }

    /// Ends a pause and has every worker look at its connections again.
    pub fn unpause(&self) {
        let _pausing = self.pausing.lock();
        // `postponed` grants the rest.
        self.grants.restore(Needs::UNPAUSED);
        self.paused.store(0, Relaxed);
        self.look_again();
    }

    /// Postpones writes until `let_writes_flow` for the same holder.
    pub fn postpone_writes(&self, holder: Holder) {
        let _pausing = self.pausing.lock();
        self.holders.fetch_or(holder as u8, Relaxed);
        self.grants.withdraw(Needs::WRITES_FLOW);
    }

    /// Lets writes flow again, as far as one holder is concerned.
    pub fn let_writes_flow(&self, holder: Holder) {
        let pausing = self.pausing.lock();
        let held = self.holders.fetch_and(!(holder as u8), Relaxed) & holder as u8 != 0;
        drop(pausing);
        if held {
            self.look_again();
        }
    }

    /// Returns true while somebody postpones writes without a time.
    pub fn postpones_writes(&self) -> bool {
        self.holders.load(Relaxed) != 0
    }

    /// Returns who postpones writes without a time.
    pub fn holder(&self) -> Option<Holder> {
        let holders = self.holders.load(Relaxed);
        [Holder::End, Holder::Failover].into_iter().find(|it| holders & *it as u8 != 0)
    }

    /// Returns the pause in force at `now`. Grants `WRITES_FLOW` and `UNPAUSED` again when the time
    /// of the pause is over; for requests that lack one of them.
    pub fn postponed(&self, now: Steady) -> Pause {
        if self.paused(now) == Pause::Nothing {
            self.with_pause(now, |pause| {
                if pause == Pause::Nothing {
                    self.grants.restore(Needs::WRITES_FLOW | Needs::UNPAUSED);
                }
            });
        }
        self.paused(now)
    }

    /// Does what follows from the pause in force at `now`. None begins or ends meanwhile.
    pub(crate) fn with_pause(&self, now: Steady, act: impl FnOnce(Pause)) {
        let _pausing = self.pausing.lock();
        act(self.paused(now));
    }

    /// Returns the pause in force at `now`.
    #[inline]
    pub fn paused(&self, now: Steady) -> Pause {
        let least = if self.postpones_writes() { Pause::Writes } else { Pause::Nothing };
        match self.paused.load(Relaxed) {
            0 => least,
            _ if self.paused_until.load(Relaxed) <= now.0 => least,
            1 => Pause::Writes,
            _ => Pause::Everything,
        }
    }

    /// Returns the end of the pause in force at `now`. While somebody postpones writes, and no
    /// client everything, there is none: `i64::MAX`, as INFO shows it.
    pub fn paused_until(&self, now: Steady) -> Steady {
        let is_open = self.postpones_writes() && self.paused(now) != Pause::Everything;
        Steady(if is_open { i64::MAX.unsigned_abs() } else { self.paused_until.load(Relaxed) })
    }

    /// Stalls changes until `resume_changes`, as the disk is far behind.
    pub fn stall_changes(&self) {
        self.grants.withdraw(Needs::JOURNAL_ROOM);
    }

    /// Returns true while changes are stalled.
    pub fn stalls_changes(&self) -> bool {
        !self.grants.get().contains(Needs::JOURNAL_ROOM)
    }

    /// Lets changes go on that were stalled.
    pub fn resume_changes(&self) {
        if self.stalls_changes() {
            self.grants.restore(Needs::JOURNAL_ROOM);
            self.look_again();
        }
    }
}
