//! Ranks of a Zipf distribution, in constant time and memory.
//!
//! ```text
//! chance  ┌┐                      one rank per block, then ever longer blocks, whose ranks have
//!         │├┐                     nearly the same chance
//!         ││├┬──┬─────┐
//!         │││··│·····│──────┐     a block is drawn by the area of its box, a rank in it evenly;
//!         └┴┴┴──┴─────┴──────┘    what lies above the curve (the dots are below) is drawn again
//! ```
//! So the chances are exact (rejection from a step function; Devroye, Non-Uniform Random Variate
//! Generation, 1986, section II.3), and nearly no draw computes a power.

use anyhow::{Result, ensure};
use rand::RngExt;
use rand::rngs::SmallRng;
use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;

use super::below::below;

/// Ranks `0..count`: the probability of rank `r` is proportional to `(r + 1)` to the power of minus
/// the exponent.
pub(super) struct Zipf {
    exponent: f64,
    /// Chooses a block by the area of its box.
    choice: WeightedAliasIndex<f64>,
    blocks: Box<[Block]>,
}

struct Block {
    /// First rank, counted from one.
    first: u64,
    ranks: u64,
    /// Probability of the last rank as a fraction of that of the first.
    least: f64,
}

impl Zipf {
    /// # Errors
    /// If the exponent is below zero or above [`EXPONENT_MAX`], or `count` is zero.
    pub(super) fn new(count: u64, exponent: f64) -> Result<Self> {
        ensure!((0.0..=EXPONENT_MAX).contains(&exponent), "an exponent is 0 to {EXPONENT_MAX}");
        let (mut blocks, mut areas) = (Vec::new(), Vec::new());
        let mut first = 1;
        while first <= count {
            let ranks = (first / RANKS_PER_BLOCK).max(1).min(count - first + 1);
            let last = first + ranks - 1;
            blocks.push(Block { first, ranks, least: chance(exponent, first, last) });
            areas.push(ranks as f64 * (first as f64).powf(-exponent));
            first = last + 1;
        }
        Ok(Self { exponent, choice: WeightedAliasIndex::new(areas)?, blocks: blocks.into() })
    }

    #[inline]
    pub(super) fn draw(&self, random: &mut SmallRng) -> u64 {
        loop {
            let block = &self.blocks[self.choice.sample(random)];
            if block.ranks == 1 {
                return block.first - 1;
            }
            let rank = block.first + below(random, block.ranks);
            let height = random.random::<f64>();
            if height < block.least || height < chance(self.exponent, block.first, rank) {
                return rank - 1;
            }
        }
    }
}

/// Returns the probability of a rank as a fraction of that of an earlier rank.
fn chance(exponent: f64, earlier: u64, rank: u64) -> f64 {
    (earlier as f64 / rank as f64).powf(exponent)
}

/// Highest exponent: far above this nearly all draws are of the first rank.
const EXPONENT_MAX: f64 = 20.0;
/// Ranks before a block for each rank in it.
const RANKS_PER_BLOCK: u64 = 128;

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::Zipf;

    fn counts(count: u64, exponent: f64, draws: usize) -> Vec<f64> {
        let (zipf, mut random) = (Zipf::new(count, exponent).unwrap(), SmallRng::seed_from_u64(3));
        let mut seen = vec![0.0; count as usize];
        (0..draws).for_each(|_| seen[zipf.draw(&mut random) as usize] += 1.0);
        seen
    }

    #[test]
    fn ranks_come_in_proportion_to_their_power() {
        for (count, exponent, draws) in [
            (1000, 0.99, 1_000_000),
            (1000, 0.99, 10_000_000),
            (1000, 1.5, 1_000_000),
            (1000, 0.0, 1_000_000),
        ] {
            let seen = counts(count, exponent, draws);
            let weight = |rank: usize| ((rank + 1) as f64).powf(-exponent);
            let total: f64 = (0..count as usize).map(weight).sum();
            let term = |(rank, seen): (usize, &f64)| {
                let expected = draws as f64 * weight(rank) / total;
                (seen - expected).powi(2) / expected
            };
            let chi_square: f64 = seen.iter().enumerate().map(term).sum();
            // The 99.9 % point of chi-square with 999 degrees of freedom.
            assert!(chi_square < 1143.0, "{exponent}, {draws} draws: {chi_square}");
        }
    }

    #[test]
    fn of_a_billion_ranks_each_thousandfold_gets_its_share() {
        let (count, exponent, draws) = (1_000_000_000_u64, 0.99, 1_000_000);
        let (zipf, mut random) = (Zipf::new(count, exponent).unwrap(), SmallRng::seed_from_u64(3));
        // Euler-Maclaurin sum of the weights of the first ranks.
        let sum = |ranks: f64| {
            let constant = 1.0 / (1.0 - exponent);
            let zeta = -99.423_5;
            ranks.powf(1.0 - exponent) * constant + zeta + ranks.powf(-exponent) / 2.0
        };
        for below in [1e3, 1e6] {
            let seen = (0..draws).filter(|_| (zipf.draw(&mut random) as f64) < below).count();
            let share = sum(below) / sum(count as f64);
            assert!((seen as f64 / f64::from(draws) - share).abs() < 0.002, "{below}: {seen}");
        }
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        assert!(Zipf::new(0, 0.99).is_err());
        assert!(Zipf::new(10, f64::NAN).is_err() && Zipf::new(10, -1.0).is_err());
    }
}
