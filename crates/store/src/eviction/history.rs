//! Four bits of access history per key.
//!
//! Under the LRU policies (and as long as nothing is evicted) they are a level of idleness: zero
//! since the last access, one step up whenever a sweep finds that the time of a level has passed.
//! Levels are told apart by powers of about two below ten minutes and more coarsely above, so
//! OBJECT IDLETIME answers within a factor of two to four, and never finer than a sweep.
//!
//! Under the LFU policies they are a logarithmic counter as Redis's, with sixteen of its 256
//! values: the first accesses are counted as finely, and further up each value is reached in one
//! go, as late on average as by the steps in between.

use base::Random;

/// Seconds since the last access at which each level of idleness begins.
pub const IDLE_SECONDS: [u32; 16] =
    [0, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400, 604_800];

/// Values of Redis's counter that are told apart: that of a key which has not been used for long,
/// those of the first accesses, and then such that each takes about twice as many as the one
/// before.
const FREQUENCIES: [u8; 16] = [0, 5, 6, 7, 8, 9, 10, 13, 17, 23, 32, 46, 66, 97, 150, 255];
/// Value of a new key; below it every access counts.
const FIRST: u64 = 5;
/// Its bits.
const FRESH: u8 = 1;

/// Meaning of the four bits at present, and how they change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessHistory {
    /// Levels of idleness.
    Idleness,
    /// Counters, rising the slower the larger the factor.
    Frequency {
        /// `lfu-log-factor`.
        log_factor: u32,
    },
    /// Accesses leave no trace.
    Untouched,
}

impl AccessHistory {
    /// Bits of a key that is written, given those it had.
    #[inline]
    pub(crate) fn of_new(self, old: Option<u8>) -> u8 {
        match self {
            AccessHistory::Idleness => 0,
            AccessHistory::Frequency { .. } => old.unwrap_or(FRESH),
            AccessHistory::Untouched => old.unwrap_or(0),
        }
    }
}

/// Bits after an access; `None` if they do not change.
#[inline(always)]
pub fn touched(history: AccessHistory, access: u8, random: &mut Random) -> Option<u8> {
    match history {
        AccessHistory::Idleness => (access != 0).then_some(0),
        AccessHistory::Frequency { log_factor } => {
            (access < 15 && random.one_in(chance(access, log_factor))).then_some(access + 1)
        }
        AccessHistory::Untouched => None,
    }
}

/// When or how often a key was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Seconds since the last access.
    Idle(u64),
    /// Redis's counter of accesses.
    Frequency(u8),
}

impl Use {
    /// Bits that tell it; `None` if bits mean something else at present.
    pub(crate) fn bits(self, history: AccessHistory) -> Option<u8> {
        match (self, history) {
            (Use::Idle(seconds), AccessHistory::Idleness) => {
                let levels = IDLE_SECONDS.iter().skip(1);
                let level = levels.take_while(|begin| u64::from(**begin) <= seconds).count();
                Some(narrow::to_u8(level))
            }
            (Use::Frequency(counter), AccessHistory::Frequency { .. }) => {
                let is_nearer = |pair: &[u8]| counter - pair[0] >= pair[1].saturating_sub(counter);
                let pairs = FREQUENCIES.windows(2);
                let steps = pairs.take_while(|pair| counter >= pair[0] && is_nearer(pair)).count();
                Some(narrow::to_u8(steps))
            }
            _ => None,
        }
    }
}

/// Number of accesses, on average, after which the bits go up by one.
fn chance(access: u8, log_factor: u32) -> u64 {
    accesses(access + 1, log_factor) - accesses(access, log_factor)
}

/// Number of accesses, on average, by which Redis's counter rises from zero to the value of these
/// bits: from each value above the first one it takes a factor more than from the one below.
fn accesses(access: u8, log_factor: u32) -> u64 {
    let value = u64::from(FREQUENCIES[usize::from(access)]);
    let above = value.saturating_sub(FIRST);
    value + above * above.saturating_sub(1) / 2 * u64::from(log_factor)
}

/// Redis's counter that the bits stand for, as OBJECT FREQ answers it.
pub fn frequency(access: u8) -> u32 {
    FREQUENCIES[usize::from(access & 15)].into()
}

