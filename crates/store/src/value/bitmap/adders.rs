//! Population count for processors that have no instruction for it.

/// Counts the bits that are set in `bytes`.
///
/// Words are added up bitwise, as by full adders, so that only one word in sixteen has to be
/// counted.
pub(super) fn sum_of(bytes: &[u8]) -> u64 {
    let (blocks, rest) = bytes.as_chunks::<{ BLOCK_WORDS * 8 }>();
    let mut sums = Sums::default();
    for block in blocks {
        sums.add(std::array::from_fn(|at| word(block, at)));
    }
    let (words, tail) = rest.as_chunks::<8>();
    let words: u64 = words.iter().map(|it| u64::from(u64::from_ne_bytes(*it).count_ones())).sum();
    let tail: u64 = tail.iter().map(|it| u64::from(it.count_ones())).sum();
    sums.total() + words + tail
}

/// Four words side by side, so that the compiler can use vectors.
type Quad = [u64; 4];

const BLOCK_QUADS: usize = 8;
const BLOCK_WORDS: usize = BLOCK_QUADS * 4;

fn word(block: &[u8; BLOCK_WORDS * 8], quad: usize) -> Quad {
    std::array::from_fn(|thread| {
        let at = (quad * 4 + thread) * 8;
        u64::from_ne_bytes(std::array::from_fn(|byte| block[at + byte]))
    })
}

/// Sums of the bits so far. A bit of `ones`, `twos` or `fours` stands for that number; `eights` is
/// a plain count.
#[derive(Default)]
struct Sums {
    ones: Quad,
    twos: Quad,
    fours: Quad,
    eights: u64,
}

impl Sums {
    #[inline]
    fn add(&mut self, quads: [Quad; BLOCK_QUADS]) {
        let [a, b, c, d, e, f, g, h] = quads;
        let twos_a = carry(&mut self.ones, a, b);
        let twos_b = carry(&mut self.ones, c, d);
        let fours_a = carry(&mut self.twos, twos_a, twos_b);
        let twos_a = carry(&mut self.ones, e, f);
        let twos_b = carry(&mut self.ones, g, h);
        let fours_b = carry(&mut self.twos, twos_a, twos_b);
        let eights = carry(&mut self.fours, fours_a, fours_b);
        self.eights += ones_of(eights);
    }

    fn total(&self) -> u64 {
        8 * self.eights + 4 * ones_of(self.fours) + 2 * ones_of(self.twos) + ones_of(self.ones)
    }
}

/// Adds `a` and `b` to `sum` in each bit position; returns the carries.
#[inline]
fn carry(sum: &mut Quad, a: Quad, b: Quad) -> Quad {
    let half: Quad = std::array::from_fn(|thread| sum[thread] ^ a[thread]);
    let carries = std::array::from_fn(|thread| sum[thread] & a[thread] | half[thread] & b[thread]);
    *sum = std::array::from_fn(|thread| half[thread] ^ b[thread]);
    carries
}

#[inline]
fn ones_of(quad: Quad) -> u64 {
    quad.iter().map(|word| u64::from(word.count_ones())).sum()
}
