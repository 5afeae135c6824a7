//! Rows in an order of their own: sorted in pieces, and merged.
//!
//! ```text
//! open   | row | row | ...    in the order in which they came, and where each begins
//! run    | row | row | ...    sorted; another one whenever the open piece is full
//! row    | length 1 or 5 | body |
//! ```
//! Files hold rows in order, mostly from the highest to the lowest one: then runs do not overlap,
//! and each is given back to the system before the next one is read.

use super::NotStored;
use super::chunk::{Chunk, len_bytes, read_len, row_bytes, write_len};
use crate::fault::NoSpace;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::marker::PhantomData;

/// Bytes of a run; a longer row is a run alone.
const RUN_BYTES: usize = 1 << 20;

/// Order of bodies.
pub(in crate::value) trait RowOrder {
    /// Compares two bodies.
    fn cmp(one: &[u8], other: &[u8]) -> Ordering;
}

/// Place of a row of a run, until runs are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::value) struct RowAt {
    pub run: u32,
    pub offset: u32,
}

/// Rows in the order `O`.
#[derive(Debug)]
pub(in crate::value) struct Runs<O> {
    open: Option<Chunk>,
    /// Where the rows of the open piece begin.
    starts: Vec<u32>,
    runs: Vec<Chunk>,
    len: usize,
    order: PhantomData<O>,
}

