//! How fast a replica takes what it lacks, and whether it will ever have all of it.
//!
//! ```text
//! lacks      what is left of its snapshot, and the stream behind it
//! caught up  lacks / (its rate - the rate of writing), if its own is the higher one
//! ```
//! A replica is slow only while its socket is full: one that has all that there is waits for the
//! saver, or for writers.

use base::Steady;
use session::Outlook;

/// Samples in a row, one each second, in which a replica is slower than writers, before it counts
/// as one that never catches up.
const SURE_SAMPLES: u32 = 3;

/// Rates of one replica.
#[derive(Debug, Default)]
pub struct Pace {
    /// The last sample: when, and how much was sent and put by then.
    last: Option<(Steady, u64, u64)>,
    /// Bytes a second that are sent to it, and that writers put.
    pub rate: u64,
    pub write_rate: u64,
    slow_samples: u32,
}

impl Pace {
    /// Takes a sample: so much was sent to it so far, and put by writers, and its socket was full
    /// meanwhile or not.
    pub fn sample(&mut self, now: Steady, (sent, put): (u64, u64), is_full: bool) {
        let Some((at, sent_before, put_before)) = self.last.replace((now, sent, put)) else {
            return;
        };
        let millis = now.since(at).max(1);
        let per_second = |bytes: u64| bytes.saturating_mul(1000) / millis;
        self.rate = self.rate.midpoint(per_second(sent.saturating_sub(sent_before)));
        self.write_rate = self.write_rate.midpoint(per_second(put.saturating_sub(put_before)));
        let is_slow = is_full && self.write_rate > 0 && self.rate <= self.write_rate;
        self.slow_samples = if is_slow { self.slow_samples + 1 } else { 0 };
    }

    /// When it will have caught up that lacks so much, as far as that is known.
    pub fn outlook(&self, lacks: Option<u64>) -> Outlook {
        if self.slow_samples >= SURE_SAMPLES {
            return Outlook::Never;
        }
        match (lacks, self.rate.saturating_sub(self.write_rate)) {
            (Some(lacks), gain) if gain > 0 => Outlook::Seconds(lacks.div_ceil(gain)),
            _ => Outlook::Unknown,
        }
    }
}

/// How far writers may go while they are slowed down.
#[derive(Debug, Default)]
pub struct Throttle {
    /// When they were last let go on.
    pub at: Option<Steady>,
    /// Since when they wait.
    pub waits_since: Option<Steady>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outlook of one that lacks 8,000 bytes, each second of which was as told.
    fn outlook(seconds: &[(u64, u64, bool)]) -> Outlook {
        let (mut pace, mut sums) = (Pace::default(), (0, 0));
        pace.sample(Steady(0), sums, false);
        for (second, (sent, put, is_full)) in seconds.iter().enumerate() {
            sums = (sums.0 + sent, sums.1 + put);
            pace.sample(Steady(1000 * (second as u64 + 1)), sums, *is_full);
        }
        pace.outlook(Some(8_000))
    }

    #[test]
    fn who_is_slower_than_writers_for_long_never_catches_up() {
        let slow = (100, 5_000, true);
        assert_eq!(outlook(&[]), Outlook::Unknown);
        assert_eq!(outlook(&[slow, slow]), Outlook::Unknown, "it may be chance");
        assert_eq!(outlook(&[slow; 3]), Outlook::Never);
        let waits_for_more = (100, 5_000, false);
        assert_eq!(outlook(&[waits_for_more; 9]), Outlook::Unknown, "it has all that there is");
        let silence = (0, 0, true);
        assert_eq!(outlook(&[silence; 9]), Outlook::Unknown, "nobody writes");
    }

    #[test]
    fn who_is_faster_has_caught_up_when_the_difference_has_made_up_for_what_it_lacks() {
        let fast = (4_000, 1_000, true);
        assert_eq!(outlook(&[fast; 30]), Outlook::Seconds(3));
        let slow = (100, 5_000, true);
        assert_eq!(outlook(&[[slow; 30], [fast; 30]].concat()), Outlook::Seconds(3));
    }
}
