//! PFSELFTEST: checks that registers keep their values and that estimates stay within their error.

use super::dense;
use super::format::{HEAD_BYTES, REGISTERS};
use super::registers::{REGISTER_MAX, Registers};
use super::sketch::{Layout, Sketch};

use base::Random;

/// Failure of the self-test, in the words of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts tell")]
pub enum SelfTestError {
    #[error("TESTFAILED Register {at} should be {expected} but is {found}")]
    Register { at: usize, expected: u8, found: u8 },
    #[error("TESTFAILED sparse encoding not used")]
    NotSparse,
    #[error("TESTFAILED dense/sparse disagree")]
    Disagree,
    #[error("TESTFAILED Too big error. card:{elements} abserr:{error}")]
    TooFarOff { elements: u64, error: u64 },
}

/// Tests registers and estimates with random values.
///
/// # Errors
/// The first failure.
pub fn self_test(seed: u64, sparse_bytes_max: u64) -> Result<(), SelfTestError> {
    let mut random = Random::from_seed(seed);
    for _ in 0..ROUNDS {
        keeps_registers(&mut random)?;
    }
    estimates(random.next(), sparse_bytes_max)
}

fn keeps_registers(random: &mut Random) -> Result<(), SelfTestError> {
    let expected = Registers(std::array::from_fn(|_| narrow::low_u8(random.next()) & REGISTER_MAX));
    let mut bytes = [0xff; dense::REGISTER_BYTES];
    for (at, value) in expected.0.iter().enumerate() {
        dense::set(&mut bytes, at, *value);
    }
    for at in 0..REGISTERS {
        let (expected, found) = (expected.0[at], dense::get(&bytes, at));
        if found != expected {
            return Err(SelfTestError::Register { at, expected, found });
        }
    }
    Ok(())
}

/// Adds elements to a dense sketch and to one that begins sparse, and checks both at powers of ten.
fn estimates(seed: u64, sparse_bytes_max: u64) -> Result<(), SelfTestError> {
    let mut dense = Sketch::empty();
    dense.make_dense().map_err(|_| SelfTestError::Disagree)?;
    let mut sketch = Sketch::empty();
    let mut checkpoint = 1;
    for number in 1..=ELEMENTS {
        let element = (number ^ seed).to_le_bytes();
        for sketch in [&mut dense, &mut sketch] {
            sketch.add(&element, sparse_bytes_max).map_err(|_| SelfTestError::Disagree)?;
        }
        if number == checkpoint {
            check(&dense, &sketch, number, sparse_bytes_max)?;
            checkpoint *= 10;
        }
    }
    Ok(())
}

fn check(
    dense: &Sketch<'_>,
    sketch: &Sketch<'_>,
    elements: u64,
    sparse_bytes_max: u64,
) -> Result<(), SelfTestError> {
    // Small sketches mostly have at most two bytes for each element.
    if elements < sparse_bytes_max / 2 && sketch.form() != Layout::Sparse {
        return Err(SelfTestError::NotSparse);
    }
    let estimate = dense.count().map_err(|_| SelfTestError::Disagree)?;
    if sketch.count() != Ok(estimate) {
        return Err(SelfTestError::Disagree);
    }
    let error = estimate.abs_diff(elements);
    // An error of six times the standard error does not happen by chance; of few elements, some may
    // share a register.
    let error_max = (1.04 / (REGISTERS as f64).sqrt() * 6.0 * elements as f64).ceil();
    if error as f64 > error_max.max(FEW_ERROR_MAX) {
        return Err(SelfTestError::TooFarOff { elements, error });
    }
    Ok(())
}

const ROUNDS: usize = 20;
const ELEMENTS: u64 = 1_000_000;
const FEW_ERROR_MAX: f64 = 2.0;
const _: () = assert!(dense::REGISTER_BYTES + HEAD_BYTES == dense::BYTES);
