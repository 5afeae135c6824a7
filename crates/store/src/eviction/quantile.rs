//! Decision whether a key is among the coldest, learned from the keys seen before.

use base::Random;

/// Number of keys after which older ones count half.
const MEMORY: f32 = 4096.0;

/// A fading histogram of coldness.
#[derive(Debug, Default)]
pub(crate) struct Quantile {
    seen: [f32; 16],
    total: f32,
}

impl Quantile {
    /// Notes a key and returns true if it belongs to the coldest `share`; keys of the coldness at
    /// which the share ends are chosen by chance.
    ///
    /// A key may be met in parts, each the share `part` of it: it counts once, whether it is chosen
    /// at the first of its parts or at none.
    pub fn is_among_coldest(
        &mut self,
        coldness: u8,
        part: f32,
        share: f32,
        random: &mut Random,
    ) -> bool {
        self.note(coldness, part);
        let mut left = share * self.total;
        for colder in (usize::from(coldness) + 1..16).rev() {
            left -= self.seen[colder];
        }
        let own = self.seen[usize::from(coldness)];
        let mut chance = || random.next() as f32 / u64::MAX as f32;
        let is_chosen = left >= own || left > 0.0 && chance() * own < left * part;
        if is_chosen && part < 1.0 {
            self.note(coldness, 1.0 - part);
        }
        is_chosen
    }

    fn note(&mut self, coldness: u8, part: f32) {
        if self.total > MEMORY {
            self.seen.iter_mut().for_each(|count| *count /= 2.0);
            self.total = self.seen.iter().sum();
        }
        self.seen[usize::from(coldness)] += part;
        self.total += part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_share_is_the_coldest_one() {
        let (mut quantile, mut random) = (Quantile::default(), Random::from_seed(1));
        let mut chosen = [0; 16];
        for _ in 0..100_000 {
            let coldness = random.below(10) as u8;
            if quantile.is_among_coldest(coldness, 1.0, 0.35, &mut random) {
                chosen[usize::from(coldness)] += 1;
            }
        }
        assert!(chosen[..6].iter().all(|count| *count < 200), "{chosen:?}");
        assert!((4_000..6_500).contains(&chosen[6]), "{chosen:?}");
        assert!(chosen[7..10].iter().all(|count| *count > 9_000), "{chosen:?}");
    }

    #[test]
    fn keys_of_many_parts_count_as_those_of_one() {
        let (mut quantile, mut random) = (Quantile::default(), Random::from_seed(1));
        let mut chosen = [0; 10];
        for _ in 0..20_000 {
            // Each is met in fifty parts, and gone once it is chosen: two that are not used for one
            // that is.
            for coldness in [9, 9, 0] {
                let mut choose = || quantile.is_among_coldest(coldness, 0.02, 0.5, &mut random);
                chosen[usize::from(coldness)] += u32::from((0..50).any(|_| choose()));
            }
        }
        assert!(chosen[0] < 200 && chosen[9] > 15_000, "{chosen:?}");
    }
}
