//! Rows by tag.
//!
//! ```text
//! share 0    | row | row | ...              tags from 0 on, in the order in which they came
//! share 255  | row | row | ...              the highest tags
//! row        | tag 4 | length 1 or 5 | body |
//! ```
//! The first bits of a tag choose the share, so the shares in turn hold the tags in ascending
//! order, and each is sorted alone, within the processor's cache.

use super::NotStored;
use super::chunk::{Chunk, read_len, row_bytes, write_len};
use crate::fault::NoSpace;
use std::cmp::Ordering;

/// Bits of a tag that choose its share.
const SHARE_BITS: u32 = 8;
/// Bytes of the first chunk of a share; each further one is twice as long, up to the last figure,
/// so that neither many short shares nor long ones take many mappings.
const CHUNK_BYTES: usize = 64 << 10;
const CHUNK_BYTES_MAX: usize = 8 << 20;
const TAG_BYTES: usize = size_of::<u32>();

/// Rows by tag.
#[derive(Debug)]
pub(in crate::value) struct Shares {
    shares: Vec<Share>,
    len: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Share {
    chunks: Vec<Chunk>,
    len: usize,
}

impl Shares {
    /// No rows.
    pub fn new() -> Shares {
        let shares = (0..1 << SHARE_BITS).map(|_| Share::default()).collect();
        Shares { shares, len: 0, bytes: 0 }
    }

    /// Adds a row whose body of `len` bytes `write` writes.
    ///
    /// # Errors
    /// When the system has no memory for it.
    #[inline]
    pub fn push(
        &mut self,
        tag: u32,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<(), NoSpace> {
        let share = &mut self.shares[(tag >> (u32::BITS - SHARE_BITS)) as usize];
        let row = share.take(row_bytes(TAG_BYTES, len)?)?;
        row[..TAG_BYTES].copy_from_slice(&tag.to_le_bytes());
        write(write_len(&mut row[TAG_BYTES..], len));
        self.len += 1;
        self.bytes += len;
        Ok(())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of all bodies.
    pub fn byte_len(&self) -> usize {
        self.bytes
    }

    /// Passes the rows to `each` in ascending order of their tags, and gives their memory back
    /// meanwhile. Rows with the same tag are in the order of `cmp`.
    ///
    /// # Errors
    /// When two rows are equal, and those of `each`.
    pub fn try_each(
        self,
        cmp: impl Fn(&[u8], &[u8]) -> Ordering,
        mut each: impl FnMut(u32, &[u8]) -> Result<(), NotStored>,
    ) -> Result<(), NotStored> {
        for share in self.shares {
            let order = |one: &(u32, &[u8]), other: &(u32, &[u8])| {
                one.0.cmp(&other.0).then_with(|| cmp(one.1, other.1))
            };
            let mut rows = Vec::with_capacity(share.len);
            rows.extend(share.chunks.iter().flat_map(|chunk| Rows(chunk.filled())));
            rows.sort_unstable_by(order);
            if rows.windows(2).any(|pair| order(&pair[0], &pair[1]).is_eq()) {
                return Err(NotStored::Twice);
            }
            rows.into_iter().try_for_each(|(tag, body)| each(tag, body))?;
        }
        Ok(())
    }
}

impl Share {
    #[inline]
    fn take(&mut self, len: usize) -> Result<&mut [u8], NoSpace> {
        if self.chunks.last().is_none_or(|last| last.room() < len) {
            self.grow(len)?;
        }
        self.len += 1;
        let last = self.chunks.last_mut().expect("it has grown");
        Ok(last.take(len))
    }

    #[cold]
    fn grow(&mut self, len: usize) -> Result<(), NoSpace> {
        let doubled = CHUNK_BYTES << self.chunks.len().min(16);
        self.chunks.push(Chunk::new(doubled.min(CHUNK_BYTES_MAX).max(len))?);
        Ok(())
    }
}

/// Iterator over the rows of a chunk: tags and bodies.
struct Rows<'c>(&'c [u8]);

impl<'c> Iterator for Rows<'c> {
    type Item = (u32, &'c [u8]);

    #[inline]
    fn next(&mut self) -> Option<(u32, &'c [u8])> {
        let (tag, rest) = self.0.split_first_chunk()?;
        let (len, rest) = read_len(rest)?;
        let (body, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((u32::from_le_bytes(*tag), body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;

    fn push(shares: &mut Shares, tag: u32, body: &[u8]) {
        shares.push(tag, body.len(), |to| to.copy_from_slice(body)).expect("memory");
    }

    #[test]
    fn rows_return_in_the_order_of_their_tags() {
        let (mut random, mut shares, mut model) = (Random::from_seed(5), Shares::new(), Vec::new());
        for _ in 0..20_000 {
            let tag = random.next() as u32 & 0xff00_ffff;
            let body = vec![random.next() as u8; random.below(600) as usize];
            model.push((tag, body));
        }
        // Longer than any chunk.
        model.push((7, vec![1; CHUNK_BYTES_MAX + 1]));
        model.sort();
        model.dedup();
        for at in 0..model.len() {
            let (tag, body) = &model[at * 7919 % model.len()];
            push(&mut shares, *tag, body);
        }
        assert_eq!(shares.len(), model.len());
        let mut model = model.into_iter();
        let each = |tag, body: &[u8]| {
            let expected = model.next().expect("as many rows as were added");
            assert!((tag, body) == (expected.0, &expected.1[..]), "tag {tag}");
            Ok(())
        };
        shares.try_each(|one, other| one.cmp(other), each).expect("distinct rows");
        assert_eq!(model.next(), None);
    }

    #[test]
    fn equal_rows_are_found_however_far_apart_they_came() {
        for between in [0, 1, 1_000, 100_000_u32] {
            let mut shares = Shares::new();
            push(&mut shares, 77, b"name");
            for number in 0..between {
                push(&mut shares, number.wrapping_mul(0x9e37_79b1), &number.to_le_bytes());
            }
            push(&mut shares, 77, b"name");
            let found = shares.try_each(|one, other| one.cmp(other), |_, _| Ok(()));
            assert_eq!(found, Err(NotStored::Twice), "{between} rows between");
        }
    }
}
