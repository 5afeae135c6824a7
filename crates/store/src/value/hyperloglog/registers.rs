//! All registers as plain bytes, and the histogram of their values.

use super::format::{INDEX_BITS, REGISTERS};

/// Highest value that six bits hold. Elements give 51 at most; bytes set by a client may hold more.
pub const REGISTER_MAX: u8 = 63;

/// All registers, one byte each.
#[derive(Clone, Debug)]
pub struct Registers(pub [u8; REGISTERS]);

impl Registers {
    /// Registers of an empty sketch.
    pub fn zeros() -> Registers {
        Registers([0; REGISTERS])
    }

    /// Raises each register to that of `other` if that is higher.
    pub fn raise(&mut self, other: &Registers) {
        for (register, value) in self.0.iter_mut().zip(other.0) {
            *register = value.max(*register);
        }
    }

    /// Counts the registers of each value.
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::new();
        let (fours, _) = self.0.as_chunks::<4>();
        fours.iter().for_each(|four| histogram.count_four(*four));
        histogram
    }
}

/// Number of registers for each value; an estimate depends on nothing else.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Four counts for each value, so that updates for equal neighbours do not wait for each other.
    lanes: [[u32; REGISTER_MAX as usize + 1]; 4],
}

impl Histogram {
    pub(super) fn new() -> Histogram {
        Histogram { lanes: [[0; REGISTER_MAX as usize + 1]; 4] }
    }

    /// Counts four registers, none above `REGISTER_MAX`.
    #[inline]
    fn count_four(&mut self, values: [u8; 4]) {
        for (lane, value) in self.lanes.iter_mut().zip(values) {
            lane[usize::from(value & REGISTER_MAX)] += 1;
        }
    }

    /// Adds `len` registers of one value.
    #[inline]
    pub(super) fn count_run(&mut self, value: u8, len: usize) {
        self.lanes[0][usize::from(value & REGISTER_MAX)] += narrow::to_u32(len);
    }

    fn of(&self, value: u32) -> f64 {
        self.lanes.iter().map(|lane| lane[value as usize]).sum::<u32>().into()
    }

    /// Estimates the number of different elements, by the improved raw estimator of Otmar Ertl,
    /// "New cardinality estimation algorithms for HyperLogLog sketches", arXiv:1702.01284.
    ///
    /// Registers with values above those of elements do not count; if there are no others, the
    /// answer has its highest bit set.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is too large has a branch of its own"
    )]
    pub fn estimate(&self) -> u64 {
        let registers = REGISTERS as f64;
        let longest = 64 - INDEX_BITS;
        let mut sum = registers * tau((registers - self.of(longest + 1)) / registers);
        for value in (1..=longest).rev() {
            sum = (sum + self.of(value)) * 0.5;
        }
        sum += registers * sigma(self.of(0) / registers);
        let estimate = (HALF_OVER_LN_2 * registers * registers / sum).round();
        if estimate < TOO_LARGE { estimate as u64 } else { 1 << 63 }
    }
}

/// Correction for registers that are zero, x being their share: x + the sum of x^(2^k) 2^(k-1), for
/// k from 1 on.
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut weight, mut sum) = (1.0, x);
    loop {
        x *= x;
        let before = sum;
        sum += x * weight;
        weight += weight;
        if sum <= before {
            return sum;
        }
    }
}

/// Correction for registers at the highest value, 1 - x being their share: a third of 1 - x - the
/// sum of (1 - x^(2^-k))^2 2^-k, for k from 1 on.
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut weight, mut sum) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = sum;
        weight *= 0.5;
        sum -= (1.0 - x) * (1.0 - x) * weight;
        if sum >= before {
            return sum / 3.0;
        }
    }
}

const HALF_OVER_LN_2: f64 = 0.721_347_520_444_481_7;
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;
