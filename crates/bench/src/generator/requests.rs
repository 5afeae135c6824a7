//! Batches of requests, built once: per operation only the digits of the key are written.

use anyhow::{Context, Result, ensure};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::answer::{Answer, Expected};
use super::key_text::write_key;
use super::keys::Keys;
use super::operation::{Deadlines, Operation};
use super::protocol::Protocol;
use super::sizes::ValueSize;
use super::wording;

/// Shape of the requests of a run.
#[derive(Clone, Debug)]
pub struct RequestShape {
    /// Operation on each key.
    pub operation: Operation,
    /// Bytes in the value of a SET.
    pub value: ValueSize,
    /// Requests per batch.
    pub pipeline: usize,
}

/// Prepared batches of a run, used in turn.
pub struct Requests {
    batches: Vec<Batch>,
    next: usize,
    deadlines: Option<Deadlines>,
}

impl Requests {
    /// Prepares batches of this shape in RESP; the same seed gives the same batches.
    ///
    /// # Errors
    /// If the pipeline is zero or above 10,000, if no value can have such a size, or if the values
    /// of all batches take more than 1 GiB or are too few for the rarest size.
    pub fn new(shape: &RequestShape, seed: u64) -> Result<Self> {
        Self::speaking(Protocol::Resp, shape, seed)
    }

    /// Prepares batches in any protocol; otherwise as [`Requests::new`].
    ///
    /// # Errors
    /// As [`Requests::new`]; and if the protocol does not have the operation.
    pub fn speaking(protocol: Protocol, shape: &RequestShape, seed: u64) -> Result<Self> {
        ensure!((1..=PIPELINE_MAX).contains(&shape.pipeline), "pipeline: 1 to {PIPELINE_MAX}");
        shape.value.check()?;
        wording::check(protocol, shape.operation)?;
        let mut random = SmallRng::seed_from_u64(seed);
        let batches =
            if matches!(shape.operation, Operation::Mixed(_)) { MIXED_BATCHES } else { 1 };
        let requests = batches * shape.pipeline;
        let sets = shape.operation.sets_among(requests);
        let variants = shape.value.variants(sets, requests);
        let sizes = shape.value.spread(variants * sets, &mut random);
        shape
            .value
            .check_prepared(&sizes)
            .with_context(|| format!("pipeline {}", shape.pipeline))?;
        let mut builder = Builder { protocol, sizes: sizes.into_iter(), random };
        let batches = (0..variants).flat_map(|_| builder.variant(shape)).collect();
        let deadlines = match shape.operation {
            Operation::SetUntil(deadlines) => Some(deadlines),
            _ => None,
        };
        Ok(Self { batches, next: 0, deadlines })
    }

    /// Returns the number of requests per batch.
    pub fn pipeline(&self) -> usize {
        self.batches[0].slots.len()
    }

    /// Writes `count` keys into the next batch, at most a whole one; returns its bytes and the
    /// replies that they must bring.
    #[inline]
    pub fn fill(&mut self, count: usize, keys: &mut Keys) -> (&[u8], Expected) {
        let index = self.next;
        self.next = if index + 1 == self.batches.len() { 0 } else { index + 1 };
        let batch = &mut self.batches[index];
        match self.deadlines {
            None => batch.fill(count, keys),
            Some(deadlines) => batch.fill_with_deadlines(count, keys, deadlines),
        }
    }
}

struct Batch {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    expected: Expected,
}

#[derive(Clone, Copy)]
struct Slot {
    /// Offset behind the last digit of the key.
    key_end: usize,
    /// Offset of the 13 digits of the deadline; zero if the request has none.
    deadline_at: usize,
    end: usize,
    answer: Answer,
}

impl Batch {
    fn fill(&mut self, count: usize, keys: &mut Keys) -> (&[u8], Expected) {
        let count = count.min(self.slots.len());
        for slot in &self.slots[..count] {
            write_key(&mut self.bytes[..slot.key_end], keys.draw());
        }
        self.first(count)
    }

    fn fill_with_deadlines(
        &mut self,
        count: usize,
        keys: &mut Keys,
        deadlines: Deadlines,
    ) -> (&[u8], Expected) {
        let count = count.min(self.slots.len());
        for slot in &self.slots[..count] {
            let key = keys.draw();
            write_key(&mut self.bytes[..slot.key_end], key);
            let deadline = format!("{:013}", deadlines.of(key));
            self.bytes[slot.deadline_at..slot.deadline_at + 13]
                .copy_from_slice(&deadline.as_bytes()[..13]);
        }
        self.first(count)
    }

