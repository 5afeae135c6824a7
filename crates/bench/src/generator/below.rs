//! Random numbers below a bound, all with the same probability.

use rand::RngExt;
use rand::rngs::SmallRng;

/// Multiply and shift instead of a division; the bias is below 2^-24 for allowed counts.
#[inline]
pub(super) fn below(random: &mut SmallRng, count: u64) -> u64 {
    ((u128::from(random.random::<u64>()) * u128::from(count)) >> 64) as u64
}
