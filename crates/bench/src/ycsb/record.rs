//! What records are called and what is in them.

use std::fmt::Write as _;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;

use super::choose::{Chooser, fnv_hash};

/// How the keys of records are made of their numbers.
#[derive(Clone, Debug)]
pub struct Naming {
    /// Numbers are hashed, so that neighbours are none.
    pub is_hashed: bool,
    /// Digits at least.
    pub zero_padding: usize,
}

impl Naming {
    /// The key of a record.
    pub fn key(&self, number: u64) -> String {
        let number = if self.is_hashed { fnv_hash(number) } else { number };
        let mut key = "user".to_owned();
        let _ = write!(key, "{number:0width$}", width = self.zero_padding);
        key
    }
}

/// A field and its new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    /// The name of the field.
    pub field: &'a str,
    /// What it holds.
    pub text: &'a [u8],
}

/// Fields of records, and texts for them.
#[derive(Clone, Debug)]
pub struct Fields {
    names: Arc<[String]>,
    lengths: Chooser,
    /// Random letters, of which texts are parts.
    letters: Arc<[u8]>,
}

impl Fields {
    /// `count` fields whose texts have these lengths, of which none is above `longest`.
    pub fn new(prefix: &str, count: usize, lengths: Chooser, longest: usize) -> Fields {
        let names = (0..count).map(|number| format!("{prefix}{number}")).collect();
        let mut random: SmallRng = rand::SeedableRng::seed_from_u64(LETTERS_SEED);
        // Blank to tilde: what YCSB draws texts from.
        let letters = (0..longest + LETTERS).map(|_| random.random_range(b' '..=b'~')).collect();
        Fields { names, lengths, letters }
    }

    /// The names of all.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of one of them.
    pub fn draw(&self, random: &mut SmallRng) -> usize {
        random.random_range(0..self.names.len())
    }

    /// A new value for a field.
    pub fn value(&mut self, field: usize, random: &mut SmallRng) -> Value<'_> {
        let length = self.lengths.draw(random) as usize;
        let begin = random.random_range(0..LETTERS);
        Value { field: &self.names[field], text: &self.letters[begin..begin + length] }
    }
}

/// How many letters a text may begin at.
const LETTERS: usize = 1 << 16;
const LETTERS_SEED: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn keys_are_those_of_ycsb() {
        let ordered = Naming { is_hashed: false, zero_padding: 1 };
        assert_eq!(ordered.key(42), "user42");
        let padded = Naming { is_hashed: false, zero_padding: 8 };
        assert_eq!(padded.key(42), "user00000042");
        let hashed = Naming { is_hashed: true, zero_padding: 1 };
        // What YCSB's load phase stores first.
        assert_eq!(hashed.key(0), "user6284781860667377211");
        assert_eq!(hashed.key(1), "user8517097267634966620");
    }

    #[test]
    fn values_are_as_long_as_their_lengths_are_drawn_and_of_all_letters() {
        let mut random = SmallRng::seed_from_u64(1);
        let mut fields = Fields::new("field", 3, Chooser::Uniform { first: 1, last: 255 }, 255);
        let mut lengths = [0; 256];
        let mut letters = [false; 256];
        for number in 0..30_000 {
            let value = fields.value(number % 3, &mut random);
            assert_eq!(value.field, format!("field{}", number % 3));
            lengths[value.text.len()] += 1;
            value.text.iter().for_each(|letter| letters[usize::from(*letter)] = true);
        }
        assert!(lengths[0] == 0 && lengths[1..].iter().all(|count| (60..190).contains(count)));
        assert_eq!(letters.iter().filter(|is_there| **is_there).count(), 95);
    }
}
