//! Profit of cleaning a segment: the three formulas of Redis++ (Zhang et al., ISPA 2018), as
//! arithmetic on numbers.

use base::Millis;

/// Formula by which segments are ranked for cleaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReclaimPolicy {
    /// Space won per byte copied, times the lifetime of what is in it.
    #[default]
    Original,
    /// Space won per byte copied.
    Greedy,
    /// Space won per byte copied, times the square root of the lifetime.
    Modified,
}

/// Facts about a segment that the formulas need.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Bytes of live records.
    pub live_bytes: u32,
    /// Bytes of dead records, and of slack that is not growth room.
    pub dead_bytes: u32,
    /// Bytes that live records may still grow into.
    pub growth_bytes: u32,
    /// Milliseconds since a record last gained or used growth room.
    pub growth_idle_millis: u64,
    /// Bytes of memory that cleaning it frees.
    pub extent: u32,
    /// Milliseconds since the segment was opened.
    pub age_millis: u64,
    /// Mean deadline of its records, if they have any.
    pub deadline_mean: Option<Millis>,
}

/// Treatment of growth room by cleaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    /// Growth room stays, up to as much as a record gets that outgrows its room.
    Nothing,
    /// Growth room is reclaimed where no record has used any for a while.
    Idle,
    /// All growth room is reclaimed: space is short.
    All,
}

/// Divisor of a value's length: a record that outgrows its room gets this part more, and so does a
/// node that was split.
pub const GROWTH_PART: usize = 2;
/// Milliseconds without use of growth room after which records count as done growing.
const IDLE_MILLIS: u64 = 2000;

impl Trim {
    /// Returns true if the records of a segment are moved without growth room.
    pub fn applies_to(self, segment: &Standing) -> bool {
        match self {
            Trim::Nothing => false,
            Trim::Idle => segment.growth_idle_millis >= IDLE_MILLIS,
            Trim::All => true,
        }
    }
}

impl Standing {
    /// Returns the segment with its growth room counted as live where it stays, and as dead where
    /// it is trimmed.
    pub fn without_growth_room(self, trim: Trim) -> Standing {
        let kept = match trim.applies_to(&self) {
            true => 0,
            false => self.growth_bytes.min(self.live_bytes / narrow::to_u32(GROWTH_PART)),
        };
        Standing {
            live_bytes: self.live_bytes + kept,
            dead_bytes: self.dead_bytes + self.growth_bytes - kept,
            growth_bytes: 0,
            ..self
        }
    }
}

impl ReclaimPolicy {
    /// Profit of cleaning the segment; higher is better. Infinite without live records.
    pub fn profit(self, segment: &Standing, now: Millis) -> f64 {
        let live = f64::from(segment.live_bytes) / f64::from(segment.extent.max(1));
        let won_per_copied = (1.0 - live) / live;
        let lifetime = lifetime_millis(segment, now) as f64;
        match self {
            ReclaimPolicy::Original => won_per_copied * lifetime,
            ReclaimPolicy::Greedy => won_per_copied,
            ReclaimPolicy::Modified => won_per_copied * lifetime.sqrt(),
        }
    }
}

/// Milliseconds between now and the mean deadline of the records, or the segment's age if they have
/// none; at least one.
fn lifetime_millis(segment: &Standing, now: Millis) -> u64 {
    segment.deadline_mean.map_or(segment.age_millis, |mean| mean.0.abs_diff(now.0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    fn profit(policy: ReclaimPolicy, live_bytes: u32, age_millis: u64) -> f64 {
        let (extent, dead_bytes) = (1000, 1000 - live_bytes);
        let segment = Standing {
            live_bytes,
            dead_bytes,
            growth_bytes: 0,
            growth_idle_millis: 0,
            extent,
            age_millis,
            deadline_mean: None,
        };
        policy.profit(&segment, NOW)
    }

    #[test]
    fn profits_follow_the_formulas() {
        use ReclaimPolicy::{Greedy, Modified, Original};
        let rows = [
            (Greedy, 500, 100, 1.0),
            (Greedy, 800, 100, 0.25),
            (Original, 500, 100, 100.0),
            (Original, 800, 400, 100.0),
            (Modified, 500, 100, 10.0),
            (Modified, 800, 400, 5.0),
        ];
        for (policy, live, age, expected) in rows {
            let found = profit(policy, live, age);
            assert!((found - expected).abs() < 1e-9, "{policy:?} {live} {age}: {found}");
        }
    }

    #[test]
    fn an_empty_segment_comes_first_under_every_policy() {
        for policy in [ReclaimPolicy::Original, ReclaimPolicy::Greedy, ReclaimPolicy::Modified] {
            assert!(profit(policy, 0, 1).is_infinite());
        }
    }
}
