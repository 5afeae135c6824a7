//! Four bits of access history per key.
//!
//! Under the LRU policies (and as long as nothing is evicted) they are a level of idleness: zero
//! since the last access, one step up whenever a sweep finds that the time of a level has passed.
//! Levels are told apart by powers of about two below ten minutes and more coarsely above, so
//! OBJECT IDLETIME answers within a factor of two to four, and never finer than a sweep.
//!
//! Under the LFU policies they are a logarithmic counter as Redis's, with sixteen values instead
//! of 256: each stands for seventeen of Redis's, and rises with a seventeenth of its chance.

use base::Random;

/// Seconds since the last access at which each level of idleness begins.
pub const IDLE_SECONDS: [u32; 16] =
    [0, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400, 604_800];

/// Steps of Redis's counter that one step of ours stands for.
const STEP: u32 = 17;
/// Initial value of Redis's counter; below it every access counts.
const FIRST: u32 = 5;

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
            AccessHistory::Frequency { .. } | AccessHistory::Untouched => old.unwrap_or(0),
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
                let step = (u32::from(counter) + STEP / 2) / STEP;
                Some(narrow::low_u8(step.min(15).into()))
            }
            _ => None,
        }
    }
}

/// Number of accesses, on average, that raise the counter by one.
fn chance(access: u8, log_factor: u32) -> u64 {
    let above = (u32::from(access) * STEP).saturating_sub(FIRST);
    u64::from(STEP) * (u64::from(above) * u64::from(log_factor) + 1)
}

/// Redis's counter that the bits stand for, as OBJECT FREQ answers it.
pub fn frequency(access: u8) -> u32 {
    (u32::from(access) * STEP).max(FIRST)
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
            let stay = decay_minutes * 60.0 * f64::from(STEP);
            if access > 0 && chance * stay < seconds { access - 1 } else { access }
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
        let (mut access, mut found) = (0, Vec::new());
        for hit in 1..=1_000_000 {
            access = touched(history, access, &mut random).unwrap_or(access);
            if [1_000, 100_000, 1_000_000].contains(&hit) {
                found.push(frequency(access));
            }
        }
        assert!(found[0] <= 40 && (100..=190).contains(&found[1]) && found[2] >= 230, "{found:?}");
    }
}
