//! Names and fields of records.

use std::fmt::Write as _;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;

use super::choose::{Chooser, fnv_hash};

/// Construction of keys from the numbers of records.
#[derive(Clone, Debug)]
pub struct Naming {
    /// True if numbers are hashed, so that consecutive records are not neighbours.
    pub is_hashed: bool,
    /// Least number of digits.
    pub zero_padding: usize,
}

impl Naming {
    /// Returns the key of a record.
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
    /// Name of the field.
    pub field: &'a str,
    /// New value.
    pub text: &'a [u8],
}

/// Fields of records, and source of their values.
#[derive(Clone, Debug)]
pub struct Fields {
    names: Arc<[String]>,
    lengths: Chooser,
    /// Random letters, from which values are cut.
    letters: Arc<[u8]>,
}

impl Fields {
    /// Creates `count` fields with values of these lengths, none above `longest`.
    pub fn new(prefix: &str, count: usize, lengths: Chooser, longest: usize) -> Fields {
        let names = (0..count).map(|number| format!("{prefix}{number}")).collect();
        let mut random: SmallRng = rand::SeedableRng::seed_from_u64(LETTERS_SEED);
        // Letters of YCSB's values: blank to tilde.
        let letters = (0..longest + LETTERS).map(|_| random.random_range(b' '..=b'~')).collect();
        Fields { names, lengths, letters }
    }

    /// Returns the names of all fields.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of a random field.
    pub fn draw(&self, random: &mut SmallRng) -> usize {
        random.random_range(0..self.names.len())
    }

    /// Returns a new value for a field.
    pub fn value(&mut self, field: usize, random: &mut SmallRng) -> Value<'_> {
        let length = self.lengths.draw(random) as usize;
        let begin = random.random_range(0..LETTERS);
        Value { field: &self.names[field], text: &self.letters[begin..begin + length] }
    }
}

/// Number of letters at which a value may begin.
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
        // Key that YCSB's load phase stores first.
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
