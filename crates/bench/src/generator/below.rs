//! Random numbers below a bound, all with equal probability.

use rand::RngExt;
use rand::rngs::SmallRng;

/// Draws by multiply and shift instead of a division; the bias is below 2^-24 for allowed counts.
#[inline]
pub(super) fn below(random: &mut SmallRng, count: u64) -> u64 {
    ((u128::from(random.random::<u64>()) * u128::from(count)) >> 64) as u64
}
