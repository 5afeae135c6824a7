//! The longest common subsequence of two strings.
//!
//! ```text
//! row by row:  length(i, j) from length(i-1, j), length(i, j-1), length(i-1, j-1)
//! way back:    one bit per cell, `length(i-1, j) > length(i, j-1)`, from the far corner to zero
//! ```
//! Lengths need two rows. The way back needs one bit per cell and is kept only when matches are
//! asked for. Rows run along the shorter string.

/// A match: bytes `one..one + len` of the first string equal bytes `other..other + len` of the
/// second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Offset in the first string.
    pub one: usize,
    /// Offset in the second string.
    pub other: usize,
    /// Length in bytes; never zero.
    pub len: usize,
}

/// Length of the longest common subsequence. Time grows with the product of both lengths.
pub fn length(one: &[u8], other: &[u8]) -> u32 {
    let (long, short) = if one.len() >= other.len() { (one, other) } else { (other, one) };
    fill(long, short, |_, _, _| ())
}

/// Returns the matches that make up the longest common subsequence, the last one first; `None` if
/// there is no memory for it. Takes time, and a bit of memory, for every pair of bytes.
pub fn matches(one: &[u8], other: &[u8]) -> Option<Vec<Match>> {
    let way = Way::of(one, other)?;
    let mut runs: Vec<Match> = Vec::new();
    let (mut i, mut j) = (one.len(), other.len());
    while i > 0 && j > 0 {
        if one[i - 1] != other[j - 1] {
            if way.leads_up(i - 1, j - 1) {
                i -= 1
            } else {
                j -= 1
            }
            continue;
        }
        match runs.last_mut() {
            Some(run) if (run.one, run.other) == (i, j) => {
                *run = Match { one: i - 1, other: j - 1, len: run.len + 1 };
            }
            _ => runs.push(Match { one: i - 1, other: j - 1, len: 1 }),
        }
        (i, j) = (i - 1, j - 1);
    }
    Some(runs)
}

/// Computes the length for all pairs of a byte of `long` and one of `short`; returns that of the
/// whole strings. `visit` gets both positions and the lengths of the neighbouring cells.
#[inline]
fn fill(long: &[u8], short: &[u8], mut visit: impl FnMut(usize, usize, Sides)) -> u32 {
    let mut row = vec![0_u32; short.len() + 1];
    for (i, a) in long.iter().enumerate() {
        let (mut diagonal, mut left) = (0, 0);
        for (j, (b, cell)) in short.iter().zip(&mut row[1..]).enumerate() {
            let above = *cell;
            visit(i, j, Sides { above, left });
            left = if a == b { diagonal + 1 } else { above.max(left) };
            diagonal = above;
            *cell = left;
        }
    }
    row[short.len()]
}

/// Lengths in the neighbouring cells.
struct Sides {
    /// Length without the byte of the longer string.
    above: u32,
    /// Length without the byte of the shorter string.
    left: u32,
}

/// One bit per pair of bytes: set where the way back drops the byte of the first string.
struct Way {
    bits: Vec<u64>,
    width: usize,
    /// True if the second string is the longer one.
    turned: bool,
}

impl Way {
    fn of(one: &[u8], other: &[u8]) -> Option<Way> {
        let turned = other.len() > one.len();
        let (long, short) = if turned { (other, one) } else { (one, other) };
        let width = short.len();
        let mut bits: Vec<u64> = Vec::new();
        let words = long.len().checked_mul(width)?.div_ceil(64);
        bits.try_reserve_exact(words).ok()?;
        bits.resize(words, 0);
        fill(long, short, |i, j, sides| {
            let up = if turned { sides.left > sides.above } else { sides.above > sides.left };
            let at = i * width + j;
            bits[at / 64] |= u64::from(up) << (at % 64);
        });
        Some(Way { bits, width, turned })
    }

    fn leads_up(&self, i: usize, j: usize) -> bool {
        let at = if self.turned { j * self.width + i } else { i * self.width + j };
        self.bits[at / 64] >> (at % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        let mut random = base::Random::from_seed(7);
        let mut text = move || {
            let (len, letters) = (random.below(14), 1 + random.below(4));
            (0..len).map(|_| b'a' + random.below(letters) as u8).collect::<Vec<u8>>()
        };
        (0..300).map(move |_| (text(), text()))
    }

    /// Computes the length by trying all subsequences of `one`.
    fn naive(one: &[u8], other: &[u8]) -> u32 {
        let is_inside = |chosen: &[u8]| {
            let mut rest = other.iter();
            chosen.iter().all(|byte| rest.any(|it| it == byte))
        };
        let choices = (0..1_u32 << one.len()).filter(|choice| {
            let bits = one.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1);
            is_inside(&bits.map(|(_, byte)| *byte).collect::<Vec<u8>>())
        });
        choices.map(u32::count_ones).max().unwrap_or(0)
    }

    #[test]
    fn the_length_is_that_of_the_best_of_all_subsequences() {
        for (one, other) in texts() {
            assert_eq!(length(&one, &other), naive(&one, &other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn matches_hold_equal_bytes_fall_and_add_up_to_the_length() {
        for (one, other) in texts() {
            let (mut i, mut j, mut sum) = (usize::MAX, usize::MAX, 0);
            for Match { one: a, other: b, len } in matches(&one, &other).expect("memory") {
                assert_eq!(one[a..a + len], other[b..b + len]);
                assert!(a + len <= i && b + len <= j && len > 0);
                (i, j, sum) = (a, b, sum + len);
            }
            assert_eq!(sum as u32, length(&one, &other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn the_example_of_the_manual_has_two_runs() {
        let expected = [Match { one: 4, other: 5, len: 4 }, Match { one: 2, other: 0, len: 2 }];
        assert_eq!(matches(b"ohmytext", b"mynewtext").as_deref(), Some(&expected[..]));
        assert_eq!(length(b"ohmytext", b"mynewtext"), 6);
        assert_eq!(length(b"", b"abc"), 0);
        assert_eq!(matches(b"abc", b""), Some(Vec::new()));
    }

    #[test]
    fn what_would_take_more_memory_than_there_is_is_not_begun() {
        // One bit for each of 2^50 pairs would fill the whole address space of a process.
        let long = vec![0; 1 << 25];
        assert_eq!(matches(&long, &long), None);
    }
}
