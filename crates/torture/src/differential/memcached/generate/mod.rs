//! Rounds of lines, each drawn from a seed and its number alone.
//!
//! | file | what |
//! |---|---|
//! | `text.rs` | lines of the text protocol |
//! | `meta.rs` | meta commands |
//! | `words.rs` | keys, numbers, values, on both sides of every border |
//! | `harm.rs` | mistakes |
//! | `borders.rs` | test that both sides of every border come |

#[cfg(test)]
mod borders;
mod harm;
mod meta;
mod text;
mod words;

use super::super::generate::Dice;
use super::step::Step;
pub use words::keys;

/// Returns the steps of a round, most of them about a few keys.
pub fn round(seed: u64, number: u64) -> Vec<Step> {
    let dice = &mut Dice::new(seed, number);
    let keys = keys();
    let few: Vec<_> = (0..1 + dice.below(4)).map(|_| dice.pick(&keys).clone()).collect();
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let key = if dice.percent(85) { dice.pick(&few) } else { dice.pick(&keys) };
        let mut step = match dice.below(1000) {
            0..460 => text::line(dice, key, &keys),
            460..990 => meta::line(dice, key),
            _ => text::odd(dice, key),
        };
        if dice.percent(7) {
            harm::harm(dice, &mut step);
        }
        if let Some(key) = step.named() {
            step.key = key;
        }
        steps.push(step);
    }
    let seen = few.iter().map(|key| meta::look(key));
    steps.extend(seen);
    steps
}

const STEPS: usize = 150;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_repeats_its_rounds() {
        assert_eq!(round(1, 5), round(1, 5));
        assert_ne!(round(1, 5), round(1, 6));
        assert_ne!(round(1, 5), round(2, 5));
    }

    #[test]
    fn every_command_comes_in_some_round() {
        let steps: Vec<_> = (0..20).flat_map(|number| round(7, number)).collect();
        let names: BTreeSet<_> = steps.iter().map(Step::name).collect();
        for name in text::NAMES.iter().chain(meta::NAMES) {
            assert!(names.contains(*name), "{name}");
        }
    }
}