/// Bits of a key that was not used between two sweeps, `seconds` apart.
pub fn age(
    history: AccessHistory,
    access: u8,
    seconds: f64,
    decay_minutes: f64,
    chance: f64,
) -> u8 {
    match history {
        AccessHistory::Idleness => {
            let Some(next) = IDLE_SECONDS.get(usize::from(access) + 1) else { return access };
            let stay = f64::from(*next - IDLE_SECONDS[usize::from(access)]);
            if chance * stay < seconds { access + 1 } else { access }
        }
        AccessHistory::Frequency { .. } => {
            let Some(below) = access.checked_sub(1) else { return access };
            let fall = frequency(access) - frequency(below);
            let stay = decay_minutes * 60.0 * f64::from(fall);
            if chance * stay < seconds { below } else { access }
        }
        AccessHistory::Untouched => access,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_key_reaches_each_level_at_about_its_time() {
        let mut random = Random::from_seed(1);
        let mut sums = [0_u64; 16];
        for _ in 0..500 {
            let mut level = 0;
            for second in 1..4_000 {
                let chance = random.next() as f64 / u64::MAX as f64;
                let aged = age(AccessHistory::Idleness, level, 1.0, 1.0, chance);
                if aged != level {
                    sums[usize::from(aged)] += second;
                    level = aged;
                }
            }
        }
        for level in 1..=10 {
            let mean = sums[level] as f64 / 500.0;
            let expected = f64::from(IDLE_SECONDS[level]);
            assert!((mean / expected - 1.0).abs() < 0.15, "level {level}: {mean} for {expected}");
        }
    }

    #[test]
    fn a_counter_rises_with_the_logarithm_of_hits_as_redis_documents() {
        let mut random = Random::from_seed(2);
        // Redis's documentation: factor 10 gives about 10, 18, 142, 255 after 100, 1k, 100k, 1M.
        let history = AccessHistory::Frequency { log_factor: 10 };
        let (mut access, mut found) = (history.of_new(None), Vec::new());
        for hit in 1..=1_000_000 {
            access = touched(history, access, &mut random).unwrap_or(access);
            if [100, 1_000, 100_000, 1_000_000].contains(&hit) {
                found.push(frequency(access));
            }
        }
        let expected = [7..=13, 13..=23, 97..=150, 255..=255];
        assert!(found.iter().zip(expected).all(|(it, range)| range.contains(it)), "{found:?}");
    }

    #[test]
    fn the_first_accesses_count_and_each_value_is_reached_as_late_as_by_redis() {
        let history = AccessHistory::Frequency { log_factor: 10 };
        let (rounds, mut random) = (4_000, Random::from_seed(3));
        // Redis's counter rises with a chance of one in `factor * above + 1`.
        let mut expected = 0;
        for value in 5..10 {
            let mut sum = 0;
            for _ in 0..rounds {
                let mut access = history.of_new(None);
                assert_eq!(frequency(access), 5);
                while frequency(access) < value {
                    sum += 1;
                    access = touched(history, access, &mut random).unwrap_or(access);
                }
                assert_eq!(frequency(access), value, "no value is left out");
            }
            let mean = f64::from(sum) / f64::from(rounds);
            let is_near = (mean - f64::from(expected)).abs() <= f64::from(expected) * 0.1;
            assert!(is_near, "{value}: {mean} for {expected}");
            expected += (value - 5) * 10 + 1;
        }
    }

    #[test]
    fn a_counter_that_is_told_becomes_the_nearest_value() {
        let history = AccessHistory::Frequency { log_factor: 10 };
        let shown = |counter| Use::Frequency(counter).bits(history).map(frequency);
        for value in FREQUENCIES {
            assert_eq!(shown(value), Some(value.into()));
        }
        let near =
            [(2, 0), (3, 5), (11, 10), (12, 13), (123, 97), (124, 150), (202, 150), (203, 255)];
        for (counter, value) in near {
            assert_eq!(shown(counter), Some(value), "{counter}");
        }
    }

    #[test]
    fn a_counter_falls_by_one_in_the_time_of_decay() {
        let history = AccessHistory::Frequency { log_factor: 10 };
        let mut random = Random::from_seed(4);
        let (rounds, mut sum) = (200, 0);
        for _ in 0..rounds {
            let mut access = Use::Frequency(23).bits(history).expect("they count");
            while access > 0 {
                let chance = random.next() as f64 / u64::MAX as f64;
                access = age(history, access, 1.0, 1.0, chance);
                sum += 1;
            }
        }
        let minutes = f64::from(sum) / f64::from(rounds) / 60.0;
        assert!((minutes / 23.0 - 1.0).abs() < 0.15, "{minutes}");
    }
}
