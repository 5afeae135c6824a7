//! Bitmaps combined bit by bit.

/// How bits are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Those set in all of them.
    And,
    /// Those set in any.
    Or,
    /// Those set in an odd number of them.
    Xor,
    /// Those not set in the first, which must be the only one.
    Not,
}

/// Combines bitmaps, which all count as long as the longest of them, as the result is.
pub fn combine(operation: Operation, sources: &[&[u8]]) -> Vec<u8> {
    let len = sources.iter().map(|source| source.len()).max().unwrap_or(0);
    let mut result = Vec::with_capacity(len);
    let Some((first, others)) = sources.split_first() else { return result };
    result.extend_from_slice(first);
    result.resize(len, 0);
    for other in others {
        fold(operation, &mut result, other);
    }
    if operation == Operation::Not {
        result.iter_mut().for_each(|byte| *byte = !*byte);
    }
    result
}

fn fold(operation: Operation, result: &mut [u8], other: &[u8]) {
    let (common, beyond) = result.split_at_mut(other.len());
    match operation {
        Operation::And => {
            common.iter_mut().zip(other).for_each(|(to, from)| *to &= from);
            beyond.fill(0);
        }
        Operation::Or => common.iter_mut().zip(other).for_each(|(to, from)| *to |= from),
        Operation::Xor => common.iter_mut().zip(other).for_each(|(to, from)| *to ^= from),
        Operation::Not => {}
    }
}
