//! Numbers of keys in the order in which threads ask for them, drawn before anything is measured.

use clap::ValueEnum;
use rand::distr::Distribution;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::Zipf;
use std::sync::Arc;

/// How keys are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    Uniform,
    Zipf,
}

const EXPONENT: f64 = 0.99;
/// Draws per key, so that nearly all keys come up.
const DRAWS_PER_KEY: usize = 3;

/// Draws of one choice, which all threads read, each from a place of its own on.
#[derive(Clone, Debug)]
pub struct Numbers {
    drawn: Arc<[u32]>,
    at: usize,
}

impl Numbers {
    pub fn draw(choice: Choice, keys: u32) -> Numbers {
        let mut random = SmallRng::seed_from_u64(1);
        let draws = keys as usize * DRAWS_PER_KEY;
        let drawn = match choice {
            Choice::Uniform => (0..draws).map(|_| random.random_range(0..keys)).collect(),
            Choice::Zipf => {
                let ranks = Zipf::new(f64::from(keys), EXPONENT).expect("there are keys");
                let number = |rank: f64| rank as u32 - 1;
                (0..draws).map(|_| number(ranks.sample(&mut random))).collect()
            }
        };
        Numbers { drawn, at: 0 }
    }

    /// The same draws from another place on.
    pub fn of_core(&self, core: usize) -> Numbers {
        let at = core * 0x9e37_79b9 % self.drawn.len();
        Numbers { drawn: Arc::clone(&self.drawn), at }
    }

    #[inline]
    pub fn next(&mut self) -> u32 {
        let number = self.drawn[self.at];
        self.at += 1;
        if self.at == self.drawn.len() {
            self.at = 0;
        }
        number
    }
}