impl<O: RowOrder> Runs<O> {
    /// No rows.
    pub fn new() -> Runs<O> {
        Runs { open: None, starts: Vec::new(), runs: Vec::new(), len: 0, order: PhantomData }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Number of runs that are sorted.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Adds a row whose body of `len` bytes `write` writes.
    ///
    /// # Errors
    /// When the system has no memory for it.
    #[inline]
    pub fn push(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> Result<(), NoSpace> {
        let row_bytes = row_bytes(0, len)?;
        if self.open.as_ref().is_none_or(|open| open.room() < row_bytes) {
            self.close()?;
            self.open_for(row_bytes)?;
        }
        let open = self.open.as_mut().expect("it was opened");
        self.starts.push(narrow::to_u32(open.filled().len()));
        write(write_len(open.take(row_bytes), len));
        self.len += 1;
        Ok(())
    }

    #[cold]
    fn open_for(&mut self, row_bytes: usize) -> Result<(), NoSpace> {
        if self.open.as_ref().is_none_or(|open| open.room() < row_bytes) {
            self.open = Some(Chunk::new(RUN_BYTES.max(row_bytes))?);
        }
        Ok(())
    }

    /// Makes the open piece a run.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn close(&mut self) -> Result<(), NoSpace> {
        let starts = &mut self.starts;
        if starts.len() == 1 {
            // It may be long.
            self.runs.extend(self.open.take());
            starts.clear();
        }
        let Some(open) = self.open.as_mut().filter(|_| !starts.is_empty()) else { return Ok(()) };
        let rows = open.filled();
        let row = |start: u32| &rows[start as usize..];
        starts.sort_unstable_by(|one, other| O::cmp(body(row(*one)), body(row(*other))));
        let mut run = Chunk::new(rows.len())?;
        for start in starts.iter() {
            let row = row(*start);
            let row = &row[..row_len(row)];
            run.take(row.len()).copy_from_slice(row);
        }
        self.runs.push(run);
        starts.clear();
        open.clear();
        Ok(())
    }

    /// Iterates over the rows of a run, with their places.
    pub fn rows_of(&self, run: usize) -> impl Iterator<Item = (RowAt, &[u8])> {
        let (bytes, mut offset) = (self.runs[run].filled(), 0);
        std::iter::from_fn(move || {
            let row = bytes.get(offset..).filter(|rest| !rest.is_empty())?;
            let at = RowAt { run: narrow::to_u32(run), offset: narrow::to_u32(offset) };
            offset += row_len(row);
            Some((at, body(row)))
        })
    }

    /// The body of the row at a place.
    pub fn row_at(&self, at: RowAt) -> &[u8] {
        body(&self.runs[at.run as usize].filled()[at.offset as usize..])
    }

    /// Passes all rows to `each` in their order, and gives their memory back meanwhile.
    ///
    /// # Errors
    /// Those of `each`, and when the system has no memory.
    pub fn try_merge(
        mut self,
        mut each: impl FnMut(&[u8]) -> Result<(), NotStored>,
    ) -> Result<(), NotStored> {
        self.close()?;
        self.open = None;
        let cursor = |run| Cursor { run, offset: 0, order: PhantomData::<O> };
        let mut cursors: BinaryHeap<Cursor<O>> = self.runs.into_iter().map(cursor).collect();
        while let Some(mut first) = cursors.pop() {
            // As long as no other run has a lower row.
            loop {
                each(first.body())?;
                if !first.advance() {
                    break;
                }
                if cursors.peek().is_some_and(|next| *next > first) {
                    cursors.push(first);
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Bytes of the row in front.
#[inline]
fn row_len(rows: &[u8]) -> usize {
    let len = read_len(rows).map_or(0, |(len, _)| len);
    len_bytes(len) + len
}

/// Body of the row in front.
#[inline]
fn body(rows: &[u8]) -> &[u8] {
    read_len(rows).map_or(&[], |(len, rest)| &rest[..len])
}

/// Place in a run; of two, the one with the lower row is the greater.
struct Cursor<O> {
    run: Chunk,
    offset: usize,
    order: PhantomData<O>,
}

impl<O> Cursor<O> {
    #[inline]
    fn body(&self) -> &[u8] {
        body(&self.run.filled()[self.offset..])
    }

    /// Goes to the next row; false if there is none.
    #[inline]
    fn advance(&mut self) -> bool {
        self.offset += row_len(&self.run.filled()[self.offset..]);
        self.offset < self.run.filled().len()
    }
}

impl<O: RowOrder> Ord for Cursor<O> {
    fn cmp(&self, other: &Self) -> Ordering {
        O::cmp(other.body(), self.body())
    }
}

impl<O: RowOrder> PartialOrd for Cursor<O> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<O: RowOrder> PartialEq for Cursor<O> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<O: RowOrder> Eq for Cursor<O> {}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;

    #[derive(Debug)]
    enum ByBytes {}

    impl RowOrder for ByBytes {
        fn cmp(one: &[u8], other: &[u8]) -> Ordering {
            one.cmp(other)
        }
    }

    fn merged(rows: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut runs: Runs<ByBytes> = Runs::new();
        for row in rows {
            runs.push(row.len(), |to| to.copy_from_slice(row)).expect("memory");
        }
        let mut merged = Vec::new();
        let each = |row: &[u8]| {
            merged.push(row.to_vec());
            Ok(())
        };
        runs.try_merge(each).expect("no other reason");
        merged
    }

    #[test]
    fn rows_in_any_order_are_merged_in_theirs() {
        let mut random = Random::from_seed(3);
        // About three runs, their borders at other rows each time.
        for extra in 0..4_usize {
            let row = |_| vec![random.next() as u8; 1 + random.below(400) as usize];
            let mut rows: Vec<Vec<u8>> = (0..16_000 + extra).map(row).collect();
            let mut sorted = rows.clone();
            sorted.sort();
            assert!(merged(&rows) == sorted, "in any order");
            rows.sort();
            assert!(merged(&rows) == sorted, "rising");
            rows.reverse();
            assert!(merged(&rows) == sorted, "falling");
        }
    }

    #[test]
    fn a_row_that_is_longer_than_a_run_is_one_alone() {
        let lens = [3, RUN_BYTES - 5, RUN_BYTES - 4, RUN_BYTES, RUN_BYTES + 1, 5, 3 * RUN_BYTES];
        let rows: Vec<Vec<u8>> = (0..).zip(lens).map(|(at, len)| vec![9 - at as u8; len]).collect();
        let mut sorted = rows.clone();
        sorted.sort();
        assert!(merged(&rows) == sorted);
        assert!(merged(&[]).is_empty());
    }

    #[test]
    fn rows_are_found_at_their_places() {
        let mut runs: Runs<ByBytes> = Runs::new();
        for number in (0..300_000_u32).rev() {
            let row = number.to_be_bytes();
            runs.push(row.len(), |to| to.copy_from_slice(&row)).expect("memory");
        }
        runs.close().expect("memory");
        let places = (0..runs.runs()).flat_map(|run| runs.rows_of(run));
        assert_eq!(places.inspect(|(at, row)| assert_eq!(runs.row_at(*at), *row)).count(), 300_000);
    }
}