    fn first(&self, count: usize) -> (&[u8], Expected) {
        if count == self.slots.len() {
            return (&self.bytes, self.expected);
        }
        let mut expected = Expected::default();
        self.slots[..count].iter().for_each(|slot| expected.count(slot.answer));
        let end = count.checked_sub(1).map_or(0, |last| self.slots[last].end);
        (&self.bytes[..end], expected)
    }
}

/// Builder of batches, with the sizes of the values of their SETs.
struct Builder {
    protocol: Protocol,
    sizes: std::vec::IntoIter<usize>,
    random: SmallRng,
}

impl Builder {
    /// Builds the batches of one variant. A mix has several batches, over which the operations are
    /// shuffled, so that its shares are exact at any depth.
    fn variant(&mut self, shape: &RequestShape) -> Vec<Batch> {
        if !matches!(shape.operation, Operation::Mixed(_)) {
            return vec![self.batch(&vec![shape.operation; shape.pipeline])];
        }
        let all = MIXED_BATCHES * shape.pipeline;
        let mut operations = vec![Operation::Get; all];
        operations[..shape.operation.sets_among(all)].fill(Operation::Set);
        operations.shuffle(&mut self.random);
        operations.chunks(shape.pipeline).map(|chunk| self.batch(chunk)).collect()
    }

    fn batch(&mut self, operations: &[Operation]) -> Batch {
        let mut batch =
            Batch { bytes: Vec::new(), slots: Vec::new(), expected: Expected::default() };
        for operation in operations {
            let size = match operation {
                Operation::Get | Operation::Delete => 0,
                _ => self.sizes.next().unwrap_or(0),
            };
            let value = value(size, &mut self.random);
            let places = wording::push(self.protocol, *operation, &value, &mut batch.bytes);
            batch.expected.count(places.answer);
            batch.slots.push(Slot {
                key_end: places.key_end,
                deadline_at: places.deadline_at,
                end: batch.bytes.len(),
                answer: places.answer,
            });
        }
        batch
    }
}

/// Returns random letters: letters, so that no server takes the value for a number; random, so that
/// no server compresses it.
fn value(size: usize, random: &mut SmallRng) -> Vec<u8> {
    (0..size).map(|_| random.random_range(b'a'..=b'z')).collect()
}

/// Batches of a mix: with twenty, a share of one in twenty is exact without a pipeline.
const MIXED_BATCHES: usize = 20;
const PIPELINE_MAX: usize = 10_000;
#[cfg(test)]
mod tests {
    use super::{
        Deadlines, Expected, MIXED_BATCHES, Operation, Protocol, RequestShape, Requests, ValueSize,
        write_key,
    };
    use crate::generator::{KEY_BYTES, KEY_COUNT_MAX, KeyChoice, Keys, VALUE_BYTES_MAX};

    fn requests(operation: Operation, value: ValueSize, pipeline: usize) -> Requests {
        Requests::new(&RequestShape { operation, value, pipeline }, 1).unwrap()
    }

    fn keys() -> Keys {
        Keys::new(&KeyChoice::Sequential, 12_345_679, 1).unwrap()
    }

    #[test]
    fn a_get_carries_the_digits_of_its_key() {
        let mut keys = Keys::new(&KeyChoice::Listed([12_345_678].into()), 12_345_679, 1).unwrap();
        let mut requests = requests(Operation::Get, ValueSize::Fixed(0), 1);
        let (bytes, expected) = requests.fill(1, &mut keys);
        assert_eq!(bytes, b"*2\r\n$3\r\nGET\r\n$16\r\nk000000012345678\r\n");
        assert_eq!(expected, Expected { values: 1, ..Expected::default() });
    }

    #[test]
    fn part_of_a_batch_is_its_front() {
        let mut requests = requests(Operation::Delete, ValueSize::Fixed(0), 3);
        let (bytes, expected) = requests.fill(2, &mut keys());
        let whole = "*2\r\n$3\r\nDEL\r\n$16\r\nk000000000000000\r\n\
            *2\r\n$3\r\nDEL\r\n$16\r\nk000000000000001\r\n";
        assert_eq!(std::str::from_utf8(bytes).unwrap(), whole);
        assert_eq!(expected.total(), 2);
    }

