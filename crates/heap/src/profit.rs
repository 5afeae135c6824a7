//! Which segment is worth cleaning: the three formulas of Redis++ (Zhang et al., ISPA 2018), as
//! arithmetic on numbers.

use base::Millis;

/// How much a segment's age counts in choosing it.
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

/// What the formulas need to know of a segment.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Bytes of live records.
    pub live_bytes: u32,
    /// Bytes of dead records, and of slack that is not growth room.
    pub dead_bytes: u32,
    /// Bytes that live records may still grow into.
    pub growth_bytes: u32,
    /// Milliseconds since a record last got such bytes or used some.
    pub growth_idle_millis: u64,
    /// Bytes of memory that cleaning it frees.
    pub extent: u32,
    /// Milliseconds since it was opened.
    pub age_millis: u64,
    /// Mean deadline of its records, if they have any.
    pub deadline_mean: Option<Millis>,
}

/// What cleaning does to the growth room of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    /// They stay, as far as they are no more than a record gets that outgrows its room.
    Nothing,
    /// They are won where no record has used any for a while.
    Idle,
    /// They are won: space is short.
    All,
}

/// A record that outgrows its room gets this part of its value more, and so has a node that was
/// split.
pub const GROWTH_PART: usize = 2;
/// Records whose growth room was not used for so long, in milliseconds, are through with growing.
const IDLE_MILLIS: u64 = 2000;

impl Trim {
    /// Whether the records of a segment are moved without growth room.
    pub fn applies_to(self, segment: &Standing) -> bool {
        match self {
            Trim::Nothing => false,
            Trim::Idle => segment.growth_idle_millis >= IDLE_MILLIS,
            Trim::All => true,
        }
    }
}

impl Standing {
    /// The same with the growth room counted as what they become: live ones, or dead ones.
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
    /// The profit of cleaning; higher is better. Infinite for a segment without live records.
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

/// How long records have still to live, or have lived where nothing says when they end.
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
