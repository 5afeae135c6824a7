//! The eight policies of `maxmemory-policy`.

use base::Millis;

/// Policy that says which keys may be evicted, and which of them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum EvictionPolicy {
    /// None: writes are refused.
    #[default]
    NoEviction,
    /// Any, the longest unused first.
    AllKeysLru,
    /// Any, the least often used first.
    AllKeysLfu,
    /// Any.
    AllKeysRandom,
    /// Those with a deadline, the longest unused first.
    VolatileLru,
    /// Those with a deadline, the least often used first.
    VolatileLfu,
    /// Those with a deadline.
    VolatileRandom,
    /// Those with a deadline, the nearest deadline first.
    VolatileTtl,
}

/// Facts about a key that a policy needs.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Four bits of access history.
    pub access: u8,
    /// Deadline of the key.
    pub deadline: Option<Millis>,
}

impl EvictionPolicy {
    /// Every policy, in the order of their numbers.
    pub const ALL: [EvictionPolicy; 8] = [
        EvictionPolicy::NoEviction,
        EvictionPolicy::AllKeysLru,
        EvictionPolicy::AllKeysLfu,
        EvictionPolicy::AllKeysRandom,
        EvictionPolicy::VolatileLru,
        EvictionPolicy::VolatileLfu,
        EvictionPolicy::VolatileRandom,
        EvictionPolicy::VolatileTtl,
    ];

    /// Returns true if the access history counts uses rather than idleness.
    pub fn counts_uses(self) -> bool {
        matches!(self, EvictionPolicy::AllKeysLfu | EvictionPolicy::VolatileLfu)
    }

    /// Returns true if only keys with a deadline may be evicted.
    pub fn is_volatile(self) -> bool {
        use EvictionPolicy::{VolatileLfu, VolatileLru, VolatileRandom, VolatileTtl};
        matches!(self, VolatileLru | VolatileLfu | VolatileRandom | VolatileTtl)
    }

    /// Coldness of a key, from 0 to 15, the highest to be evicted first; `None` if it must stay.
    #[inline]
    pub fn coldness(self, key: Candidate, now: Millis) -> Option<u8> {
        use EvictionPolicy::{
            AllKeysLfu, AllKeysLru, AllKeysRandom, NoEviction, VolatileLfu, VolatileLru,
            VolatileRandom, VolatileTtl,
        };
        if self.is_volatile() && key.deadline.is_none() {
            return None;
        }
        match self {
            NoEviction => None,
            AllKeysLru | VolatileLru => Some(key.access),
            AllKeysLfu | VolatileLfu => Some(15 - key.access),
            AllKeysRandom | VolatileRandom => Some(0),
            VolatileTtl => key.deadline.map(|deadline| nearness(deadline.since(now))),
        }
    }
}

/// Fifteen for a key that ends within a second, about one less for each doubling.
fn nearness(millis_left: u64) -> u8 {
    15 - (millis_left / 1000 + 1).ilog2().min(15) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_orders_keys_by_its_name() {
        use EvictionPolicy::{
            AllKeysLfu, AllKeysLru, AllKeysRandom, NoEviction, VolatileLfu, VolatileLru,
            VolatileRandom, VolatileTtl,
        };
        let now = Millis(1_000_000);
        let soon = Some(Millis(1_000_500));
        let late = Some(Millis(9_000_000));
        let rows = [
            (NoEviction, 15, soon, None),
            (AllKeysLru, 9, None, Some(9)),
            (AllKeysLfu, 9, None, Some(6)),
            (AllKeysRandom, 9, None, Some(0)),
            (VolatileLru, 9, None, None),
            (VolatileLru, 9, soon, Some(9)),
            (VolatileLfu, 0, late, Some(15)),
            (VolatileRandom, 3, late, Some(0)),
            (VolatileTtl, 3, None, None),
            (VolatileTtl, 3, soon, Some(15)),
            (VolatileTtl, 3, late, Some(3)),
        ];
        for (policy, access, deadline, expected) in rows {
            let found = policy.coldness(Candidate { access, deadline }, now);
            assert_eq!(found, expected, "{policy:?} {access} {deadline:?}");
        }
    }
}