    #[test]
    fn a_deadline_follows_from_the_key() {
        let deadlines = Deadlines { first_ms: 1_700_000_000_000, span_ms: 1000, count: 10 };
        let mut requests = requests(Operation::SetUntil(deadlines), ValueSize::Fixed(1), 2);
        let (bytes, _) = requests.fill(2, &mut keys());
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(text.contains("$4\r\nPXAT\r\n$13\r\n1700000000000\r\n"), "{text}");
        assert!(text.ends_with("$4\r\nPXAT\r\n$13\r\n1700000000100\r\n"), "{text}");
    }

    #[test]
    fn the_shares_of_a_mix_are_exact_at_any_depth() {
        for (pipeline, reads) in [(1, 50), (7, 50), (16, 95), (1, 5)] {
            let operation = Operation::Mixed(reads);
            let mut requests = requests(operation, ValueSize::Fixed(16), pipeline);
            let (mut statuses, mut values) = (0, 0);
            for _ in 0..MIXED_BATCHES {
                let (_, expected) = requests.fill(pipeline, &mut keys());
                statuses += expected.statuses;
                values += expected.values;
            }
            let all = (MIXED_BATCHES * pipeline) as u64;
            let gets = all * u64::from(reads) / 100;
            assert_eq!((statuses, values), (all - gets, gets));
        }
    }

    #[test]
    fn a_rare_size_comes_as_often_as_it_should_in_a_mix() {
        let weighted = || "16*999,1024*1".parse().unwrap();
        let mut requests = requests(Operation::Mixed(95), weighted(), 16);
        let (mut sets, mut rare) = (0, 0);
        for _ in 0..requests.batches.len() {
            let (bytes, expected) = requests.fill(16, &mut keys());
            sets += expected.statuses as usize;
            rare += std::str::from_utf8(bytes).unwrap().matches("\r\n$1024\r\n").count();
        }
        assert!(rare > 1 && rare.abs_diff(sets / 1000) <= 1, "{rare} of {sets}");
    }

    #[test]
    fn batches_that_would_take_too_much_memory_are_refused() {
        let largest = ValueSize::Fixed(VALUE_BYTES_MAX);
        let any = ValueSize::Uniform(1..=VALUE_BYTES_MAX);
        let prepare = |operation, value: &ValueSize, pipeline| {
            let shape = RequestShape { operation, value: value.clone(), pipeline };
            Requests::new(&shape, 1)
        };
        for (operation, value, pipeline) in [
            (Operation::Set, &largest, 16),
            (Operation::SetFor(60), &any, 16),
            (Operation::Mixed(50), &largest, 1),
        ] {
            let error = prepare(operation, value, pipeline).err().unwrap();
            assert!(format!("{error:#}").starts_with("pipeline "), "{error:#}");
        }
        let rare = ValueSize::Weighted(vec![(10 << 20, 99), (16, 1)]);
        assert!(prepare(Operation::Set, &rare, 16).is_err(), "short values would never come");
        assert!(prepare(Operation::Get, &largest, 16).is_ok(), "it has no values");
    }

    #[test]
    fn value_sizes_cover_their_range() {
        let mut requests = requests(Operation::Set, ValueSize::Uniform(1..=3), 100);
        let (bytes, _) = requests.fill(100, &mut keys());
        let text = std::str::from_utf8(bytes).unwrap();
        for size in 1..=3 {
            assert!(text.contains(&format!("\r\n${size}\r\n")), "no value of {size} bytes");
        }
    }

    #[test]
    fn digits_are_written_in_full() {
        for number in [0, 7, 10_000, 99_999_999, 100_000_000, 123_456_789_012, KEY_COUNT_MAX - 1] {
            let mut text = *b"k000999999999999";
            write_key(&mut text, number);
            assert_eq!(text, *format!("k{number:015}").as_bytes());
            assert_eq!(text.len(), KEY_BYTES);
        }
    }

    #[test]
    fn a_mix_for_memcached_has_gets_and_sets() {
        let shape = RequestShape {
            operation: Operation::Mixed(50),
            value: ValueSize::Fixed(3),
            pipeline: 2,
        };
        let mut requests = Requests::speaking(Protocol::Memcached, &shape, 1).unwrap();
        let mut keys = keys();
        let mut text = String::new();
        for _ in 0..MIXED_BATCHES {
            text += std::str::from_utf8(requests.fill(2, &mut keys).0).unwrap();
        }
        assert_eq!(text.matches("get k").count(), MIXED_BATCHES);
        assert_eq!(text.matches(" 0 0 3\r\n").count(), MIXED_BATCHES);
        assert!((0..2 * MIXED_BATCHES).all(|key| text.contains(&format!("k{key:015}"))), "{text}");
    }
}
