//! Redistribution of the rows of leaves.

use crate::leaf::Parts;
use crate::node::NODE_BYTES;
use crate::rows::{HEAD_BYTES, Order, Rows, tags_bytes};
use packed::Place;
use smallvec::SmallVec;
use std::marker::PhantomData;

/// Rows of several leaves that are redistributed to others.
pub(crate) struct Redistribution<'r, 'a, O> {
    leaves: &'r [Rows<'a>],
    stride: usize,
    order: PhantomData<O>,
}

/// Beginning of a part: a leaf, and a row of it with its place.
#[derive(Clone, Copy)]
struct Mark {
    leaf: usize,
    row: usize,
    place: Place,
}

impl<'r, 'a, O: Order> Redistribution<'r, 'a, O> {
    pub fn new(leaves: &'r [Rows<'a>], stride: usize) -> Redistribution<'r, 'a, O> {
        Redistribution { leaves, stride, order: PhantomData }
    }

    pub fn into_parts(self, parts: usize) -> Parts {
        let mut made = Parts::new();
        let total: usize = self.leaves.iter().map(Rows::full_len).sum();
        let mut from = Mark { leaf: 0, row: 0, place: self.leaves[0].place(0) };
        for part in 1..=parts {
            let to = if part == parts { self.end() } else { self.advance(from, total / parts) };
            if (from.leaf, from.row) != (to.leaf, to.row) {
                made.push(self.copy(from, to));
            }
            from = to;
        }
        made
    }

    fn end(&self) -> Mark {
        let last = self.leaves.len() - 1;
        let rows = &self.leaves[last];
        Mark { leaf: last, row: rows.len(), place: rows.packed().end() }
    }

    /// Returns the mark about `bytes` behind one at which rows may be split.
    fn advance(&self, from: Mark, bytes: usize) -> Mark {
        let (mut mark, mut left) = (from, bytes);
        loop {
            let rows = &self.leaves[mark.leaf];
            let passed = |place: Place| {
                let passed_rows = (place.index() - mark.place.index()) / self.stride;
                rows.packed().bytes_between(mark.place, place)
                    + passed_rows * (self.stride + O::TAG_BYTES)
            };
            let begin = (mark.row, mark.place);
            let (mut row, mut place) =
                rows.partition_from(begin, rows.len(), |place| passed(place) < left);
            // Rows with the same tag stay together, so that a search reads one leaf only.
            while O::TAG_BYTES > 0
                && 0 < row
                && row < rows.len()
                && rows.tag(row - 1) == rows.tag(row)
            {
                row += 1;
                place = rows.packed().forward(place, row * self.stride);
            }
            if row < rows.len() || mark.leaf + 1 == self.leaves.len() {
                return Mark { row, place, ..mark };
            }
            left = left.saturating_sub(passed(place));
            let leaf = mark.leaf + 1;
            mark = Mark { leaf, row: 0, place: self.leaves[leaf].place(0) };
        }
    }

    fn copy(&self, from: Mark, to: Mark) -> Vec<u8> {
        let pieces: SmallVec<[(Rows<'a>, Mark, Mark); 2]> = (from.leaf..=to.leaf)
            .map(|leaf| {
                let rows = self.leaves[leaf];
                let begin = Mark { leaf, row: 0, place: rows.place(0) };
                let end = Mark { leaf, row: rows.len(), place: rows.packed().end() };
                (
                    rows,
                    if leaf == from.leaf { from } else { begin },
                    if leaf == to.leaf { to } else { end },
                )
            })
            .collect();
        let mut content = Vec::with_capacity(NODE_BYTES);
        let count: usize = pieces.iter().map(|(_, from, to)| to.row - from.row).sum();
        content.extend_from_slice(&narrow::to_u16(count).to_le_bytes());
        content.extend([narrow::to_u8(self.stride), narrow::to_u8(O::TAG_BYTES)]);
        if O::TAG_BYTES > 0 {
            for (rows, from, to) in &pieces {
                content.extend_from_slice(rows.tag_bytes(from.row, to.row));
            }
            content.resize(HEAD_BYTES + tags_bytes(O::TAG_BYTES, count), 0);
        }
        let packed_lists: SmallVec<[_; 2]> =
            pieces.iter().map(|(rows, from, to)| (rows.packed(), from.place, to.place)).collect();
        packed::concat(self.stride, &packed_lists, &mut content);
        content
    }
}
